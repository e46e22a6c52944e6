"""Where a window had better begin: models start at rest, robots rest between two moves."""

from __future__ import annotations

import numpy as np
from scipy.signal import savgol_filter

SMOOTHED = 0.4
"""Time over which a rate is taken, against noise [s]."""


def calmest(time: np.ndarray, values: np.ndarray, earliest: float, latest: float) -> float:
    """The time at which signals change least.

    Args:
        time: Of the samples [s], even, shape (n,).
        values: Signals of one kind, shape (n, m).
        earliest: From when on to look [s].
        latest: Until when [s].

    Returns:
        One of the samples' times. The first of those to look at where there are too few samples.
    """
    here = np.flatnonzero((time >= earliest - 1e-9) & (time <= latest + 1e-9))
    width = round(SMOOTHED / (time[1] - time[0])) // 2 * 2 + 1
    if not len(here) or width < 3 or width > len(time):
        return float(time[here[0]]) if len(here) else float(time[0])
    rate = savgol_filter(values, width, 2, deriv=1, axis=0)
    return float(time[here[np.argmin((rate[here] ** 2).sum(axis=1))]])
