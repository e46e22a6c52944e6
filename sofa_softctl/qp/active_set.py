"""Dual active-set method for small strictly convex QPs, compiled, with warm starts.

min 1/2 x^T H x + g^T x   s.t.   low <= (x, G x) <= high,      H = L L^T

The method begins at the optimum without limits, x = -H^-1 g, and stays optimal for the limits that
are active. While a limit is violated, the worst one, with normal n, is approached along

    z = J_2 J_2^T n   (x moves),      r = R^-1 J_1^T n   (multipliers of the active limits fall)

where J = [J_1 J_2] = L^-T Q and Q R = L^-1 N for the normals N of the active limits. The step is
full if the limit is met, which then becomes active; it is partial if an active limit's multiplier
reaches zero first, and that limit leaves. Each step is O(n^2): J and R are updated by Givens
rotations. If z = 0 and no multiplier falls, the limits contradict each other.

J is stored transposed: its columns, which are rotated and summed up, lie together in memory, and
every inner loop is a vector operation.

Warm starts: the state of an optimum is continued after limits have become narrower.

Source: Goldfarb and Idnani 1983, "A numerically stable dual method for solving strictly convex
quadratic programs".
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sofa_softctl.base.jit import njit
from sofa_softctl.qp.problem import QP, QPResult, dense_residual

SOLVED, INFEASIBLE, NOT_BETTER, FAILED = 0, 1, 2, 3
"""Outcome of a QP or a piece: solved; infeasible; no better than the known solution; not
converged."""
ROW_TOLERANCE = 1e-10
"""Feasibility tolerance of a scaled row."""
PIVOT_MIN = 1e-11
"""Smallest pivot of a Hessian with a unit diagonal that counts as strictly convex."""
RESIDUAL_MAX = 1e-8
"""Largest KKT residual of an answer of `solve_active_set` [-]."""
DEPENDENT_EXCESS_MAX = 1e-9
"""Rounding tolerance of `solve_strictly_convex` for limits that depend on each other."""


class ActiveSet(NamedTuple):
    """State of a dual active-set method: the optimum subject to the active limits.

    Limits are numbered as in `qp.QP`: limits of the n variables first, then limits of the rows.
    """

    x: np.ndarray
    """Optimum, shape (n,)."""
    J: np.ndarray
    """(L^-T Q)^T, with L L^T the Hessian, and Q R the active limits' normals by L^-1, (n, n)."""
    R: np.ndarray
    """Upper triangle, shape (n, n)."""
    active: np.ndarray
    """Numbers of the active limits, the first `number[0]` of (n,)."""
    side: np.ndarray
    """1 at a lower limit, -1 at an upper one, shape (n,)."""
    dual: np.ndarray
    """Multipliers, at least zero but for equations, shape (n,)."""
    number: np.ndarray
    """Number of active limits, shape (1,)."""


def solve_active_set(qp: QP, warm: QPResult | None = None) -> QPResult:
    """Solve a QP; daqp takes over where H is semi-definite or the limits contradict each other."""
    arrays = (np.array(array, order="C") for array in (qp.H, qp.g, qp.A, qp.lower, qp.upper))
    outcome, x, y, residual, iterations = solve_strictly_convex(*arrays)
    if outcome == SOLVED and residual <= RESIDUAL_MAX:
        return QPResult(x, y, "solved", iterations)
    from sofa_softctl.qp.solvers.daqp import solve_daqp

    return solve_daqp(qp, warm)


