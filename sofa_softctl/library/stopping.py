"""When a library knows enough: a confidence bound on the share of tasks that it fails."""

from __future__ import annotations

import math
from dataclasses import dataclass

from scipy.stats import beta

CONFIDENCE = 0.95
"""Probability that a bound holds whenever it is looked at [-]."""
SOLVED_SHARE = 0.2
"""Share of the tasks presumed to have no motion that are solved nevertheless [-]."""


@dataclass
class Window:
    """Tasks since the last new motion: the test of the library as it is."""

    tasks: int = 0
    """Tasks that were answered, or solved without making a motion."""
    failures: int = 0
    """Of these, those that have a motion which the library lacks: degenerate, or not converged."""
    infeasible: int = 0
    """Of these, those without a motion."""
    presumed: int = 0
    """Further tasks, not solved as they presumably have no motion."""

    def bound(self, motions: int) -> float:
        """Upper bound of the share of tasks with a motion that the library fails [-].

        Exact bounds of a binomial share, by Clopper and Pearson. The error probability is shared
        among all motions and failures at which building may look at it, as 6 / (pi k)^2, so that
        it holds at the end. Of tasks presumed to have no motion, a share is solved: had one in
        that share a motion, the window would have ended.
        """
        alpha = (1.0 - CONFIDENCE) * _part(motions + 1)
        if not self.presumed:
            return _upper(self.failures, self.tasks, alpha * _part(self.failures + 1))
        every = self.tasks + self.presumed
        solved = _upper(self.failures, every, 0.5 * alpha * _part(self.failures + 1))
        return min(1.0, solved + _upper(0, every, 0.5 * alpha) / SOLVED_SHARE)


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
