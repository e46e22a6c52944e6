"""Convex quadratic programs in standard form, their results, and the KKT residual."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from sofa_softctl.base.jit import njit

if TYPE_CHECKING:
    from scipy.sparse import csc_array


@dataclass(frozen=True, eq=False)
class QP:
    """Minimise 1/2 x^T H x + g^T x subject to lower <= [x; A x] <= upper.

    Lower equal to upper makes an equality, -inf and inf mean no limit.
    """

    H: np.ndarray
    """Hessian, shape (n, n), symmetric and positive semi-definite up to rounding."""
    g: np.ndarray
    """Gradient at x = 0, shape (n,)."""
    A: np.ndarray
    """Constraint rows, shape (m, n)."""
    lower: np.ndarray
    """Lower limits of the n variables, then of the m rows, shape (n + m,)."""
    upper: np.ndarray
    """Upper limits of the n variables, then of the m rows, shape (n + m,)."""


@dataclass(frozen=True, eq=False)
class SparseQP:
    """A `QP` of thousands of variables with sparse matrices."""

    H: csc_array
    """Hessian, both triangles, shape (n, n), positive semi-definite up to rounding."""
    g: np.ndarray
    """Gradient at x = 0, shape (n,)."""
    A: csc_array
    """Constraint rows, shape (m, n)."""
    lower: np.ndarray
    """Lower limits of the n variables, then of the m rows, shape (n + m,)."""
    upper: np.ndarray
    """Upper limits of the n variables, then of the m rows, shape (n + m,)."""


class QPResult(NamedTuple):
    """Result of a QP solver, to be verified by `kkt_residual`."""

    x: np.ndarray
    """Minimiser, shape (n,)."""
    y: np.ndarray
    """Multipliers of the limits, shape (n + m,): H x + g + [I; A]^T y = 0, positive at an upper
    limit, negative at a lower one, zero between."""
    outcome: Literal["solved", "infeasible", "failed"]
    """Outcome that the solver reports; "infeasible" if the limits contradict each other."""
    iterations: int = 0
    """Iterations, as counted by the solver."""
    message: str = ""
    """Message of the solver; empty if all went well."""


def no_solution(
    qp: QP | SparseQP, outcome: Literal["infeasible", "failed"], iterations: int, message: str
) -> QPResult:
    """Return a result without a solution: x and y are NaN."""
    x, y = np.full_like(qp.g, np.nan), np.full_like(qp.lower, np.nan)
    return QPResult(x, y, outcome, iterations, message)


QPSolver = Callable[[QP, "QPResult | None"], QPResult]
"""A function (qp, warm) -> QPResult. It must not change qp. `warm` is the result for a similar
QP of the same size, or None. If the solution that starts from it fails the check, the solver is
called again without it."""
SparseQPSolver = Callable[[SparseQP, "QPResult | None"], QPResult]
"""A `QPSolver` of sparse QPs."""


def kkt_residual(qp: QP | SparseQP, x: np.ndarray, y: np.ndarray) -> float:
    """Return the largest violation of the optimality conditions, relative to max(1, |x|, |y|).

    It is the larger of two numbers, which both vanish at an optimum and only there:

        stationarity     |H x + g + [I; A]^T y|
        limits           |v - clip(v + y, lower, upper)|        with v = [x; A x]

    The second is, for each limit, its violation, or else the smaller of its gap and its multiplier
    (complementarity), or a multiplier of the wrong sign. The sum v + y is meaningful because the QP
    is dimensionless: see `problem.build_qp`. NaN and wrong shapes give inf.

    Args:
        qp: The problem.
        x: Proposed minimiser, shape (n,).
        y: Proposed multipliers, shape (n + m,), signs as in `QPResult`.

    Returns:
        The residual [-], at least 0.

    Source: the projected form of the KKT conditions, as in Facchinei and Pang 2003, section 1.5.
    """
    n = len(qp.g)
    if x.shape != (n,) or y.shape != qp.lower.shape:
        return math.inf
    if isinstance(qp, QP):
        return dense_residual(qp.H, qp.g, qp.A, qp.lower, qp.upper, x, y)
    if not math.isfinite(np.vdot(x, x) + np.vdot(y, y)):
        return math.inf
    v = np.concatenate((x, qp.A @ x))
    stationarity = qp.H @ x + qp.g + y[:n] + y[n:] @ qp.A
    limits = v - np.minimum(np.maximum(v + y, qp.lower), qp.upper)
    largest = max(np.abs(stationarity).max(), np.abs(limits).max())
    return float(largest / max(1.0, np.abs(x).max(), np.abs(y).max()))


@njit
def dense_residual(
    H: np.ndarray,
    g: np.ndarray,
    A: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    x: np.ndarray,
    y: np.ndarray,
) -> float:
    """Return `kkt_residual` of a dense QP; arguments as there, of shapes that fit."""
    n, m = len(g), len(A)
    largest, size, squares = 0.0, 1.0, 0.0
    for i in range(n):
        squares += x[i] * x[i]
        total = g[i] + y[i]
        for j in range(n):
            total += H[i, j] * x[j]
        for k in range(m):
            total += y[n + k] * A[k, i]
        largest = max(largest, abs(total))
        size = max(size, abs(x[i]))
        if not np.isfinite(total):
            return np.inf
    for k in range(n + m):
        squares += y[k] * y[k]
        value = 0.0
        if k < n:
            value = x[k]
        else:
            for j in range(n):
                value += A[k - n, j] * x[j]
        excess = abs(value - min(max(value + y[k], lower[k]), upper[k]))
        if not np.isfinite(excess):
            return np.inf
        largest = max(largest, excess)
        size = max(size, abs(y[k]))
    return largest / size if np.isfinite(squares) else np.inf
