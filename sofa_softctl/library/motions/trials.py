"""Trials of a library on random tasks, and where its motions are known to be good by them.

Which tasks presumably have no motion, learnt from those that were solved in vain.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.special import expit

SHARE = 0.95
"""Share of trials that pass within a region, and that keep to an expected error [-]."""
BINS = 10
"""Number of intervals of distance in which expected errors are known."""


class Trial(NamedTuple):
    """A task that was asked when the library was built."""

    p: np.ndarray
    """Its parameters, shape (n_p,)."""
    nearest: int
    """Number of the nearest entry."""
    error: float
    """Simulated error of that one's motion, adapted but not corrected; infinite: none."""
    entry: int
    """Number of the entry that the answer is from."""
    passed: bool
    """Whether that passed its acceptance test."""


@dataclass(frozen=True, eq=False)
class Trials:
    """Many trials, in the order in which they were made; columns as in `Trial`."""

    p: np.ndarray
    """Shape (n, n_p)."""
    nearest: np.ndarray
    """Shape (n,)."""
    error: np.ndarray
    """Shape (n,)."""
    entry: np.ndarray
    """Shape (n,)."""
    passed: np.ndarray
    """Shape (n,)."""

    @staticmethod
    def of(trials: Sequence[Trial], n_p: int) -> Trials:
        """Trials of a sequence."""
        return Trials(
            p=np.array([each.p for each in trials], float).reshape(-1, n_p),
            nearest=np.array([each.nearest for each in trials], np.int32),
            error=np.array([each.error for each in trials], float),
            entry=np.array([each.entry for each in trials], np.int32),
            passed=np.array([each.passed for each in trials], bool),
        )

    @staticmethod
    def joined(parts: Sequence[Trials], n_p: int) -> Trials:
        """Trials of several, one after the other."""
        parts = [Trials.of([], n_p), *parts]
        columns = {
            name: np.concatenate([getattr(each, name) for each in parts]) for name in Trial._fields
        }
        return Trials(**columns)

    def __len__(self) -> int:
        return len(self.p)

    def to_bytes(self) -> bytes:
        """As an .npz file."""
        buffer = io.BytesIO()
        arrays = {name: getattr(self, name) for name in Trial._fields}
        np.savez_compressed(buffer, allow_pickle=False, **arrays)
        return buffer.getvalue()

    @staticmethod
    def from_bytes(data: bytes) -> Trials:
        """Trials from `to_bytes`."""
        with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
            return Trials(**{name: arrays[name] for name in Trial._fields})


@dataclass(frozen=True, eq=False)
class Coverage:
    """What trials say of a library: where its motions are good, and how good without a test."""

    radii: np.ndarray
    """Radius of each entry's region, in the library's metric, shape (entries,): `SHARE` of its
    answers within passed. 0: none did."""
    distances: np.ndarray
    """Largest distance of each interval, rising, shape (bins,)."""
    errors: np.ndarray
    """Error that `SHARE` of adapted motions kept to without corrections, up to that distance, not
    falling, shape (bins,)."""

    @staticmethod
    def of(
        trials: Trials, places: np.ndarray, scale: np.ndarray, signs: np.ndarray | None = None
    ) -> Coverage:
        """Coverage by some trials.

        Args:
            trials: The trials.
            places: Parameters of all entries, shape (entries, n_p).
            scale: Length of each axis in the metric, shape (n_p,).
            signs: Mirror symmetry of the parameters, shape (n_p,), or None.
        """

        def apart(entry: np.ndarray) -> np.ndarray:
            asked = [trials.p] if signs is None else [trials.p, signs * trials.p]
            far = [np.linalg.norm((p - places[entry]) * scale, axis=1) for p in asked]
            return np.asarray(np.min(far, axis=0))

        radii, distance = np.zeros(len(places)), apart(trials.entry)
        order = np.lexsort((distance, trials.entry))
        ends = np.searchsorted(trials.entry[order], np.arange(len(places) + 1))
        for entry, (begin, end) in enumerate(pairwise(ends)):
            rows = order[begin:end]
            good = np.cumsum(trials.passed[rows]) / np.arange(1, len(rows) + 1)
            reached = np.flatnonzero((good >= SHARE) & trials.passed[rows])
            radii[entry] = distance[rows[reached[-1]]] if len(reached) else 0.0
        distance = apart(trials.nearest)
        order = np.argsort(distance, kind="stable")
        parts = [part for part in np.array_split(order, BINS) if len(part)]
        return Coverage(
            radii,
            np.array([distance[part[-1]] for part in parts]),
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


LEAST = 10
"""Tasks without a motion from which on something is presumed."""
SOLVED = 0.2
"""Share of the tasks presumed to have no motion that are solved nevertheless [-]."""
SURE = 0.5
"""Probability of having none from which on a task is presumed to have none [-]."""
MOST = 2000
"""Latest tasks with a motion that count."""
RIDGE = 1e-5
"""Weight of the squared coefficients but the first, per sample."""


class Feasibility:
    """Logistic regression on the parameters and their products.

    Args:
        lower, upper: Limits of the parameters, shape (n_p,).
        possible: Parameters of tasks with a motion, shape (n, n_p).
        impossible: Parameters of tasks without one, shape (m, n_p).
        signs: Mirror symmetry of the parameters, shape (n_p,), or None.
    """

    def __init__(
        self,
        lower: np.ndarray,
        upper: np.ndarray,
        possible: np.ndarray,
        impossible: np.ndarray,
        signs: np.ndarray | None = None,
    ) -> None:
        self._middle, self._half = 0.5 * (lower + upper), 0.5 * (upper - lower)
        self._weights: np.ndarray | None = None
        possible = possible[-MOST:]
        if len(impossible) < LEAST or len(possible) < LEAST:
            return
        p = np.concatenate((possible, impossible))
        none = np.repeat([0.0, 1.0], [len(possible), len(impossible)])
        if signs is not None:
            p, none = np.concatenate((p, signs * p)), np.concatenate((none, none))
        self._weights = _logistic(self._features(p), none)

    def presumes_none(self, p: np.ndarray) -> bool:
        """Whether a task presumably has no motion."""
        if self._weights is None:
            return False
        return bool(expit(self._features(p[None])[0] @ self._weights) > SURE)

    def _features(self, p: np.ndarray) -> np.ndarray:
        """1, parameters over their half ranges, and products of two, shape (n, features)."""
        x = np.clip((p - self._middle) / self._half, -2.0, 2.0)
        i, j = np.triu_indices(x.shape[1])
        return np.concatenate((np.ones((len(x), 1)), x, x[:, i] * x[:, j]), axis=1)


def _logistic(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Weights of logistic regression, by Newton's method, shape (features,)."""
    w = np.zeros(X.shape[1])
    ridge = np.diag([1e-9, *[RIDGE] * (len(w) - 1)])
    for _ in range(50):
        share = expit(X @ w)
        slope = X.T @ (share - y) / len(y) + ridge @ w
        curvature = (X * (share * (1.0 - share))[:, None]).T @ X / len(y) + ridge
        step = np.linalg.solve(curvature, slope)
        w = w - step
        if np.abs(step).max() < 1e-8:
            break
    return w
