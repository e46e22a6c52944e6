"""Starts of a multi-start search, a Latin hypercube, and the minima where they end."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sofa_softctl.identification.fitting.gauss_newton import SearchResult
from sofa_softctl.identification.model.parameter import Parameter

SAME = 1.0
"""Ends within one standard deviation of each other are of one minimum: difference of the cost and
square of the distance in the metric of the information [-]..."""
SAME_SHARE = 1e-4
"""... and the same relative to the cost: residuals are larger where the model is wrong."""


@dataclass(frozen=True, eq=False)
class Minimum:
    """A minimum of the cost, and the searches that ended there."""

    rho: np.ndarray
    """Its parameters, shape (n_rho,)."""
    cost: float
    """Sum of squared residuals there [-]."""
    searches: tuple[int, ...]
    """Indices of the searches that ended there; the first is the best."""

    @property
    def count(self) -> int:
        """Number of these searches."""
        return len(self.searches)


def distinct_minima(searches: Sequence[SearchResult]) -> tuple[Minimum, ...]:
    """Minima at which searches converged, best first.

    Two ends are one minimum if their costs, and their parameters as far as the data determine them,
    agree within a standard deviation: (rho - rho')^T F (rho - rho') <= 1, F the information at the
    better end. Searches that did not converge ended at no minimum.

    Args:
        searches: Best first.
    """
    groups: list[list[int]] = []
    for i, one in enumerate(searches):
        if not one.termination.status.ok:
            continue
        home = next((group for group in groups if _same(searches[group[0]], one)), None)
        if home is None:
            groups.append([i])
        else:
            home.append(i)
    return tuple(
        Minimum(searches[group[0]].rho, searches[group[0]].cost, tuple(group)) for group in groups
    )


def _same(better: SearchResult, other: SearchResult) -> bool:
    allowed = SAME + SAME_SHARE * better.cost
    change = other.rho - better.rho
    distance = 0.0 if better.information is None else float(change @ better.information @ change)
    return other.cost - better.cost <= allowed and distance <= allowed


FACTOR = 10.0
"""Range of positive parameters without a prior: start / FACTOR to start * FACTOR."""
DEVIATIONS = 3.0
"""Range of parameters with a prior: this many deviations around its mean."""


def spread_starts(
    parameters: Sequence[Parameter], free: np.ndarray, count: int, seed: int
) -> list[np.ndarray]:
    """A Latin hypercube of starts: each interval of a parameter's range is used once.

    Args:
        parameters: Positive ones are spread evenly in their logarithm.
        free: Mask of those that vary, shape (n_rho,); the others stay at their starts.
        count: Number of starts.
        seed: Seed of the random numbers.
    """
    if count < 1:
        return []
    random = np.random.default_rng(seed)
    points = np.empty((count, len(parameters)))
    for column, (one, varies) in enumerate(zip(parameters, free, strict=True)):
        share = (random.permutation(count) + random.random(count)) / count
        points[:, column] = _between(one, share) if varies else one.start
    return list(points)


def closer(start: np.ndarray, point: np.ndarray) -> np.ndarray:
    """The midpoint between a start and a point; in logarithms where both are positive."""
    positive = (start > 0.0) & (point > 0.0)
    found: np.ndarray = np.where(positive, np.sqrt(np.abs(start * point)), 0.5 * (start + point))
    return found


def _between(one: Parameter, share: np.ndarray) -> np.ndarray:
    """Values at shares (0 to 1) of a parameter's range."""
    low, high = _range(one)
    if low > 0.0:
        return np.clip(low * (high / low) ** share, low, high)
    return low + (high - low) * share


def _range(one: Parameter) -> tuple[float, float]:
    if one.prior is not None:
        reach = DEVIATIONS * one.prior.deviation
        low, high = one.prior.mean - reach, one.prior.mean + reach
    elif one.lower >= 0.0 and one.start > 0.0:
        low, high = one.start / FACTOR, one.start * FACTOR
    elif math.isfinite(one.upper - one.lower):
        low, high = one.lower, one.upper
    else:
        low, high = one.start - DEVIATIONS * one.scale, one.start + DEVIATIONS * one.scale
    low, high = max(low, one.lower), min(high, one.upper)
    return (low, high) if low < high else (one.start, one.start)