@njit(separate=True)
def solve_strictly_convex(
    H: np.ndarray, g: np.ndarray, A: np.ndarray, lower: np.ndarray, upper: np.ndarray
) -> tuple[int, np.ndarray, np.ndarray, float, int]:
    """Solve a dimensionless QP with a unit diagonal of H; arguments as in `qp.QP`.

    Returns:
        SOLVED, INFEASIBLE or FAILED, also if H is not positive definite; x within its limits and y
        as in `QPResult`; the KKT residual [-]; and the number of active limits, plus one.
    """
    n, m = len(g), len(A)
    L, x, y = np.empty((n, n)), np.zeros(n), np.zeros(n + m)
    if not cholesky(H, L, PIVOT_MIN):
        return FAILED, x, y, np.inf, 1
    a = unconstrained_optimum(L, g)
    outcome = dual_active_set(a, A, lower, upper, DEPENDENT_EXCESS_MAX)
    for i in range(n):
        x[i] = min(max(a.x[i], lower[i]), upper[i])
    for j in range(a.number[0]):
        y[a.active[j]] = -a.side[j] * a.dual[j]
    return outcome, x, y, dense_residual(H, g, A, lower, upper, x, y), a.number[0] + 1


@njit(inner=True, separate=True, fastmath=True)
def cholesky(H: np.ndarray, L: np.ndarray, floor: float) -> bool:
    """Lower factor of H; False where a pivot is below `floor`."""
    n = len(H)
    for j in range(n):
        for i in range(j, n):
            value = H[i, j]
            for l in range(j):
                value -= L[i, l] * L[j, l]
            if i == j:
                if not value > floor:
                    return False
                L[j, j] = np.sqrt(value)
            else:
                L[i, j] = value / L[j, j]
        for i in range(j):
            L[i, j] = 0.0
    return True


@njit(inner=True, separate=True, fastmath=True)
def unconstrained_optimum(L: np.ndarray, g: np.ndarray) -> ActiveSet:
    """Return the optimum of 1/2 x^T L L^T x + g^T x without limits."""
    n = len(g)
    J, x = np.zeros((n, n)), np.zeros(n)
    for j in range(n):  # J = L^-1, row by row
        J[j, j] = 1.0
        for l in range(j):
            factor = L[j, l]
            for i in range(l + 1):
                J[j, i] -= factor * J[l, i]
        for i in range(j + 1):
            J[j, i] /= L[j, j]
    for j in range(n):
        value = 0.0
        for i in range(j + 1):
            value += J[j, i] * g[i]
        for i in range(j + 1):
            x[i] -= J[j, i] * value
    return ActiveSet(
        x, J, np.zeros((n, n)), np.empty(n, np.int64), np.empty(n), np.zeros(n),
        np.zeros(1, np.int64),
    )  # fmt: skip


