"""A store whose failures do not end what fills it: samples then stay in memory."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial

import numpy as np

from sofa_softctl.errors import StoreError
from sofa_softctl.surrogate.grid.evaluation import MapSample
from sofa_softctl.surrogate.grid.store import Store


class TolerantStore:
    """Reads and writes a store, and goes on without it where it fails, as on a full disk.

    A sample that could not be written waits, and is written when `retry` succeeds; until then
    no other one is tried.

    Args:
        store: The store; it stays the caller's.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self.fault = ""
        """Why the last access failed; empty if it did not."""
        self._waiting: deque[Callable[[], None]] = deque()

    @property
    def unsaved(self) -> int:
        """Number of samples that are in memory alone."""
        return len(self._waiting)

    @property
    def damaged(self) -> int:
        """Number of samples that were damaged on disk, and are solved again."""
        return self.store.damaged

    def get(self, u: np.ndarray) -> MapSample | str | None:
        """See `Store`; None also where it cannot be read."""
        try:
            return self.store.get(u)
        except StoreError as error:
            self.fault = str(error)
            return None

    def further(self, u: np.ndarray) -> list[MapSample]:
        """See `Store`; none also where it cannot be read."""
        try:
            return self.store.further(u)
        except StoreError as error:
            self.fault = str(error)
            return []

    def points(self) -> np.ndarray:
        """See `Store`; none also where it cannot be read."""
        try:
            return self.store.points()
        except StoreError as error:
            self.fault = str(error)
            return np.empty((0, 0))

    def put(self, u: np.ndarray, sample: MapSample, *, level: int = 0, branch: int = 0) -> None:
        """Write the sample at a point [input], shape (d,); it is on disk when this returns."""
        self._write(partial(self.store.put, u, sample, level=level, branch=branch))

    def failed(self, u: np.ndarray, message: str, *, level: int = 0) -> None:
        """Write that the map has no solution at a point, with the reason."""
        self._write(partial(self.store.failed, u, message, level=level))

    def retry(self) -> None:
        """Write what waits, if that is possible now."""
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
