"""Neighbouring pieces: changes of one contact's mode."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from typing import NamedTuple

import numpy as np

from sofa_softctl.qpcc.pieces.kernels import CONE, FORCE, SLIP
from sofa_softctl.qpcc.pieces.piece import PieceSolution, PieceSolver
from sofa_softctl.qpcc.problem.modes import INACTIVE, SLIDING, STICKING, Modes
from sofa_softctl.qpcc.search import mode_kernels


class Pivot(NamedTuple):
    """A contact at the border of its mode, and the modes beyond it."""

    dual: float
    """Multiplier of the border [-]: first-order gain of the objective beyond it."""
    contact: int
    """Number of the contact."""
    modes: Modes
    """The modes beyond."""


def active_pivots(pieces: PieceSolver, answer: PieceSolution) -> list[Pivot]:
    """Return contacts with an active border, the largest multiplier first."""
    pivots = []
    delta = pieces.delta(answer.effort, answer.force)
    largest = float(answer.dual.max(initial=0.0))
    for i in _in_order(-answer.dual):
        if answer.border[i] >= 0 and answer.dual[i] > 1e-9 * largest:
            modes = across_border(pieces, answer, int(answer.border[i]), i, delta)
            pivots.append(Pivot(float(answer.dual[i]), i, modes))
    return pivots


def near_pivots(
    pieces: PieceSolver, answer: PieceSolution, *, but: Collection[int], count: int
) -> Iterator[Pivot]:
    """Yield contacts near a border of their mode, the nearest first.

    An inactive contact may touch, a touching one be inactive, a sticking one slide, a sliding
    one stick. Their multiplier is given as 0.

    Args:
        pieces: The problem.
        answer: Solution on one of its pieces.
        but: Excluded contacts.
        count: Maximum number of contacts.
    """
    s, modes = pieces.statement, answer.modes
    delta = pieces.delta(answer.effort, answer.force)
    n = s.starts
    order = _in_order(np.maximum(np.abs(answer.force[n]), np.abs(delta[n])))
    gains = None
    for i in [i for i in order if i not in but][:count]:
        touching = modes.kind[i] != INACTIVE
        border = FORCE if touching else -1
        yield Pivot(0.0, i, across_border(pieces, answer, border, i, delta))
        if not touching or s.sticking or s.mu[i] == 0.0:
            continue
        if modes.kind[i] == SLIDING:
            yield Pivot(0.0, i, modes.with_contact(i, STICKING))
            continue
        if gains is None:
            gains = slip_gradient(pieces, answer)
        gradient = gains[n[i] + 1 : n[i] + 3]
        size = math.hypot(*gradient)
        if size > 0.0:
            direction, balance = -gradient / size, np.array([0.5, 0.5])
            yield Pivot(
                0.0, i, modes.with_contact(i, SLIDING, direction=direction, balance=balance)
            )


def _in_order(values: np.ndarray) -> list[int]:
    """Indices by rising value; values that agree to six digits in the order of their indices."""
    size = float(np.abs(values).max(initial=0.0)) or 1.0
    return list(np.argsort(np.round(values / size, 6), kind="stable"))


def slip_gradient(pieces: PieceSolver, answer: PieceSolution) -> np.ndarray:
    """Gain of the objective by slip of a contact, forces following.

    Returns:
        Derivative of the objective by delta, shape (n_r,), 0 for inactive contacts.
    """
    s = pieces.statement
    touching = answer.modes.kind != INACTIVE
    counts = np.where(s.mu > 0.0, 3, 1)
    rows = np.flatnonzero(np.repeat(touching, counts))
    residual = s.F_u @ answer.effort + s.F_c @ answer.force + s.f
    E = s.W[np.ix_(rows, rows)]
    E = E + 1e-9 * np.eye(len(rows))  # contacts may depend on each other
    gradient = np.zeros(len(s.d))
    gradient[rows] = np.linalg.solve(E, s.F_c[:, rows].T @ residual)
    return gradient


def across_border(
    pieces: PieceSolver, answer: PieceSolution, border: int, i: int, delta: np.ndarray
) -> Modes:
    """Return the modes on the other side of a border; of a gap if `border` is GAP or -1."""
    s, modes = pieces.statement, answer.modes
    n = s.starts[i]
    if border == FORCE:
        return modes.with_contact(i, INACTIVE)
    if border == SLIP:
        return modes.with_contact(i, STICKING)
    if border == CONE:
        friction = answer.force[n + 1 : n + 3]
        size = math.hypot(*friction)
        direction = -friction / size if size > 0.0 else np.array([1.0, 0.0])  # at the cone's tip
        return modes.with_contact(i, SLIDING, direction=direction, balance=np.array([0.0, 1.0]))
    if not s.sticking and s.mu[i] > 0.0:
        slip = delta[n + 1 : n + 3]
        length = math.hypot(*slip)
        if length > 1e-6 * s.size:
            direction = slip / length
            return modes.with_contact(i, SLIDING, direction=direction, balance=np.array([1.0, 0.0]))
    return modes.with_contact(i, STICKING)


def nearest_modes(
    pieces: PieceSolver,
    modes: Modes,
    effort: np.ndarray,
    force: np.ndarray,
    *,
    sliding: bool = False,
) -> Modes:
    """Return the decided modes nearest to efforts and forces, as of a relaxation.

    Args:
        pieces: The problem.
        modes: Modes so far; decided ones are kept.
        effort: Shape (n,).
        force: Shape (n_r,).
        sliding: Whether every touching contact that moves along the surface slides. Otherwise one
            sticks that moves by less than its force is inside the cone.
    """
    kind, direction, balance = modes.kind.copy(), modes.direction.copy(), modes.balance.copy()
    mode_kernels.nearest_modes(pieces.statement, kind, direction, balance, effort, force, sliding)
    return Modes(kind, direction, balance, modes.sector)
