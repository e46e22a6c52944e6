"""From piece to neighbouring piece, as long as the objective gains."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable
from itertools import count
from time import perf_counter

import numpy as np

from sofa_softctl.inverse.modes import Modes
from sofa_softctl.inverse.neighbours import nearby
from sofa_softctl.inverse.solve_piece import Answer, PieceSolver


def pivot(
    solver: PieceSolver,
    starts: Iterable[Modes],
    *,
    pieces: int,
    flips: int = 0,
    deadline: float = math.inf,
) -> tuple[Answer | None, int, bool]:
    """A piece that no pivot of a single contact improves.

    A contact that presses against the border of its piece is a candidate; beyond the border the
    objective is lower, to first order by its multiplier. Candidates wait in a queue, those of the
    better answer first, then those of the larger multiplier; no modes are tried twice; and only an
    answer that is better than the best one adds candidates. So the objective never rises, and it
    ends. All candidates of an answer are also tried at once, which is what large problems gain by.
    As long as there is no answer, contacts that make modes impossible are switched
    (`PieceSolver.restored`).

    Args:
        solver: Solves pieces.
        starts: Modes to start from, one after the other.
        pieces: Most pieces to solve.
        flips: Most contacts per answer that are tried beyond a border they do not press against,
            those first that are nearest to it.
        deadline: Reading of `perf_counter` after which it ends, once there is an answer [s].

    Returns:
        The best answer or None, the pieces that were solved, and whether all candidates were tried.

    Source: the decomposition of Coevoet, Escande, Duriez 2019, section III-D. Departures: several
        starts, the queue, and the set of modes that were tried.
    """
    tried: set[bytes] = set()
    ticket = count()
    done = 0
    best: Answer | None = None
    for start in starts:
        queue = [(0, 0.0, next(ticket), start)]
        while queue:
            *_, modes = heapq.heappop(queue)
            if modes.key() in tried:
                continue
            if done >= pieces or (best is not None and perf_counter() > deadline):
                return best, done, False
            tried.add(modes.key())
            done += 1
            within = best is not None and best.violation == 0.0
            worth = best.objective if best is not None and within else math.inf
            answer = solver.solve(modes, relax=not within, worth=worth)
            if answer is None and best is None:
                nearer = solver.restored(modes)
                if nearer is not None:
                    heapq.heappush(queue, (0, 0.0, next(ticket), nearer))
            if answer is None or not answer.better_than(best):
                continue
            best = answer
            rank = -done  # the latest improvement is the best answer
            if len(answer.pivots) > 1:
                everything = answer.modes
                for step in answer.pivots:
                    everything = _switched(everything, step.modes, step.contact)
                heapq.heappush(queue, (rank, -1e300, next(ticket), everything))
            for step in answer.pivots:
                heapq.heappush(queue, (rank, -step.dual, next(ticket), step.modes))
            others = nearby(
                solver.mechanics,
                answer.modes,
                answer.effort,
                answer.force,
                but={step.contact for step in answer.pivots},
                count=flips,
            )
            for step in others:
                heapq.heappush(queue, (rank, -step.dual, next(ticket), step.modes))
    return best, done, True


def _switched(modes: Modes, other: Modes, contact: int) -> Modes:
    """The modes with one contact as in others."""
    return Modes(*(_replaced(a, b, contact) for a, b in zip(modes, other, strict=True)))


def _replaced(array: np.ndarray, other: np.ndarray, contact: int) -> np.ndarray:
    new = array.copy()
    new[contact] = other[contact]
    return new