@njit(inner=True, separate=True, fastmath=True)
def dual_active_set(
    a: ActiveSet, G: np.ndarray, low: np.ndarray, high: np.ndarray, doubt: float
) -> int:
    """Continue to the optimum subject to low <= (x, G x) <= high, in place.

    Args:
        a: Start, changed in place. Since it was computed, inactive limits and equations may have
            become narrower, and limits may have been added.
        G: Rows, of norm about one, shape (m, n).
        low: Shape (n + m,).
        high: Shape (n + m,). Equal to `low` for an equation.
        doubt: Rounding tolerance for a limit that depends on the active ones.

    Returns:
        SOLVED, INFEASIBLE or FAILED.

    Source: Goldfarb and Idnani 1983, "A numerically stable dual method for solving strictly convex
        quadratic programs".
    """
    x, J, R, active, side, dual, number = a
    n, m = len(x), len(G)
    on = np.zeros(n + m, np.bool_)
    q = number[0]
    for j in range(q):
        on[active[j]] = True
    d, z, r = np.empty(n), np.empty(n), np.empty(n)
    for _ in range(50 + 10 * (n + m)):
        worst, p, s, missing = ROW_TOLERANCE, -1, 1.0, 0.0
        for i in range(n + m):
            if on[i] or (low[i] == -np.inf and high[i] == np.inf):
                continue
            value = 0.0
            if i < n:
                value = x[i]
            else:
                for j in range(n):
                    value += G[i - n, j] * x[j]
            excess = max(low[i] - value, value - high[i])
            weight = excess + 1e6 if low[i] == high[i] and excess > ROW_TOLERANCE else excess
            if weight > worst * (1.0 + 1e-9):  # equations come first; ties: the first row
                worst, p, missing = weight, i, excess
                s = 1.0 if low[i] - value >= value - high[i] else -1.0
        if p < 0:
            number[0] = q
            return SOLVED
        dual_p = 0.0
        while True:
            total = free = 0.0
            for j in range(n):
                value = 0.0
                if p < n:
                    value = J[j, p]
                else:
                    for i in range(n):
                        value += J[j, i] * G[p - n, i]
                d[j] = s * value
                total += d[j] * d[j]
                if j >= q:
                    free += d[j] * d[j]
            z[:] = 0.0
            for j in range(q, n):
                for i in range(n):
                    z[i] += J[j, i] * d[j]
            for i in range(q - 1, -1, -1):
                value = d[i]
                for j in range(i + 1, q):
                    value -= R[i, j] * r[j]
                r[i] = value / R[i, i]
            partial, leaves = np.inf, -1
            for j in range(q):
                if r[j] > 1e-13 and low[active[j]] != high[active[j]]:
                    ratio = dual[j] / r[j]
                    if ratio < partial:
                        partial, leaves = ratio, j
            full = missing / free if free > 1e-13 * total else np.inf
            step = min(partial, full)
            if step == np.inf:
                if missing > doubt:
                    return INFEASIBLE
                on[p] = True  # a row that repeats others, up to rounding
                break
            for j in range(q):
                dual[j] -= step * r[j]
                if low[active[j]] != high[active[j]]:
                    dual[j] = max(dual[j], 0.0)
            dual_p += step
            if full < np.inf:
                for i in range(n):
                    x[i] += step * z[i]
                missing -= step * free
            if full <= partial:  # the limit is met: it becomes active
                _activate(J, R, d, z, q)
                active[q], side[q], dual[q] = p, s, dual_p
                on[p] = True
                q += 1
                break
            on[active[leaves]] = False  # a limit leaves, and the step continues
            for j in range(leaves, q - 1):
                active[j], side[j], dual[j] = active[j + 1], side[j + 1], dual[j + 1]
            q -= 1
            _let_go(J, R, leaves, q)
    return FAILED


@njit(inner=True, fastmath=True)
def _activate(J: np.ndarray, R: np.ndarray, d: np.ndarray, z: np.ndarray, q: int) -> None:
    """Append a column to R, from d = J^T normal, by a reflection of J_2.

    Its product with J_2 follows from z = J_2 d_2, so that it costs half a rotation's.
    """
    n, square = len(J), 0.0
    for j in range(q, n):
        square += d[j] * d[j]
    length = np.sqrt(square)
    diagonal = -length if d[q] > 0.0 else length
    v = d[q] - diagonal
    half = length * (length + abs(d[q]))  # of the square of the reflection's vector
    if half > 0.0:
        first = J[q].copy()
        for j in range(q, n):
            factor = (v if j == q else d[j]) / half
            for i in range(n):
                J[j, i] -= factor * (z[i] - diagonal * first[i])
    for i in range(q):
        R[i, q] = d[i]
    R[q, q] = diagonal


@njit(inner=True, fastmath=True)
def _let_go(J: np.ndarray, R: np.ndarray, leaves: int, q: int) -> None:
    """Remove a column of R; q remain."""
    n = len(J)
    for j in range(leaves, q):
        for i in range(j + 2):
            R[i, j] = R[i, j + 1]
    for j in range(leaves, q):
        a, b = R[j, j], R[j + 1, j]
        if b == 0.0:
            continue
        h = np.sqrt(a * a + b * b)
        c, t = a / h, b / h
        for l in range(j, q):
            u, v = R[j, l], R[j + 1, l]
            R[j, l], R[j + 1, l] = c * u + t * v, c * v - t * u
        for i in range(n):
            u, v = J[j, i], J[j + 1, i]
            J[j, i], J[j + 1, i] = c * u + t * v, c * v - t * u
