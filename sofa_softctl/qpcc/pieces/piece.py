"""Solve pieces of one problem: the best efforts for decided contact modes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sofa_softctl.base.jit import njit
from sofa_softctl.qp.problem import QP
from sofa_softctl.qpcc.pieces import kernels
from sofa_softctl.qpcc.pieces.kernels import Statement
from sofa_softctl.qpcc.pieces.points import variables_at
from sofa_softctl.qpcc.pieces.sequence import QPS_MAX_FINAL, PieceSolution, solve_piece
from sofa_softctl.qpcc.problem.modes import Modes

OBJECTIVE_TOLERANCE = 1e-6
"""Relative difference below which two objectives count as equal. Then energy decides, then
continuity, then the order in which answers were found: independent of rounding."""
ENERGY_TOLERANCE = 1e-3
"""The same for energies and for distances from the last step."""


class Pieces(NamedTuple):
    """The pieces of a statement."""

    statement: Statement
    """The problem."""
    before: np.ndarray
    """Efforts of the last step, which decide between equally good answers, shape (n,)."""
    scale: float
    """Objective of the free motion."""
    solved: np.ndarray
    """Numbers of solved pieces, and of their QPs, so distance, shape (2,) of int."""

    @classmethod
    def of(cls, s: Statement, before: np.ndarray) -> Pieces:
        """Pieces of a statement, none of which is solved.

        Args:
            s: The problem.
            before: Efforts of the last step, shape (n,).
        """
        return cls(s, before, 0.5 * float(s.f @ s.f), np.zeros(2, dtype=np.int64))


@njit
def solve_modes(
    pieces: Pieces, modes: Modes, force: np.ndarray, worth: float, qps_max: int, obeyed: bool
) -> PieceSolution:
    """The best efforts on the piece of these modes, see `solve_piece`."""
    answer, qps = solve_piece(pieces.statement, modes, pieces.before, force, worth, qps_max, obeyed)
    pieces.solved[0] += 1
    pieces.solved[1] += qps
    return answer


@njit
def is_better(pieces: Pieces, solution: PieceSolution, earlier: PieceSolution) -> bool:
    """Return True if a solution is better in objective, energy or continuity, with a margin.

    If all three are equal, the earlier one is kept.
    """
    a, b = solution.objective, earlier.objective
    if a == np.inf or b == np.inf:
        return a < b
    if abs(a - b) > OBJECTIVE_TOLERANCE * max(a, b, 1e-6 * pieces.scale, 1e-300):
        return a < b
    a = b = distance = earlier_distance = 0.0
    for i in range(len(solution.effort)):
        a += solution.effort[i] ** 2
        b += earlier.effort[i] ** 2
        distance += (solution.effort[i] - pieces.before[i]) ** 2
        earlier_distance += (earlier.effort[i] - pieces.before[i]) ** 2
    if abs(a - b) > ENERGY_TOLERANCE * max(a, b):
        return a < b
    distance, earlier_distance = np.sqrt(distance), np.sqrt(earlier_distance)
    return distance < earlier_distance - ENERGY_TOLERANCE * max(distance, earlier_distance)


def refine_to_optimum(pieces: Pieces, answer: PieceSolution) -> PieceSolution:
    """Return the solution, or a better one on the same piece."""
    if answer.settled:
        return answer
    again = solve_modes(pieces, answer.modes, answer.force, math.inf, QPS_MAX_FINAL, False)
    return again if is_better(pieces, again, answer) else answer


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
