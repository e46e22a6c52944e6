"""One device of a robot in the device process: conversion, the last check, and how it answers."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from time import monotonic

import numpy as np

from sofa_softctl.base.time_limit import time_limit
from sofa_softctl.bridge.config.robot import ActuatorConfig, SafetyConfig
from sofa_softctl.bridge.course.signal_times import SignalTimes
from sofa_softctl.bridge.course.state import Histogram
from sofa_softctl.bridge.device import (
    Capabilities,
    ChannelSetup,
    Command,
    Device,
    Feedback,
    explain_silence,
)
from sofa_softctl.bridge.link.messages import described
from sofa_softctl.errors import DeviceFailedError, DeviceOpenError, DeviceTimeoutError


def call_limit(what: str, seconds: float) -> AbstractContextManager[None]:
    """Interrupt a block that takes longer; in the main thread, not nested.

    Raises:
        DeviceTimeoutError: `what` did not return in time.
    """
    text = f"{what} did not return within {seconds:g} s"
    return time_limit(seconds, lambda frame: DeviceTimeoutError(text), interval=seconds)


OPENS_WITHIN = 30.0
"""Time after which opening a device is given up [s]."""
STOPS_WITHIN = 0.5
"""Time after which `stop` or `close` of a device is given up [s]."""
DROPPED = ("frames_dropped", "messages_dropped")
"""Signals by which devices say how much they could not use."""
ROUNDING = 1e-9
"""Of conversions, relative to a channel's range."""


