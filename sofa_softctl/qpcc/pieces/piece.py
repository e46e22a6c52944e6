"""Solve pieces of one problem: the best efforts for decided contact modes."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sofa_softctl.qp.active_set import SOLVED
from sofa_softctl.qp.problem import QP
from sofa_softctl.qpcc.pieces import kernels
from sofa_softctl.qpcc.pieces.kernels import Statement
from sofa_softctl.qpcc.pieces.points import variables_at
from sofa_softctl.qpcc.pieces.sequence import QPS_MAX, QPS_MAX_FINAL, solve_piece
from sofa_softctl.qpcc.problem.modes import Modes

OBJECTIVE_TOLERANCE = 1e-6
"""Relative difference below which two objectives count as equal. Then energy decides, then
continuity, then the order in which answers were found: independent of rounding."""
ENERGY_TOLERANCE = 1e-3
"""The same for energies and for distances from the last step."""


@dataclass(frozen=True, eq=False)
class PieceSolution:
    """The best efforts on a piece, in units of energy."""

    modes: Modes
    """Modes of the contacts, sliding ones with the direction in which they slide."""
    effort: np.ndarray
    """Efforts, then further variables of the statement, shape (n,)."""
    force: np.ndarray
    """Contact forces, shape (n_r,)."""
    objective: float
    """Objective of the statement."""
    law: float
    """Distance from the contact law [-]."""
    dual: np.ndarray
    """Largest multiplier of an active border of each contact's mode, shape (n_c,)."""
    border: np.ndarray
    """Type of that border, -1 = none, shape (n_c,) of int."""
    settled: bool
    """Whether it is a local optimum; otherwise the maximum number of QPs was reached."""


@dataclass(eq=False)
class PieceSolver:
    """Solves pieces of one statement, and counts pieces and QPs."""

    statement: Statement
    """The problem."""
    before: np.ndarray
    """Efforts of the last step, which decide between equally good answers, shape (n,)."""
    pieces: int = 0
    """Number of solved pieces."""
    rounds: int = 0
    """Number of their QPs."""

    def __post_init__(self) -> None:
        s = self.statement
        self._no_force = np.zeros(len(s.d))
        self.scale = 0.5 * float(s.f @ s.f)
        """Objective of the free motion."""

    def solve(
        self,
        modes: Modes,
        *,
        force: np.ndarray | None = None,
        worth: float = math.inf,
        rounds: int = QPS_MAX,
        obeyed: bool = False,
    ) -> PieceSolution | None:
        """The best efforts on the piece of these modes.

        Args:
            modes: Decided modes. Sliding contacts start from their direction.
            force: Forces near the solution's, shape (n_r,).
            worth: Objective at which an answer is of no use.
            rounds: Maximum number of QPs.
            obeyed: Whether these are the modes at the efforts of the last step, with `force`.

        Returns:
            The answer, or None if the modes are not possible within the limits, or of no use.
        """
        self.pieces += 1
        result = solve_piece(
            self.statement,
            modes.kind,
            modes.direction,
            modes.balance,
            self.before,
            self._no_force if force is None else force,
            worth,
            rounds,
            obeyed,
        )
        self.rounds += result.rounds
        if result.outcome != SOLVED:
            return None
        solved_modes = modes._replace(direction=result.direction, balance=result.balance)
        return PieceSolution(
            solved_modes,
            result.effort,
            result.force,
            result.objective,
            result.law,
            result.dual,
            result.border,
            result.rounds < rounds,
        )

    def refine_to_optimum(self, answer: PieceSolution) -> PieceSolution:
        """Return the solution, or a better one on the same piece."""
        if answer.settled:
            return answer
        again = self.solve(answer.modes, force=answer.force, rounds=QPS_MAX_FINAL)
        return again if again is not None and self.is_better(again, answer) else answer

    def is_better(self, solution: PieceSolution, earlier: PieceSolution | None) -> bool:
        """Return True if a solution is better in objective, energy or continuity, with a margin.

        If all three are equal, the earlier one is kept.
        """
        if earlier is None:
            return True
        worth = max(solution.objective, earlier.objective, 1e-6 * self.scale, 1e-300)
        if abs(solution.objective - earlier.objective) > OBJECTIVE_TOLERANCE * worth:
            return solution.objective < earlier.objective
        energies = float(solution.effort @ solution.effort), float(earlier.effort @ earlier.effort)
        if abs(energies[0] - energies[1]) > ENERGY_TOLERANCE * max(energies):
            return energies[0] < energies[1]
        a, b = (float(np.linalg.norm(x.effort - self.before)) for x in (solution, earlier))
        return a < b - ENERGY_TOLERANCE * max(a, b)

    def delta(self, effort: np.ndarray, force: np.ndarray) -> np.ndarray:
        """delta of the contact rows, shape (n_r,)."""
        s = self.statement
        moved: np.ndarray = s.W @ force + effort @ s.C + s.d
        return moved


