"""Pivoting: from piece to neighbouring piece while the objective decreases."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable
from itertools import count
from time import perf_counter
from typing import NamedTuple

import numpy as np

from sofa_softctl.qpcc.pieces.piece import PieceAnswer, Pieces
from sofa_softctl.qpcc.problem.modes import Modes
from sofa_softctl.qpcc.search.neighbours import nearby, pressing


class PivotStart(NamedTuple):
    """Start of pivoting."""

    modes: Modes
    """Decided modes."""
    force: np.ndarray | None = None
    """Contact forces near those of an answer in units of energy, shape (n_r,)."""
    obeyed: bool = False
    """Whether these are the modes at the efforts of the last step, with these forces."""


class Pivoted(NamedTuple):
    """Result of pivoting."""

    best: PieceAnswer | None
    """The best answer."""
    complete: bool
    """Whether all candidates were tried."""


def pivot(
    pieces: Pieces,
    starts: Iterable[PivotStart],
    *,
    most: int,
    flips: int = 0,
    tried: set[bytes] | None = None,
    deadline: float = math.inf,
) -> Pivoted:
    """Find a piece that no pivot of a single contact improves.

    A contact with an active border is a candidate; beyond the border the objective is lower, to
    first order by its multiplier. Candidates are in a priority queue, those of the better answer
    first, then those of the larger multiplier; no modes are tried twice; and only an answer that is
    better than the best one adds candidates. So the objective never rises, and it ends. All
    candidates of an answer are also tried at once, which speeds up large problems.

    Args:
        pieces: The problem.
        starts: Modes to start from, in order.
        most: Maximum number of pieces.
        flips: Contacts per answer that are tried beyond an inactive border, the nearest first.
        tried: Keys of modes that were tried; new ones are added.
        deadline: Reading of `perf_counter` after which it ends, once there is an answer [s].

    Source: the decomposition of Coevoet, Escande, Duriez 2019, section III-D. Departures: several
        starts, the queue, and the set of modes that were tried.
    """
    tried = set() if tried is None else tried
    best: PieceAnswer | None = None
    ticket = count()
    last = pieces.pieces + most
    for start in starts:
        queue = [(0, 0.0, next(ticket), start)]
        while queue:
            *_, (modes, force, obeyed) = heapq.heappop(queue)
            if modes.key() in tried and not obeyed:
                continue
            if pieces.pieces >= last or (best is not None and perf_counter() > deadline):
                return Pivoted(best, False)
            tried.add(modes.key())
            worth = math.inf if best is None else best.objective
            answer = pieces.solve(modes, force=force, worth=worth, obeyed=obeyed)
            if answer is None or not pieces.better(answer, best):
                continue
            best = answer
            rank = -pieces.pieces  # the latest improvement is the best answer
            pressed = pressing(pieces, answer)
            if len(pressed) > 1:
                everything = answer.modes
                for step in pressed:
                    everything = _switched(everything, step.modes, step.contact)
                jointly = PivotStart(everything, answer.force)
                heapq.heappush(queue, (rank, -math.inf, next(ticket), jointly))
            others = nearby(pieces, answer, but={step.contact for step in pressed}, count=flips)
            for order, step in enumerate((*pressed, *others)):
                heapq.heappush(
                    queue, (rank, float(order), next(ticket), PivotStart(step.modes, answer.force))
                )
    return Pivoted(best, True)


def _switched(modes: Modes, other: Modes, contact: int) -> Modes:
    """The modes with one contact as in `other`."""
    return modes.with_contact(
        contact,
        int(other.kind[contact]),
        direction=other.direction[contact],
        balance=other.balance[contact],
    )