class Port:
    """A device with the actuators on it.

    Args:
        device: The device, not open yet.
        actuators: Those of the robot that it moves.
        places: Their places among all actuators of the robot, shape (n,).
        period: Of the commands [s].
        safety: Of the robot.
    """

    def __init__(
        self,
        device: Device,
        actuators: Sequence[ActuatorConfig],
        places: np.ndarray,
        period: float,
        safety: SafetyConfig,
    ) -> None:
        self.device, self.name, self.places = device, device.name, places
        self.channels = tuple(_channel(actuator) for actuator in actuators)
        self.positions = np.full(len(actuators), np.nan)
        """Measured positions, NaN where there is none [actuators' units], shape (n,)."""
        self.efforts = np.full(len(actuators), np.nan)
        """Measured efforts, NaN where there is none [as the device measures], shape (n,)."""
        self.signals: dict[str, np.ndarray] = {}
        """The newest of each signal [device's unit]."""
        self.signal_times: dict[str, SignalTimes] = {}
        """When each signal arrived."""
        self.heard = math.nan
        """When its newest feedback arrived; NaN: none yet [s]."""
        self.round_trip = Histogram()
        self.slowest = 0.0
        """Longest call so far [s]."""
        self.slow_calls = 0
        """Calls that took longer than half a period."""
        self.last_calls = 0.0
        """Time of its calls since this was set to 0 [s]."""
        self.dropped = 0
        """Damaged or stray frames or messages on its line since the first feedback."""
        self.hangs = False
        """Whether its `stop` has not returned."""
        self._maps = [actuator.map for actuator in actuators]
        self._low = np.array([channel.low for channel in self.channels])
        self._high = np.array([channel.high for channel in self.channels])
        self._most = np.array([channel.rate for channel in self.channels]) * period
        self._period, self._safety = period, safety
        self._values = np.full(len(actuators), np.nan)
        self._sequence = 0
        self._least = sys.maxsize
        self._written: dict[int, float] = {}
        self._acknowledged: int | None = None
        self._answered = math.nan
        self.capabilities: Capabilities

    def open(self) -> Capabilities:
        """Connect, check that all channels are there, and set the limits. Nothing moves yet."""
        with self._calling("open", OPENS_WITHIN):
            self.capabilities = self.device.open(self.channels)
        return self.capabilities

    def write(self, command: np.ndarray) -> None:
        """Convert a command of all actuators, check it for the last time, and send it.

        Raises:
            DeviceError: The device's, or what it was to be sent is beyond its limits.
        """
        if not self.channels:
            return
        values = self._checked(self._converted(command))
        now = monotonic()
        with self._calling("write", self._safety.clock_jump):
            self.device.write(Command(self._sequence, now, values))
        self._values = values
        if self.capabilities.acknowledges:
            self._written[self._sequence % 65536] = now
        if self._sequence == 0:
            self._answered = now
        self._sequence += 1

    def read(self) -> None:
        """Take in what it says.

        Raises:
            DeviceError: It failed, stopped by itself, or is silent for too long.
        """
        with self._calling("read", self._safety.clock_jump):
            feedback = self.device.read()
            if feedback is not None:
                self._take(feedback)
        silence = monotonic() - self._answered  # NaN before the first command
        longest = self._period + self._safety.feedback_timeout
        if self.capabilities.acknowledges and silence > longest:
            advice = "Check its cable and its supply"
            if self.heard > self._answered and monotonic() - self.heard < longest:
                last = "none" if self._acknowledged is None else f"none after {self._acknowledged}"
                advice = (
                    f"Its feedback arrives, but the numbers of the commands that it took are old: "
                    f"{last} of {self._sequence}. Look at the program that answers"
                )
            raise DeviceTimeoutError(
                f"device '{self.name}' has acknowledged no command for {silence:.3g} s "
                f"(feedback_timeout = {self._safety.feedback_timeout:g} s). "
                f"{explain_silence(self.device.dropped(), advice)}"
            )

    def stop(self) -> None:
        """See `Device.stop`. From any thread: who calls it limits the time."""
        with self._calling("stop", None):
            self.device.stop()

    def close(self) -> None:
        """Release everything; raises nothing. A closed device can be opened again."""
        with self._calling("close", STOPS_WITHIN):
            self.device.close()

    def _converted(self, command: np.ndarray) -> np.ndarray:
        own = command[self.places]
        return np.array([float(m.to_device(x)) for m, x in zip(self._maps, own, strict=True)])

    def _checked(self, values: np.ndarray) -> np.ndarray:
        """The last line of defence: what is not within the limits is never written."""
        loose = ROUNDING * (self._high - self._low)
        good = (values >= self._low - loose) & (values <= self._high + loose)  # False for NaN
        if not good.all():
            self._refuse(good, values, f"outside {self._low} to {self._high}")
        if self._sequence:
            good = np.abs(values - self._values) <= self._most * (1.0 + 1e-6) + loose
            if not good.all():
                self._refuse(good, values, f"more than {self._most} from the last, {self._values}")
        found: np.ndarray = np.clip(values, self._low, self._high)
        return found

    def _refuse(self, good: np.ndarray, values: np.ndarray, why: str) -> None:
        channel = self.channels[int(np.argmin(good))]
        raise DeviceFailedError(
            f"device '{self.name}': a command was not sent, since the value of '{channel.name}' "
            f"is {values[~good][0]}: {why}. This is an error of the bridge or of a unit map: "
            "please report it"
        )

    def _take(self, feedback: Feedback) -> None:
        self.heard = feedback.time
        for index, channel in enumerate(self.channels):
            if channel.number in feedback.positions:
                value = np.asarray(feedback.positions[channel.number], dtype=float)
                self.positions[index] = self._maps[index].from_device(value)
            effort = feedback.efforts.get(channel.number, math.nan)
            if not math.isnan(effort):
                self.efforts[index] = effort
        for name, signal in feedback.signals.items():
            self.signals[name] = np.ravel(np.asarray(signal, dtype=float))
            if name in DROPPED:
                self._count_dropped(int(self.signals[name][0]))
            self.signal_times.setdefault(name, SignalTimes(feedback.time)).add(feedback.time)
        if feedback.acknowledged is not None and feedback.acknowledged != self._acknowledged:
            self._acknowledged = feedback.acknowledged
            self._answered = monotonic()
            self._forget(feedback)
        if feedback.stopped:
            raise DeviceFailedError(f"device '{self.name}' stopped: {feedback.stopped}")

    def _count_dropped(self, count: int) -> None:
        """Count from the least on: boards begin anew when they are armed."""
        self._least = min(self._least, count)
        self.dropped = count - self._least

    def _forget(self, feedback: Feedback) -> None:
        """Count the round trip of what is acknowledged; what is older is answered, too."""
        assert feedback.acknowledged is not None
        number = feedback.acknowledged % 65536
        if number in self._written:
            self.round_trip.add(max(feedback.time - self._written[number], 0.0))
            while next(iter(self._written)) != number:
                del self._written[next(iter(self._written))]
            del self._written[number]

    @contextmanager
    def _calling(self, what: str, seconds: float | None) -> Iterator[None]:
        """Limit and measure a call; whatever it raises becomes a DeviceError with its name."""
        start = monotonic()
        name = f"device '{self.name}'"
        try:
            with call_limit(f"{name}: {what}()", seconds) if seconds else nullcontext():
                yield
        except BaseException as error:  # SystemExit too: the other devices are to be stopped
            kind, text = described(error)
            if kind is None:
                kind = DeviceOpenError if what == "open" else DeviceFailedError
                text = f"{what}() raised {text}"
            raise kind(text if self.name in text else f"{name}: {text}") from error
        finally:
            took = monotonic() - start
            if what in ("write", "read"):
                self.last_calls += took
                self.slowest = max(self.slowest, took)
                self.slow_calls += took > 0.5 * self._period


def _channel(actuator: ActuatorConfig) -> ChannelSetup:
    ends = np.array([actuator.position_min, actuator.position_max])
    low, high = sorted(float(end) for end in actuator.map.to_device(ends))
    _, slope = actuator.map.slope_range(actuator.position_min, actuator.position_max)
    rest = float(actuator.map.to_device(np.asarray(actuator.rest)))
    return ChannelSetup(
        number=actuator.channel,
        name=actuator.name,
        low=low,
        high=high,
        rate=slope * actuator.rate,
        rest=min(max(rest, low), high),
    )
