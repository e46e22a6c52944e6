"""Outliers: single wrong samples, such as a lost marker or a flipped bit.

Noise of the channels, estimated from residuals.
"""

from __future__ import annotations

from collections.abc import Sequence
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


FLOOR = 1e-12
"""Least noise as share of the declared one: keeps the weight of a perfect fit finite."""


def rescaled(fits: Sequence[Fit], fitted: int) -> tuple[dict[str, float], float]:
    """Standard deviation of each channel's residuals, over all experiments that have it.

    Where noisy inputs are unknowns, data determine the noise of inputs and outputs in common alone:
    one factor for all channels.

    Args:
        fits: At the best parameters for the present noise.
        fitted: Number of fitted parameters, by which the degrees of freedom are reduced.

    Returns:
        Deviations by channel's name [unit], and the largest relative change.

    Source: the maximum of the likelihood over noise, with n - p in place of n.
    """
    squares: dict[str, list[np.ndarray]] = {}
    before: dict[str, float] = {}
    for fit in fits:
        for channel, residuals in zip(fit.channels, fit.residuals.T, strict=True):
            there = residuals[np.isfinite(residuals)]
            squares.setdefault(channel.name, []).append(there**2)
            before[channel.name] = channel.deviation
    unknowns = sum(fit.unknowns for fit in fits)
    if unknowns:
        squares = dict.fromkeys(squares, [part for parts in squares.values() for part in parts])
    total = sum(int(fit.there.sum()) for fit in fits)
    left = max(total - unknowns - fitted, 1) / max(total, 1)
    noise = dict(before)
    for name, parts in squares.items():
        every = np.concatenate(parts)
        if len(every):
            noise[name] = before[name] * max(float(np.sqrt(every.mean() / left)), FLOOR)
    change = max(abs(noise[name] / before[name] - 1.0) for name in noise)
    return noise, change
