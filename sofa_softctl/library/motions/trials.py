"""Statistics of a library's building: coverage by its trials, and infeasible tasks.

`Coverage` estimates in which region of each entry answers pass, and how large their errors are.
`Feasibility` predicts infeasible tasks by logistic regression on the tasks solved so far.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.special import expit


@dataclass(frozen=True)
class CoverageSettings:
    """Numbers of the coverage of a library."""

    accepted_fraction: float = 0.95
    """Fraction of trials that pass within a region, or keep to an expected error [-]."""
    bin_count: int = 10
    """Number of distance intervals for which expected errors are known."""


COVERAGE = CoverageSettings()


class Trial(NamedTuple):
    """Result of a query for a random task during building."""

    p: np.ndarray
    """Parameters of the task, shape (n_p,)."""
    nearest: int
    """Index of the nearest entry."""
    error: float
    """Simulated error of the nearest entry, adapted but not corrected; infinite without one."""
    entry: int
    """Index of the entry that the answer is from."""
    passed: bool
    """Whether the answer passed its acceptance test."""


@dataclass(frozen=True, eq=False)
class Trials:
    """Columns of trials in their order, named as in `Trial`."""

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
    def from_rows(trials: Sequence[Trial], n_p: int) -> Trials:
        """Return the columns of a sequence of trials."""
        return Trials(
            p=np.array([trial.p for trial in trials], float).reshape(-1, n_p),
            nearest=np.array([trial.nearest for trial in trials], np.int32),
            error=np.array([trial.error for trial in trials], float),
            entry=np.array([trial.entry for trial in trials], np.int32),
            passed=np.array([trial.passed for trial in trials], bool),
        )

    @staticmethod
    def concatenate(parts: Sequence[Trials], n_p: int) -> Trials:
        """Return the trials of all parts in order."""
        parts = [Trials.from_rows([], n_p), *parts]
        columns = {
            name: np.concatenate([getattr(part, name) for part in parts]) for name in Trial._fields
        }
        return Trials(**columns)

    def __len__(self) -> int:
        return len(self.p)

    def to_bytes(self) -> bytes:
        """Return the columns as an .npz file."""
        buffer = io.BytesIO()
        arrays = {name: getattr(self, name) for name in Trial._fields}
        np.savez_compressed(buffer, allow_pickle=False, **arrays)
        return buffer.getvalue()

    @staticmethod
    def from_bytes(data: bytes) -> Trials:
        """Read trials from `to_bytes`."""
        with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
            return Trials(**{name: arrays[name] for name in Trial._fields})


@dataclass(frozen=True, eq=False)
class Coverage:
    """Regions of a library in which answers pass, and expected errors of untested answers."""

    radii: np.ndarray
    """Radius of the region of each entry within which `accepted_fraction` of its answers passed, in
    the library's metric, 0 if there is none, shape (entries,)."""
    distances: np.ndarray
    """Largest distance of each distance interval, rising, shape (bins,)."""
    errors: np.ndarray
    """Error that `accepted_fraction` of adapted, uncorrected trajectories kept to up to each
    distance, non-decreasing, shape (bins,)."""

    @staticmethod
    def from_trials(
        trials: Trials, entry_p: np.ndarray, scale: np.ndarray, signs: np.ndarray | None = None
    ) -> Coverage:
        """Estimate the coverage from trials.

        Args:
            trials: The trials.
            places: Parameters of all entries, shape (entries, n_p).
            scale: Length of each axis in the metric, shape (n_p,).
            signs: Mirror symmetry of the parameters, shape (n_p,), or None.
        """

        def distances_to(number: np.ndarray) -> np.ndarray:
            queries = [trials.p] if signs is None else [trials.p, signs * trials.p]
            distances = [np.linalg.norm((p - entry_p[number]) * scale, axis=1) for p in queries]
            return np.asarray(np.min(distances, axis=0))

        radii, distance = np.zeros(len(entry_p)), distances_to(trials.entry)
        order = np.lexsort((distance, trials.entry))
        ends = np.searchsorted(trials.entry[order], np.arange(len(entry_p) + 1))
        for number, (begin, end) in enumerate(pairwise(ends)):
            rows = order[begin:end]
            pass_fraction = np.cumsum(trials.passed[rows]) / np.arange(1, len(rows) + 1)
            accepted = np.flatnonzero(
                (pass_fraction >= COVERAGE.accepted_fraction) & trials.passed[rows]
            )
            radii[number] = distance[rows[accepted[-1]]] if len(accepted) else 0.0
        distance = distances_to(trials.nearest)
        order = np.argsort(distance, kind="stable")
        parts = [part for part in np.array_split(order, COVERAGE.bin_count) if len(part)]
        return Coverage(
            radii,
            np.array([distance[part[-1]] for part in parts]),
            np.maximum.accumulate([_quantile(trials.error[part]) for part in parts]),
        )

    def expected_error(self, distance: float) -> float:
        """Return the error that `accepted_fraction` of uncorrected answers keep to, or inf."""
        bin_index = int(np.searchsorted(self.distances, distance))
        return float(self.errors[bin_index]) if bin_index < len(self.errors) else np.inf


