"""Whether as many samples are inside prediction bands as should be.

Errors of neighbouring samples are not independent: an error of a parameter, or of an input, moves
many of them together. So the number inside is not binomial. How much the share of a correct model
varies is found from draws of these errors; noise of outputs, which is independent, is integrated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy import stats
from scipy.special import ndtr

from sofa_softctl.identification.fitting.residual import Fit

DRAWS = 192
"""Draws of errors of the parameters."""
TOLERANCE = 0.01
"""Standard deviation of the expected share by linearisation and by the number of draws [-]."""
DOUBT = 1e-3
"""Level of significance."""


@dataclass(frozen=True)
class Coverage:
    """Samples inside a 95 % prediction band."""

    inside: int
    """Number of samples inside."""
    samples: int
    """Number of samples."""
    expected: float
    """Expected share for a correct model [-]."""
    deviation: float
    """Standard deviation of the share of a correct model, dependence of samples included [-]."""
    low: float
    """p-value of as few inside, or fewer, under a correct model."""
    high: float
    """p-value of as many inside, or more."""

    @property
    def share(self) -> float:
        """Share inside [-]; NaN without samples."""
        return self.inside / self.samples if self.samples else float("nan")


class Band(Protocol):
    """What is drawn of the band of one experiment."""

    fit: Fit
    effects: np.ndarray | None
    at: np.ndarray
    root: np.ndarray
    noise: np.ndarray

    def half_width(self, at: np.ndarray) -> np.ndarray:
        """Half-widths at samples [units], shape (n, n_outputs)."""


def coverage(inside: int, samples: int, shares: np.ndarray) -> Coverage:
    """Test a number of samples inside a band.

    Args:
        inside: Number inside.
        samples: Number of samples.
        shares: Shares inside of a correct model, for each draw of the errors that samples have in
            common, shape (n_draws,).

    The share is taken as of a beta distribution with the mean of the draws, and their variance plus
    that of a binomial share.
    """
    if not samples:
        return Coverage(0, 0, float("nan"), float("nan"), 1.0, 1.0)
    mean = float(np.clip(np.mean(shares), 1e-6, 1.0 - 1e-6))
    binomial = mean * (1.0 - mean)
    variance = binomial / samples + float(np.var(shares)) + TOLERANCE**2
    size = binomial / variance - 1.0
    low = high = 1.0
    if size > 0.0:  # else the share of a correct model may be anything
        share = stats.beta(mean * size, (1.0 - mean) * size)
        low = float(share.cdf(min((inside + 0.5) / samples, 1.0)))
        high = float(share.sf(max((inside - 0.5) / samples, 0.0)))
    return Coverage(inside, samples, mean, float(np.sqrt(variance)), low, high)


def shares_of_draws(bands: Sequence[Band], seed: int = 0) -> list[np.ndarray]:
    """Shares inside of a correct model by channel, for draws of errors of parameters and inputs.

    All experiments have the same errors of parameters.

    Returns:
        For each band an array of shape (n_outputs, n_draws), NaN for channels without a sample.
    """
    random = np.random.default_rng(seed)
    errors = random.standard_normal((DRAWS, bands[0].root.shape[1])) if bands else np.empty(0)
    return [_shares(one, errors) for one in bands]


def _shares(band: Band, errors: np.ndarray) -> np.ndarray:
    J = band.fit.sensitivities[band.at] @ band.root  # (n_picks, n_y, n_rho)
    half, there = band.half_width(band.at), band.fit.there[band.at]
    noise = np.maximum(band.noise, 1e-12 * band.fit.deviations)
    found = np.full((J.shape[1], len(errors)), np.nan)
    for k, column in enumerate(there.T):
        if not column.any():
            continue
        moved = errors @ J[column, k].T  # (n_draws, n_measured)
        if band.effects is not None:
            moved += band.effects[np.arange(len(errors)) % len(band.effects)][:, column, k]
        reach = half[column, k]
        share = ndtr((reach - moved) / noise[k]) - ndtr((-reach - moved) / noise[k])
        found[k] = share.mean(axis=1)
    return found
