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


def total(r: np.ndarray, drawn: np.ndarray) -> float:
    """p-value of the total energy.

    Args:
        r: Residuals, NaN where missing, shape (n,).
        drawn: Simulated residuals of noise, NaN where r is, shape (n_draws, n).
    """
    return empirical_p_value(float(np.nansum(r**2)), np.nansum(drawn**2, axis=1))


def band(r: np.ndarray, drawn: np.ndarray) -> float:
    """p-value of the largest energy of any frequency band or time window (Bonferroni).

    Bands are octaves of the cosine transform, missing samples taken as 0; windows are tenths of
    the time.

    Args:
        r: Residuals, NaN where missing, shape (n,).
        drawn: Simulated residuals of noise, NaN where r is, shape (n_draws, n).
    """
    here, there = _parts(r), _parts(drawn)
    found = [empirical_p_value(float(a), b) for a, b in zip(here, there.T, strict=True)]
    return min(1.0, len(found) * min(found))


def empirical_p_value(energy: float, drawn: np.ndarray) -> float:
    """Probability that another draw has this energy, or more.

    Energies are modelled as scaled chi squares, whose degrees of freedom are fitted to the draws;
    their ratio to the mean of the draws has an F distribution.

    Source: degrees of freedom by maximum likelihood of the gamma distribution (Minka 2002, first
        step), which few draws overestimate by a factor n / (n - 3), and mixtures of several chi
        squares more: `CAUTION` corrects both.
    """
    n, mean = len(drawn), float(drawn.mean())
    if mean <= 0.0:
        return 1.0 if energy <= 0.0 else 0.0
    s = np.log(mean) - float(np.mean(np.log(np.maximum(drawn, 1e-300))))
    s = max(s, 1e-12)
    shape = (3.0 - s + np.sqrt((s - 3.0) ** 2 + 24.0 * s)) / (12.0 * s)
    freedom = 2.0 * shape * max(1.0 - CAUTION / n, 0.1)
    return float(stats.f.sf(energy / mean, freedom, n * freedom))


def _parts(r: np.ndarray) -> np.ndarray:
    """Energy in each frequency band and time window, shape (..., n_parts)."""
    n, r = r.shape[-1], np.nan_to_num(r)
    octaves = sorted({0, *(2**k for k in range((n - 1).bit_length()))})
    windows = np.unique(np.linspace(0, n, WINDOWS, endpoint=False).astype(int))
    power = np.square(fft.dct(r, norm="ortho", axis=-1))
    return np.concatenate(
        [
            np.add.reduceat(power, octaves, axis=-1),
            np.add.reduceat(np.square(r), windows, axis=-1),
        ],
        axis=-1,
    )
