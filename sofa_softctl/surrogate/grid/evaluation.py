"""Evaluations of an exact map, each from the nearest known point, optionally in parallel."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.spatial import KDTree

from sofa_softctl.base.executors.retry import submit_again
from sofa_softctl.errors import MapError, WorkerError


@dataclass(frozen=True)
class MapSample:
    """Value and gradient of the exact map at one point."""

    value: np.ndarray
    """Outputs, shape (n,)."""
    gradient: np.ndarray
    """Their derivatives by the inputs [output / input], shape (n, d)."""


class Neighbour(NamedTuple):
    """A point with a known sample, to continue from."""

    u: np.ndarray
    """The point [input], shape (d,)."""
    sample: MapSample
    """Its sample."""


CostlyMap = Callable[[np.ndarray, Neighbour | None], MapSample]
"""u (d,) and the nearest known point, or None -> sample; raises `MapError` where there is none."""


NONE = -1
"""Number of the nearest known point if there is none."""


def evaluate(
    exact: CostlyMap,
    points: np.ndarray,
    known: np.ndarray,
    neighbour: Callable[[int], Neighbour],
    keep: Callable[[int, MapSample | str], int],
    *,
    scale: np.ndarray,
    executor: Executor | None = None,
) -> None:
    """Evaluate the map at points, next the one nearest to a known point.

    Args:
        exact: The map. With processes it is pickled with every point.
        points: The points, shape (p, d).
        known: Known points, shape (c, d).
        neighbour: The known point of a number, to continue from.
        keep: Called with the index of each point and its sample, or the reason of failure; returns
            its number as a known point, or `NONE`.
        scale: Unit of each input in distances, shape (d,).
        executor: Evaluates points in parallel; None: one by one.

    Raises:
        WorkerError: A worker process was killed. Kept samples stay.
    """
    frontier = Frontier(points / scale, known / scale)

    def learn(i: int, answer: MapSample | str) -> None:
        number = keep(i, answer)
        if number != NONE:
            frontier.learn(points[i] / scale, number)

    def near(number: int) -> Neighbour | None:
        return None if number == NONE else neighbour(number)

    if executor is None:
        while frontier.waiting:
            i, number = frontier.take()
            learn(i, ask(exact, points[i], near(number)))
        return
    running: dict[Future[MapSample | str], int] = {}
    try:
        while frontier.waiting or running:
            while frontier.waiting and len(running) <= _count(executor):
                i, number = frontier.take()
                running[submit_again(executor, ask, exact, points[i], near(number))] = i
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in sorted(done, key=lambda each: each.exception() is not None):
                learn(running[future], future.result())
                del running[future]
    except BrokenExecutor as error:
        raise WorkerError(
            f"A worker process ended while the exact map was evaluated at {len(running)} points, "
            f"the first u = {points[min(running.values(), default=0)]}; {frontier.waiting} more "
            f"were waiting ({error}). It may have run out of memory. What was answered is kept, "
            "beyond this run if there is a store: go on with a new executor, or plan again, "
            "perhaps with fewer workers."
        ) from error
    finally:
        for future in running:
            future.cancel()


def _count(executor: Executor) -> int:
    """Tasks that it can do at once."""
    return getattr(executor, "count", None) or os.cpu_count() or 1


def ask(exact: CostlyMap, u: np.ndarray, near: Neighbour | None) -> MapSample | str:
    """The sample at a point, or the error message if there is none."""
    try:
        return exact(u, near)
    except MapError as error:
        return str(error)


class Frontier:
    """Queue of points; the one nearest to a known point is first.

    Without known points, the one nearest to zero is.

    Args:
        points: Waiting points, shape (p, d).
        known: Known points, shape (c, d), numbered from 0.
    """

    def __init__(self, points: np.ndarray, known: np.ndarray) -> None:
        self._points = points
        self._waits = np.ones(len(points), bool)
        self._distance = np.full(len(points), np.inf)
        self._nearest = np.full(len(points), NONE)
        self._norm = np.linalg.norm(points, axis=1)
        if len(known) and len(points):
            distance, nearest = KDTree(known).query(points)
            self._distance, self._nearest = np.asarray(distance), np.asarray(nearest)
        self.waiting = len(points)

    def take(self) -> tuple[int, int]:
        """The next point, and the number of its nearest known one or `NONE`."""
        distance = np.where(self._waits, self._distance, np.inf)
        i = int(distance.argmin())
        if distance[i] == np.inf:
            i = int(np.where(self._waits, self._norm, np.inf).argmin())
        self._waits[i] = False
        self.waiting -= 1
        return i, int(self._nearest[i])

    def learn(self, point: np.ndarray, number: int) -> None:
        """Add a known point."""
        distance = np.linalg.norm(self._points - point, axis=1)
        closer = distance < self._distance
        self._distance[closer] = distance[closer]
        self._nearest[closer] = number
