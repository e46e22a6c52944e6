"""Call QP solvers in order and accept only verified answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from sofa_softctl.qp.problem import QP, QPResult, SparseQP, kkt_residual
from sofa_softctl.qp.solvers.call import call_solver


@dataclass(frozen=True, eq=False)
class VerifiedResult:
    """Verified answer of the solvers, or the reasons why there is none."""

    result: QPResult | None
    """The answer that passed the check, its variables within their limits. None: none did."""
    residual: float
    """Its KKT residual [-], or that of the last rejected answer, or inf."""
    solver: str
    """Name of its solver; empty if there is none."""
    iterations: int
    """Iterations of all solvers that were called."""
    notes: tuple[str, ...]
    """Why answers were rejected, and which solver answered instead, one sentence each."""
    replaced: str = ""
    """Name of the solver that was to answer, where the answer is another one's; empty otherwise."""


def solve_checked(
    qp: QP | SparseQP,
    *,
    solvers: Sequence[str],
    tolerance: float,
    warm: QPResult | None = None,
    feasible: bool = False,
) -> VerifiedResult:
    """Call the solvers in order until an answer passes the check.

    Args:
        qp: A dimensionless QP, dense or sparse.
        solvers: Names of registered solvers that take such a QP.
        tolerance: Largest accepted KKT residual [-].
        warm: Earlier result to start from. Ignored if its size does not fit.
        feasible: Whether the limits are known not to contradict each other. Otherwise the first
            solver that reports it is trusted; `least_violation` verifies it.

    Returns:
        The first answer that passes, or the reasons why there is none. A second answer of the
        same solver, without the start, replaces nothing.

    Raises:
        ProblemError: There is no such solver.
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
        result = call_solver(name, qp, start)
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
            finite = np.isfinite(x).all() and np.isfinite(result.y).all()
            reported = result.message or f"reported as solved{'' if finite else ', but not finite'}"
            notes.append(f"{name}: answer rejected ({reported}), KKT residual {residual:.1e}.")
    return VerifiedResult(None, residual, "", iterations, tuple(notes))
