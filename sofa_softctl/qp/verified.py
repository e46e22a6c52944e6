"""Asking QP solvers, and believing only what passes the check."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from sofa_softctl.qp.problem import QP, QPResult, SparseQP, kkt_residual
from sofa_softctl.qp.solvers import find


@dataclass(frozen=True, eq=False)
class VerifiedResult:
    """What asking the solvers came to."""

    result: QPResult | None
    """The answer that passed the check, its variables within their limits. None = no answer did."""
    residual: float
    """Its KKT residual [-], or that of the last answer that was rejected, or inf."""
    solver: str
    """Name of the solver that gave it; empty if none did."""
    iterations: int
    """Iterations of all solvers that were asked."""
    notes: tuple[str, ...]
    """Why answers were rejected, one sentence each."""


def solve_checked(
    qp: QP | SparseQP,
    *,
    solvers: Sequence[str],
    tolerance: float,
    warm: QPResult | None = None,
    feasible: bool = False,
) -> VerifiedResult:
    """Ask the solvers, one after the other, until an answer passes the check.

    Args:
        qp: A dimensionless QP, dense or sparse.
        solvers: Names of registered solvers that take such a QP.
        tolerance: Largest KKT residual of an answer that is taken [-].
        warm: Earlier result to start from. Ignored if its size does not fit.
        feasible: Whether it is known that the limits do not contradict each other. Otherwise the
            first solver that reports it is believed; `closest` finds out whether it was right.

    Returns:
        The first answer that passes, or the reasons why there is none.

    Raises:
        ProblemError: There is no such solver.
    """
    if (qp.lower > qp.upper).any():
        return VerifiedResult(None, np.inf, "", 0, ("The limits contradict each other.",))
    if warm is not None and (warm.x.shape != qp.g.shape or warm.y.shape != qp.lower.shape):
        warm = None
    n, sparse = len(qp.g), isinstance(qp, SparseQP)
    residual, iterations = np.inf, 0
    notes: list[str] = []
    starts = (None,) if warm is None else (warm, None)
    for name, start in product(solvers, starts):
        result = find(name, sparse=sparse)(qp, start)
        iterations += result.iterations
        if result.x.shape == (n,):
            x = np.minimum(np.maximum(result.x, qp.lower[:n]), qp.upper[:n])
            result = result._replace(x=x)
        residual = kkt_residual(qp, result.x, result.y)
        if residual <= tolerance:
            return VerifiedResult(result, residual, name, iterations, tuple(notes))
        if start is not None:
            continue  # the start may be to blame: nothing to tell before the answer without it
        if result.outcome == "infeasible":
            notes.append(f"{name}: the limits contradict each other.")
            if not feasible:
                break
        else:
            said = result.message or "said to be solved"
            notes.append(f"{name}: answer rejected ({said}), KKT residual {residual:.1e}.")
    return VerifiedResult(None, residual, "", iterations, tuple(notes))
