"""Corners of a hierarchical grid, each evaluated once for all cells and levels."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import Executor
from dataclasses import dataclass, field

import numpy as np

from sofa_softctl.errors import MapError
from sofa_softctl.surrogate.grid.evaluation import (
    NONE,
    CostlyMap,
    MapSample,
    Neighbour,
    ask,
    evaluate,
)
from sofa_softctl.surrogate.grid.store import Store
from sofa_softctl.surrogate.grid.tolerant import TolerantStore

Key = tuple[int, ...]
"""(level r, i_1, ..., i_d): the point origin + spacing i / 2^r, or the cell from there on."""
FAILED = NONE
"""Number of a corner where the map has no solution."""
SAME = 1e-6
"""Difference of values, relative to them, below which they are one solution found twice [-]."""


@dataclass
class GridCounts:
    """Counts of a grid. They only grow."""

    exact: dict[int, int] = field(default_factory=dict)
    """Evaluations of the exact map at corners, by their level."""
    from_store: int = 0
    """Corners from the store."""
    failed: int = 0
    """Corners where the map has no solution."""
    branching: int = 0
    """Corners where the map has solutions on several branches."""
    again: int = 0
    """Further evaluations of corners, to stay on a branch."""
    fallbacks: int = 0
    """Queried points at which the exact map was evaluated."""
    refused: int = 0
    """Unusable cells: a corner failed, or the branch of the others ends before it."""
    queries: int = 0
    """Queried points."""

    @property
    def evaluations(self) -> int:
        """Total number of evaluations of the exact map."""
        return sum(self.exact.values()) + self.again + self.fallbacks


def lowest(key: Key) -> Key:
    """The corner's key in lowest terms, so that it has one key on all levels."""
    while key[0] > 0 and not any(i & 1 for i in key[1:]):
        key = coarser(key)
    return key


def coarser(key: Key) -> Key:
    """The cell of the next coarser level with a cell in it; for a corner there, its own."""
    level, *index = key
    return (level - 1, *(i >> 1 for i in index))


def _same(first: np.ndarray, second: np.ndarray) -> bool:
    """Whether two values are the same solution."""
    return bool(np.linalg.norm(first - second) <= SAME * (1.0 + np.linalg.norm(first)))


class Corners:
    """Samples at the corners of a grid, in one array that grows.

    Args:
        exact: The costly map.
        spacing: Spacing of level 0 [input], shape (d,).
        origin: A corner of level 0 [input], shape (d,).
        store: File of samples, besides memory, which goes on alone where the file fails.
        executor: Evaluates corners in parallel.
        slopes: Whether gradients are kept; otherwise samples need none, and arrays are (c, 1, n).
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
        """Value (0) and gradient (1 + i) at each, shape (c, 1 + d, n)."""
        return self._data[: self.size]

    @property
    def outputs(self) -> int:
        """Number of outputs n; 0 while there are no samples."""
        return self._data.shape[2]

    def number(self, key: Key) -> int | None:
        """Row of a corner in `points` and `data`, `FAILED`, or None if it is unknown."""
        return self._numbers.get(lowest(key))

    def rows(self, key: Key) -> list[int]:
        """Rows of all known samples at a corner, the first one first."""
        if self.store is not None and lowest(key) not in self._numbers:
            self._sought(lowest(key), self.store)
        first = self.number(key)
        return [] if first in (None, FAILED) else [first, *self._others.get(lowest(key), [])]

    def place(self, key: Key) -> np.ndarray:
        """The point of a key [input], shape (d,); bitwise equal for all its keys."""
        level, *index = key
        return self.origin + self.spacing * (np.array(index) / 2.0**level)

    def want(self, keys: Iterable[Key]) -> None:
        """Add corners, from the store or by evaluation; known ones stay.

        Raises:
            WorkerError: A worker process was killed; completed samples are kept.
        """
        new = [key for key in dict.fromkeys(map(lowest, keys)) if key not in self._numbers]
        if self.store is not None:
            self.store.retry()
            new = [key for key in new if not self._sought(key, self.store)]
        if not new:
            return

        def keep(i: int, answer: MapSample | str) -> int:
            return self._keep(new[i], answer)

        self._ask(np.array([self.place(key) for key in new]), keep)

    def ask_again(self, key: Key, row: int) -> int | None:
        """Row of the sample at a corner when solved from the sample of a row, or None.

        A new one is kept beside the others, as a further branch.
        """
        key, u = lowest(key), self.place(key)
        if self._numbers.get(key) == FAILED:
            return None
        answer = self._checked(u, ask(self.exact, u, self._neighbour(row)))
        if key not in self._numbers:
            number = self._keep(key, answer)
            return None if number == FAILED else number
        self.counts.again += 1
        if isinstance(answer, str):
            return None
        known = self.rows(key)
        for other in known:
            if _same(self._data[other, 0], answer.value):
                return other
        number = self._append(u, answer)
        self.counts.branching += len(known) == 1
        self._others.setdefault(key, []).append(number)
        if self.store is not None:
            self.store.put(u, answer, level=key[0], branch=len(known))
        return number

    def fall_back(self, points: np.ndarray) -> list[MapSample]:
        """Evaluate the exact map at points, shape (m, d), which become no corners.

        Raises:
            MapError: It has no solution at one of them.
        """
        answers: dict[int, MapSample | str] = {}

        def keep(i: int, answer: MapSample | str) -> int:
            self.counts.fallbacks += 1
            answers[i] = self._checked(points[i], answer)
            return NONE

        self._ask(points, keep)
        samples = []
        for i in range(len(points)):
            answer = answers[i]
            if isinstance(answer, str):
                raise MapError(answer)
            samples.append(answer)
        return samples

    def _ask(self, points: np.ndarray, keep: Callable[[int, MapSample | str], int]) -> None:
        evaluate(
            self.exact,
            points,
            self.points.copy(),
            self._neighbour,
            keep,
            scale=self.spacing,
            executor=self.executor,
        )

    def _neighbour(self, number: int) -> Neighbour:
        data = self._data[number].copy()
        return Neighbour(self._points[number].copy(), MapSample(data[0], data[1:].T))

    def _sought(self, key: Key, store: TolerantStore) -> bool:
        """Whether the store has a corner, which is then added."""
        answer = store.get(self.place(key))
        if answer is None or (isinstance(answer, MapSample) and self._lacks_slopes(answer)):
            return False
        self.counts.from_store += 1
        self._add(key, self._checked(self.place(key), answer))
        others = [self._append(self.place(key), s) for s in store.further(self.place(key))]
        if others:
            self._others[key] = others
            self.counts.branching += 1
        return True

    def _keep(self, key: Key, answer: MapSample | str) -> int:
        """Keep a sample, in memory and in the store."""
        self.counts.exact[key[0]] = self.counts.exact.get(key[0], 0) + 1
        u = self.place(key)
        answer = self._checked(u, answer)
        number = self._add(key, answer)
        if self.store is not None:
            if isinstance(answer, str):
                self.store.failed(u, answer, level=key[0])
            else:
                self.store.put(u, answer, level=key[0])
        return number

    def _checked(self, u: np.ndarray, answer: MapSample | str) -> MapSample | str:
        """The sample if it has the right shape and is finite."""
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

    def _lacks_slopes(self, sample: MapSample) -> bool:
        """Whether it is one of a map without gradients."""
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
