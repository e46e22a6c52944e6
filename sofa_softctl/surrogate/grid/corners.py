"""Corners of a hierarchical grid, each evaluated once for all cells and levels."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import Executor
from dataclasses import dataclass, field

import numpy as np

from sofa_softctl.errors import MapError
from sofa_softctl.surrogate.grid.evaluation import (
    NO_NEIGHBOUR,
    CostlyMap,
    MapSample,
    Neighbour,
    call_map,
    evaluate,
)
from sofa_softctl.surrogate.grid.store import Store
from sofa_softctl.surrogate.grid.tolerant import TolerantStore

Key = tuple[int, ...]
"""(level r, i_1, ..., i_d): the point origin + spacing i / 2^r, or the cell that begins there."""
FAILED = NO_NEIGHBOUR
"""Row of a corner without a solution."""
SOLUTION_TOLERANCE = 1e-6
"""Relative difference of values below which they are the same solution [-]."""


@dataclass
class GridCounts:
    """Counts of a grid. They only grow."""

    exact: dict[int, int] = field(default_factory=dict)
    """Number of evaluations of the exact map at corners, by level."""
    from_store: int = 0
    """Number of corners from the store."""
    failed: int = 0
    """Number of corners without a solution."""
    branching: int = 0
    """Number of corners with solutions on several branches."""
    continuations: int = 0
    """Number of further evaluations of corners, to stay on a branch."""
    fallbacks: int = 0
    """Number of queried points at which the exact map was evaluated."""
    refused: int = 0
    """Number of unusable cells, in which a corner failed or a branch ends."""
    queries: int = 0
    """Number of queried points."""

    @property
    def evaluations(self) -> int:
        """Total number of evaluations of the exact map."""
        return sum(self.exact.values()) + self.continuations + self.fallbacks


def lowest(key: Key) -> Key:
    """Reduce a corner's key to lowest terms, so that it has one key on all levels."""
    while key[0] > 0 and not any(i & 1 for i in key[1:]):
        key = coarser(key)
    return key


def coarser(key: Key) -> Key:
    """Return the cell of the next coarser level that contains a cell; or a corner's key there."""
    level, *index = key
    return (level - 1, *(i >> 1 for i in index))


def _is_same_solution(first: np.ndarray, second: np.ndarray) -> bool:
    """Return True if two values are the same solution."""
    return bool(
        np.linalg.norm(first - second) <= SOLUTION_TOLERANCE * (1.0 + np.linalg.norm(first))
    )


