"""The contract of devices: what the bridge asks of a motor controller, a pump or a sensor.

A device is opened, written to and read from by one thread of one process, at a fixed rate. `stop`
is called from another thread, so that no device waits for another, but never during another call:

    device = LoopbackDevice("left", **options)   # cheap: nothing is opened yet
    capabilities = device.open(channels)         # may take seconds; checks whatever it can
    while ...:
        device.write(Command(...))               # once a period; must not wait for the device
        feedback = device.read()                 # what has arrived since the last call, or None
    device.stop()                                # motion ends, now
    device.close()

Values are in the device's own unit, such as steps, microseconds of a pulse, or pascal: the bridge
converts from the unit of the actuator, and enforces all limits before it calls `write`.
`sofa_softctl.testing.check_device` checks a class against this contract.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np


@dataclass(frozen=True)
class ChannelSetup:
    """One channel of a device as a robot's configuration uses it."""

    number: int
    """Number of the channel, from 0, or the id of a motor."""
    name: str
    """Name of its actuator, for messages."""
    low: float
    """Least value that may ever be sent [device unit]."""
    high: float
    """Greatest value that may ever be sent [device unit]."""
    rate: float
    """Greatest change in a second [device unit / s]; inf: no limit."""
    rest: float
    """Value at which the actuator is at rest [device unit], from `low` to `high`."""


@dataclass(frozen=True)
class Capabilities:
    """Capabilities of a device, read when it was opened."""

    description: str
    """Description: board, firmware, port."""
    unit: str
    """Unit of the values of its channels, such as 'us', 'step', 'Pa'."""
    resolution: float
    """Smallest change of a value that it can follow [device unit]; 0: none."""
    range: tuple[float, float]
    """Least and greatest value that it takes [device unit]."""
    rate_max: float
    """Greatest rate of commands on its line [Hz]; inf if unknown."""
    watchdog: float | None
    """Silence after which it stops its motors itself [s], or None without a watchdog."""
    acknowledges: bool
    """Whether its feedback says which command it took last."""
    moves: bool = True
    """Whether something real moves; False: it is a simulation or a recorder."""
    measures: bool = True
    """Whether its positions are measured, and known before the first command; False: it has none,
    or they follow from the commands, as the pulses of a hobby servo do."""
    measures_effort: bool | None = None
    """Whether its feedback has efforts, which `effort_max` of an actuator bounds; None if the
    feedback will show it."""
    notes: tuple[str, ...] = ()
    """Notes for users, in sentences, such as on a latency timer that slows the line down."""


@dataclass(frozen=True)
class Command:
    """Values for all channels of a device at one moment."""

    sequence: int
    """Number of the command, from 0, increasing by one; devices may send it modulo 2^16."""
    time: float
    """Time of the values, on this computer's monotonic clock [s]."""
    values: np.ndarray
    """One value a channel, in the order of `open` [device unit], finite, shape (n,)."""


@dataclass(frozen=True)
class Feedback:
    """Newest feedback of a device."""

    time: float
    """Time of arrival, on this computer's monotonic clock [s]."""
    positions: Mapping[int, float] = field(default_factory=dict)
    """Measured or estimated value of channels, by their number [device unit]."""
    efforts: Mapping[int, float] = field(default_factory=dict)
    """Measured effort of channels, such as a motor's current [as the device documents it]."""
    signals: Mapping[str, np.ndarray] = field(default_factory=dict)
    """Whatever else it measures, by name: analogue inputs, pressures, positions of markers."""
    acknowledged: int | None = None
    """Sequence number of the newest accepted command, or None if unknown."""
    device_time: float | None = None
    """Time of the measurement, on the device's clock [s], or None."""
    stopped: str = ""
    """Reason for its own stop (watchdog, emergency stop, fault), or ""."""


