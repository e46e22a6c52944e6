"""Residuals by channel and time window, with tests of size and independence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import stats

from sofa_softctl.identification.fitting.residual import Fit
from sofa_softctl.identification.uncertainty.simulated_residuals import (
    band,
    energies,
    pattern,
    small,
    total,
    total_energy,
)
from sofa_softctl.identification.uncertainty.validation import rms

WINDOWS = 10
"""Number of time windows."""
LAGS = 20
"""Lags of the test for whiteness."""
DOUBT = 1e-3
"""Level of significance of each test..."""
DOUBT_IN_ALL = 1e-2
"""... and of all tests of a report together."""
DOUBT_OF_DRAWS = 1e-4
"""Level of each test against draws, whose p-values are approximate."""
TESTS = 3
"""Tests of each channel: size, either way, and independence."""
CLOCK = 1e3
"""Times this many durations from 0, as of a clock, are given relative to the start."""
OTHER_NOISE = 2.0
"""Larger residuals, as share of what noise of inputs leaves, are no other noise: patterns of such
noise vary so much that tests find few others [-]."""
NEGLIGIBLE = 0.1
"""Residuals below this many deviations may have any pattern."""


@dataclass(frozen=True, eq=False)
class ChannelResiduals:
    """Residuals of one channel, and their tests."""

    experiment: str
    """Name of the recording."""
    channel: str
    """Name of the channel."""
    unit: str
    """Unit of `rms_unit`."""
    count: int
    """Number of measured samples."""
    mean: float
    """Mean of predicted - measured, in standard deviations [-]."""
    rms: float
    """RMS in standard deviations [-]: about 1 for a correct model."""
    rms_unit: float
    """RMS [unit]."""
    autocorrelation: float
    """Correlation of successive samples [-]; about 0 for a correct model."""
    white: float
    """p-value of the pattern of the residuals.

    From the correlation over 20 lags (Ljung-Box); where inputs have noise, from the energy in
    frequency bands and time windows, among draws of the noise.
    """
    size: float
    """p-value of the size of the residuals: chi square, or among draws."""
    small: float
    """p-value of residuals that are this small: chi square, or among draws."""
    pattern: float
    """p-value of the pattern alone, whatever the size: `white`, or among draws."""
    expected: float
    """Expected RMS of a correct model [-]: 1; with noise of inputs, the mean of draws.

    NaN: inputs have noise whose effect is unknown.
    """
    doubt: float
    """Level of significance of `white` and `size`."""
    edges: np.ndarray
    """Edges of the time windows [s], shape (n_windows + 1,)."""
    windows: np.ndarray
    """RMS in each window, in standard deviations, NaN without data, shape (n_windows,)."""

    @property
    def right(self) -> bool:
        """Whether noise explains the residuals."""
        patterned = self.white < self.doubt and self.rms > NEGLIGIBLE
        return not (patterned or self.size < self.doubt)

    @property
    def patterned(self) -> bool:
        """Whether residuals have a pattern that noise has not, whatever its size."""
        return self.pattern < self.doubt and self.rms > NEGLIGIBLE

    @property
    def noise(self) -> Literal["", "too small", "too large"]:
        """How the declared noise is, where residuals look like other noise; empty: as declared."""
        if not self.judged or not self.count:
            return ""
        if self.small < self.doubt:
            return "too large"
        if self.patterned or (self.through_inputs and self.share > OTHER_NOISE):
            return ""
        return "too small" if self.size < self.doubt else ""

    @property
    def share(self) -> float:
        """RMS residual as share of what the declared noise leaves [-]."""
        return self.rms / self.expected

    @property
    def judged(self) -> bool:
        """Whether the residuals of noise are known."""
        return bool(np.isfinite(self.expected))

    @property
    def sentence(self) -> str:
        """Description of the residuals."""
        if not self.count:
            return f"{self.channel} was not measured."
        if self.right:
            return f"{self.channel}: noise explains the residuals, {self.rms:.2f} deviations."
        side = "too high" if self.mean > 0.0 else "too low"
        offset = f", {side} by {abs(self.mean):.1f} in the mean"
        offset = offset if abs(self.mean) > 0.5 * self.rms else ""
        by_noise = f", expected from noise {self.expected:.2f}" if self.through_inputs else ""
        worst = int(np.nanargmax(self.windows))
        return (
            f"{self.channel} {self._kind}: {self.rms:.2f} deviations "
            f"({self.rms_unit:.3g} {self.unit}){by_noise}{offset}; "
            f"most {between(self.edges, worst)}, {self.windows[worst]:.2f} deviations."
        )

    @property
    def through_inputs(self) -> bool:
        """Whether `expected` includes noise of inputs."""
        return self.judged and self.expected != 1.0

    @property
    def _kind(self) -> str:
        if not self.judged:
            return "has larger residuals than noise of outputs explains"
        if self.size < self.doubt or (self.through_inputs and self.rms > self.expected):
            return "is wrong"
        if self.through_inputs:
            return "is wrong at some times or frequencies, though as small as noise"
        return "is correlated, though as small as noise"


def between(edges: np.ndarray, window: int) -> str:
    """'from 2.4 to 2.8 s'; relative to the start where times are far from 0."""
    begin = edges[0] if far_from_zero(edges) else 0.0
    digits = max(0, -int(np.floor(np.log10(edges[1] - edges[0]))))
    low, high = (f"{edge - begin:.{digits}f}" for edge in edges[window : window + 2])
    return f"from {low} to {high} s" + (" after the start" if begin else "")


def far_from_zero(time: np.ndarray) -> bool:
    """Whether times, as those of a clock, are given relative to the start."""
    return bool(abs(time[0]) > CLOCK * (time[-1] - time[0]))


def doubt_of(channels: int) -> float:
    """Level of each test at which a correct model fails one in a hundred times or less."""
    return min(DOUBT, DOUBT_IN_ALL / (TESTS * max(channels, 1)))


def analyse(
    fit: Fit,
    windows: int = WINDOWS,
    *,
    drawn: np.ndarray | None = None,
    judged: bool = True,
    doubt: float = DOUBT,
    fitted: int = 0,
) -> tuple[ChannelResiduals, ...]:
    """Residuals and tests of each channel of an experiment.

    Args:
        fit: Measured and predicted outputs.
        windows: Number of time windows.
        drawn: Energies of simulated residuals of noise, shape (n_draws, n_outputs, n_parts); None:
            those of independent residuals of deviation 1.
        judged: Whether the residuals of noise are known.
        doubt: Level of significance of each test.
        fitted: Number of parameters that may have taken noise of each channel.
    """
    edges = np.linspace(fit.time[0], fit.time[-1], windows + 1)
    part = np.clip(np.searchsorted(edges, fit.time, side="right") - 1, 0, windows - 1)
    found = []
    for k, (channel, r) in enumerate(zip(fit.channels, fit.residuals.T, strict=True)):
        there = r[np.isfinite(r)]
        each = None if drawn is None or not len(there) else drawn[:, k]
        here = energies(r) if each is not None else np.empty(0)
        found.append(
            ChannelResiduals(
                experiment=fit.name,
                channel=channel.name,
                unit=channel.unit,
                count=len(there),
                mean=float(there.mean()) if len(there) else float("nan"),
                rms=rms(r),
                rms_unit=rms(r) * channel.deviation,
                autocorrelation=correlations(r, 1)[0] if len(there) > 2 else float("nan"),
                white=ljung_box(r) if each is None else band(here, each),
                size=_size(there) if each is None else total(here, each),
                small=_small(there, fitted) if each is None else small(here, each),
                pattern=ljung_box(r) if each is None else pattern(here, each),
                expected=_expected(each, len(there)) if judged else float("nan"),
                doubt=doubt if each is None else min(doubt, DOUBT_OF_DRAWS),
                edges=edges,
                windows=np.array([rms(r[part == k]) for k in range(windows)]),
            )
        )
    return tuple(found)


def _size(there: np.ndarray) -> float:
    """p-value of the size under independent noise of deviation 1 (chi square)."""
    return float(stats.chi2.sf(np.sum(there**2), len(there))) if len(there) else 1.0


def _small(there: np.ndarray, fitted: int) -> float:
    """p-value of residuals as small, where a fit has taken noise of some samples."""
    left = len(there) - fitted
    return float(stats.chi2.cdf(np.sum(there**2), left)) if left > 0 else 1.0


def _expected(drawn: np.ndarray | None, count: int) -> float:
    return 1.0 if drawn is None else float(np.sqrt(total_energy(drawn) / count).mean())


def ljung_box(r: np.ndarray, lags: int = LAGS) -> float:
    """p-value of the correlation of residuals under independence (Ljung-Box).

    Args:
        r: Residuals at even times, NaN where missing, shape (n,).
        lags: Number of lags, at most a fifth of the samples.

    Source: Ljung, Box 1978: Q = n (n + 2) sum_k c_k^2 / (n - k) is chi square with `lags` degrees
        of freedom, c_k = sum of products / sum of squares. Here c_k is their mean over the pairs
        that exist, so that Q = (n + 2) / n sum_k pairs_k c_k^2.
    """
    n = int(np.isfinite(r).sum())
    lags = min(lags, n // 5)
    if lags < 1:
        return 1.0
    there = np.isfinite(r)
    pairs = np.array([np.sum(there[k:] & there[:-k]) for k in range(1, lags + 1)])
    Q = (n + 2) / n * float(np.sum(pairs * np.square(correlations(r, lags))))
    return float(stats.chi2.sf(Q, lags))


def correlations(r: np.ndarray, lags: int) -> list[float]:
    """Autocorrelation at lags 1, 2, ...; 0 where there are no pairs."""
    centred = r - np.nanmean(r)
    variance = float(np.nanmean(centred**2))
    if variance == 0.0:
        return [0.0] * lags
    found = []
    for k in range(1, lags + 1):
        products = centred[k:] * centred[:-k]
        there = np.isfinite(products)
        found.append(float(products[there].mean() / variance) if there.any() else 0.0)
    return found
