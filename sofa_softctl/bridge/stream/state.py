"""What the device process is doing, and what it says of each period."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np


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
    """What the scene asked for, interpolated [actuators' units], shape (n_actuators,)."""
    command: np.ndarray
    """What was sent, after the limits [actuators' units], shape (n_actuators,)."""
    measured: np.ndarray
    """Measured positions, NaN where there is none [actuators' units], shape (n_actuators,)."""
    effort: np.ndarray
    """Measured efforts, NaN where there is none [devices' units], shape (n_actuators,)."""
    sensors: np.ndarray
    """Numbers of all sensors one after another, NaN before the first [sensors' units]."""
    age: np.ndarray
    """Age of the feedback of each device, NaN before the first [s], shape (n_devices,)."""
    sensor_age: np.ndarray
    """Age of the numbers of each sensor, NaN before the first [s], shape (n_sensors,)."""


@dataclass(frozen=True)
class Statistics:
    """How regularly commands were sent."""

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
    """What users should know: no real-time priority, a latency timer, a dry run."""
