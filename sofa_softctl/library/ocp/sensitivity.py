"""Sensitivity of an optimum to the parameters, and its regularity conditions.

The equations of the dynamics are block-bidiagonal in the states: one sparse solve eliminates these,
so all dense matrices have only the columns of inputs and constants.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import qr
from scipy.sparse import block_array, csc_array, vstack
from scipy.sparse.linalg import splu, spsolve

from sofa_softctl.library.ocp.model import Model
from sofa_softctl.library.ocp.shooting import Derivatives, Optimum


@dataclass(frozen=True)
class RegularitySettings:
    """Thresholds of the regularity conditions."""

    separation_min: float = 1e-5
    """Smallest max(slack, multiplier over slope of the cost) for which an inequality is clearly
    active or inactive; the solver ends with products of 1e-12 [-]."""
    curvature_min: float = 1e-9
    """Smallest eigenvalue of a positive definite reduced Hessian, over its largest [-]."""
    independence_min: float = 1e-9
    """Smallest singular value of independent active constraints, see `free_directions` [-]."""


SETTINGS = RegularitySettings()


@dataclass(frozen=True, eq=False)
class Regularity:
    """Conditions for an isolated optimum with constant active inequalities nearby."""

    licq: bool
    """Whether active constraints are linearly independent, so that multipliers are unique."""
    sosc: bool
    """Whether the reduced Hessian is positive definite: second-order sufficient conditions."""
    strict: bool
    """Whether each inequality at its limit has a multiplier: strict complementarity."""
    stationarity: float
    """Largest violation of (3a), over the largest slope of the cost or 1e-3 [-]."""
    independence: float
    """Independence of the active constraints, see `free_directions` [-]."""
    curvature: float
    """Smallest eigenvalue of the reduced Hessian over its largest [-]."""
    separation: float
    """Smallest max(h, mu), with mu over the largest slope of the cost [-]."""

    @property
    def ok(self) -> bool:
        """True if sensitivities exist, Theorem 2."""
        return self.licq and self.sosc and self.strict

    def __str__(self) -> str:
        """Return the violated conditions."""
        missing = {
            "active constraints depend on each other (LICQ)": self.licq,
            "the reduced Hessian is not positive definite (SOSC)": self.sosc,
            "a limit is reached without a force on it (strict complementarity)": self.strict,
        }
        return "; ".join(condition for condition, holds in missing.items() if not holds)


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
    """Return the indices in h of inequalities whose multiplier exceeds their slack, shape (n_a,).

    IPOPT ends with mu h of about 1e-10: h is small if the inequality is active, else mu.
    """
    return np.flatnonzero(optimum.mu / _slope(at) > np.maximum(at.h, 0.0))


def regularity(optimum: Optimum, at: Derivatives, active: np.ndarray, Q: np.ndarray) -> Regularity:
    """Check LICQ, SOSC and strict complementarity.

    Args:
        optimum: The optimum.
        at: Derivatives there.
        active: Indices of the active inequalities in h.
        Q: Orthonormal directions that keep the dynamics, see `directions`.

    Source: Marcucci et al., Theorems 1 and 2. Rows of the dynamics are always independent, since
    each ends another interval, so constraints are checked along Q.
    """
    slope = _slope(at)
    free, independence = free_directions(at, active, Q)
    licq = independence > SETTINGS.independence_min
    eigenvalues = np.linalg.eigvalsh(free.T @ (at.l_vv @ free)) if free.size else np.ones(1)
    largest = float(np.abs(eigenvalues).max())
    curvature = float(eigenvalues[0]) / largest if largest > 0.0 else 0.0  # such as of no cost
    separation = float(np.maximum(at.h, optimum.mu / slope).min(initial=np.inf))
    residual = at.f_v - at.g_v.T @ optimum.lam - at.h_v.T @ optimum.mu
    return Regularity(
        licq=licq,
        sosc=curvature > SETTINGS.curvature_min,
        strict=separation > SETTINGS.separation_min,
        stationarity=float(np.abs(residual).max() / slope),
        independence=independence,
        curvature=curvature,
        separation=separation,
    )


def sensitivity(at: Derivatives, active: np.ndarray) -> Sensitivity:
    """Solve (4) for d_p y*, with the active inequalities as equations, without the others.

    With strict complementarity this is (4): by its third row, h stays 0 if mu is not 0, and mu
    stays 0 if h is not 0.

    Raises:
        ValueError: The matrix is singular: LICQ or SOSC does not hold.
    """
    n_v, n_g = at.g_v.shape[1], at.g_v.shape[0]
    rows = vstack((at.g_v, at.h_v.tocsr()[active]))
    kkt = csc_array(block_array([[at.l_vv, -rows.T], [rows, None]]))
    right = -np.concatenate((at.l_vp, at.g_p, at.h_p[active]))
    try:
        solution = splu(kkt).solve(right)
    except RuntimeError:  # SuperLU: a pivot is 0
        solution = np.full(right.shape, np.nan)
    if not np.isfinite(solution).all():
        raise ValueError("The KKT matrix (4) is singular: there is no sensitivity here.")
    return Sensitivity(active, solution[:n_v], solution[n_v : n_v + n_g], solution[n_v + n_g :])


def _slope(at: Derivatives) -> float:
    return max(float(np.abs(at.f_v).max()), 1e-3)


def response(model: Model, at: Derivatives) -> np.ndarray:
    """Return V, the derivative of all unknowns by inputs and constants w = (u, z).

    Shape (n_v, N n_u + n_z). The states follow the dynamics; the rows of w are the identity.
    """
    x, w = model.x_at.ravel(), np.concatenate((model.u_at.ravel(), model.z_at))
    dynamics = at.g_v.tocsc()[: len(x)]
    V = np.zeros((model.size, len(w)))
    V[w] = np.eye(len(w))
    V[x] = -spsolve(dynamics[:, x], dynamics[:, w].toarray()).reshape(len(x), -1)
    return V


def directions(V: np.ndarray) -> np.ndarray:
    """Orthonormalise the columns of V: directions that keep the dynamics, shape of V."""
    return np.asarray(qr(V, mode="economic")[0])


def final_rows(at: Derivatives, Q: np.ndarray) -> np.ndarray:
    """Return the derivative of the final conditions along Q, shape (n_t, n_w)."""
    return np.asarray(at.g_v.tocsr()[Q.shape[0] - Q.shape[1] :] @ Q)


def active_rows(at: Derivatives, active: np.ndarray, Q: np.ndarray) -> np.ndarray:
    """Return the derivative of the active inequalities along Q, shape (n_a, n_w)."""
    return np.asarray(at.h_v.tocsr()[active] @ Q)


def free_directions(at: Derivatives, active: np.ndarray, Q: np.ndarray) -> tuple[np.ndarray, float]:
    """Return orthonormal directions that keep all active constraints, and their independence.

    Args:
        at: Derivatives.
        active: Indices of the active inequalities in h.
        Q: Directions that keep the dynamics.

    Returns:
        Directions, shape (n_v, n), and the smallest singular value of the constraints along Q over
        their largest gradient [-]; 0 for more constraints than directions, 1 without any.
    """
    rows = np.concatenate((final_rows(at, Q), active_rows(at, active, Q)))
    if not len(rows):
        return Q, 1.0
    gradients = (at.g_v.tocsr()[Q.shape[0] - Q.shape[1] :], at.h_v.tocsr()[active])
    largest = max(
        float(np.sqrt(rows_v.power(2).sum(axis=1)).max(initial=0.0)) for rows_v in gradients
    )
    _, values, basis = np.linalg.svd(rows)
    independence = float(values[-1]) / largest if len(rows) <= Q.shape[1] and largest else 0.0
    return Q @ basis[
        np.count_nonzero(values > SETTINGS.independence_min * largest) :
    ].T, independence
