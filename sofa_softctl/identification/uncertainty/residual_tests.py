"""Tests of residuals against simulated ones: total energy, frequency bands, time windows.

Noise of inputs is amplified near the resonances of a model; a wrong model shows first in the other
bands.
"""

from __future__ import annotations

import numpy as np
from scipy import fft, stats

WINDOWS = 10
"""Number of time windows."""
CAUTION = 9.0
"""Degrees of freedom from n draws are reduced by this over n: p-values down to 1e-4, of chi squares
and of sums of two, are then too small by a factor of 3 at most."""

NEGLIGIBLE = 1e-6
"""Share of the total energy: parts with less count as having as much. Parameters may fit a part
exactly, as an offset does the mean: what is left of it is rounding and the search's tolerance."""


def energies(r: np.ndarray) -> np.ndarray:
    """Energy of residuals in each frequency band, then in each time window.

    Bands are octaves of the cosine transform, missing samples taken as 0; windows are tenths of
    the time.

    Args:
        r: Residuals, NaN where missing, shape (n,).

    Returns:
        Sums of squares, shape (n_parts,), about log2(n) + 10.
    """
    n, r = len(r), np.nan_to_num(r)
    octaves = sorted({0, *(2**k for k in range((n - 1).bit_length()))})
    windows = np.unique(np.linspace(0, n, WINDOWS, endpoint=False).astype(int))
    power = np.square(fft.dct(r, norm="ortho"))
    return np.concatenate([np.add.reduceat(power, octaves), np.add.reduceat(np.square(r), windows)])


def total_energy(parts: np.ndarray) -> np.ndarray:
    """Sum of squares of residuals, given `energies`, shape (..., n_parts) to (...)."""
    found: np.ndarray = 0.5 * parts.sum(axis=-1)  # bands have all of it, and windows have
    return found


def total(here: np.ndarray, drawn: np.ndarray) -> float:
    """p-value of the total energy.

    Args:
        here: Energies of the residuals, shape (n_parts,).
        drawn: Those of simulated residuals of noise, shape (n_draws, n_parts).
    """
    return empirical_p_value(float(total_energy(here)), total_energy(drawn))


def small(here: np.ndarray, drawn: np.ndarray) -> float:
    """p-value of a total energy that is this small; arguments as of `total`."""
    return empirical_p_value(float(total_energy(here)), total_energy(drawn), lower=True)


def pattern(here: np.ndarray, drawn: np.ndarray) -> float:
    """p-value of `band` at the total energy that noise leaves: of the pattern, not of the size."""
    energy = float(total_energy(here))
    return band(here * float(total_energy(drawn).mean()) / energy, drawn) if energy > 0.0 else 1.0


def band(here: np.ndarray, drawn: np.ndarray) -> float:
    """p-value of the largest energy of any frequency band or time window (Bonferroni).

    Args:
        here: Energies of the residuals, shape (n_parts,).
        drawn: Those of simulated residuals of noise, shape (n_draws, n_parts).
    """
    least = NEGLIGIBLE * float(total_energy(drawn).mean())
    here, drawn = np.maximum(here, least), np.maximum(drawn, least)
    found = [empirical_p_value(float(a), b) for a, b in zip(here, drawn.T, strict=True)]
    return min(1.0, len(found) * min(found))


def empirical_p_value(energy: float, drawn: np.ndarray, *, lower: bool = False) -> float:
    """Probability that another draw has this energy, or more; with `lower`, or less.

    Energies are modelled as scaled chi squares, whose degrees of freedom are fitted to the draws;
    their ratio to the mean of the draws has an F distribution.

    Source: degrees of freedom by maximum likelihood of the gamma distribution (Minka 2002, first
        step), which few draws overestimate by a factor n / (n - 3), and mixtures of several chi
        squares more: `CAUTION` corrects both.
    """
    n, mean = len(drawn), float(drawn.mean())
    if mean <= 0.0:
        return 1.0 if lower or energy <= 0.0 else 0.0
    s = np.log(mean) - float(np.mean(np.log(np.maximum(drawn, 1e-300))))
    s = max(s, 1e-12)
    shape = (3.0 - s + np.sqrt((s - 3.0) ** 2 + 24.0 * s)) / (12.0 * s)
    freedom = 2.0 * shape * max(1.0 - CAUTION / n, 0.1)
    tail = stats.f.cdf if lower else stats.f.sf
    return float(tail(energy / mean, freedom, n * freedom))
