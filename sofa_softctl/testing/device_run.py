"""A slow motion of a device that is checked."""

from __future__ import annotations

import math
from collections.abc import Sequence
from time import monotonic, sleep

import numpy as np

from sofa_softctl.bridge.device import Capabilities, ChannelSetup, Command, Device
from sofa_softctl.errors import DeviceFailedError
from sofa_softctl.testing.device_answers import FeedbackCheck

RATE = 100.0
"""Commands in a second; fewer where the line carries fewer [Hz]."""
COMMANDS = 50
"""Of the motion."""
SETTLE = 3.0
"""Time to take the last command and to come to it [s]."""


class DeviceRun:
    """Commands to a device, and the check of its feedback.

    Args:
        device: An open device.
        channels: Its channels.
        capabilities: What it said when it was opened.
        first: Number of the first command.
        began: When opening it began [s].
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
        self.period = 1.0 / min(RATE, capabilities.rate_max)
        self.sent = range(first, first)
        self.durations: list[float] = []
        self.began = began
        self.check = FeedbackCheck(self.kind, [c.number for c in channels], capabilities)
        low, high, self.rest, rate = (
            np.array([getattr(channel, name) for channel in channels])
            for name in ("low", "high", "rest", "rate")
        )
        room = np.where(high - self.rest > self.rest - low, high - self.rest, low - self.rest)
        # One swing out and back, 1 - cos: its greatest speed, pi times the way over its time, is
        # half the greatest rate.
        fastest = 0.5 * rate * COMMANDS * self.period / math.pi
        self.way = np.sign(room) * np.minimum(0.5 * np.abs(room), fastest)

    def stream(self) -> None:
        """Move out and back, then stay at a value until the device is there.

        Raises:
            AssertionError: What is wrong.
        """
        self._read()
        before = set(self.check.positions)
        for step in range(COMMANDS):
            share = 0.5 - 0.5 * math.cos(2.0 * math.pi * step / COMMANDS)
            self._period(self.rest + share * self.way)
        self._check_durations()
        last = self.rest + 0.01 * self.way
        deadline = monotonic() + SETTLE
        while not self._arrived(last) and monotonic() < deadline:
            self._period(last)
        self._check_arrived(last)
        self._check_before(before)

    def read_after_stop(self) -> None:
        """A stopped device may go on saying where it is; it need not."""
        for _ in range(5):
            try:
                self._read()
            except DeviceFailedError:
                return
            sleep(self.period)

    @staticmethod
    def write_one(device: Device, number: int, values: np.ndarray) -> None:
        """Write one command that holds now."""
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
            self.check.take(feedback, self.began, monotonic(), self.sent)

    def _check_durations(self) -> None:
        """In three of four periods: a busy computer delays some, a device that waits delays all."""
        least = float(np.percentile(self.durations, 25))
        if least > 0.5 * self.period:
            raise AssertionError(
                f"{self.kind}: expected write and read to return without waiting, within "
                f"{500.0 * self.period:.1f} ms, half a period; got {1e3 * least:.1f} ms "
                "or more in three of four periods."
            )

    def _arrived(self, last: np.ndarray) -> bool:
        positions = self.check.positions
        near = [
            abs(positions[channel.number] - value) <= self._tolerance(value)
            for channel, value in zip(self.channels, last, strict=True)
            if channel.number in positions
        ]
        return self._taken() and all(near)

    def _taken(self) -> bool:
        """Whether the device has taken a command at which it shall stay."""
        if not self.capabilities.acknowledges:
            return True
        newest = self.check.acknowledged
        return newest is not None and newest >= self.sent.start + COMMANDS

    def _tolerance(self, value: float) -> float:
        return max(self.capabilities.resolution, 1e-6 * abs(value), 1e-9)

    def _check_before(self, before: set[int]) -> None:
        late = sorted(self.check.positions.keys() - before)
        if late and self.capabilities.measures:
            raise AssertionError(
                f"{self.kind}: expected the positions of channels {late} from the first `read`, "
                "before the first `write`; they came only after commands, so that the robot would "
                "begin at its rest pose, with a jump. Keep the first positions of `open` for the "
                "first `read`; of a device that cannot measure them, set Capabilities.measures to "
                "False."
            )

    def _check_arrived(self, last: np.ndarray) -> None:
        if not self._taken():
            raise AssertionError(
                f"{self.kind}: expected that it acknowledges command {self.sent.stop - 1} within "
                f"{SETTLE:g} s, as Capabilities.acknowledges is True; the newest of Feedback is "
                f"{self.check.acknowledged}."
            )
        if self.capabilities.acknowledges and not self._arrived(last):
            raise AssertionError(
                f"{self.kind}: expected Feedback.positions to come to the last command, "
                f"{[float(f'{v:.6g}') for v in last]}, within the resolution "
                f"{self.capabilities.resolution:g} after {SETTLE:g} s, got {self.check.positions}."
            )
