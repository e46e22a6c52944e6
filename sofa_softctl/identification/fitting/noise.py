"""Noise of the channels, estimated from residuals."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sofa_softctl.identification.fitting.residual import Fit

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
