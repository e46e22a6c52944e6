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
from sofa_softctl.qp.solvers.daqp import FixedMatrixDaqp
from sofa_softctl.qp.verified import VerifiedResult, solve_checked

SOLVERS = ("daqp", "proxqp")
"""QP solvers in the order of their calls; solutions are verified."""


@dataclass(frozen=True, eq=False)
class TangentQP:
    """min 1/2 z^T H z + (d + D dp)^T z  subject to  lower <= A z + a <= upper, z_2 >= c.

    z = [z_1, z_2]: directions along all active constraints, then the active inequalities
    themselves, which become bounds. With dp the change of the parameters,

        a = a_p dp,  c = c_p dp,  v = v* + Z z + Y dp.

    Departure from (ctQP): one row of A has a lower and an upper limit, instead of two rows. The
    limits belong to unknowns v or to `path`, relative to the values at the optimum.
    """

    H: np.ndarray
    """Reduced Hessian, positive definite, shape (n, n)."""
    d: np.ndarray
    """Slope at dp = 0: the multipliers of the active inequalities, shape (n,)."""
    D: np.ndarray
    """Derivative of the slope by dp, shape (n, n_p)."""
    rows: np.ndarray
    """Indices in v of the limited unknowns: the first rows of A."""
    path_z: np.ndarray
    """Rows of A of the inequalities `path`, shape (m - rows, n)."""
    path_p: np.ndarray
    """Rows of a_p of the inequalities `path`, shape (m - rows, n_p)."""
    lower: np.ndarray
    """Smallest change of each row of A, shape (m,)."""
    upper: np.ndarray
    """Largest change of each row of A, shape (m,)."""
    c_p: np.ndarray
    """Derivative of the bounds on z_2 by dp, shape (n_a, n_p)."""
    Z: np.ndarray
    """[Z_1, Z~_2], shape (n_v, n)."""
    Y: np.ndarray
    """Derivative of v by dp along the equations, shape (n_v, n_p)."""
    scale: float
    """Scale of H, d and D relative to the cost."""
    cost_p: np.ndarray
    """Derivative of the cost by dp at z = 0, shape (n_p,)."""
    cost_pp: np.ndarray
    """Second derivative of the cost by dp at z = 0, shape (n_p, n_p)."""

    @cached_property
    def A(self) -> np.ndarray:
        """Rows of the inequalities, shape (m, n)."""
        return np.concatenate((self.Z[self.rows], self.path_z))

    @cached_property
    def a_p(self) -> np.ndarray:
        """Derivative of the rows of the inequalities by dp, shape (m, n_p)."""
        return np.concatenate((self.Y[self.rows], self.path_p))

    def problem(self, dp: np.ndarray) -> QP:
        """Return the QP for a change of the parameters, shape (n_p,)."""
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
    def _solver(self) -> FixedMatrixDaqp:
        return FixedMatrixDaqp(self.H, self.A)

    def prepare(self) -> None:
        """Factorise the QP; otherwise the first `solve` does."""
        _ = self._solver

    def solve(self, dp: np.ndarray, *, tolerance: float = 1e-6) -> VerifiedResult:
        """Solve and verify; `change` maps the solution x to a change of v.

        The first solver reuses its factors. If its solution fails the check, all solvers are called
        without them.
        """
        qp = self.problem(dp)
        solution = self._solver.solve(qp)
        residual = kkt_residual(qp, solution.x, solution.y)
        if residual <= tolerance:
            return VerifiedResult(solution, residual, SOLVERS[0], solution.iterations, ())
        return solve_checked(qp, solvers=SOLVERS, tolerance=tolerance)

    def cost(self, z: np.ndarray, dp: np.ndarray) -> float:
        """Return the change of the cost f, to second order."""
        qp_cost = 0.5 * z @ self.H @ z + (self.d + self.D @ dp) @ z
        return float(qp_cost / self.scale + self.cost_p @ dp + 0.5 * dp @ self.cost_pp @ dp)

    def change(self, z: np.ndarray, dp: np.ndarray) -> np.ndarray:
        """Return the change of the unknowns v, shape (n_v,)."""
        return np.asarray(self.Z @ z + self.Y @ dp)


