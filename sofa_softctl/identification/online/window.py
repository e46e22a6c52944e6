"""Sliding window over the samples of a run, with the arrival cost of earlier ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.signal import savgol_filter

from sofa_softctl.identification.data.table import TIME, Table
from sofa_softctl.identification.online.arrival_cost import ArrivalCost, Linearised
from sofa_softctl.identification.online.refinement import Refinement

EPSILON = 1e-9
"""Tolerance of times for rounding [s]."""


@dataclass
class SlidingWindow:
    """Samples of the window, their last linearisation, and the arrival cost."""

    length: float | None
    """Least length [s]; None: from the first sample on."""
    slack: float
    """Most additional length, to begin at a quiescent time [s]."""
    calm: Sequence[int]
    """Columns of signals that measure motion; none: no additional length."""
    half_life: float
    """Half-life of the weight of earlier samples [s]; 0: they do not count."""
    memory: ArrivalCost
    """Information of earlier samples."""
    samples: list[list[float]] = field(default_factory=list)
    """Time and signals of each sample."""
    rows: Linearised | None = None
    """Linearised samples of the last fit that are still in the window."""
    inflation: np.ndarray | None = None
    """`Linearised.inflation` of the last fit."""
    left: float | None = None
    """Begin of the window at its last slide [s]."""

    def copy(self) -> SlidingWindow:
        """A copy with its own list of samples; the other fields are never modified in place."""
        return replace(self, samples=list(self.samples))

    def slide(self, now: float) -> None:
        """Move earlier samples to the arrival cost, so that the window ends now."""
        if self.length is None or now - self.length <= self.samples[0][0]:
            return
        begin = now - self.length
        if self.calm:
            known = np.array(self.samples)
            values = known[:, 1:][:, list(self.calm)]
            begin = quietest_time(known[:, 0], values, begin - self.slack, begin)
        begin -= EPSILON
        self.samples = [row for row in self.samples if row[0] >= begin]
        if self.half_life > 0.0 and self.rows is not None:
            age = 0.0 if self.left is None else begin - self.left
            self.memory = self.memory.faded(0.5 ** (age / self.half_life)) + self.rows.until(begin)
            self.rows, self.left = self.rows.since(begin), begin

    def table(self, units: Mapping[str, str]) -> Table:
        """The samples as a table; `units` of the signals by name, in their order."""
        columns = np.array(self.samples).T
        named = dict(zip((TIME, *units), columns, strict=True))
        lines = tuple(f"t = {time:g} s" for time in columns[0])
        return Table(f"window until {columns[0, -1]:g} s", named, {TIME: "s", **units}, lines)

    def take(self, found: Refinement) -> None:
        """Take over the linearisation of a fit."""
        assert found.rows is not None
        self.rows, self.inflation = found.rows, found.rows.inflation


SMOOTHED = 0.4
"""Time over which rates are smoothed [s]."""


def quietest_time(time: np.ndarray, values: np.ndarray, earliest: float, latest: float) -> float:
    """The time of the slowest change of signals, for the begin of a window.

    Args:
        time: Evenly spaced times of the samples [s], shape (n,).
        values: Signals of one unit, shape (n, m).
        earliest: First candidate [s].
        latest: Last candidate [s].

    Returns:
        The time of a sample [s]; of the first candidate if there are too few samples.
    """
    here = np.flatnonzero((time >= earliest - 1e-9) & (time <= latest + 1e-9))
    width = round(SMOOTHED / (time[1] - time[0])) // 2 * 2 + 1
    if not len(here) or width < 3 or width > len(time):
        return float(time[here[0]]) if len(here) else float(time[0])
    rate = savgol_filter(values, width, 2, deriv=1, axis=0)
    return float(time[here[np.argmin((rate[here] ** 2).sum(axis=1))]])