@dataclass(frozen=True, eq=False)
class FinalQP:
    """Dimensionless, well scaled QP of a piece at its answer, and its scales."""

    qp: QP
    """The QP."""
    scale: np.ndarray
    """v = scale * x of the piece's variables, shape (n_v,)."""
    X: np.ndarray
    """Contact forces, lam = X v + x, shape (n_r, n_v)."""
    x: np.ndarray
    """Shape (n_r,)."""


def final_qp(s: Statement, answer: PieceSolution) -> FinalQP | None:
    """QP that an answer must be the optimum of: its piece, linearised about it.

    The Hessian's diagonal is one, the rows' norm is one, and one length scales all limits, so that
    residuals are relative to the free motion. Limits that the answer exceeds by rounding are
    widened to it; None if it exceeds them by more than the tolerance of the contact law.
    """
    contacts, directions = [], []
    for c in np.flatnonzero((answer.modes.kind == kernels.STICKING) & (s.mu > 0.0)):
        n = s.starts[c]
        size = math.hypot(*answer.force[n + 1 : n + 3])
        if not s.sticking and size > 0.0:
            contacts.append(c)
            directions.append(answer.force[n + 1 : n + 3] / size)
    possible, piece = kernels.assemble(
        s,
        answer.modes.kind,
        answer.modes.direction,
        answer.modes.balance,
        np.array(contacts, dtype=np.int64),
        np.array(directions).reshape(-1, 2),
    )
    if not possible:
        return None
    rows, n = piece.rows, len(s.lower)
    H, g = piece.H.copy(), piece.g.copy()
    H[n:], H[:, n:], g[n:] = 0.0, 0.0, 0.0  # internal forces move nothing, up to rounding
    curvature = H.diagonal()
    strongest = curvature.max(initial=0.0) or 1.0
    d = 1.0 / np.sqrt(np.where(curvature > 1e-12 * strongest, curvature, strongest))
    v = variables_at(piece.X, answer.effort, answer.force)
    unlimited = np.full(len(d) - n, np.inf)
    low = np.concatenate((s.lower, -unlimited, rows.low))
    high = np.concatenate((s.upper, unlimited, rows.high))
    value = np.concatenate((v, rows.G @ v))
    if np.maximum(low - value, value - high).max() > kernels.LAW_ACCEPTED * s.size:
        return None  # not an answer
    A = rows.G * d
    norm = np.sqrt((A * A).sum(axis=1))
    nonzero = norm > 1e-12 * norm.max(initial=0.0)  # the other rows are rounding
    unit, is_kept = np.concatenate((d, norm)), np.concatenate((np.full(len(d), True), nonzero))
    low, high, value = (
        low[is_kept] / unit[is_kept],
        high[is_kept] / unit[is_kept],
        value[is_kept] / unit[is_kept],
    )
    lower, upper = np.minimum(low, value), np.maximum(high, value)  # within rounding: consistent
    A = A[nonzero] / norm[nonzero, None]
    size = max(math.sqrt(2.0 * piece.constant), float(lower.max()), -float(upper.min())) or 1.0
    qp = QP(d[:, None] * H * d, d * g / size, A, lower / size, upper / size)
    return FinalQP(qp, d * size, piece.X, piece.x)
