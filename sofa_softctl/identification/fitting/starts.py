"""Starts of a multi-start search, a Latin hypercube, and the minima where its searches end."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sofa_softctl.identification.fitting.gauss_newton import SearchResult
from sofa_softctl.identification.model.parameter import Parameter


@dataclass(frozen=True, eq=False)
class Minimum:
    """Minimum of the cost, with the searches that ended there."""

    rho: np.ndarray
    """Parameters at the minimum, shape (n_rho,)."""
    cost: float
    """Sum of squared residuals at the minimum [-]."""
    searches: tuple[int, ...]
    """Indices of the searches that ended there, best first."""

    @property
    def count(self) -> int:
        """Number of searches that ended there."""
        return len(self.searches)


def distinct_minima(searches: Sequence[SearchResult]) -> tuple[Minimum, ...]:
    """Return the minima at which searches converged, best first.

    Two ends are the same minimum if their costs and parameters agree within a standard deviation:
    (rho - rho')^T F (rho - rho') <= 1, F the information at the better end, so directions that the
    data do not determine do not count. Searches that did not converge ended at no minimum.

    Args:
        searches: Results of the searches, best first.
    """
    groups: list[list[int]] = []
    for i, search in enumerate(searches):
        if not search.termination.status.ok:
            continue
        home = next(
            (group for group in groups if _is_same_minimum(searches[group[0]], search)), None
        )
        if home is None:
            groups.append([i])
        else:
            home.append(i)
    return tuple(
        Minimum(searches[group[0]].rho, searches[group[0]].cost, tuple(group)) for group in groups
    )


def _is_same_minimum(better: SearchResult, worse: SearchResult) -> bool:
    # One standard deviation; where the model is wrong residuals are larger, hence the second term.
    tolerance = 1.0 + 1e-4 * better.cost
    change = worse.rho - better.rho
    distance = 0.0 if better.information is None else float(change @ better.information @ change)
    return worse.cost - better.cost <= tolerance and distance <= tolerance


def spread_starts(
    parameters: Sequence[Parameter], free: np.ndarray, count: int, seed: int
) -> list[np.ndarray]:
    """Return a Latin hypercube of starts: each interval of a parameter's range is used once.

    Args:
        parameters: Parameters; positive ones are spread evenly in their logarithm.
        free: Mask of the parameters that vary, shape (n_rho,); the others stay at their starts.
        count: Number of starts.
        seed: Seed of the random numbers.
    """
    if count < 1:
        return []
    random = np.random.default_rng(seed)
    points = np.empty((count, len(parameters)))
    for column, (parameter, varies) in enumerate(zip(parameters, free, strict=True)):
        fractions = (random.permutation(count) + random.random(count)) / count
        points[:, column] = _values_in_range(parameter, fractions) if varies else parameter.start
    return list(points)


def midpoint_towards(start: np.ndarray, point: np.ndarray) -> np.ndarray:
    """Return the midpoint between a start and a point, geometric where both are positive."""
    are_positive = (start > 0.0) & (point > 0.0)
    midpoint: np.ndarray = np.where(
        are_positive, np.sqrt(np.abs(start * point)), 0.5 * (start + point)
    )
    return midpoint


def _values_in_range(parameter: Parameter, fractions: np.ndarray) -> np.ndarray:
    """Return the values at fractions (0 to 1) of a parameter's range."""
    low, high = _range(parameter)
    if low > 0.0:
        return np.clip(low * (high / low) ** fractions, low, high)
    return low + (high - low) * fractions


def _range(parameter: Parameter) -> tuple[float, float]:
    """Range of starts: 3 deviations around a prior, else start / 10 to start * 10, else bounds."""
    if parameter.prior is not None:
        width = 3.0 * parameter.prior.deviation
        low, high = parameter.prior.mean - width, parameter.prior.mean + width
    elif parameter.lower >= 0.0 and parameter.start > 0.0:
        low, high = parameter.start / 10.0, parameter.start * 10.0
    elif math.isfinite(parameter.upper - parameter.lower):
        low, high = parameter.lower, parameter.upper
    else:
        width = 3.0 * parameter.scale
        low, high = parameter.start - width, parameter.start + width
    low, high = max(low, parameter.lower), min(high, parameter.upper)
    return (low, high) if low < high else (parameter.start, parameter.start)
