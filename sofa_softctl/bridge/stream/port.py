"""One device of a robot in the device process: conversion, last check and acknowledgements."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from time import monotonic

import numpy as np

from sofa_softctl.base.time_limit import time_limit
from sofa_softctl.bridge.config.robot import ActuatorConfig, SafetyConfig
from sofa_softctl.bridge.config.setup import channel_setup
from sofa_softctl.bridge.course.signal_times import SignalTimes
from sofa_softctl.bridge.course.state import Histogram
from sofa_softctl.bridge.device import (
    Capabilities,
    Command,
    Device,
    Feedback,
    explain_silence,
)
from sofa_softctl.bridge.link.messages import describe_error
from sofa_softctl.errors import DeviceFailedError, DeviceOpenError, DeviceTimeoutError


def call_limit(label: str, seconds: float) -> AbstractContextManager[None]:
    """Interrupt a block that takes longer; in the main thread, not nested.

    Raises:
        DeviceTimeoutError: The block did not end in time; the message starts with `label`.
    """
    text = f"{label} did not return within {seconds:g} s"
    return time_limit(seconds, lambda frame: DeviceTimeoutError(text), interval=seconds)


OPEN_TIMEOUT = 30.0
"""Timeout of opening a device [s]."""
STOP_TIMEOUT = 0.5
"""Timeout of `stop` and `close` of a device [s]."""
DROPPED_SIGNALS = ("frames_dropped", "messages_dropped")
"""Signals with the number of unusable messages."""
RANGE_TOLERANCE = 1e-9
"""Rounding error of conversions, relative to a channel's range [-]."""


