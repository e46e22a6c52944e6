"""When a library knows enough: a confidence bound on the share of tasks that it fails."""

from __future__ import annotations

import math
from dataclasses import dataclass

from scipy.stats import beta

CONFIDENCE = 0.95
"""Probability that a bound holds whenever it is looked at [-]."""
SURE = 0.9999
"""Probability that a share is at least so large, at one look [-]."""


@dataclass
class Presumed:
    """Tasks that presumably have no motion, see `feasibility`."""

    unsolved: int = 0
    """Those that were not solved."""
    solved: int = 0
    """Those that were, to check."""
    wrong: int = 0
    """Of the latter, those with a motion."""

    def bound(self, tasks: int) -> float:
        """Upper bound of the share of all tasks that are not solved and have a motion [-]."""
        if not self.unsolved:
            return 0.0
        return self.unsolved / tasks * _upper(self.wrong, self.solved, 0.5 * (1.0 - CONFIDENCE))


@dataclass
class Window:
    """Tasks since the last new motion: the test of the library as it is."""

    tasks: int = 0
    """Number of tasks."""
    failures: int = 0
    """Of these, those that have a motion which the library lacks: degenerate, or not converged."""
    infeasible: int = 0
    """Of these, those without a motion, presumed ones included."""

    @property
    def least(self) -> float:
        """Lower bound of the share of tasks that fail, of confidence `SURE` [-]."""
        if not self.failures:
            return 0.0
        return float(beta.ppf(1.0 - SURE, self.failures, self.tasks - self.failures + 1))

    def bound(self, motions: int, *, halved: bool = False) -> float:
        """Upper bound of the share of tasks that the library fails though they have a motion [-].

        The exact bound of a binomial share, by Clopper and Pearson. The error probability is shared
        among all numbers of motions and failures at which building may look at it, as 6 / (pi k)^2,
        so that it holds at the end.

        Args:
            motions: In the library.
            halved: Whether only half of the error probability is to be spent.
        """
        alpha = (0.5 if halved else 1.0) * (1.0 - CONFIDENCE) * _part(motions + 1)
        return _upper(self.failures, self.tasks, alpha * _part(self.failures + 1))


def failure_bound(window: Window, presumed: Presumed, *, tasks: int, motions: int) -> float:
    """Upper bound of the share of tasks that have a motion and that a library fails [-].

    Args:
        window: Tasks since the last new motion.
        presumed: Tasks that presumably have none.
        tasks: Number of all tasks.
        motions: In the library.
    """
    missed = presumed.bound(tasks)
    return min(1.0, window.bound(motions, halved=missed > 0.0) + missed)


def _part(number: int) -> float:
    """Share of the error probability for one of infinitely many looks; all add up to 1."""
    return 6.0 / (math.pi * number) ** 2


def _upper(failures: int, tasks: int, alpha: float) -> float:
    """Clopper and Pearson's upper bound of a share, of error probability alpha."""
    if failures >= tasks:
        return 1.0
    return float(beta.ppf(1.0 - alpha, failures + 1, tasks - failures))


def tasks_wanted(failure_rate: float, motions: int) -> int:
    """Number of tasks without a failure after which a bound is at most a failure rate."""
    alpha = (1.0 - CONFIDENCE) * _part(motions + 1) * _part(1)
    return math.ceil(math.log(alpha) / math.log1p(-failure_rate))
