"""A window that slides over the samples of a run, and what is known from those that left it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.signal import savgol_filter

from sofa_softctl.identification.data.table import TIME, Table
from sofa_softctl.identification.online.arrival_cost import ArrivalCost, Linearised
from sofa_softctl.identification.online.refinement import Refinement

EPSILON = 1e-9
"""What times may differ by from rounding [s]."""


@dataclass
class SlidingWindow:
    """Samples, the fit that had them last, and the memory."""

    length: float | None
    """How far it reaches back, at least [s]; None: to the first sample."""
    slack: float
    """How much longer it may be, to begin when the robot is calm [s]."""
    calm: Sequence[int]
    """Columns of signals that tell that; none: the window has its length."""
    half_life: float
    """Time after which what left counts half [s]; 0: what left does not count."""
    memory: ArrivalCost
    """Of samples that left."""
    samples: list[list[float]] = field(default_factory=list)
    """Time and signals of each."""
    rows: Linearised | None = None
    """Samples of the last fit that are still in the window."""
    inflation: np.ndarray | None = None
    """Of the last fit."""
    left: float | None = None
    """Until when samples have left [s]."""

    def copy(self) -> SlidingWindow:
        """Of its own samples; all else is never changed, but replaced."""
        return replace(self, samples=list(self.samples))

    def slide(self, now: float) -> None:
        """Let samples leave, so that the window ends now."""
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
        """The samples; `units` of the signals by name, in their order."""
        columns = np.array(self.samples).T
        named = dict(zip((TIME, *units), columns, strict=True))
        lines = tuple(f"t = {time:g} s" for time in columns[0])
        return Table(f"window until {columns[0, -1]:g} s", named, {TIME: "s", **units}, lines)

    def take(self, found: Refinement) -> None:
        """From now on the samples of a fit leave as it linearised them."""
        assert found.rows is not None
        self.rows, self.inflation = found.rows, found.rows.inflation


SMOOTHED = 0.4
"""Time over which a rate is taken, against noise [s]."""


def quietest_time(time: np.ndarray, values: np.ndarray, earliest: float, latest: float) -> float:
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