def _quantile(values: np.ndarray) -> float:
    """Return the value that a new sample stays below with probability `accepted_fraction`."""
    # as in conformal prediction
    rank = int(np.ceil(COVERAGE.accepted_fraction * (len(values) + 1)))
    return float(np.sort(values)[rank - 1]) if rank <= len(values) else np.inf


@dataclass(frozen=True)
class FeasibilitySettings:
    """Numbers of the prediction of infeasible tasks."""

    tasks_min: int = 10
    """Number of feasible and of infeasible tasks below which nothing is predicted."""
    solved_fraction: float = 0.2
    """Fraction of the tasks predicted infeasible that are solved nevertheless, as a check [-]."""
    infeasible_probability_min: float = 0.5
    """Probability of being infeasible above which a task is predicted infeasible [-]."""
    feasible_tasks_max: int = 2000
    """Number of the latest feasible tasks that are used."""
    ridge: float = 1e-5
    """Weight of the squared coefficients except the first, per sample."""


FEASIBILITY = FeasibilitySettings()


class Feasibility:
    """Prediction of infeasible tasks by logistic regression on parameters and their products.

    Args:
        lower, upper: Limits of the parameters, shape (n_p,).
        feasible: Parameters of feasible tasks, shape (n, n_p).
        infeasible: Parameters of infeasible tasks, shape (m, n_p).
        signs: Mirror symmetry of the parameters, shape (n_p,), or None.
    """

    def __init__(
        self,
        lower: np.ndarray,
        upper: np.ndarray,
        feasible: np.ndarray,
        infeasible: np.ndarray,
        signs: np.ndarray | None = None,
    ) -> None:
        self._middle, self._half = 0.5 * (lower + upper), 0.5 * (upper - lower)
        self._weights: np.ndarray | None = None
        feasible = feasible[-FEASIBILITY.feasible_tasks_max :]
        if len(infeasible) < FEASIBILITY.tasks_min or len(feasible) < FEASIBILITY.tasks_min:
            return
        p = np.concatenate((feasible, infeasible))
        is_infeasible = np.repeat([0.0, 1.0], [len(feasible), len(infeasible)])
        if signs is not None:
            p, is_infeasible = (
                np.concatenate((p, signs * p)),
                np.concatenate((is_infeasible, is_infeasible)),
            )
        self._weights = _logistic(self._features(p), is_infeasible)

    def predicts_infeasible(self, p: np.ndarray) -> bool:
        """Return True if a task is probably infeasible."""
        if self._weights is None:
            return False
        return bool(
            expit(self._features(p[None])[0] @ self._weights)
            > FEASIBILITY.infeasible_probability_min
        )

    def _features(self, p: np.ndarray) -> np.ndarray:
        """Return 1, parameters over their half ranges, and products of two, shape (n, features)."""
        x = np.clip((p - self._middle) / self._half, -2.0, 2.0)
        i, j = np.triu_indices(x.shape[1])
        return np.concatenate((np.ones((len(x), 1)), x, x[:, i] * x[:, j]), axis=1)


def _logistic(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Fit the weights of a logistic regression by Newton's method, shape (features,)."""
    w = np.zeros(X.shape[1])
    ridge = np.diag([1e-9, *[FEASIBILITY.ridge] * (len(w) - 1)])
    for _ in range(50):
        probability = expit(X @ w)
        slope = X.T @ (probability - y) / len(y) + ridge @ w
        curvature = (X * (probability * (1.0 - probability))[:, None]).T @ X / len(y) + ridge
        step = np.linalg.solve(curvature, slope)
        w = w - step
        if np.abs(step).max() < 1e-8:
            break
    return w
