"""Residuals by channel and time window, with tests of size and independence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import stats

from sofa_softctl.identification.fitting.residual import Fit
from sofa_softctl.identification.uncertainty.simulated_residuals import (
    energies,
    largest_part_p_value,
    pattern_p_value,
    small_p_value,
    total_energy,
    total_p_value,
)
from sofa_softctl.identification.uncertainty.validation import rms


@dataclass(frozen=True)
class ResidualTestSettings:
    """Levels of significance and limits of the tests."""

    window_count: int = 10
    """Number of time windows."""
    lag_count: int = 20
    """Number of lags of the test for whiteness."""
    significance_level: float = 1e-3
    """Largest level of significance of a test."""
    family_significance_level: float = 1e-2
    """Level of significance of all tests of a report together."""
    draws_significance_level: float = 1e-4
    """Level of each test against draws, whose p-values are approximate."""
    tests_per_channel: int = 3
    """Number of tests of a channel: too large, too small, independence."""
    start_ratio_max: float = 1e3
    """Start of a recording, relative to its duration, above which its times are those of a clock,
    and are given relative to the start [-]."""
    input_noise_ratio_max: float = 2.0
    """Residuals, relative to those due to noise of inputs, above which a different amount of noise
    does not explain them [-]: the patterns of such noise vary so much that tests find few
    others."""
    pattern_rms_min: float = 0.1
    """RMS residual below which patterns are ignored [standard deviations]."""


SETTINGS = ResidualTestSettings()
LAGS = SETTINGS.lag_count


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
    small_p_value: float
    """p-value of residuals that are this small: chi square, or among draws."""
    pattern_p_value: float
    """p-value of the pattern, independent of the size: `white`, or among draws."""
    expected: float
    """Expected RMS of a correct model [-]: 1; with noise of inputs, the mean of draws.

    NaN if inputs have noise whose effect is unknown.
    """
    doubt: float
    """Level of significance of `white` and `size`."""
    edges: np.ndarray
    """Edges of the time windows [s], shape (n_windows + 1,)."""
    windows: np.ndarray
    """RMS in each window, in standard deviations, NaN without data, shape (n_windows,)."""

    @property
    def right(self) -> bool:
        """True if noise explains the residuals."""
        has_pattern = self.white < self.doubt and self.rms > SETTINGS.pattern_rms_min
        return not (has_pattern or self.size < self.doubt)

    @property
    def has_pattern(self) -> bool:
        """True if residuals have a pattern that noise of any size does not have."""
        return self.pattern_p_value < self.doubt and self.rms > SETTINGS.pattern_rms_min

    @property
    def noise(self) -> Literal["", "too small", "too large"]:
        """Error of the declared noise if residuals look like noise of another size, or ""."""
        if not self.judged or not self.count:
            return ""
        if self.small_p_value < self.doubt:
            return "too large"
        if self.has_pattern or (
            self.through_inputs and self.share > SETTINGS.input_noise_ratio_max
        ):
            return ""
        return "too small" if self.size < self.doubt else ""

    @property
    def share(self) -> float:
        """RMS residual divided by the RMS residual due to the declared noise [-]."""
        return self.rms / self.expected

    @property
    def judged(self) -> bool:
        """True if the residuals due to noise are known."""
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
            f"most {window_text(self.edges, worst)}, {self.windows[worst]:.2f} deviations."
        )

    @property
    def through_inputs(self) -> bool:
        """True if `expected` includes noise of inputs."""
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


def window_text(edges: np.ndarray, window: int) -> str:
    """Return a text such as 'from 2.4 to 2.8 s', relative to the start if times are far from 0."""
    begin = edges[0] if far_from_zero(edges) else 0.0
    digits = max(0, -int(np.floor(np.log10(edges[1] - edges[0]))))
    low, high = (f"{edge - begin:.{digits}f}" for edge in edges[window : window + 2])
    return f"from {low} to {high} s" + (" after the start" if begin else "")


def far_from_zero(time: np.ndarray) -> bool:
    """Return True if times are those of a clock, and are given relative to the start."""
    return bool(abs(time[0]) > SETTINGS.start_ratio_max * (time[-1] - time[0]))


def significance_level_of(channels: int) -> float:
    """Level of each test at which a correct model fails at most one in a hundred times."""
    return min(
        SETTINGS.significance_level,
        SETTINGS.family_significance_level / (SETTINGS.tests_per_channel * max(channels, 1)),
    )


def analyse_residuals(
    fit: Fit,
    windows: int = SETTINGS.window_count,
    *,
    drawn: np.ndarray | None = None,
    is_reference_known: bool = True,
    significance_level: float = SETTINGS.significance_level,
    fitted: int = 0,
) -> tuple[ChannelResiduals, ...]:
    """Test the residuals of each channel of an experiment.

    Args:
        fit: Measured and predicted outputs.
        windows: Number of time windows.
        drawn: Energies of simulated residuals of noise, shape (n_draws, n_outputs, n_parts), or
            None for independent residuals of deviation 1.
        is_reference_known: Whether the residuals due to noise are known.
        significance_level: Level of significance of each test.
        fitted: Number of parameters that may have fitted noise of each channel.
    """
    edges = np.linspace(fit.time[0], fit.time[-1], windows + 1)
    window_index = np.clip(np.searchsorted(edges, fit.time, side="right") - 1, 0, windows - 1)
    residuals = []
    for k, (channel, r) in enumerate(zip(fit.channels, fit.residuals.T, strict=True)):
        measured = r[np.isfinite(r)]
        channel_energies = None if drawn is None or not len(measured) else drawn[:, k]
        measured_energies = energies(r) if channel_energies is not None else np.empty(0)
        residuals.append(
            ChannelResiduals(
                experiment=fit.name,
                channel=channel.name,
                unit=channel.unit,
                count=len(measured),
                mean=float(measured.mean()) if len(measured) else float("nan"),
                rms=rms(r),
                rms_unit=rms(r) * channel.deviation,
                autocorrelation=correlations(r, 1)[0] if len(measured) > 2 else float("nan"),
                white=ljung_box(r)
                if channel_energies is None
                else largest_part_p_value(measured_energies, channel_energies),
                size=_size_p_value(measured)
                if channel_energies is None
                else total_p_value(measured_energies, channel_energies),
                small_p_value=_small_p_value(measured, fitted)
                if channel_energies is None
                else small_p_value(measured_energies, channel_energies),
                pattern_p_value=ljung_box(r)
                if channel_energies is None
                else pattern_p_value(measured_energies, channel_energies),
                expected=_expected_rms(channel_energies, len(measured))
                if is_reference_known
                else float("nan"),
                doubt=significance_level
                if channel_energies is None
                else min(significance_level, SETTINGS.draws_significance_level),
                edges=edges,
                windows=np.array([rms(r[window_index == k]) for k in range(windows)]),
            )
        )
    return tuple(residuals)


def _size_p_value(measured: np.ndarray) -> float:
    """p-value of the size under independent noise of deviation 1 (chi square)."""
    return float(stats.chi2.sf(np.sum(measured**2), len(measured))) if len(measured) else 1.0


def _small_p_value(measured: np.ndarray, fitted: int) -> float:
    """p-value of residuals this small, after a fit to the noise of some samples."""
    degrees_of_freedom = len(measured) - fitted
    return (
        float(stats.chi2.cdf(np.sum(measured**2), degrees_of_freedom))
        if degrees_of_freedom > 0
        else 1.0
    )


def _expected_rms(drawn: np.ndarray | None, count: int) -> float:
    return 1.0 if drawn is None else float(np.sqrt(total_energy(drawn) / count).mean())


def ljung_box(r: np.ndarray, lags: int = SETTINGS.lag_count) -> float:
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
    is_measured = np.isfinite(r)
    pair_counts = np.array([np.sum(is_measured[k:] & is_measured[:-k]) for k in range(1, lags + 1)])
    Q = (n + 2) / n * float(np.sum(pair_counts * np.square(correlations(r, lags))))
    return float(stats.chi2.sf(Q, lags))


def correlations(r: np.ndarray, lags: int) -> list[float]:
    """Autocorrelation at lags 1, 2, ..., 0 without pairs."""
    centred = r - np.nanmean(r)
    variance = float(np.nanmean(centred**2))
    if variance == 0.0:
        return [0.0] * lags
    values = []
    for k in range(1, lags + 1):
        products = centred[k:] * centred[:-k]
        is_measured = np.isfinite(products)
        values.append(float(products[is_measured].mean() / variance) if is_measured.any() else 0.0)
    return values
