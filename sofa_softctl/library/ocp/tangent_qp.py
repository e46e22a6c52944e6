"""Tangent QP at an optimum, condensed to its free directions and convexified."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import qr
from scipy.sparse import block_array, csc_array, eye_array
from scipy.sparse.linalg import splu

from sofa_softctl.library.ocp.sensitivity import final_rows
from sofa_softctl.library.ocp.shooting import Derivatives, Optimum
from sofa_softctl.qp.problem import QP, kkt_residual
from sofa_softctl.qp.solvers.daqp import KeptDaqp
from sofa_softctl.qp.verified import VerifiedResult, solve_checked

LEAST = 1e-6
"""epsilon: least eigenvalue after convexification, over the mean one of the Hessian [-]."""
SOLVERS = ("daqp", "proxqp")
"""QP solvers, in the order of their calls; answers are verified."""


@dataclass(frozen=True, eq=False)
class TangentQP:
    """min 1/2 z^T H z + (d + D dp)^T z  subject to  lower <= A z + a <= upper, z_2 >= c.

    z = [z_1, z_2]: directions along all active constraints, then the active inequalities
    themselves, which become bounds. With dp the change of the parameters,

        a = a_p dp,  c = c_p dp,  v = v* + Z z + Y dp.

    Departure from (ctQP): one row of A with a lower and an upper limit instead of two rows; limits
    are those of unknowns v or of `path`, minus the value at the optimum.
    """

    H: np.ndarray
    """Reduced Hessian, positive definite, shape (n, n)."""
    d: np.ndarray
    """Slope at dp = 0: the multipliers of the active inequalities, shape (n,)."""
    D: np.ndarray
    """Its derivative by dp, shape (n, n_p)."""
    rows: np.ndarray
    """Indices in v of the limited unknowns: the first rows of A."""
    path_z: np.ndarray
    """Rows of A of the inequalities `path`, shape (m - rows, n)."""
    path_p: np.ndarray
    """Rows of a_p of these, shape (m - rows, n_p)."""
    lower: np.ndarray
    """Least change of each, shape (m,)."""
    upper: np.ndarray
    """Largest change, shape (m,)."""
    c_p: np.ndarray
    """Derivative of the bounds on z_2 by dp, shape (n_a, n_p)."""
    Z: np.ndarray
    """[Z_1, Z~_2], shape (n_v, n)."""
    Y: np.ndarray
    """Derivative of v by dp along the equations, shape (n_v, n_p)."""
    scale: float
    """What all costs are multiplied by."""
    cost_p: np.ndarray
    """Derivative of the cost by dp at z = 0, shape (n_p,)."""
    cost_pp: np.ndarray
    """Its second derivative, shape (n_p, n_p)."""

    @cached_property
    def A(self) -> np.ndarray:
        """Rows of the inequalities, shape (m, n)."""
        return np.concatenate((self.Z[self.rows], self.path_z))

    @cached_property
    def a_p(self) -> np.ndarray:
        """Their derivative by dp, shape (m, n_p)."""
        return np.concatenate((self.Y[self.rows], self.path_p))

    def problem(self, dp: np.ndarray) -> QP:
        """The QP for a change of the parameters, shape (n_p,)."""
        n, n_a = len(self.d), len(self.c_p)
        bound = np.full(n, -np.inf)
        bound[n - n_a :] = self.c_p @ dp
        shift = self.a_p @ dp
        return QP(
            H=self.H,
            g=self.d + self.D @ dp,
            A=self.A,
            lower=np.concatenate((bound, self.lower - shift)),
            upper=np.concatenate((np.full(n, np.inf), self.upper - shift)),
        )

    @cached_property
    def _kept(self) -> KeptDaqp:
        return KeptDaqp(self.H, self.A)

    def prepare(self) -> None:
        """Set up the solver with kept factors; otherwise the first `solve` does."""
        _ = self._kept

    def solve(self, dp: np.ndarray, *, tolerance: float = 1e-6) -> VerifiedResult:
        """Solve and verify. `change` maps the answer's x to a change of v.

        The first solver has kept factors; where its answer fails the check, all are called anew.
        """
        qp = self.problem(dp)
        found = self._kept.solve(qp)
        residual = kkt_residual(qp, found.x, found.y)
        if residual <= tolerance:
            return VerifiedResult(found, residual, SOLVERS[0], found.iterations, ())
        return solve_checked(qp, solvers=SOLVERS, tolerance=tolerance)

    def cost(self, z: np.ndarray, dp: np.ndarray) -> float:
        """Change of the cost f, to second order."""
        own = 0.5 * z @ self.H @ z + (self.d + self.D @ dp) @ z
        return float(own / self.scale + self.cost_p @ dp + 0.5 * dp @ self.cost_pp @ dp)

    def change(self, z: np.ndarray, dp: np.ndarray) -> np.ndarray:
        """Change of the unknowns v, shape (n_v,)."""
        return np.asarray(self.Z @ z + self.Y @ dp)


def condense(
    optimum: Optimum,
    at: Derivatives,
    active: np.ndarray,
    limits: tuple[np.ndarray, np.ndarray],
    Q: np.ndarray,
) -> TangentQP:
    """The condensed tangent QP at an optimum.

    [Z_1, Z_2] are orthonormal directions that keep the equations, Z_2 those of the active
    inequalities among them; Z~_2 = Z_2 (h_a,v Z_2)^-1. H becomes positive definite by adding
    h_a,v^T Lambda h_a,v with the least symmetric Lambda that leaves eigenvalues of at least `LEAST`
    of Lambda - S; this does not move the solution while active inequalities stay active.

    Args:
        optimum: The optimum.
        at: Derivatives there.
        active: Indices of the active inequalities in h.
        limits: Least and largest of the unknowns v; infinite where there is none, shape (n_v,).
        Q: Orthonormal directions that keep the dynamics, see `directions`.

    Source: Marcucci et al., sections 4.2 and 4.3. Departure: Y comes from a sparse solve, without a
        basis Z_3 of the range of g_v^T. All costs are divided by the mean curvature, for meaningful
        tolerances of the solvers.
    """
    n_a, L = len(active), at.l_vv
    ends = final_rows(at, Q)
    rest = Q @ qr(ends.T)[0][:, len(ends) :] if len(ends) else Q
    Y = _least_change(at)
    h_v = at.h_v.tocsr()
    seen = h_v[active] @ rest  # (n_a, n_v - n_g)
    turned, _ = qr(seen.T) if n_a else (np.eye(rest.shape[1]), None)
    Z1, Z2 = rest @ turned[:, n_a:], rest @ turned[:, :n_a]
    Z2 = Z2 @ np.linalg.inv(h_v[active] @ Z2) if n_a else Z2
    Z = np.hstack((Z1, Z2))
    H = Z.T @ L @ Z
    H[len(H) - n_a :, len(H) - n_a :] += _convexification(H, n_a)
    scale = 1.0 / (np.trace(H) / len(H))
    d = np.concatenate((np.zeros(Z1.shape[1]), optimum.mu[active]))
    rows, path, lower, upper = _inequalities(optimum, at, active, limits)
    path_v = at.h_v.tocsr()[path]
    c_p = -(h_v[active] @ Y + at.h_p[active])
    mixed = Y.T @ at.l_vp
    return TangentQP(
        H=scale * 0.5 * (H + H.T),
        d=scale * d,
        D=scale * (Z.T @ (L @ Y + at.l_vp)),
        rows=rows,
        path_z=path_v @ Z,
        path_p=path_v @ Y + at.h_p[path],
        lower=lower,
        upper=upper,
        c_p=c_p,
        Z=Z,
        Y=Y,
        scale=scale,
        cost_p=at.l_p - c_p.T @ optimum.mu[active],
        cost_pp=at.l_pp + Y.T @ (L @ Y) + mixed + mixed.T,
    )


def _least_change(at: Derivatives) -> np.ndarray:
    """The Y of least norm with g_v Y = -g_p, shape (n_v, n_p)."""
    n_g, n_v = at.g_v.shape
    whole = csc_array(block_array([[eye_array(n_v), at.g_v.T], [at.g_v, None]]))
    right = np.concatenate((np.zeros((n_v, at.g_p.shape[1])), -at.g_p))
    return np.asarray(splu(whole).solve(right)[:n_v])


def _convexification(H: np.ndarray, n_a: int) -> np.ndarray:
    """Lambda, shape (n_a, n_a): S + Lambda's eigenvalues clipped, closed form of section 4.3."""
    free = len(H) - n_a
    R, mixed, own = H[:free, :free], H[:free, free:], H[free:, free:]
    S = mixed.T @ np.linalg.solve(R, mixed) - own
    values, vectors = np.linalg.eigh(0.5 * (S + S.T))
    least = LEAST * float(np.trace(R)) / max(free, 1)
    return np.asarray((vectors * np.maximum(values + least, 0.0)) @ vectors.T)


def _inequalities(
    optimum: Optimum,
    at: Derivatives,
    active: np.ndarray,
    limits: tuple[np.ndarray, np.ndarray],
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Inactive inequalities: indices in v, those of `path` in h, and the limits."""
    least, most = (each - optimum.v for each in limits)
    low, high = (np.flatnonzero(np.isfinite(each)) for each in limits)
    is_active = np.zeros(len(at.h), bool)
    is_active[active] = True
    least[low[is_active[: len(low)]]] = -np.inf
    most[high[is_active[len(low) : len(low) + len(high)]]] = np.inf
    rows = np.flatnonzero(np.isfinite(least) | np.isfinite(most))
    path = len(low) + len(high) + np.flatnonzero(~is_active[len(low) + len(high) :])
    return (
        rows,
        path,
        np.concatenate((np.minimum(least[rows], 0.0), np.minimum(-at.h[path], 0.0))),
        np.concatenate((np.maximum(most[rows], 0.0), np.full(len(path), np.inf))),
    )