def condense(
    optimum: Optimum,
    at: Derivatives,
    active: np.ndarray,
    limits: tuple[np.ndarray, np.ndarray],
    Q: np.ndarray,
) -> TangentQP:
    """Condense the tangent QP at an optimum.

    [Z_1, Z_2] are orthonormal directions that keep the equations; Z_1 also keeps the active
    inequalities, and Z~_2 = Z_2 (h_a,v Z_2)^-1. H becomes positive definite by adding h_a,v^T
    Lambda h_a,v, with the smallest symmetric Lambda such that the eigenvalues of Lambda - S are at
    least epsilon. This does not move the solution while active inequalities stay active.

    Args:
        optimum: The optimum.
        at: Derivatives there.
        active: Indices of the active inequalities in h.
        limits: Lower and upper limits of the unknowns v, possibly infinite, shape (n_v,).
        Q: Orthonormal directions that keep the dynamics, see `directions`.

    Source: Marcucci et al., sections 4.2 and 4.3. Departure: Y comes from a sparse solve, without a
        basis Z_3 of the range of g_v^T. All costs are divided by the mean curvature, for meaningful
        tolerances of the solvers.
    """
    n_a, L = len(active), at.l_vv
    ends = final_rows(at, Q)
    free = Q @ qr(ends.T)[0][:, len(ends) :] if len(ends) else Q
    Y = _least_change(at)
    h_v = at.h_v.tocsr()
    active_rest = h_v[active] @ free  # (n_a, n_v - n_g)
    rotation, _ = qr(active_rest.T) if n_a else (np.eye(free.shape[1]), None)
    Z1, Z2 = free @ rotation[:, n_a:], free @ rotation[:, :n_a]
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
    """Return the Y of least norm with g_v Y = -g_p, shape (n_v, n_p)."""
    n_g, n_v = at.g_v.shape
    kkt = csc_array(block_array([[eye_array(n_v), at.g_v.T], [at.g_v, None]]))
    right = np.concatenate((np.zeros((n_v, at.g_p.shape[1])), -at.g_p))
    return np.asarray(splu(kkt).solve(right)[:n_v])


def _convexification(H: np.ndarray, n_a: int) -> np.ndarray:
    """Return Lambda by clipping the eigenvalues of S + epsilon, section 4.3, shape (n_a, n_a)."""
    free = len(H) - n_a
    R, mixed, active_block = H[:free, :free], H[:free, free:], H[free:, free:]
    S = mixed.T @ np.linalg.solve(R, mixed) - active_block
    values, vectors = np.linalg.eigh(0.5 * (S + S.T))
    eigenvalue_min = 1e-6 * float(np.trace(R)) / max(free, 1)  # epsilon in the paper
    return np.asarray((vectors * np.maximum(values + eigenvalue_min, 0.0)) @ vectors.T)


def _inequalities(
    optimum: Optimum,
    at: Derivatives,
    active: np.ndarray,
    limits: tuple[np.ndarray, np.ndarray],
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the inactive inequalities: indices in v, indices of `path` in h, and limits."""
    lower, upper = (limit - optimum.v for limit in limits)
    low, high = (np.flatnonzero(np.isfinite(limit)) for limit in limits)
    is_active = np.zeros(len(at.h), bool)
    is_active[active] = True
    lower[low[is_active[: len(low)]]] = -np.inf
    upper[high[is_active[len(low) : len(low) + len(high)]]] = np.inf
    rows = np.flatnonzero(np.isfinite(lower) | np.isfinite(upper))
    path = len(low) + len(high) + np.flatnonzero(~is_active[len(low) + len(high) :])
    return (
        rows,
        path,
        np.concatenate((np.minimum(lower[rows], 0.0), np.minimum(-at.h[path], 0.0))),
        np.concatenate((np.maximum(upper[rows], 0.0), np.full(len(path), np.inf))),
    )
