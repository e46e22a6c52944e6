"""Pivoting: from piece to neighbouring piece while the objective decreases, compiled."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sofa_softctl.base.jit import njit
from sofa_softctl.qpcc.pieces.kernels import FORCE, INACTIVE, SLIDING, STICKING, motion
from sofa_softctl.qpcc.pieces.piece import Pieces, is_better, solve_modes
from sofa_softctl.qpcc.pieces.sequence import QPS_MAX, PieceSolution, no_solution
from sofa_softctl.qpcc.problem.modes import Modes
from sofa_softctl.qpcc.search.neighbours import (
    ModeKeys,
    across_border,
    add_tried,
    copy_modes,
    is_tried,
    key_of,
    order_of,
    slip_gradient,
    with_kind,
    with_sliding,
)


class PivotStart(NamedTuple):
    """Start of pivoting."""

    modes: Modes
    """Decided modes."""
    force: np.ndarray
    """Contact forces near a solution's, in units of energy, shape (n_r,)."""
    obeyed: bool = False
    """Whether these are the modes at the efforts of the last step, with these forces."""


@njit
def pivot(
    pieces: Pieces, start: PivotStart, tried: ModeKeys, pieces_max: int, flips: int
) -> tuple[PieceSolution, bool]:
    """Find a piece that no pivot of a single contact improves.

    A contact with an active border of its mode is a candidate; beyond the border the objective is
    lower, to first order by its multiplier. Candidates of the best answer come first, by falling
    multiplier; no modes are tried twice; and only an answer that is better than the best one adds
    candidates. So the objective never rises, and it ends. All candidates of an answer are also
    tried at once, which speeds up large problems.

    Args:
        pieces: The problem.
        start: Modes to start from.
        tried: Modes that were tried, with room for `pieces_max` more.
        pieces_max: Maximum number of pieces.
        flips: Contacts per answer that are tried beyond an inactive border, the nearest first.

    Returns:
        The best answer, without an objective if there is none; whether all candidates were tried.

    Source: the decomposition of Coevoet, Escande, Duriez 2019, section III-D. Departures: several
        starts, the order of candidates, and the set of modes that were tried.
    """
    s = pieces.statement
    best = no_solution(start.modes, pieces.before, start.force)
    candidates = [(start.modes, start.force)]  # the next one last
    last, obeyed = pieces.solved[0] + pieces_max, start.obeyed
    while len(candidates) > 0:
        modes, force = candidates.pop()
        key = key_of(modes)
        if is_tried(tried, key) and not obeyed:
            continue
        if pieces.solved[0] >= last:
            return best, False
        add_tried(tried, key)
        answer = solve_modes(pieces, modes, force, best.objective, QPS_MAX, obeyed)
        obeyed = False
        if not is_better(pieces, answer, best):
            continue
        best = answer
        delta = motion(s, answer.effort, answer.force)
        active = _active_contacts(answer)
        beyond = [answer.modes]
        beyond.pop()
        for i in active:
            beyond.append(across_border(s, answer, answer.border[i], i, delta))
        near_contacts = _near_contacts(pieces, answer, active, delta, flips)
        gains = slip_gradient(s, answer) if len(near_contacts) > 0 else delta
        for i in near_contacts[::-1]:
            is_touching = answer.modes.kind[i] != INACTIVE
            if is_touching and not s.sticking and s.mu[i] > 0.0:
                n = s.starts[i]
                size = np.hypot(gains[n + 1], gains[n + 2])
                if answer.modes.kind[i] == SLIDING:
                    candidates.append((with_kind(answer.modes, i, STICKING), answer.force))
                elif size > 0.0:
                    p, q = -gains[n + 1] / size, -gains[n + 2] / size
                    slides = with_sliding(answer.modes, i, p, q, 0.5, 0.5)
                    candidates.append((slides, answer.force))
            border = FORCE if is_touching else -1
            candidates.append((across_border(s, answer, border, i, delta), answer.force))
        for k in range(len(beyond) - 1, -1, -1):
            candidates.append((beyond[k], answer.force))
        if len(active) > 1:
            joint = copy_modes(answer.modes)
            for k in range(len(active)):
                i, modes = active[k], beyond[k]
                joint.kind[i] = modes.kind[i]
                joint.direction[i], joint.balance[i] = modes.direction[i], modes.balance[i]
            candidates.append((joint, answer.force))
    return best, True


@njit(inner=True, separate=True)
def _active_contacts(answer: PieceSolution) -> np.ndarray:
    """Contacts with an active border, the largest multiplier first."""
    largest, count = 0.0, 0
    for i in range(len(answer.dual)):
        largest = max(largest, answer.dual[i])
    order = order_of(-answer.dual)
    for i in order:
        if answer.border[i] >= 0 and answer.dual[i] > 1e-9 * largest:
            order[count] = i
            count += 1
    return order[:count]


@njit(inner=True, separate=True)
def _near_contacts(
    pieces: Pieces, answer: PieceSolution, active: np.ndarray, delta: np.ndarray, most: int
) -> np.ndarray:
    """Contacts nearest to a border of their mode but the active ones, the nearest first.

    An inactive contact may touch, a touching one be inactive, a sticking one slide, a sliding one
    stick.
    """
    starts, count = pieces.statement.starts, 0
    distance = np.empty(len(starts))
    for i in range(len(starts)):
        distance[i] = max(abs(answer.force[starts[i]]), abs(delta[starts[i]]))
    order = order_of(distance)
    for i in order:
        if count < most and not (active == i).any():
            order[count] = i
            count += 1
    return order[:count]
