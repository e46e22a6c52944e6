"""Slow motion of a device under check."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from time import monotonic, sleep

import numpy as np

from sofa_softctl.bridge.device import Capabilities, ChannelSetup, Command, Device
from sofa_softctl.errors import DeviceFailedError
from sofa_softctl.testing.device_answers import FeedbackCheck


@dataclass(frozen=True)
class DeviceRunSettings:
    """Rate, length and time limit of a `DeviceRun`."""

    rate_max: float = 100.0
    """Rate of commands, lower if the line is slower [Hz]."""
    command_count: int = 50
    """Number of commands of the motion."""
    settle_timeout: float = 3.0
    """Longest time to acknowledge the last command and to reach it [s]."""


SETTINGS = DeviceRunSettings()


class DeviceRun:
    """Commands to a device, with a check of its feedback.

    Args:
        device: An open device.
        channels: Channels of the device.
        capabilities: Capabilities that the device returned when it was opened.
        first: Number of the first command.
        began: Time at which opening began [s].
    """

    def __init__(
        self,
        device: Device,
        channels: Sequence[ChannelSetup],
        capabilities: Capabilities,
        first: int,
        began: float,
    ) -> None:
        self.device, self.channels, self.capabilities = device, channels, capabilities
        self.kind = type(device).__name__
        self.period = 1.0 / min(SETTINGS.rate_max, capabilities.rate_max)
        self.sent = range(first, first)
        self.durations: list[float] = []
        self.began = began
        self.check = FeedbackCheck(self.kind, [c.number for c in channels], capabilities)
        low, high, self.rest, rate = (
            np.array([getattr(channel, name) for channel in channels])
            for name in ("low", "high", "rest", "rate")
        )
        room = np.where(high - self.rest > self.rest - low, high - self.rest, low - self.rest)
        # One swing out and back, 1 - cos: its largest speed, pi times the amplitude divided by its
        # time, is half the largest rate.
        fastest = 0.5 * rate * SETTINGS.command_count * self.period / math.pi
        self.amplitude = np.sign(room) * np.minimum(0.5 * np.abs(room), fastest)

    def stream(self) -> None:
        """Move out and back, then stay at a value until the device reaches it.

        Raises:
            AssertionError: The feedback is not as expected.
        """
        self._read()
        measured_before = set(self.check.positions)
        for step in range(SETTINGS.command_count):
            fraction = 0.5 - 0.5 * math.cos(2.0 * math.pi * step / SETTINGS.command_count)
            self._period(self.rest + fraction * self.amplitude)
        self._check_durations()
        # Not at rest, so that a device that only returns to rest is noticed.
        last = self.rest + 0.01 * self.amplitude
        deadline = monotonic() + SETTINGS.settle_timeout
        while not self._has_arrived(last) and monotonic() < deadline:
            self._period(last)
        self._check_arrived(last)
        self._check_before(measured_before)

    def read_after_stop(self) -> None:
        """Read feedback of a stopped device, which may continue to send positions."""
        for _ in range(5):
            try:
                self._read()
            except DeviceFailedError:
                return
            sleep(self.period)

    @staticmethod
    def write_one(device: Device, number: int, values: np.ndarray) -> None:
        """Write one command for the present time."""
        device.write(Command(number, monotonic(), values))

    def _period(self, values: np.ndarray) -> None:
        start = monotonic()
        number = self.sent.stop
        self.sent = range(self.sent.start, number + 1)
        self.write_one(self.device, number, values)
        self._read()
        self.durations.append(monotonic() - start)
        sleep(max(0.0, start + self.period - monotonic()))

    def _read(self) -> None:
        feedback = self.device.read()
        if feedback is not None:
            self.check.check_feedback(feedback, self.began, monotonic(), self.sent)

    def _check_durations(self) -> None:
        """Check three of four periods: a busy computer delays some, a waiting device all."""
        duration = float(np.percentile(self.durations, 25))
        if duration > 0.5 * self.period:
            raise AssertionError(
                f"{self.kind}: expected write and read to return without waiting, within "
                f"{500.0 * self.period:.1f} ms, half a period; got {1e3 * duration:.1f} ms "
                "or more in three of four periods."
            )

    def _has_arrived(self, last: np.ndarray) -> bool:
        positions = self.check.positions
        is_near = [
            abs(positions[channel.number] - value) <= self._tolerance(value)
            for channel, value in zip(self.channels, last, strict=True)
            if channel.number in positions
        ]
        return self._is_acknowledged() and all(is_near)

    def _is_acknowledged(self) -> bool:
        """Return True if the device has acknowledged one of the last, constant commands."""
        if not self.capabilities.acknowledges:
            return True
        newest = self.check.acknowledged
        return newest is not None and newest >= self.sent.start + SETTINGS.command_count

    def _tolerance(self, value: float) -> float:
        return max(self.capabilities.resolution, 1e-6 * abs(value), 1e-9)

    def _check_before(self, measured_at_start: set[int]) -> None:
        late = sorted(self.check.positions.keys() - measured_at_start)
        if late and self.capabilities.measures:
            raise AssertionError(
                f"{self.kind}: expected the positions of channels {late} from the first `read`, "
                "before the first `write`; they came only after commands, so that the robot would "
                "begin at its rest pose, with a jump. Keep the first positions of `open` for the "
                "first `read`; of a device that cannot measure them, set Capabilities.measures to "
                "False."
            )

    def _check_arrived(self, last: np.ndarray) -> None:
        if not self._is_acknowledged():
            raise AssertionError(
                f"{self.kind}: expected that it acknowledges command {self.sent.stop - 1} within "
                f"{SETTINGS.settle_timeout:g} s, as Capabilities.acknowledges is True; the newest "
                "of "
                f"Feedback is {self.check.acknowledged}."
            )
        # Without acknowledgement a last position may belong to an earlier command.
        if self.capabilities.acknowledges and not self._has_arrived(last):
            raise AssertionError(
                f"{self.kind}: expected Feedback.positions to come to the last command, "
                f"{[float(f'{v:.6g}') for v in last]}, within the resolution "
                f"{self.capabilities.resolution:g} after {SETTINGS.settle_timeout:g} s, got "
                f"{self.check.positions}."
            )
