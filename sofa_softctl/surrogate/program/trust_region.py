"""Verified solutions of QPs, trust regions, and first-order conditions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sofa_softctl.qp.problem import QPResult, SparseQP
from sofa_softctl.qp.verified import solve_checked


class Answers:
    """Solver of feasible QPs with verified solutions, and notes on the solvers.

    Args:
        solvers: Sparse QP solvers, in the order of their calls.
    """

    def __init__(self, solvers: Sequence[str]):
        self.solvers = solvers
        self.notes: dict[str, None] = {}
        """Notes of the solvers, each once."""
        self._replaced: list[tuple[str, ...]] = []  # notes of each answer by another solver

    def of(self, qp: SparseQP) -> QPResult | None:
        """Solve a QP; return None if no solver's solution passes the check."""
        verified = solve_checked(qp, solvers=self.solvers, tolerance=1e-6, feasible=True)
        self.notes.update(dict.fromkeys(verified.notes))
        if verified.replaced:
            self._replaced.append(verified.notes)
        return verified.result

    @property
    def fallback(self) -> str:
        """Note on solutions by other solvers than the first, or ""."""
        if not self._replaced:
            return ""
        reason, count = " ".join(self._replaced[-1]), len(self._replaced)
        return (
            f"Another QP solver's answer was taken for {count} of the QPs. The last time: {reason}"
        )


def rounding(merit: float) -> float:
    """Return the rounding error of a merit."""
    return 1e-13 * max(1.0, abs(merit))


def next_radius(
    radius: float,
    step_size: float,
    *,
    actual: float,
    predicted: float,
    noise: float,
    radius_max: float,
) -> float:
    """Return the trust region after a step.

    Args:
        radius: Trust region of the step.
        step_size: Largest change in it.
        actual: Decrease of the merit.
        predicted: Decrease predicted by the QP.
        noise: Rounding error of the merit.
        radius_max: Largest trust region.
    """
    if actual < 0.25 * predicted - noise:
        return 0.25 * min(radius, step_size)
    if actual > 0.75 * predicted and step_size > 0.9 * radius:
        return min(2.0 * radius, radius_max)
    return radius


def violation(qp: SparseQP, x: np.ndarray, y: np.ndarray, trusted: np.ndarray, m: int = 0) -> float:
    """Return the violation of the problem's optimality conditions at x = 0 by a QP's multipliers.

    The multipliers satisfy the conditions of the QP at x. Those of the problem at 0 do not contain
    H x and the multipliers of the trust region, and a limit reached only at x must have no
    multiplier.

    Args:
        qp: The QP, whose first variables are changes of the problem's.
        x: Changes of the problem's variables, shape (n,).
        y: Multipliers of all limits, then of all rows.
        trusted: Mask of lower and upper bounds of x that come from the trust region, shape (2, n).
        m: Number of the first rows that are equations.
    """
    n = len(x)
    radius_multipliers = np.where(trusted[0], np.minimum(y[:n], 0.0), 0.0)
    radius_multipliers += np.where(trusted[1], np.maximum(y[:n], 0.0), 0.0)
    slope = qp.H[:n, :n] @ x + radius_multipliers
    limits = np.minimum(np.abs(y[:n] - radius_multipliers), np.abs(x))
    rows = np.minimum(np.abs(y[len(qp.g) :]), np.abs(qp.A[:, :n] @ x))[m:]
    return float(max(np.abs(slope).max(), limits.max(), rows.max(initial=0.0)))
