"""Trials of a library's motions on random tasks, and where these motions are known to be good."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

SHARE = 0.95
"""Share of trials that pass within a region, and that keep to an expected error [-]."""
BINS = 10
"""Number of intervals of distance in which expected errors are known."""


class Trial(NamedTuple):
    """One motion, adapted to a task and tested."""

    entry: int
    """Number of its entry."""
    p: np.ndarray
    """Parameters of the task, mirrored if the motion was, shape (n_p,)."""
    error: float
    """Error of the adapted motion in simulation, before corrections; infinite: it did not end."""
    passed: bool
    """Whether it passed its acceptance test, perhaps after corrections."""


@dataclass(frozen=True, eq=False)
class Trials:
    """Many trials, in the order in which they were made."""

    entry: np.ndarray
    """Number of each trial's entry, shape (n,)."""
    p: np.ndarray
    """Parameters, shape (n, n_p)."""
    error: np.ndarray
    """Errors, shape (n,)."""
    passed: np.ndarray
    """Whether each passed, shape (n,)."""

    @staticmethod
    def of(trials: Sequence[Trial], n_p: int) -> Trials:
        """Trials of a sequence."""
        return Trials(
            np.array([each.entry for each in trials], np.int64),
            np.array([each.p for each in trials], float).reshape(-1, n_p),
            np.array([each.error for each in trials], float),
            np.array([each.passed for each in trials], bool),
        )

    @staticmethod
    def joined(parts: Sequence[Trials], n_p: int) -> Trials:
        """Trials of several, one after the other."""
        parts = [Trials.of([], n_p), *parts]
        return Trials(*(np.concatenate([getattr(e, name) for e in parts]) for name in _FIELDS))

    def __len__(self) -> int:
        return len(self.entry)

    def to_bytes(self) -> bytes:
        """As an .npz file."""
        buffer = io.BytesIO()
        np.savez(buffer, allow_pickle=False, **{name: getattr(self, name) for name in _FIELDS})
        return buffer.getvalue()

    @staticmethod
    def from_bytes(data: bytes) -> Trials:
        """Trials from `to_bytes`."""
        with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
            return Trials(*(arrays[name] for name in _FIELDS))


_FIELDS = ("entry", "p", "error", "passed")


@dataclass(frozen=True, eq=False)
class Coverage:
    """What trials say of a library: where its motions are good, and how good without a test."""

    radii: np.ndarray
    """Radius of each entry's region, in the library's metric, shape (entries,): within it
    `SHARE` of all trials passed. 0: no trial did."""
    distances: np.ndarray
    """Largest distance of each interval, rising, shape (bins,)."""
    errors: np.ndarray
    """Error that `SHARE` of adapted motions kept to without corrections, up to that distance, not
    falling, shape (bins,)."""

    @staticmethod
    def of(trials: Trials, places: np.ndarray, scale: np.ndarray) -> Coverage:
        """Coverage by some trials.

        Args:
            trials: The trials.
            places: Parameters of all entries, shape (entries, n_p).
            scale: Length of each axis in the metric, shape (n_p,).
        """
        apart = np.linalg.norm((trials.p - places[trials.entry]) * scale, axis=1)
        radii = np.zeros(len(places))
        order = np.lexsort((apart, trials.entry))
        ends = np.searchsorted(trials.entry[order], np.arange(len(places) + 1))
        for entry, (begin, end) in enumerate(zip(ends[:-1], ends[1:], strict=True)):
            rows = order[begin:end]
            good = np.cumsum(trials.passed[rows]) / np.arange(1, len(rows) + 1)
            reached = np.flatnonzero((good >= SHARE) & trials.passed[rows])
            radii[entry] = apart[rows[reached[-1]]] if len(reached) else 0.0
        order = np.argsort(apart, kind="stable")
        parts = [part for part in np.array_split(order, BINS) if len(part)]
        return Coverage(
            radii,
            np.array([apart[part[-1]] for part in parts]),
            np.maximum.accumulate([_quantile(trials.error[part]) for part in parts]),
        )

    def expected_error(self, distance: float) -> float:
        """Error that `SHARE` of adapted motions keep to without corrections; infinite: unknown."""
        at = int(np.searchsorted(self.distances, distance))
        return float(self.errors[at]) if at < len(self.errors) else np.inf


def _quantile(values: np.ndarray) -> float:
    """Least value that a share of `SHARE` of as many others stays below, at the largest."""
    rank = int(np.ceil(SHARE * (len(values) + 1)))  # as in conformal prediction
    return float(np.sort(values)[rank - 1]) if rank <= len(values) else np.inf
