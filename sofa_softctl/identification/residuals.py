"""Where a model is wrong: what it leaves of the data, channel by channel and over time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats

from sofa_softctl.identification.misfit import Fit
from sofa_softctl.identification.validation import rms

WINDOWS = 10
"""Parts of the time in which residuals are looked at."""
LAGS = 20
"""Lags of the test for whiteness."""
DOUBT = 1e-3
"""Probability below which chance does not explain residuals."""
NEGLIGIBLE = 0.1
"""Residuals below so many deviations may have any pattern."""


@dataclass(frozen=True, eq=False)
class ChannelResiduals:
    """What a model leaves of one channel."""

    experiment: str
    """Of which recording."""
    channel: str
    """Name."""
    unit: str
    """Of the numbers in units."""
    count: int
    """Samples that were compared."""
    mean: float
    """Of predicted - measured, in standard deviations [-]."""
    rms: float
    """In standard deviations [-]: about 1 where the model is right."""
    rms_unit: float
    """The same [unit]."""
    autocorrelation: float
    """Of one sample with the next [-]; about 0 where the model is right."""
    white: float
    """Probability that independent noise is so correlated over 20 lags, or more (Ljung-Box)."""
    size: float
    """Probability that noise as declared is so large, or larger (chi square)."""
    edges: np.ndarray
    """Of the windows in time [s], shape (n_windows + 1,)."""
    windows: np.ndarray
    """RMS in each window, in standard deviations, NaN without data, shape (n_windows,)."""

    @property
    def right(self) -> bool:
        """Whether noise explains the residuals."""
        patterned = self.white < DOUBT and self.rms > NEGLIGIBLE
        return not (patterned or self.size < DOUBT)

    @property
    def sentence(self) -> str:
        """Where the model is wrong in this channel, for people."""
        if not self.count:
            return f"{self.channel} was not measured."
        if self.right:
            return f"{self.channel}: noise explains what is left, {self.rms:.2f} deviations."
        worst = int(np.nanargmax(self.windows))
        kind = "wrong" if self.size < DOUBT else "correlated, though as small as noise"
        side = "too high" if self.mean > 0.0 else "too low"
        offset = f", {side} by {abs(self.mean):.1f} in the mean"
        offset = offset if abs(self.mean) > 0.5 * self.rms else ""
        return (
            f"{self.channel} is {kind}: {self.rms:.2f} deviations "
            f"({self.rms_unit:.3g} {self.unit}){offset}; "
            f"most from {self.edges[worst]:.3g} to {self.edges[worst + 1]:.3g} s, "
            f"{self.windows[worst]:.2f} deviations."
        )


def analyse(fit: Fit, windows: int = WINDOWS) -> tuple[ChannelResiduals, ...]:
    """What a model leaves of each channel of an experiment."""
    edges = np.linspace(fit.time[0], fit.time[-1], windows + 1)
    part = np.clip(np.searchsorted(edges, fit.time, side="right") - 1, 0, windows - 1)
    found = []
    for channel, r in zip(fit.channels, fit.residuals.T, strict=True):
        there = r[np.isfinite(r)]
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
                white=ljung_box(r),
                size=float(stats.chi2.sf(np.sum(there**2), len(there))) if len(there) else 1.0,
                edges=edges,
                windows=np.array([rms(r[part == k]) for k in range(windows)]),
            )
        )
    return tuple(found)


def ljung_box(r: np.ndarray, lags: int = LAGS) -> float:
    """Probability that independent residuals are as correlated as these, or more.

    Args:
        r: Residuals at even times, NaN where missing, shape (n,).
        lags: Lags that are looked at, a fifth of the samples at most.

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
    """Correlation of residuals with those 1, 2, ... samples later; 0 where there are no pairs."""
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
