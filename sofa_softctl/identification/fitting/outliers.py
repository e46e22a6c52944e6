"""Outliers: single wrong samples, such as a lost marker or a flipped bit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sofa_softctl.identification.fitting.residual import Fit

FAR = 10.0
"""An outlier is this many times the usual distance from its neighbours..."""
SIDE = 2
"""... this many before and after it..."""
FEW = 0.02
"""... and no more than this share of a channel's samples are outliers."""
LEAST = 10
"""Least number of samples to test."""


@dataclass(frozen=True)
class Outlier:
    """One wrong sample."""

    experiment: str
    """Name of the recording."""
    channel: str
    """Name of the channel."""
    row: int
    """Index of the sample."""
    time: str
    """Time as text, '2.13 s', with digits down to the time step."""
    deviations: float
    """Measured - predicted, less the median of its neighbours [-]."""

    @property
    def sentence(self) -> str:
        """Description, with what to do."""
        return (
            f"{self.channel} at t = {self.time} is off by {abs(self.deviations):.3g} deviations, "
            "and its neighbours are not: leave it out (an empty cell)."
        )


def outliers(fit: Fit) -> tuple[Outlier, ...]:
    """Samples far from the prediction and from all neighbours, largest first."""
    found = []
    for channel, r in zip(fit.channels, -fit.residuals.T, strict=True):
        at = np.flatnonzero(np.isfinite(r))
        off = _off(r[at])
        wrong = np.flatnonzero(off)
        if len(wrong) > max(1, FEW * len(at)):
            continue  # heavy-tailed noise, not single samples
        found += [
            Outlier(fit.name, channel.name, int(at[k]), _time(fit.time, at[k]), float(off[k]))
            for k in wrong
        ]
    return tuple(sorted(found, key=lambda one: -abs(one.deviations)))


def without(fit: Fit, found: tuple[Outlier, ...]) -> np.ndarray:
    """Residuals with NaN in place of outliers, shape (n_times, n_outputs)."""
    r, names = fit.residuals.copy(), [one.name for one in fit.channels]
    for one in found:
        if one.experiment == fit.name:
            r[one.row, names.index(one.channel)] = np.nan
    return r


def _off(r: np.ndarray) -> np.ndarray:
    """Distance of outliers from the median of their neighbours, else 0, shape (n,)."""
    if len(r) < LEAST:
        return np.zeros(len(r))
    padded = np.pad(r, SIDE, constant_values=np.nan)
    shifts = [k for k in range(2 * SIDE + 1) if k != SIDE]
    near = np.stack([padded[k : k + len(r)] for k in shifts])  # (4, n)
    off = r - np.nanmedian(near, axis=0)
    usual = max(1.0, 1.4826 * float(np.median(np.abs(off))))
    before, after = near[:SIDE], near[SIDE:]
    ahead = np.stack([2.0 * before[-1] - before[-2], 2.0 * after[0] - after[1]])
    # after a step one side is as far off as the sample, on a slope the line through one side
    alone = np.nanmin(np.abs(r - np.concatenate([near, ahead])), axis=0)
    found: np.ndarray = np.where(np.minimum(alone, np.abs(off)) > FAR * usual, off, 0.0)
    return found


def _time(time: np.ndarray, at: int) -> str:
    step = float(np.median(np.diff(time))) if len(time) > 1 else 1.0
    return f"{time[at]:.{max(0, -int(np.floor(np.log10(step))))}f} s"
