"""Convex quadratic programs of thousands of sparse variables: solvers, and a check of answers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from sofa_softctl.errors import ProblemError
from sofa_softctl.qp.problem import QPResult
from sofa_softctl.qp.verified import VerifiedResult


@dataclass(frozen=True, eq=False)
class SparseQP:
    """Minimise 1/2 x^T H x + g^T x subject to lower <= [x; A x] <= upper; `problem.QP`, sparse.

    Lower equal to upper makes an equality, -inf and inf mean no limit.
    """

    H: scipy.sparse.csc_array
    """Hessian, both triangles, shape (n, n), positive semi-definite up to rounding."""
    g: np.ndarray
    """Gradient at x = 0, shape (n,)."""
    A: scipy.sparse.csc_array
    """Constraint rows, shape (m, n)."""
    lower: np.ndarray
    """Lower limits of the n variables, then of the m rows, shape (n + m,)."""
    upper: np.ndarray
    """Upper limits of the n variables, then of the m rows, shape (n + m,)."""


def solve_sparse(
    qp: SparseQP, *, solvers: Sequence[str] = ("piqp", "osqp"), tolerance: float = 1e-6
) -> VerifiedResult:
    """Ask the solvers, one after the other, until an answer passes the check.

    Args:
        qp: A QP whose numbers are of the order of 1.
        solvers: Names, see `SOLVERS`. One whose package is missing is passed over with a note.
        tolerance: Largest KKT residual of an answer that is taken [-], as `kkt_residual`.

    Returns:
        The first answer that passes, variables within their limits, or why there is none.

    Raises:
        ProblemError: No such solver.
    """
    residual, iterations, notes = math.inf, 0, []
    for name in solvers:
        if name not in SOLVERS:
            raise ProblemError(f"There is no sparse QP solver '{name}'. Known: {_names()}.")
        try:
            result = SOLVERS[name](qp)
        except ImportError:
            notes.append(f"{name}: not installed, pip install {name}.")
            continue
        iterations += result.iterations
        n = len(qp.g)
        x = np.minimum(np.maximum(result.x, qp.lower[:n]), qp.upper[:n])
        result = result._replace(x=x)
        residual = kkt_residual(qp, result.x, result.y)
        if residual <= tolerance:
            return VerifiedResult(result, residual, name, iterations, tuple(notes))
        notes.append(f"{name}: answer rejected ({result.message}), KKT residual {residual:.1e}.")
    return VerifiedResult(None, residual, "", iterations, tuple(notes))


def kkt_residual(qp: SparseQP, x: np.ndarray, y: np.ndarray) -> float:
    """Largest violation of the optimality conditions, relative to max(1, |x|, |y|).

    The definition is that of `problem.kkt_residual`: stationarity H x + g + [I; A]^T y, and
    v - clip(v + y, lower, upper) with v = [x; A x]. NaN gives inf.
    """
    n = len(qp.g)
    if not math.isfinite(np.vdot(x, x) + np.vdot(y, y)):
        return math.inf
    v = np.concatenate((x, qp.A @ x))
    stationarity = qp.H @ x + qp.g + y[:n] + qp.A.T @ y[n:]
    limits = v - np.minimum(np.maximum(v + y, qp.lower), qp.upper)
    largest = max(np.abs(stationarity).max(), np.abs(limits).max())
    return float(largest / max(1.0, np.abs(x).max(), np.abs(y).max()))


def solve_piqp(qp: SparseQP) -> QPResult:
    """piqp: a proximal interior-point method; 10 ms where osqp takes 1 s and proxqp 10 s or more.

    Measured at 200 time steps with 4 lines: 3200 variables, 1600 rows, 17 iterations.

    Source: Schwan, Jiang, Kuhn, Jones 2023, "PIQP: a proximal interior-point quadratic programming
        solver".
    """
    import piqp

    n = len(qp.g)
    lower, upper = qp.lower[:n], qp.upper[:n]
    fixed = np.flatnonzero(lower == upper)  # an interior-point method needs an interior
    low, high = qp.lower[n:], qp.upper[n:]
    equal, within = np.flatnonzero(low == high), np.flatnonzero(low != high)
    held = scipy.sparse.eye_array(n, format="csr")[fixed]
    rows = scipy.sparse.csr_array(qp.A)
    E = scipy.sparse.vstack((rows[equal], held), format="csc")
    solver = piqp.SparseSolver()
    for name, value in _PIQP.items():
        setattr(solver.settings, name, value)
    free = np.ones(n, bool)
    free[fixed] = False
    solver.setup(
        scipy.sparse.csc_matrix(qp.H),
        qp.g,
        scipy.sparse.csc_matrix(E),
        np.concatenate((low[equal], lower[fixed])),
        scipy.sparse.csc_matrix(rows[within]),
        low[within],
        high[within],
        np.where(free, lower, -np.inf),
        np.where(free, upper, np.inf),
    )
    status = solver.solve()
    found: Any = solver.result
    y = np.zeros(n + len(low))
    y[:n] = found.z_bu - found.z_bl
    y[fixed] = found.y[len(equal) :]
    y[n + equal] = found.y[: len(equal)]
    y[n + within] = found.z_u - found.z_l
    solved = status == piqp.PIQP_SOLVED
    said = "" if solved else f"it ended with {status.name}"
    return QPResult(np.array(found.x), y, "solved" if solved else "failed", found.info.iter, said)


def solve_osqp(qp: SparseQP) -> QPResult:
    """osqp: operator splitting with polishing; slow here, but its failures are others. Optional.

    Source: Stellato, Banjac, Goulart, Bemporad, Boyd 2020, "OSQP: an operator splitting solver for
        quadratic programs".
    """
    import osqp

    n = len(qp.g)
    solver = osqp.OSQP()
    solver.setup(
        scipy.sparse.triu(scipy.sparse.csc_matrix(qp.H), format="csc"),
        qp.g,
        scipy.sparse.vstack((scipy.sparse.eye(n), scipy.sparse.csc_matrix(qp.A)), format="csc"),
        qp.lower,
        qp.upper,
        **_OSQP,
    )
    found = solver.solve(raise_error=False)
    info = found.info
    outcome = "solved" if info.status == "solved" else "failed"
    x, y = np.array(found.x, float), np.array(found.y, float)
    return QPResult(x, y, outcome, info.iter, "" if outcome == "solved" else info.status)  # type: ignore[arg-type]


_PIQP = {
    "eps_abs": 1e-10,
    "eps_rel": 0.0,
    "eps_duality_gap_abs": 1e-9,
    "eps_duality_gap_rel": 1e-12,
    "max_iter": 200,
}

_OSQP: dict[str, Any] = {
    "verbose": False,
    "eps_abs": 1e-7,
    "eps_rel": 0.0,
    "max_iter": 40000,
    "polishing": True,
}

SOLVERS: dict[str, Callable[[SparseQP], QPResult]] = {"piqp": solve_piqp, "osqp": solve_osqp}
"""The solvers by name. A solver must not change the QP; nothing it says is believed unchecked."""


def _names() -> str:
    return ", ".join(sorted(SOLVERS))
