"""State of the device process, and histograms of its times, whose memory does not grow."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

import numpy as np

TIME_MIN, TIME_MAX, BINS_PER_DECADE = 1e-6, 10.0, 50
"""Range of the bins [s], and their number per decade, so that each is 4.7 % wide."""
PERCENTILES = (50.0, 90.0, 99.0, 99.9)
"""Percentiles [%] of `Histogram.percentiles`, before the worst."""


class Histogram:
    """Counts of times; shorter and longer ones are in the first and the last bin."""

    def __init__(self) -> None:
        bins = round(math.log10(TIME_MAX / TIME_MIN) * BINS_PER_DECADE)
        self.edges = TIME_MIN * 10.0 ** (np.arange(bins + 1) / BINS_PER_DECADE)
        """Edges of the bins [s], shape (n + 1,)."""
        self.counts = np.zeros(bins, dtype=np.int64)
        """Counts, shape (n,)."""
        self.worst = math.nan
        """Longest time; NaN if there is none [s]."""

    def add(self, seconds: float) -> None:
        """Count a time."""
        index = int(math.log10(max(seconds, TIME_MIN) / TIME_MIN) * BINS_PER_DECADE)
        self.counts[min(index, len(self.counts) - 1)] += 1
        self.worst = seconds if math.isnan(self.worst) else max(self.worst, seconds)

    def merge(self, histogram: Histogram) -> None:
        """Add the counts of another histogram."""
        self.counts += histogram.counts
        self.worst = float(np.fmax(self.worst, histogram.worst))

    def percentiles(self) -> np.ndarray:
        """Return the upper edges of the bins of `PERCENTILES`, and the worst [s], shape (5,)."""
        total = self.counts.sum()
        if not total:
            return np.full(len(PERCENTILES) + 1, np.nan)
        cumulated = np.cumsum(self.counts)
        bins = [int(np.searchsorted(cumulated, total * percent / 100.0)) for percent in PERCENTILES]
        values = [min(float(self.edges[index + 1]), self.worst) for index in bins]
        return np.array([*values, self.worst])


class StreamState(Enum):
    """States of the device process, in the order in which they usually come."""

    OPENING = "The devices are being opened."
    READY = "The devices are open; no command has come yet, and nothing moves."
    SOFT_START = "The robot goes slowly from where it is to the first command."
    STREAMING = "Commands are sent at the fixed rate."
    WAITING = "The scene is slower than real time: the robot waits for its next command."
    HOLDING = "Something is wrong: the robot is held where it is."
    RETURNING = "The robot goes to its rest pose within its limits."
    RESTED = "The robot is in its rest pose, and its devices are stopped."
    STOPPED = "Emergency stop: the devices were stopped where the robot was."


OVER = (StreamState.RESTED, StreamState.STOPPED)
"""States in which the devices are stopped."""


@dataclass(frozen=True)
class Sample:
    """One period of the device process."""

    time: float
    """The robot's clock: time of the scene that the command belongs to [s]."""
    clock: float
    """This computer's monotonic clock [s]."""
    state: StreamState
    """State in the period."""
    target: np.ndarray
    """Interpolated target of the scene [actuators' units], shape (n_actuators,)."""
    command: np.ndarray
    """Command sent, within the limits [actuators' units], shape (n_actuators,)."""
    measured: np.ndarray
    """Measured positions, NaN if not measured [actuators' units], shape (n_actuators,)."""
    effort: np.ndarray
    """Measured efforts, NaN if not measured [devices' units], shape (n_actuators,)."""
    sensors: np.ndarray
    """Concatenated numbers of all sensors, NaN before the first message [sensors' units]."""
    age: np.ndarray
    """Age of the feedback of each device, NaN before the first [s], shape (n_devices,)."""
    sensor_age: np.ndarray
    """Age of the numbers of each sensor, NaN before the first [s], shape (n_sensors,)."""


@dataclass(frozen=True)
class Statistics:
    """Regularity of the commands."""

    periods: int
    """Periods in which commands were sent."""
    missed: int
    """Deadlines missed by more than half a period: such a period is left out, not hurried."""
    jitter: np.ndarray
    """Percentiles 50, 90, 99, 99.9 and the worst of |start - deadline| of a period [s]."""
    latency: np.ndarray
    """The same of the time from `Stream.send` to the end of the first write that could contain the
    target: without the delay by `lookahead` [s]."""
    round_trip: np.ndarray
    """The same of the time from a write to its acknowledgement, when the device read it: at the
    next period, for most; NaN: no device acknowledges [s]."""
    jitter_histogram: tuple[np.ndarray, np.ndarray]
    """Counts, and edges of their bins [s]."""
    latency_histogram: tuple[np.ndarray, np.ndarray]
    """Counts, and edges of their bins [s]."""
    waited: float
    """Time for which the robot's clock waited for the scene [s]."""
    notes: tuple[str, ...]
    """Notes for users: no real-time priority, a latency timer, a dry run."""
