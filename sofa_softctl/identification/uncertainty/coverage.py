"""Test of the fraction of samples inside prediction bands.

Errors of neighbouring samples are not independent: an error of a parameter, or of an input, moves
many of them together. So the number inside is not binomial. The scatter of the fraction for a
correct model is computed from draws of these errors; noise of outputs, which is independent, is
integrated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy import stats
from scipy.special import ndtr

from sofa_softctl.identification.fitting.residual import Fit

SIGNIFICANCE_LEVEL = 1e-3
"""p-value below which a fraction of samples inside a band contradicts a correct model [-]."""


@dataclass(frozen=True)
class Coverage:
    """Samples inside a 95 % prediction band."""

    inside: int
    """Number of samples inside."""
    samples: int
    """Number of samples."""
    expected: float
    """Expected fraction inside for a correct model [-]."""
    deviation: float
    """Standard deviation of this fraction, with the dependence of samples [-]."""
    low: float
    """p-value of this number inside, or fewer, for a correct model."""
    high: float
    """p-value of this number inside, or more, for a correct model."""

    @property
    def share(self) -> float:
        """Fraction of samples inside [-], NaN without samples."""
        return self.inside / self.samples if self.samples else float("nan")


class Band(Protocol):
    """Band of one experiment, as needed for drawing errors."""

    fit: Fit
    effects: np.ndarray | None
    at: np.ndarray
    root: np.ndarray
    noise: np.ndarray

    def half_width(self, at: np.ndarray) -> np.ndarray:
        """Return the half-widths at samples [units], shape (n, n_outputs)."""


def coverage(inside: int, samples: int, fractions: np.ndarray) -> Coverage:
    """Test a number of samples inside a band.

    Args:
        inside: Number of samples inside.
        samples: Number of samples.
        fractions: Fraction inside for a correct model, for each draw of the errors that samples
            have in common, shape (n_draws,).

    The fraction has a beta distribution with the mean of the draws, whose variance is the variance
    of the draws plus the variance of a binomial fraction.
    """
    if not samples:
        return Coverage(0, 0, float("nan"), float("nan"), 1.0, 1.0)
    mean = float(np.clip(np.mean(fractions), 1e-6, 1.0 - 1e-6))
    binomial = mean * (1.0 - mean)
    variance = binomial / samples + float(np.var(fractions)) + 0.01**2  # linearisation, draws
    concentration = binomial / variance - 1.0
    low = high = 1.0
    if concentration > 0.0:  # else the fraction of a correct model may be anything
        distribution = stats.beta(mean * concentration, (1.0 - mean) * concentration)
        low = float(distribution.cdf(min((inside + 0.5) / samples, 1.0)))
        high = float(distribution.sf(max((inside - 0.5) / samples, 0.0)))
    return Coverage(inside, samples, mean, float(np.sqrt(variance)), low, high)


def draw_inside_fractions(bands: Sequence[Band], seed: int = 0) -> list[np.ndarray]:
    """Draw errors of parameters and inputs, and return the fractions inside for a correct model.

    All experiments have the same errors of parameters.

    Returns:
        Array for each band, shape (n_outputs, n_draws), NaN for channels without a sample.
    """
    random = np.random.default_rng(seed)
    errors = random.standard_normal((192, bands[0].root.shape[1])) if bands else np.empty(0)
    return [_inside_fractions(band, errors) for band in bands]


def _inside_fractions(band: Band, errors: np.ndarray) -> np.ndarray:
    J = band.fit.sensitivities[band.at] @ band.root  # (n_picks, n_y, n_rho)
    half_widths, is_measured = band.half_width(band.at), band.fit.is_measured[band.at]
    noise = np.maximum(band.noise, 1e-12 * band.fit.deviations)
    fractions = np.full((J.shape[1], len(errors)), np.nan)
    for k, column in enumerate(is_measured.T):
        if not column.any():
            continue
        errors_of_prediction = errors @ J[column, k].T  # (n_draws, n_measured)
        if band.effects is not None:
            errors_of_prediction += band.effects[np.arange(len(errors)) % len(band.effects)][
                :, column, k
            ]
        half_width = half_widths[column, k]
        inside_probability = ndtr((half_width - errors_of_prediction) / noise[k]) - ndtr(
            (-half_width - errors_of_prediction) / noise[k]
        )
        fractions[k] = inside_probability.mean(axis=1)
    return fractions
