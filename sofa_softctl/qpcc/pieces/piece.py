"""Solve pieces of one problem: the best efforts for decided contact modes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sofa_softctl.base.jit import njit
from sofa_softctl.qp.problem import QP
from sofa_softctl.qpcc.pieces.kernels import LAW_ACCEPTED, STICKING, Statement, assemble
from sofa_softctl.qpcc.pieces.points import variables_at
from sofa_softctl.qpcc.pieces.sequence import QPS_MAX_FINAL, PieceSolution, solve_piece
from sofa_softctl.qpcc.pieces.small_algebra import times_vector
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
    is_answer, *qp, scale, X, x = _final_qp(s, answer)
    return FinalQP(QP(*qp), scale, X, x) if is_answer else None


@njit
def _final_qp(s: Statement, answer: PieceSolution) -> tuple:
    """Return whether it is an answer; H, g, A, lower and upper of its QP; scale, X and x."""
    modes, force, n = answer.modes, answer.force, len(s.lower)
    contacts, directions, k = np.empty_like(s.starts), np.empty((len(s.starts), 2)), 0
    for c in range(len(s.starts)):
        if modes.kind[c] == STICKING and s.mu[c] > 0.0 and not s.sticking:
            r = s.starts[c]
            length = np.hypot(force[r + 1], force[r + 2])
            if length > 0.0:
                contacts[k], directions[k] = c, force[r + 1 : r + 3] / length
                k += 1
    is_answer, piece = assemble(
        s, modes.kind, modes.direction, modes.balance, contacts[:k], directions[:k]
    )
    rows, n_v, m = piece.rows, len(piece.g), len(piece.rows.low)
    H, g, strongest, d = np.zeros((n_v, n_v)), np.zeros(n_v), 0.0, np.empty(n_v)
    H[:n, :n], g[:n] = piece.H[:n, :n], piece.g[:n]  # internal forces move nothing, up to rounding
    for i in range(n):
        strongest = max(strongest, H[i, i])
    strongest = strongest if strongest > 0.0 else 1.0
    for i in range(n_v):
        d[i] = 1.0 / np.sqrt(H[i, i] if H[i, i] > 1e-12 * strongest else strongest)
    v, A = variables_at(piece.X, answer.effort, force), rows.G * d
    low, high = np.full(n_v + m, -np.inf), np.full(n_v + m, np.inf)
    low[:n], high[:n], low[n_v:], high[n_v:] = s.lower, s.upper, rows.low, rows.high
    value, norm, largest = np.concatenate((v, times_vector(rows.G, v))), np.empty(m), 0.0
    for i in range(m):
        norm[i] = np.sqrt((A[i] * A[i]).sum())
        largest = max(largest, norm[i])
    size, kept = np.sqrt(2.0 * piece.constant), 0
    for i in range(n_v + m):
        if max(low[i] - value[i], value[i] - high[i]) > LAW_ACCEPTED * s.size:
            is_answer = False
        unit = d[i] if i < n_v else norm[i - n_v]
        if i >= n_v and not unit > 1e-12 * largest:
            continue  # rounding
        if i >= n_v:
            A[kept - n_v] = A[i - n_v] / unit
        low[kept] = min(low[i], value[i]) / unit  # within rounding: consistent
        high[kept] = max(high[i], value[i]) / unit
        size = max(size, low[kept], -high[kept])
        kept += 1
    size = size if size > 0.0 else 1.0
    for i in range(n):
        for j in range(n):
            H[i, j] = d[i] * H[i, j] * d[j]
    qp = H, d * g / size, A[: kept - n_v], low[:kept] / size, high[:kept] / size
    return is_answer, *qp, d * size, piece.X, piece.x