class Device(ABC):
    """Base class of devices.

    A subclass takes its options by keyword, with types and defaults: they are the keys of its
    table in a robot's configuration file, where names and types are checked.

    Args:
        name: Name of its table in the configuration file, for messages.
    """

    quantities: ClassVar[tuple[str, ...]] = ()
    """Quantities of actuators that it supports, such as "length"; () for all."""
    modules: ClassVar[tuple[str, ...]] = ()
    """Modules of optional packages that it needs, such as 'serial', for `softctl bridge list`."""

    identity: ClassVar[tuple[str, ...]] = ()
    """Options that identify the device, such as its port; () for all. See `identify`."""
    shared: ClassVar[bool] = False
    """Whether several runs may use it at once, since nothing real moves."""

    def __init__(self, name: str) -> None:
        self.name = name

    @classmethod
    def identify(cls, options: Mapping[str, Any]) -> tuple[object, ...]:
        """Return the identity of the device: one run at a time may move it.

        Override it if two spellings name one device, such as 'localhost' and '127.0.0.1'.
        Paths need not be: links in them are followed.

        Args:
            options: All options of its class by their names, defaults too.
        """
        return tuple(options[name] for name in cls.identity or sorted(options))

    @abstractmethod
    def open(self, channels: Sequence[ChannelSetup]) -> Capabilities:
        """Connect, check that all channels are there, and set the limits. Nothing moves yet.

        A device that measures positions has them when this returns: motion begins where the first
        `read` says that the robot is, and at the rest pose if it does not say.

        Raises:
            DeviceUnavailableError: A library or the kernel lacks something.
            DeviceOpenError: Missing, busy, no permission, other firmware, no such channel.
            DeviceTimeoutError: It does not answer.
        """

    @abstractmethod
    def write(self, command: Command) -> None:
        """Send a command, without waiting for the device to take it.

        Raises:
            DeviceFailedError: It is gone, or refuses.
            DeviceTimeoutError: The line does not take the command.
        """

    @abstractmethod
    def read(self) -> Feedback | None:
        """Return the newest feedback since the last call, or None. Does not wait.

        The first call after `open` gives the positions of all channels, where the device measures
        them: they are needed before the first `write`.

        Raises:
            DeviceFailedError: It is gone.
            DeviceTimeoutError: It owes an answer for too long.
        """

    def dropped(self) -> dict[str, int]:
        """Return the number of messages that arrived and could not be used, by reason.

        An example is {'with a wrong checksum': 12}: if nothing usable comes, the error says so, and
        does not send people to look for a loose cable.
        """
        return {}

    @abstractmethod
    def stop(self) -> None:
        """End all motion now and stay there; repeated calls are harmless.

        Called at emergency stops and before `close`; also after an error, so that it tries what
        still can be done and raises `DeviceError` only if that failed.
        """

    @abstractmethod
    def close(self) -> None:
        """Release everything; raises nothing. A closed device can be opened again."""


def explain_silence(dropped: Mapping[str, int], otherwise: str) -> str:
    """Return advice for a device from which nothing usable comes.

    Args:
        dropped: Result of `Device.dropped`.
        otherwise: Advice if nothing arrived.
    """
    reasons = [f"{count} {reason}" for reason, count in dropped.items() if count]
    if not reasons:
        return otherwise
    total = sum(dropped.values())
    return (
        f"Messages did arrive from it, but {total} of them were dropped: {', '.join(reasons)}. "
        "Look at the rate of its line, at what disturbs it, and at the program that answers"
    )


_FLAG = (lambda value: isinstance(value, bool), "True or False")
_TEXT = (lambda value: isinstance(value, str), "a text")
_RULES: dict[str, tuple[Callable[[Any], bool], str]] = {
    "description": (lambda value: isinstance(value, str) and bool(value), "a text"),
    "unit": _TEXT,
    "resolution": (lambda value: 0.0 <= value < math.inf, "a number from 0"),
    "range": (lambda value: value[0] < value[1], "the least value and a greater one"),
    "rate_max": (lambda value: value > 0.0, "a number above 0, inf where it is not known"),
    "watchdog": (
        lambda value: value is None or 0.0 < value < math.inf,
        "seconds, more than 0, or None",
    ),
    "acknowledges": _FLAG,
    "moves": _FLAG,
    "measures": _FLAG,
    "measures_effort": (
        lambda value: value is None or isinstance(value, bool),
        "True, False or None",
    ),
    "notes": (
        lambda value: isinstance(value, tuple) and all(isinstance(n, str) and n for n in value),
        "a tuple of sentences",
    ),
}


def capability_fault(capabilities: Any) -> str:
    """Describe a fault of a result of `Device.open` as 'expected ..., got ...', or return "".

    Args:
        capabilities: Returned object.
    """
    if not isinstance(capabilities, Capabilities):
        return f"open: expected Capabilities, got {capabilities!r}"
    for name, (holds, expected) in _RULES.items():
        value = getattr(capabilities, name)
        try:
            is_valid = holds(value)
        except (TypeError, LookupError):  # a text for a number, a number for a pair
            is_valid = False
        if not is_valid:
            return f"Capabilities.{name}: expected {expected}, got {value!r}"
    return ""