class Corners:
    """Samples at the corners of a grid, in one array that grows.

    Args:
        exact: Costly map.
        spacing: Spacing of level 0 [input], shape (d,).
        origin: Corner of level 0 [input], shape (d,).
        store: File of samples, in addition to memory; if the file fails, memory is used without it.
        executor: Evaluates corners in parallel.
        slopes: Store gradients; otherwise samples need none, and arrays are (c, 1, n).
    """

    def __init__(
        self,
        exact: CostlyMap,
        spacing: np.ndarray,
        origin: np.ndarray,
        *,
        store: Store | None,
        executor: Executor | None,
        slopes: bool = True,
    ) -> None:
        self.exact, self.spacing, self.origin = exact, spacing, origin
        self._columns = len(spacing) if slopes else 0
        self.store = None if store is None else TolerantStore(store)
        self.executor = executor
        self.counts = GridCounts()
        self.failures: dict[Key, str] = {}
        """Reasons of failed corners."""
        self.size = 0
        self._numbers: dict[Key, int] = {}
        self._others: dict[Key, list[int]] = {}
        self._points = np.empty((0, len(spacing)))
        self._data = np.empty((0, 1 + self._columns, 0))

    @property
    def points(self) -> np.ndarray:
        """Known points [input], shape (c, d)."""
        return self._points[: self.size]

    @property
    def data(self) -> np.ndarray:
        """Value (0) and gradient (1 + i) at each point, shape (c, 1 + d, n)."""
        return self._data[: self.size]

    @property
    def outputs(self) -> int:
        """Number of outputs n, or 0 without samples."""
        return self._data.shape[2]

    def number(self, key: Key) -> int | None:
        """Return the row of a corner in `points` and `data`, `FAILED`, or None if it is unknown."""
        return self._numbers.get(lowest(key))

    def rows(self, key: Key) -> list[int]:
        """Return the rows of all known samples at a corner, in order of solution."""
        if self.store is not None and lowest(key) not in self._numbers:
            self._load_from_store(lowest(key), self.store)
        first = self.number(key)
        return [] if first in (None, FAILED) else [first, *self._others.get(lowest(key), [])]

    def place(self, key: Key) -> np.ndarray:
        """Return the point of a key [input], shape (d,); bitwise equal for all keys of a corner."""
        level, *index = key
        return self.origin + self.spacing * (np.array(index) / 2.0**level)

    def evaluate_missing(self, keys: Iterable[Key]) -> None:
        """Add unknown corners, from the store or by evaluation.

        Raises:
            WorkerError: A worker process was killed; completed samples are kept.
        """
        new = [key for key in dict.fromkeys(map(lowest, keys)) if key not in self._numbers]
        if self.store is not None:
            self.store.retry()
            new = [key for key in new if not self._load_from_store(key, self.store)]
        if not new:
            return

        def save(i: int, answer: MapSample | str) -> int:
            return self._save(new[i], answer)

        self._evaluate(np.array([self.place(key) for key in new]), save)

    def continue_from(self, key: Key, row: int) -> int | None:
        """Solve a corner from the sample of a row; return the row of the result, or None.

        A new solution is added to the corner's others, as a further branch.
        """
        key, u = lowest(key), self.place(key)
        if self._numbers.get(key) == FAILED:
            return None
        answer = self._check_sample(u, call_map(self.exact, u, self._neighbour(row)))
        if key not in self._numbers:
            number = self._save(key, answer)
            return None if number == FAILED else number
        self.counts.continuations += 1
        if isinstance(answer, str):
            return None
        rows = self.rows(key)
        for row_known in rows:
            if _is_same_solution(self._data[row_known, 0], answer.value):
                return row_known
        number = self._append(u, answer)
        self.counts.branching += len(rows) == 1
        self._others.setdefault(key, []).append(number)
        if self.store is not None:
            self.store.write_sample(u, answer, level=key[0], branch=len(rows))
        return number

    def fall_back(self, points: np.ndarray) -> list[MapSample]:
        """Evaluate the exact map at points, shape (m, d), without adding corners.

        Raises:
            MapError: The map has no solution at a point.
        """
        answers: dict[int, MapSample | str] = {}

        def save(i: int, answer: MapSample | str) -> int:
            self.counts.fallbacks += 1
            answers[i] = self._check_sample(points[i], answer)
            return NO_NEIGHBOUR

        self._evaluate(points, save)
        samples = []
        for i in range(len(points)):
            answer = answers[i]
            if isinstance(answer, str):
                raise MapError(answer)
            samples.append(answer)
        return samples

    def _evaluate(self, points: np.ndarray, save: Callable[[int, MapSample | str], int]) -> None:
        evaluate(
            self.exact,
            points,
            self.points.copy(),
            self._neighbour,
            save,
            scale=self.spacing,
            executor=self.executor,
        )

    def _neighbour(self, number: int) -> Neighbour:
        data = self._data[number].copy()
        return Neighbour(self._points[number].copy(), MapSample(data[0], data[1:].T))

    def _load_from_store(self, key: Key, store: TolerantStore) -> bool:
        """Add a corner from the store; return False if the store does not have it."""
        answer = store.get(self.place(key))
        if answer is None or (isinstance(answer, MapSample) and self._has_too_few_slopes(answer)):
            return False
        self.counts.from_store += 1
        self._add(key, self._check_sample(self.place(key), answer))
        other_rows = [
            self._append(self.place(key), s) for s in store.other_branches(self.place(key))
        ]
        if other_rows:
            self._others[key] = other_rows
            self.counts.branching += 1
        return True

    def _save(self, key: Key, answer: MapSample | str) -> int:
        """Save a sample in memory and in the store."""
        self.counts.exact[key[0]] = self.counts.exact.get(key[0], 0) + 1
        u = self.place(key)
        answer = self._check_sample(u, answer)
        number = self._add(key, answer)
        if self.store is not None:
            if isinstance(answer, str):
                self.store.write_failure(u, answer, level=key[0])
            else:
                self.store.write_sample(u, answer, level=key[0])
        return number

    def _check_sample(self, u: np.ndarray, answer: MapSample | str) -> MapSample | str:
        """Return the sample after checking its shape, or a reason if it is not finite."""
        if isinstance(answer, str):
            return answer
        value, gradient = np.asarray(answer.value, float), np.asarray(answer.gradient, float)
        n, columns = self.outputs or len(value), self._columns
        if value.shape != (n,) or (columns and gradient.shape != (n, columns)):
            raise ValueError(
                f"The sample at u = {u} must have a value of shape {(n,)} and a gradient of shape "
                f"{(n, columns)}. Got: {value.shape} and {gradient.shape}"
            )
        gradient = gradient[:, :columns]
        if not (np.isfinite(value).all() and np.isfinite(gradient).all()):
            return f"The exact map has no answer at u = {u}: it gave NaN or infinity."
        return MapSample(value, gradient)

    def _has_too_few_slopes(self, sample: MapSample) -> bool:
        """Return True if a sample lacks the gradients that this grid needs."""
        return sample.gradient.shape[1] < self._columns

    def _add(self, key: Key, answer: MapSample | str) -> int:
        if isinstance(answer, str):
            self._numbers[key] = FAILED
            self.failures[key] = answer
            self.counts.failed += 1
            return FAILED
        self._numbers[key] = number = self._append(self.place(key), answer)
        return number

    def _append(self, u: np.ndarray, answer: MapSample) -> int:
        if self.size == len(self._points):
            self._grow(len(answer.value))
        number = self.size
        self._points[number] = u
        self._data[number, 0] = answer.value
        self._data[number, 1:] = answer.gradient.T
        self.size += 1
        return number

    def _grow(self, outputs: int) -> None:
        capacity = max(16, 2 * self.size)
        points, data = self.points, self.data
        self._points = np.empty((capacity, points.shape[1]))
        self._data = np.empty((capacity, data.shape[1], outputs))
        self._points[: self.size] = points
        if self.size:
            self._data[: self.size] = data
