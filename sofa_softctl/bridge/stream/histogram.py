"""Times counted in bins, so that hours need no more memory than seconds."""

from __future__ import annotations

import math

import numpy as np

SHORTEST, LONGEST, PER_DECADE = 1e-6, 10.0, 50
"""Of the bins [s], and how many there are from a time to ten times it: 4.7 % each."""
PERCENTILES = (50.0, 90.0, 99.0, 99.9)
"""Of `Histogram.percentiles`; the worst comes behind them."""


class Histogram:
    """Counts of times; shorter and longer ones are in the first and the last bin."""

    def __init__(self) -> None:
        bins = round(math.log10(LONGEST / SHORTEST) * PER_DECADE)
        self.edges = SHORTEST * 10.0 ** (np.arange(bins + 1) / PER_DECADE)
        """Edges of the bins [s], shape (n + 1,)."""
        self.counts = np.zeros(bins, dtype=np.int64)
        """Shape (n,)."""
        self.worst = math.nan
        """The longest time; NaN: none [s]."""

    def add(self, seconds: float) -> None:
        """Count a time."""
        place = int(math.log10(max(seconds, SHORTEST) / SHORTEST) * PER_DECADE)
        self.counts[min(place, len(self.counts) - 1)] += 1
        self.worst = seconds if math.isnan(self.worst) else max(self.worst, seconds)

    def merge(self, other: Histogram) -> None:
        """Add what another one counted."""
        self.counts += other.counts
        self.worst = float(np.fmax(self.worst, other.worst))

    def percentiles(self) -> np.ndarray:
        """`PERCENTILES`, upper edges of their bins, and the worst; NaN: none [s], shape (5,)."""
        total = self.counts.sum()
        if not total:
            return np.full(len(PERCENTILES) + 1, np.nan)
        below = np.cumsum(self.counts)
        bins = [int(np.searchsorted(below, total * share / 100.0)) for share in PERCENTILES]
        found = [min(float(self.edges[place + 1]), self.worst) for place in bins]
        return np.array([*found, self.worst])
