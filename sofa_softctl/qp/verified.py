"""Call QP solvers in order and accept only verified solutions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from sofa_softctl.errors import PluginError
from sofa_softctl.qp.problem import QP, QPResult, SparseQP, kkt_residual, no_solution
from sofa_softctl.qp.solvers.registry import describe, find, is_built_in

OUTCOMES = ("solved", "infeasible", "failed")
"""Outcomes that a solver may report, see `QPResult`."""


@dataclass(frozen=True, eq=False)
class VerifiedResult:
    """Verified solution of a QP, or the reasons why there is none."""

    result: QPResult | None
    """Solution that passed the check, its variables within their limits; None if none did."""
    residual: float
    """KKT residual of the solution, or else of the last rejected one [-]; inf if there is none."""
    solver: str
    """Name of the solver; "" without a solution."""
    iterations: int
    """Iterations of all solvers that were called."""
    notes: tuple[str, ...]
    """Reasons for rejected solutions, and the solver that replaced another, one sentence each."""
    replaced: str = ""
    """Name of the first solver if another one gave the solution, or ""."""


def solve_checked(
    qp: QP | SparseQP,
    *,
    solvers: Sequence[str],
    tolerance: float,
    warm: QPResult | None = None,
    feasible: bool = False,
) -> VerifiedResult:
    """Call the solvers in order until a solution passes the check.

    Args:
        qp: A dimensionless QP, dense or sparse.
        solvers: Names of registered solvers that take such a QP.
        tolerance: Largest accepted KKT residual [-].
        warm: Earlier result to start from. Ignored if its size does not fit.
        feasible: The limits are known not to contradict each other. Otherwise the first solver that
            reports a contradiction is trusted; `least_violation` verifies it.

    Returns:
        The first solution that passes, or the reasons why there is none. A second solution of the
        same solver, without the start, does not count as a replacement.

    Raises:
        ProblemError: A name is unknown.
        PluginError: A solver raised, or returned no QPResult.
    """
    if (qp.lower > qp.upper).any():
        return VerifiedResult(None, np.inf, "", 0, ("The limits contradict each other.",))
    if warm is not None and (warm.x.shape != qp.g.shape or warm.y.shape != qp.lower.shape):
        warm = None
    n = len(qp.g)
    residual, iterations = np.inf, 0
    notes: list[str] = []
    starts = (None,) if warm is None else (warm, None)
    for name, start in product(solvers, starts):
        result = _call(name, qp, start)
        iterations += result.iterations
        x = np.minimum(np.maximum(result.x, qp.lower[:n]), qp.upper[:n])
        result = result._replace(x=x)
        residual = kkt_residual(qp, result.x, result.y)
        if residual <= tolerance:
            replaced = "" if name == solvers[0] else solvers[0]
            if replaced:
                notes.append(f"{name} answered in place of {replaced}.")
            return VerifiedResult(result, residual, name, iterations, tuple(notes), replaced)
        if start is not None:
            continue  # the start may be to blame: no note before the answer without it
        if result.outcome == "infeasible":
            notes.append(f"{name}: the limits contradict each other.")
            if not feasible:
                break
        else:
            is_finite = np.isfinite(x).all() and np.isfinite(result.y).all()
            reported = (
                result.message or f"reported as solved{'' if is_finite else ', but not finite'}"
            )
            notes.append(f"{name}: answer rejected ({reported}), KKT residual {residual:.1e}.")
    return VerifiedResult(None, residual, "", iterations, tuple(notes))


def _call(name: str, qp: QP | SparseQP, warm: QPResult | None = None) -> QPResult:
    """Call a registered solver.

    Args:
        name: Name of the solver; a sparse QP goes to the sparse solver of that name.
        qp: The problem.
        warm: Earlier result to start from, or None.

    Returns:
        The solver's result, with arrays of the QP's shapes. Their numbers are not checked.

    Raises:
        ProblemError: The name is unknown.
        PluginError: The solver raised, or returned something else than a QPResult of this QP; one
            line names the solver and its plugin.
    """
    sparse = isinstance(qp, SparseQP)
    solve = find(name, sparse=sparse)
    try:
        result = solve(qp, warm)
    except Exception as error:
        if is_built_in(name, solve):
            raise
        raise PluginError(
            f"{describe(name, sparse=sparse)} raised {type(error).__name__}: {error}"
        ) from error
    fault = _fault(result, qp)
    if fault:
        raise PluginError(f"{describe(name, sparse=sparse)} returned {fault}.")
    if result.outcome != "solved" and not _fits(result, qp):
        return no_solution(qp, result.outcome, result.iterations, result.message)
    return result  # type: ignore[no-any-return]


def _fault(result: Any, qp: QP | SparseQP) -> str:
    """Return what is wrong with the type of a result, or ""."""
    if not isinstance(result, QPResult):
        return f"{_type_name(result)}; expected a QPResult"
    if result.outcome not in OUTCOMES:
        outcomes = ", ".join(map(repr, OUTCOMES))
        return f"the outcome {result.outcome!r}; expected one of {outcomes}"
    if not isinstance(result.iterations, int | np.integer):
        return f"the iterations {result.iterations!r}; expected an int"
    if not isinstance(result.message, str):
        return f"the message {result.message!r}; expected a text"
    if result.outcome != "solved":
        return ""
    n, limits = len(qp.g), len(qp.lower)
    for name, array, count in (("x", result.x, n), ("y", result.y, limits)):
        expected = f"expected an array of {count} floats, shape ({count},)"
        if not isinstance(array, np.ndarray):
            return f"{name} as {_type_name(array)}; {expected}"
        if array.dtype.kind not in "fiu":
            return f"{name} of dtype {array.dtype}; {expected}"
        if array.shape != (count,):
            return f"{name} of shape {array.shape}; {expected}"
    return ""


def _fits(result: QPResult, qp: QP | SparseQP) -> bool:
    """Return True if x and y have the QP's shapes; without a solution they may be anything."""
    return np.shape(result.x) == qp.g.shape and np.shape(result.y) == qp.lower.shape


def _type_name(value: Any) -> str:
    return "None" if value is None else f"a value of type '{type(value).__name__}'"
