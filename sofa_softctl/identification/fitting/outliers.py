"""Single samples that are wrong: a marker that was lost, a bit that flipped."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sofa_softctl.identification.fitting.residual import Fit

FAR = 10.0
"""A sample is wrong when it is so many times the usual distance from its neighbours..."""
SIDE = 2
"""... so many before and after it..."""
FEW = 0.02
"""... and no more than this share of a channel's samples are."""
LEAST = 10
"""Samples from which that can be said."""


@dataclass(frozen=True)
class Outlier:
    """One sample, and how far it is off."""

    experiment: str
    """Of which recording."""
    channel: str
    """Name."""
    row: int
    """Which sample."""
    time: str
    """When, for people: '2.13 s', with the digits that tell it from its neighbours."""
    deviations: float
    """Measured - predicted, less that of its neighbours [-]."""

    @property
    def sentence(self) -> str:
        """For people, with what to do."""
        return (
            f"{self.channel} at t = {self.time} is off by {abs(self.deviations):.3g} deviations, "
            "and its neighbours are not: leave it out (an empty cell)."
        )


def outliers(fit: Fit) -> tuple[Outlier, ...]:
    """Samples that are far from what is predicted and from all neighbours, the worst first."""
    found = []
    for channel, r in zip(fit.channels, -fit.residuals.T, strict=True):
        at = np.flatnonzero(np.isfinite(r))
        off = _off(r[at])
        wrong = np.flatnonzero(off)
        if len(wrong) > max(1, FEW * len(at)):
            continue  # that is how this channel's noise is, not single samples
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
    """Distance from the neighbours' median where a sample is wrong, else 0, shape (n,)."""
    if len(r) < LEAST:
        return np.zeros(len(r))
    padded = np.pad(r, SIDE, mode="reflect")
    shifts = [k for k in range(2 * SIDE + 1) if k != SIDE]
    near = np.stack([padded[k : k + len(r)] for k in shifts])  # (4, n)
    off = r - np.median(near, axis=0)
    usual = max(1.0, 1.4826 * float(np.median(np.abs(off))))
    alone = np.abs(r - near).min(axis=0)  # after a step one side is as far off as the sample
    found: np.ndarray = np.where(np.minimum(alone, np.abs(off)) > FAR * usual, off, 0.0)
    return found


def _time(time: np.ndarray, at: int) -> str:
    step = float(np.median(np.diff(time))) if len(time) > 1 else 1.0
    return f"{time[at]:.{max(0, -int(np.floor(np.log10(step))))}f} s"
