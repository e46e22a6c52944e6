"""Sensitivity of an optimum to the parameters, and its regularity conditions.

Directions in which a motion may change: states follow the dynamics, active limits stay.

The equations of the dynamics are block-bidiagonal in the states: one sparse solve eliminates these,
and all dense matrices have the few columns of inputs and constants.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import qr
from scipy.sparse import block_array, csc_array, vstack
from scipy.sparse.linalg import splu, spsolve

from sofa_softctl.library.ocp.model import Model
from sofa_softctl.library.ocp.shooting import Derivatives, Optimum

ACTIVE = 1e-5
"""Least max(slack, multiplier), the latter over the largest slope of the cost, for which an
inequality is known to be active or not: the solver leaves a product of 1e-12 [-]."""
CURVED = 1e-9
"""Least eigenvalue of the reduced Hessian over its largest, for it to be positive definite [-]."""


@dataclass(frozen=True, eq=False)
class Regularity:
    """Conditions for an isolated optimum with constant active inequalities nearby."""

    licq: bool
    """Active constraints are linearly independent, so that multipliers are unique."""
    sosc: bool
    """Second-order sufficient conditions: the reduced Hessian is positive definite."""
    strict: bool
    """Strict complementarity: no inequality is at its limit without a multiplier."""
    stationarity: float
    """Largest violation of (3a), over the largest slope of the cost or 1e-3 [-]."""
    independence: float
    """Of the active constraints, see `free_directions` [-]."""
    curvature: float
    """Least eigenvalue of the reduced Hessian over its largest [-]."""
    separation: float
    """Least of max(h, mu), mu over the largest slope of the cost [-]."""

    @property
    def ok(self) -> bool:
        """Whether sensitivities exist, Theorem 2."""
        return self.licq and self.sosc and self.strict

    def __str__(self) -> str:
        """Violated conditions."""
        missing = {
            "active constraints depend on each other (LICQ)": self.licq,
            "the reduced Hessian is not positive definite (SOSC)": self.sosc,
            "a limit is reached without a force on it (strict complementarity)": self.strict,
        }
        return "; ".join(what for what, good in missing.items() if not good)


@dataclass(frozen=True, eq=False)
class Sensitivity:
    """Derivatives of unknowns and multipliers by the parameters, at fixed active inequalities."""

    active: np.ndarray
    """Indices of the active inequalities in h, shape (n_a,)."""
    v_p: np.ndarray
    """d_p v*, shape (n_v, n_p)."""
    lam_p: np.ndarray
    """d_p lambda*, shape (n_g, n_p)."""
    mu_p: np.ndarray
    """d_p mu* of the active inequalities, shape (n_a, n_p)."""


def active_set(optimum: Optimum, at: Derivatives) -> np.ndarray:
    """Indices in h of inequalities whose multiplier exceeds their slack, shape (n_a,).

    IPOPT ends with mu h = 1e-10 or so: of an active one h is small, of another one mu.
    """
    return np.flatnonzero(optimum.mu / _slope(at) > np.maximum(at.h, 0.0))


def regularity(optimum: Optimum, at: Derivatives, active: np.ndarray, Q: np.ndarray) -> Regularity:
    """Check LICQ, SOSC and strict complementarity.

    Args:
        optimum: The optimum.
        at: Derivatives there.
        active: Indices of the active inequalities in h.
        Q: Orthonormal directions that keep the dynamics, see `directions`.

    Source: Marcucci et al., Theorems 1 and 2. Rows of the dynamics are always independent, as each
        has an end of an interval of its own: constraints are checked along Q.
    """
    slope = _slope(at)
    free, independence = free_directions(at, active, Q)
    licq = independence > INDEPENDENT
    eigenvalues = np.linalg.eigvalsh(free.T @ (at.l_vv @ free)) if free.size else np.ones(1)
    largest = float(np.abs(eigenvalues).max())
    curvature = float(eigenvalues[0]) / largest if largest > 0.0 else 0.0  # such as of no cost
    separation = float(np.maximum(at.h, optimum.mu / slope).min(initial=np.inf))
    lack = at.f_v - at.g_v.T @ optimum.lam - at.h_v.T @ optimum.mu
    return Regularity(
        licq=licq,
        sosc=curvature > CURVED,
        strict=separation > ACTIVE,
        stationarity=float(np.abs(lack).max() / slope),
        independence=independence,
        curvature=curvature,
        separation=separation,
    )


def sensitivity(at: Derivatives, active: np.ndarray) -> Sensitivity:
    """Solve (4) for d_p y*, with the active inequalities as equations, without the others.

    With strict complementarity that is (4): by its third row h stays 0 where mu is not 0, and mu
    where h is not 0.

    Raises:
        ValueError: The matrix is singular: LICQ or SOSC does not hold.
    """
    n_v, n_g = at.g_v.shape[1], at.g_v.shape[0]
    rows = vstack((at.g_v, at.h_v.tocsr()[active]))
    kkt = csc_array(block_array([[at.l_vv, -rows.T], [rows, None]]))
    right = -np.concatenate((at.l_vp, at.g_p, at.h_p[active]))
    try:
        found = splu(kkt).solve(right)
    except RuntimeError:  # SuperLU: a pivot is 0
        found = np.full(right.shape, np.nan)
    if not np.isfinite(found).all():
        raise ValueError("The KKT matrix (4) is singular: there is no sensitivity here.")
    return Sensitivity(active, found[:n_v], found[n_v : n_v + n_g], found[n_v + n_g :])


def _slope(at: Derivatives) -> float:
    return max(float(np.abs(at.f_v).max()), 1e-3)


INDEPENDENT = 1e-9
"""Least singular value of the active constraints for which they are independent, see
`free_directions` [-]."""


def response(model: Model, at: Derivatives) -> np.ndarray:
    """V: change of all unknowns with the inputs and constants w = (u, z), states following.

    Shape (n_v, N n_u + n_z). The rows of inputs and constants are the identity.
    """
    x, w = model.x_at.ravel(), np.concatenate((model.u_at.ravel(), model.z_at))
    dynamics = at.g_v.tocsc()[: len(x)]
    V = np.zeros((model.size, len(w)))
    V[w] = np.eye(len(w))
    V[x] = -spsolve(dynamics[:, x], dynamics[:, w].toarray()).reshape(len(x), -1)
    return V


def directions(V: np.ndarray) -> np.ndarray:
    """Orthonormal directions that keep the dynamics: of the columns of V, of its shape."""
    return np.asarray(qr(V, mode="economic")[0])


def final_rows(at: Derivatives, Q: np.ndarray) -> np.ndarray:
    """Final conditions along the directions Q, shape (n_t, n_w)."""
    return np.asarray(at.g_v.tocsr()[Q.shape[0] - Q.shape[1] :] @ Q)


def active_rows(at: Derivatives, active: np.ndarray, Q: np.ndarray) -> np.ndarray:
    """Active inequalities along the directions Q, shape (n_a, n_w)."""
    return np.asarray(at.h_v.tocsr()[active] @ Q)


def free_directions(at: Derivatives, active: np.ndarray, Q: np.ndarray) -> tuple[np.ndarray, float]:
    """Orthonormal directions that keep all active constraints, and how independent these are.

    Args:
        at: Derivatives.
        active: Indices of the active inequalities in h.
        Q: Directions that keep the dynamics.

    Returns:
        Directions, shape (n_v, n), and the least singular value of final conditions and active
        inequalities along Q, over the largest gradient of one [-]; 0 where there are more of them
        than directions, 1 without any.
    """
    rows = np.concatenate((final_rows(at, Q), active_rows(at, active, Q)))
    if not len(rows):
        return Q, 1.0
    whole = (at.g_v.tocsr()[Q.shape[0] - Q.shape[1] :], at.h_v.tocsr()[active])
    largest = max(float(np.sqrt(each.power(2).sum(axis=1)).max(initial=0.0)) for each in whole)
    _, values, basis = np.linalg.svd(rows)
    independence = float(values[-1]) / largest if len(rows) <= Q.shape[1] and largest else 0.0
    return Q @ basis[np.count_nonzero(values > INDEPENDENT * largest) :].T, independence
