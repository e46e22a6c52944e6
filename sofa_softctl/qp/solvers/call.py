"""Call a solver by its name; what is no answer names the solver and its plugin."""

from __future__ import annotations

from typing import Any

import numpy as np

from sofa_softctl.errors import PluginError
from sofa_softctl.qp.problem import QP, QPResult, SparseQP, no_answer
from sofa_softctl.qp.solvers.registry import describe, find, is_built_in

OUTCOMES = ("solved", "infeasible", "failed")
"""Outcomes that a solver may report, see `QPResult`."""


def call_solver(name: str, qp: QP | SparseQP, warm: QPResult | None = None) -> QPResult:
    """Call a registered solver.

    Args:
        name: Its name; a sparse QP goes to the sparse solver of that name.
        qp: The problem.
        warm: Earlier result to start from, or None.

    Returns:
        Its result, with arrays of the QP's shapes. Their numbers are not checked.

    Raises:
        ProblemError: There is no such solver.
        PluginError: It raised, or returned something else than a QPResult of this QP; one line
            names the solver and its plugin. What it raised is the cause.
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
        return no_answer(qp, result.outcome, result.iterations, result.message)
    return result  # type: ignore[no-any-return]


def _fault(result: Any, qp: QP | SparseQP) -> str:
    """What is wrong with the type of a result; empty if nothing is."""
    if not isinstance(result, QPResult):
        return f"{_named(result)}; expected a QPResult"
    if result.outcome not in OUTCOMES:
        known = ", ".join(map(repr, OUTCOMES))
        return f"the outcome {result.outcome!r}; expected one of {known}"
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
            return f"{name} as {_named(array)}; {expected}"
        if array.dtype.kind not in "fiu":
            return f"{name} of dtype {array.dtype}; {expected}"
        if array.shape != (count,):
            return f"{name} of shape {array.shape}; {expected}"
    return ""


def _fits(result: QPResult, qp: QP | SparseQP) -> bool:
    """Whether x and y have the QP's shapes: where there is no answer, they may be anything."""
    return np.shape(result.x) == qp.g.shape and np.shape(result.y) == qp.lower.shape


def _named(value: Any) -> str:
    return "None" if value is None else f"a value of type '{type(value).__name__}'"
