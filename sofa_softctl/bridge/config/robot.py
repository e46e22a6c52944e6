"""Configuration of a robot in memory: the checked content of its TOML file.

Positions, limits and rates of an actuator are in its own `unit`; `map` converts to the unit of its
device. "Position" stands for whatever the actuator is commanded in: a length, an angle, a force, a
pressure or a volume.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np


class UnitMap(Protocol):
    """Conversion between an actuator's unit and its device's, strictly monotonic."""

    def to_device(self, value: np.ndarray) -> np.ndarray:
        """Convert from the actuator's unit to the device's, any shape."""

    def from_device(self, value: np.ndarray) -> np.ndarray:
        """Convert from the device's unit to the actuator's, any shape."""

    def slope_range(self, low: float, high: float) -> tuple[float, float]:
        """Return bounds of |d device / d actuator| from `low` to `high` [device unit / unit]."""


@dataclass(frozen=True)
class DeviceConfig:
    """A table [devices.NAME]."""

    name: str
    """Name in the file."""
    type: str
    """Registered name of the device's class."""
    options: Mapping[str, Any]
    """Options of the class."""
    line: int
    """Line of the table in the file."""


@dataclass(frozen=True)
class ActuatorConfig:
    """A table [actuators.NAME]."""

    name: str
    """Name of the actuator in the scene."""
    device: str
    """Name of its device."""
    channel: int
    """Channel on that device."""
    quantity: str
    """Quantity of its commands: one of `quantities.UNITS`."""
    unit: str
    """Unit of the numbers below."""
    map: UnitMap
    """Map to the device's unit, with sign and zero."""
    position_min: float
    """Least position [unit]."""
    position_max: float
    """Greatest position [unit]."""
    rate: float
    """Greatest speed [unit/s]."""
    acceleration: float
    """Greatest acceleration [unit/s2]."""
    jump: float
    """Greatest difference of two successive targets [unit]; a greater one is a fault."""
    effort_max: float
    """Greatest measured effort [as the device measures it]; a greater one is a fault; inf: any."""
    rest: float
    """Position at rest [unit]."""
    soft_start: float
    """Least time of the first move, to the first target [s]."""
    line: int
    """Line of the table in the file."""


@dataclass(frozen=True)
class SensorConfig:
    """A table [sensors.NAME]: a signal of a device that becomes a Data in the scene."""

    name: str
    """Name in the file and in the scene."""
    device: str
    """Name of its device."""
    signal: str
    """Name of the signal in the device's feedback."""
    quantity: str
    """Measured quantity: one of `quantities.UNITS`, or 'number'."""
    unit: str
    """Unit after the conversion."""
    size: int
    """Number of values."""
    map: UnitMap
    """Map from the device's unit (`from_device`)."""
    line: int
    """Line of the table in the file."""


@dataclass(frozen=True)
class StreamConfig:
    """The table [stream]: rate and timing of commands."""

    rate: float = 100.0
    """Rate of commands [Hz]."""
    interpolation: str = "linear"
    """Interpolation between the scene's commands: 'linear', or 'hold' for the last one."""
    lookahead: int = 2
    """Commands of the scene that wait to be sent: the delay, in steps, and the reserve."""
    slow_scene: str = "wait"
    """Treatment of scenes slower than real time: 'wait' (the robot's clock waits) or 'refuse'."""
    realtime: bool = True
    """Whether to ask for SCHED_FIFO and locked memory, if permitted."""


@dataclass(frozen=True)
class SafetyConfig:
    """The table [safety]: conditions of stops."""

    command_timeout: float = 0.5
    """Silence of the scene after which the robot holds and goes to rest [s]."""
    feedback_timeout: float = 0.25
    """Silence of a device that acknowledges after which everything stops [s]."""
    hold: float = 0.5
    """Time for which a fault holds the robot before it goes to rest [s]."""
    clock_jump: float = 0.25
    """A gap between two periods of the loop after which nothing moves on by itself [s]."""
    stop_file: str = ""
    """File whose existence is an emergency stop, or ""."""
    dead_man_file: str = ""
    """File that must have been touched within `command_timeout`, or ""."""


@dataclass(frozen=True)
class RobotConfig:
    """A whole configuration file."""

    path: str
    """Path of the file."""
    text: str
    """Content when it was read: it is not read again while the robot moves."""
    name: str
    """Name of the robot."""
    devices: tuple[DeviceConfig, ...]
    actuators: tuple[ActuatorConfig, ...]
    sensors: tuple[SensorConfig, ...]
    stream: StreamConfig
    safety: SafetyConfig
