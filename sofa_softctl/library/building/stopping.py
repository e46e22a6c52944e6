"""Stopping rule of building: a confidence bound on the fraction of tasks that a library fails.

Every time that building compares the bound with the failure rate is a look. Of the error
probability 1 - `confidence`, the look with m entries and k failures may spend the fraction c_(m+1)
c_(k+1), c_n = 6 / (pi n)^2. The c_n add up to 1, so the bound holds at all looks together.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from scipy.stats import beta


@dataclass(frozen=True)
class StoppingSettings:
    """Confidence levels of the bounds."""

    confidence: float = 0.95
    """Probability that the upper bound holds at all looks during building [-]."""
    look_confidence: float = 0.9999
    """Probability that the lower bound holds at a single look [-]."""


SETTINGS = StoppingSettings()


@dataclass
class PredictedInfeasible:
    """Counts of the tasks predicted infeasible, see `Feasibility`."""

    unsolved: int = 0
    """Number of tasks that were not solved."""
    solved: int = 0
    """Number of tasks solved as a check of the prediction."""
    wrong: int = 0
    """Number of checked tasks that are feasible."""

    def bound(self, tasks: int) -> float:
        """Return an upper bound of the fraction of unsolved but feasible tasks [-]."""
        if not self.unsolved:
            return 0.0
        return (
            self.unsolved
            / tasks
            * _upper_bound(self.wrong, self.solved, 0.5 * (1.0 - SETTINGS.confidence))
        )


@dataclass
class Window:
    """Tasks since the last new entry: a test of the present library."""

    tasks: int = 0
    """Number of tasks."""
    failures: int = 0
    """Number of feasible tasks that get no entry: degenerate, or not converged."""
    infeasible: int = 0
    """Number of infeasible tasks, including predicted ones."""

    @property
    def least(self) -> float:
        """Lower bound of the fraction of tasks that fail, of confidence `look_confidence` [-]."""
        if not self.failures:
            return 0.0
        return float(
            beta.ppf(1.0 - SETTINGS.look_confidence, self.failures, self.tasks - self.failures + 1)
        )

    def bound(self, motions: int, *, error_fraction: float = 1.0) -> float:
        """Return an upper bound of the fraction of feasible tasks that the library fails [-].

        It is Clopper and Pearson's exact bound of a binomial fraction.

        Args:
            motions: Number of entries in the library.
            error_fraction: Fraction of the error probability that this bound may spend [-].
        """
        alpha = error_fraction * (1.0 - SETTINGS.confidence) * _error_fraction(motions + 1)
        return _upper_bound(self.failures, self.tasks, alpha * _error_fraction(self.failures + 1))


def failure_bound(
    window: Window, presumed: PredictedInfeasible, *, tasks: int, motions: int
) -> float:
    """Return an upper bound of the fraction of feasible tasks that a library fails [-].

    Args:
        window: Tasks since the last new entry.
        presumed: Counts of tasks predicted infeasible.
        tasks: Number of all tasks.
        motions: Number of entries in the library.
    """
    missed = presumed.bound(tasks)
    return min(1.0, window.bound(motions, error_fraction=0.5 if missed > 0.0 else 1.0) + missed)


def _error_fraction(number: int) -> float:
    """Return the fraction of the error probability that look `number` may spend."""
    return 6.0 / (math.pi * number) ** 2


def _upper_bound(failures: int, tasks: int, alpha: float) -> float:
    """Return Clopper and Pearson's upper bound of a fraction, of error probability alpha."""
    if failures >= tasks:
        return 1.0
    return float(beta.ppf(1.0 - alpha, failures + 1, tasks - failures))


def tasks_wanted(failure_rate: float, motions: int) -> int:
    """Return the number of tasks without a failure that bounds the failure rate."""
    alpha = (1.0 - SETTINGS.confidence) * _error_fraction(motions + 1) * _error_fraction(1)
    return math.ceil(math.log(alpha) / math.log1p(-failure_rate))
