"""Starts of a multi-start search: a Latin hypercube over the ranges of parameters."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from sofa_softctl.identification.parameter import Parameter

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