class DevicePort:
    """A device with the actuators on it.

    Args:
        device: The device, not open yet.
        actuators: Actuators that the device moves.
        indices: Indices of these among all actuators of the robot, shape (n,).
        period: Period of the commands [s].
        safety: Safety settings of the robot.
    """

    def __init__(
        self,
        device: Device,
        actuators: Sequence[ActuatorConfig],
        indices: np.ndarray,
        period: float,
        safety: SafetyConfig,
    ) -> None:
        self.device, self.name, self.indices = device, device.name, indices
        self.channels = tuple(channel_setup(actuator) for actuator in actuators)
        self.positions = np.full(len(actuators), np.nan)
        """Measured positions, NaN if not measured [actuators' units], shape (n,)."""
        self.efforts = np.full(len(actuators), np.nan)
        """Measured efforts, NaN if not measured [as the device measures], shape (n,)."""
        self.signals: dict[str, np.ndarray] = {}
        """Newest values of each signal [device's unit]."""
        self.signal_times: dict[str, SignalTimes] = {}
        """Arrival times of each signal."""
        self.heard = math.nan
        """Arrival time of the newest feedback; NaN before the first [s]."""
        self.round_trip = Histogram()
        self.slowest = 0.0
        """Longest call so far [s]."""
        self.slow_calls = 0
        """Calls that took longer than half a period."""
        self.last_calls = 0.0
        """Time in calls of the device since this was set to 0 [s]."""
        self.dropped = 0
        """Damaged or stray frames or messages on its line since the first feedback."""
        self.hangs = False
        """Whether its `stop` has not returned."""
        self._maps = [actuator.map for actuator in actuators]
        self._low = np.array([channel.low for channel in self.channels])
        self._high = np.array([channel.high for channel in self.channels])
        self._step_max = np.array([channel.rate for channel in self.channels]) * period
        self._period, self._safety = period, safety
        self._values = np.full(len(actuators), np.nan)
        self._sequence = 0
        self._dropped_before = sys.maxsize
        self._written: dict[int, float] = {}
        self._acknowledged: int | None = None
        self._answered = math.nan
        self.capabilities: Capabilities

    def open(self) -> Capabilities:
        """Connect, check that all channels are there, and set the limits. Nothing moves yet."""
        with self._limit_call("open", OPEN_TIMEOUT):
            self.capabilities = self.device.open(self.channels)
        return self.capabilities

    def write(self, command: np.ndarray) -> None:
        """Convert a command of all actuators, check it for the last time, and send it.

        Raises:
            DeviceError: The device failed, or the command exceeds its limits.
        """
        if not self.channels:
            return
        values = self._check_values(self._to_device_values(command))
        now = monotonic()
        with self._limit_call("write", self._safety.clock_jump):
            self.device.write(Command(self._sequence, now, values))
        self._values = values
        if self.capabilities.acknowledges:
            self._written[self._sequence % 65536] = now
        if self._sequence == 0:
            self._answered = now
        self._sequence += 1

    def read(self) -> None:
        """Store the newest feedback of the device.

        Raises:
            DeviceError: It failed, stopped by itself, or is silent for too long.
        """
        with self._limit_call("read", self._safety.clock_jump):
            feedback = self.device.read()
            if feedback is not None:
                self._store_feedback(feedback)
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
        """Stop the device, from any thread; the caller limits the time."""
        with self._limit_call("stop", None):
            self.device.stop()

    def close(self) -> None:
        """Release everything; raises nothing. A closed device can be opened again."""
        with self._limit_call("close", STOP_TIMEOUT):
            self.device.close()

    def _to_device_values(self, command: np.ndarray) -> np.ndarray:
        values = command[self.indices]
        return np.array([float(m.to_device(x)) for m, x in zip(self._maps, values, strict=True)])

    def _check_values(self, values: np.ndarray) -> np.ndarray:
        """Raise an error for values out of limits, as a last check; clip rounding errors."""
        slack = RANGE_TOLERANCE * (self._high - self._low)
        is_valid = (values >= self._low - slack) & (values <= self._high + slack)  # False for NaN
        if not is_valid.all():
            self._refuse(is_valid, values, f"outside {self._low} to {self._high}")
        if self._sequence:
            is_valid = np.abs(values - self._values) <= self._step_max * (1.0 + 1e-6) + slack
            if not is_valid.all():
                self._refuse(
                    is_valid, values, f"more than {self._step_max} from the last, {self._values}"
                )
        clipped: np.ndarray = np.clip(values, self._low, self._high)
        return clipped

    def _refuse(self, is_valid: np.ndarray, values: np.ndarray, reason: str) -> None:
        channel = self.channels[int(np.argmin(is_valid))]
        raise DeviceFailedError(
            f"device '{self.name}': a command was not sent, since the value of '{channel.name}' "
            f"is {values[~is_valid][0]}: {reason}. This is an error of the bridge or of a unit "
            "map: please report it"
        )

    def _store_feedback(self, feedback: Feedback) -> None:
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
            if name in DROPPED_SIGNALS:
                self._count_dropped(int(self.signals[name][0]))
            self.signal_times.setdefault(name, SignalTimes(feedback.time)).add(feedback.time)
        if feedback.acknowledged is not None and feedback.acknowledged != self._acknowledged:
            self._acknowledged = feedback.acknowledged
            self._answered = monotonic()
            self._count_round_trip(feedback)
        if feedback.stopped:
            raise DeviceFailedError(f"device '{self.name}' stopped: {feedback.stopped}")

    def _count_dropped(self, count: int) -> None:
        """Count from the least number: boards restart their count when they are armed."""
        self._dropped_before = min(self._dropped_before, count)
        self.dropped = count - self._dropped_before

    def _count_round_trip(self, feedback: Feedback) -> None:
        """Count the round trip of an acknowledged command, and drop older ones."""
        assert feedback.acknowledged is not None
        number = feedback.acknowledged % 65536
        if number in self._written:
            self.round_trip.add(max(feedback.time - self._written[number], 0.0))
            while next(iter(self._written)) != number:
                del self._written[next(iter(self._written))]
            del self._written[number]

    @contextmanager
    def _limit_call(self, method: str, seconds: float | None) -> Iterator[None]:
        """Limit and measure the time of a call; any error becomes a DeviceError with its name."""
        start = monotonic()
        name = f"device '{self.name}'"
        try:
            with call_limit(f"{name}: {method}()", seconds) if seconds else nullcontext():
                yield
        except BaseException as error:  # SystemExit too: the other devices must be stopped
            kind, text = describe_error(error)
            if kind is None:
                kind = DeviceOpenError if method == "open" else DeviceFailedError
                text = f"{method}() raised {text}"
            raise kind(text if self.name in text else f"{name}: {text}") from error
        finally:
            took = monotonic() - start
            if method in ("write", "read"):
                self.last_calls += took
                self.slowest = max(self.slowest, took)
                self.slow_calls += took > 0.5 * self._period
