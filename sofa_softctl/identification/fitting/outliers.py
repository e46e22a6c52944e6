"""Outliers: single wrong samples, such as a lost marker or a flipped bit.

Noise of the channels, estimated from residuals.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sofa_softctl.identification.fitting.residual import Fit


@dataclass(frozen=True)
class OutlierSettings:
    """Definition of outliers."""

    distance_ratio_min: float = 10.0
    """Distance of an outlier from its neighbours, relative to the usual distance [-]."""
    neighbours_per_side: int = 2
    """Number of neighbours before, and after, a sample."""
    outlier_fraction_max: float = 0.02
    """Largest fraction of outliers among a channel's samples [-]; more of them are noise."""
    samples_min: int = 10
    """Smallest number of samples to test."""


SETTINGS = OutlierSettings()


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
    """Time with digits down to the time step: '2.13 s'."""
    deviations: float
    """Measured minus predicted, minus the median of its neighbours [standard deviations]."""

    @property
    def sentence(self) -> str:
        """Description for the user, with a recommendation."""
        return (
            f"{self.channel} at t = {self.time} is off by {abs(self.deviations):.3g} deviations, "
            "and its neighbours are not: leave it out (an empty cell)."
        )


def outliers(fit: Fit) -> tuple[Outlier, ...]:
    """Return the samples far from the prediction and from all neighbours, largest first."""
    outliers_found = []
    for channel, r in zip(fit.channels, -fit.residuals.T, strict=True):
        index = np.flatnonzero(np.isfinite(r))
        distance = _outlier_distances(r[index])
        wrong_index = np.flatnonzero(distance)
        if len(wrong_index) > max(1, SETTINGS.outlier_fraction_max * len(index)):
            continue  # heavy-tailed noise, not single samples
        outliers_found += [
            Outlier(
                fit.name, channel.name, int(index[k]), _time(fit.time, index[k]), float(distance[k])
            )
            for k in wrong_index
        ]
    return tuple(sorted(outliers_found, key=lambda outlier: -abs(outlier.deviations)))


def mask_outliers(fit: Fit, outliers: tuple[Outlier, ...]) -> np.ndarray:
    """Return the residuals with NaN in place of outliers, shape (n_times, n_outputs)."""
    r, names = fit.residuals.copy(), [channel.name for channel in fit.channels]
    for outlier in outliers:
        if outlier.experiment == fit.name:
            r[outlier.row, names.index(outlier.channel)] = np.nan
    return r


def _outlier_distances(r: np.ndarray) -> np.ndarray:
    """Return the distance of outliers from the median of their neighbours, else 0, shape (n,)."""
    if len(r) < SETTINGS.samples_min:
        return np.zeros(len(r))
    padded = np.pad(r, SETTINGS.neighbours_per_side, constant_values=np.nan)
    shifts = [
        k for k in range(2 * SETTINGS.neighbours_per_side + 1) if k != SETTINGS.neighbours_per_side
    ]
    neighbours = np.stack([padded[k : k + len(r)] for k in shifts])  # (4, n)
    distance = r - np.nanmedian(neighbours, axis=0)
    distance_scale = max(1.0, 1.4826 * float(np.median(np.abs(distance))))
    before, after = (
        neighbours[: SETTINGS.neighbours_per_side],
        neighbours[SETTINGS.neighbours_per_side :],
    )
    extrapolated = np.stack([2.0 * before[-1] - before[-2], 2.0 * after[0] - after[1]])
    # After a step one side has the same distance as the sample; on a slope, extrapolate each side.
    distance_to_nearest = np.nanmin(np.abs(r - np.concatenate([neighbours, extrapolated])), axis=0)
    distances: np.ndarray = np.where(
        np.minimum(distance_to_nearest, np.abs(distance))
        > SETTINGS.distance_ratio_min * distance_scale,
        distance,
        0.0,
    )
    return distances


def _time(time: np.ndarray, at: int) -> str:
    step = float(np.median(np.diff(time))) if len(time) > 1 else 1.0
    return f"{time[at]:.{max(0, -int(np.floor(np.log10(step))))}f} s"


def rescale_noise(fits: Sequence[Fit], fitted_count: int) -> tuple[dict[str, float], float]:
    """Return the standard deviation of each channel's residuals, over all experiments that have it.

    If noisy inputs are unknowns, data determine only one common factor of the noise of all
    channels.

    Args:
        fits: Fits at the best parameters for the present noise.
        fitted_count: Number of fitted parameters, by which the degrees of freedom are reduced.

    Returns:
        Deviations by channel's name [unit], and the largest relative change.

    Source: the maximum of the likelihood over noise, with n - p in place of n.
    """
    squares: dict[str, list[np.ndarray]] = {}
    old_noise: dict[str, float] = {}
    for fit in fits:
        for channel, residuals in zip(fit.channels, fit.residuals.T, strict=True):
            measured = residuals[np.isfinite(residuals)]
            squares.setdefault(channel.name, []).append(measured**2)
            old_noise[channel.name] = channel.deviation
    unknowns = sum(fit.unknowns for fit in fits)
    if unknowns:
        squares = dict.fromkeys(squares, [part for parts in squares.values() for part in parts])
    sample_count = sum(int(fit.is_measured.sum()) for fit in fits)
    degrees_ratio = max(sample_count - unknowns - fitted_count, 1) / max(sample_count, 1)
    noise = dict(old_noise)
    for name, parts in squares.items():
        channel_squares = np.concatenate(parts)
        if len(channel_squares):
            noise[name] = old_noise[name] * max(
                float(np.sqrt(channel_squares.mean() / degrees_ratio)), 1e-12
            )  # finite weights for a perfect fit
    change = max(abs(noise[name] / old_noise[name] - 1.0) for name in noise)
    return noise, change
