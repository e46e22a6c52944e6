"""Store that keeps samples in memory while its file fails."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial

import numpy as np

from sofa_softctl.errors import StoreError
from sofa_softctl.surrogate.grid.evaluation import MapSample
from sofa_softctl.surrogate.grid.store import Store


class TolerantStore:
    """Store that continues in memory if its file fails, as on a full disk.

    A sample that could not be written waits until `retry` succeeds; until then no other sample is
    written.

    Args:
        store: Store, which the caller closes.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self.fault = ""
        """Reason of a failure of the last access, or ""."""
        self._waiting: deque[Callable[[], None]] = deque()

    @property
    def unsaved_count(self) -> int:
        """Number of samples that are only in memory."""
        return len(self._waiting)

    @property
    def damaged_count(self) -> int:
        """Number of samples that were damaged on disk."""
        return self.store.damaged_count

    def get(self, u: np.ndarray) -> MapSample | str | None:
        """Return `Store.get`, or None if the file cannot be read."""
        try:
            return self.store.get(u)
        except StoreError as error:
            self.fault = str(error)
            return None

    def other_branches(self, u: np.ndarray) -> list[MapSample]:
        """Return `Store.other_branches`, or none if the file cannot be read."""
        try:
            return self.store.other_branches(u)
        except StoreError as error:
            self.fault = str(error)
            return []

    def points(self) -> np.ndarray:
        """Return `Store.points`, or none if the file cannot be read."""
        try:
            return self.store.points()
        except StoreError as error:
            self.fault = str(error)
            return np.empty((0, 0))

    def write_sample(
        self, u: np.ndarray, sample: MapSample, *, level: int = 0, branch: int = 0
    ) -> None:
        """Write the sample at a point [input], shape (d,); it is on disk when this returns."""
        self._write(partial(self.store.write_sample, u, sample, level=level, branch=branch))

    def write_failure(self, u: np.ndarray, message: str, *, level: int = 0) -> None:
        """Write the reason why the map has no solution at a point."""
        self._write(partial(self.store.write_failure, u, message, level=level))

    def retry(self) -> None:
        """Write the waiting samples, if that is possible."""
        try:
            while self._waiting:
                self._waiting[0]()
                self._waiting.popleft()
            self.fault = ""
        except StoreError as error:
            self.fault = str(error)

    def _write(self, write: Callable[[], None]) -> None:
        self._waiting.append(write)
        if not self.fault:
            self.retry()
