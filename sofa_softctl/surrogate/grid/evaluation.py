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
from sofa_softctl.base.time_limit import check_time
from sofa_softctl.errors import MapError, WorkerError


@dataclass(frozen=True)
class MapSample:
    """Value and gradient of the exact map at one point."""

    value: np.ndarray
    """Outputs, shape (n,)."""
    gradient: np.ndarray
    """Derivatives of the outputs by the inputs [output / input], shape (n, d)."""


class Neighbour(NamedTuple):
    """Point with a known sample, to continue from."""

    u: np.ndarray
    """Point [input], shape (d,)."""
    sample: MapSample
    """Sample at the point."""


CostlyMap = Callable[[np.ndarray, Neighbour | None], MapSample]
"""(u (d,), nearest known point or None) -> sample; raises `MapError` without a solution."""


NO_NEIGHBOUR = -1
"""Number of the nearest known point if no point is known."""


def evaluate(
    exact: CostlyMap,
    points: np.ndarray,
    known_points: np.ndarray,
    neighbour: Callable[[int], Neighbour],
    save: Callable[[int, MapSample | str], int],
    *,
    scale: np.ndarray,
    executor: Executor | None = None,
) -> None:
    """Evaluate the map at points, always the one nearest to a known point next.

    Args:
        exact: Map; with processes it is pickled with every point.
        points: The points, shape (p, d).
        known_points: Known points, shape (c, d).
        neighbour: Returns the known point of a number.
        save: Called with the index of each point and its sample or reason of failure; returns its
            number as a known point, or `NO_NEIGHBOUR`.
        scale: Unit of each input in distances, shape (d,).
        executor: Evaluates points in parallel; by default they are evaluated one by one.

    Raises:
        WorkerError: A worker process was killed. Kept samples stay.
        TimeLimitError: The time limit was reached. Kept samples stay.
    """
    frontier = Frontier(points / scale, known_points / scale)

    def save_answer(i: int, answer: MapSample | str) -> None:
        number = save(i, answer)
        if number != NO_NEIGHBOUR:
            frontier.add_known(points[i] / scale, number)

    def neighbour_of(number: int) -> Neighbour | None:
        return None if number == NO_NEIGHBOUR else neighbour(number)

    if executor is None:
        while frontier.waiting:
            check_time()
            i, number = frontier.pop_nearest()
            save_answer(i, call_map(exact, points[i], neighbour_of(number)))
        return
    running: dict[Future[MapSample | str], int] = {}
    try:
        while frontier.waiting or running:
            check_time()
            while frontier.waiting and len(running) <= _count(executor):
                i, number = frontier.pop_nearest()
                running[
                    submit_again(executor, call_map, exact, points[i], neighbour_of(number))
                ] = i
            finished, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in sorted(finished, key=lambda task: task.exception() is not None):
                save_answer(running[future], future.result())
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
    """Return the number of tasks that an executor runs in parallel."""
    return getattr(executor, "count", None) or os.cpu_count() or 1


def call_map(exact: CostlyMap, u: np.ndarray, neighbour: Neighbour | None) -> MapSample | str:
    """Return the sample at a point, or the message of its MapError."""
    try:
        return exact(u, neighbour)
    except MapError as error:
        return str(error)


class Frontier:
    """Queue of points; the one nearest to a known point is first.

    Without known points, the one nearest to zero is first.

    Args:
        points: Waiting points, shape (p, d).
        known_points: Known points, shape (c, d), numbered from 0.
    """

    def __init__(self, points: np.ndarray, known_points: np.ndarray) -> None:
        self._points = points
        self._waits = np.ones(len(points), bool)
        self._distance = np.full(len(points), np.inf)
        self._nearest = np.full(len(points), NO_NEIGHBOUR)
        self._norm = np.linalg.norm(points, axis=1)
        if len(known_points) and len(points):
            distance, nearest = KDTree(known_points).query(points)
            self._distance, self._nearest = np.asarray(distance), np.asarray(nearest)
        self.waiting = len(points)

    def pop_nearest(self) -> tuple[int, int]:
        """Remove the first point; return its index and the number of its nearest known point."""
        distance = np.where(self._waits, self._distance, np.inf)
        i = int(distance.argmin())
        if distance[i] == np.inf:
            i = int(np.where(self._waits, self._norm, np.inf).argmin())
        self._waits[i] = False
        self.waiting -= 1
        return i, int(self._nearest[i])

    def add_known(self, point: np.ndarray, number: int) -> None:
        """Add a known point."""
        distance = np.linalg.norm(self._points - point, axis=1)
        closer = distance < self._distance
        self._distance[closer] = distance[closer]
        self._nearest[closer] = number
