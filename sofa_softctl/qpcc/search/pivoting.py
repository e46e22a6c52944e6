"""Pivoting: from piece to neighbouring piece while the objective decreases."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable
from itertools import count
from time import perf_counter
from typing import NamedTuple

import numpy as np

from sofa_softctl.qpcc.pieces.piece import PieceSolution, PieceSolver
from sofa_softctl.qpcc.problem.modes import Modes
from sofa_softctl.qpcc.search.neighbours import active_pivots, near_pivots


class PivotStart(NamedTuple):
    """Start of pivoting."""

    modes: Modes
    """Decided modes."""
    force: np.ndarray | None = None
    """Contact forces near a solution's, in units of energy, shape (n_r,)."""
    obeyed: bool = False
    """Whether these are the modes at the efforts of the last step, with these forces."""


class PivotResult(NamedTuple):
    """Result of pivoting."""

    best: PieceSolution | None
    """The best answer."""
    complete: bool
    """Whether all candidates were tried."""


def pivot(
    pieces: PieceSolver,
    starts: Iterable[PivotStart],
    *,
    pieces_max: int,
    flips: int = 0,
    tried: set[bytes] | None = None,
    deadline: float = math.inf,
) -> PivotResult:
    """Find a piece that no pivot of a single contact improves.

    A contact with an active border is a candidate; beyond the border the objective is lower, to
    first order by its multiplier. Candidates are in a priority queue, ordered by the better
    solution, then by the larger multiplier; no modes are tried twice; and only an answer that is
    better than the best one adds candidates. So the objective never rises, and it ends. All
    candidates of an answer are also tried at once, which speeds up large problems.

    Args:
        pieces: The problem.
        starts: Modes to start from, in order.
        pieces_max: Maximum number of pieces.
        flips: Contacts per answer that are tried beyond an inactive border, the nearest first.
        tried: Keys of modes that were tried; new ones are added.
        deadline: Reading of `perf_counter` after which it ends, once there is an answer [s].

    Source: the decomposition of Coevoet, Escande, Duriez 2019, section III-D. Departures: several
        starts, the queue, and the set of modes that were tried.
    """
    tried = set() if tried is None else tried
    best: PieceSolution | None = None
    ticket = count()
    last = pieces.pieces + pieces_max
    for start in starts:
        queue = [(0, 0.0, next(ticket), start)]
        while queue:
            *_, (modes, force, obeyed) = heapq.heappop(queue)
            if modes.key() in tried and not obeyed:
                continue
            if pieces.pieces >= last or (best is not None and perf_counter() > deadline):
                return PivotResult(best, False)
            tried.add(modes.key())
            worth = math.inf if best is None else best.objective
            answer = pieces.solve(modes, force=force, worth=worth, obeyed=obeyed)
            if answer is None or not pieces.is_better(answer, best):
                continue
            best = answer
            rank = -pieces.pieces  # the latest improvement is the best answer
            active_steps = active_pivots(pieces, answer)
            if len(active_steps) > 1:
                joint_modes = answer.modes
                for step in active_steps:
                    joint_modes = _with_mode_of(joint_modes, step.modes, step.contact)
                joint_start = PivotStart(joint_modes, answer.force)
                heapq.heappush(queue, (rank, -math.inf, next(ticket), joint_start))
            near_steps = near_pivots(
                pieces, answer, but={step.contact for step in active_steps}, count=flips
            )
            for order, step in enumerate((*active_steps, *near_steps)):
                heapq.heappush(
                    queue, (rank, float(order), next(ticket), PivotStart(step.modes, answer.force))
                )
    return PivotResult(best, True)


def _with_mode_of(modes: Modes, source: Modes, contact: int) -> Modes:
    """The modes with one contact as in `other`."""
    return modes.with_contact(
        contact,
        int(source.kind[contact]),
        direction=source.direction[contact],
        balance=source.balance[contact],
    )
