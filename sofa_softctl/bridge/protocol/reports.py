"""What a board reports, made feedback: sequence numbers and times without their modulus."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sofa_softctl.bridge.device import Feedback
from sofa_softctl.bridge.protocol.messages import (
    ARMED,
    EMERGENCY,
    FAULT,
    OFF,
    RESULTS,
    STOPPED,
    WATCHDOG,
    Report,
)
from sofa_softctl.errors import DeviceFailedError

_REASONS = {
    EMERGENCY: "its emergency input was pressed",
    FAULT: "it stopped by a fault of its own",
    WATCHDOG: "its watchdog stopped it: no command came in time",
    STOPPED: "another program stopped it by STOP",
}
_TAKEN, _STOPPED_RESULT, _NOT_NEWER = 0, 5, 7
_HALF = 2**31
_REPEATED = 100_000
"""A report that is older than the last by less is one that the line repeated [us]."""


class Reports:
    """Follows a board from one report to the next.

    Args:
        where: Device and port, for messages.
        channels: Numbers of the channels in use.
    """

    def __init__(self, where: str, channels: Sequence[int]) -> None:
        self._where, self._channels = where, channels
        self.armed = False
        """Whether it has said so since the first command."""
        self.stopped_by_us = False
        """Whether this program sent STOP."""
        self.repeated = 0
        """Reports that were older than the last."""
        self._first: int | None = None
        self._sent = 0
        self._acknowledged: int | None = None
        self._time: int | None = None  # us, without modulus

    def sent(self, sequence: int) -> None:
        """Note that a command goes out."""
        if self._first is None:
            self._first = sequence
        self._sent = sequence

    def feedback(self, report: Report, now: float, dropped: int) -> Feedback | None:
        """The feedback of a report; None: an old one came again.

        Args:
            report: What arrived.
            now: When, on the monotonic clock [s].
            dropped: Frames that this computer dropped.

        Raises:
            DeviceFailedError: The board was reset, or refuses a command that it should take.
        """
        stopped = self._reason(report)
        if not stopped:  # a processor that its own watchdog reset says so, with a new clock
            if not self._follow_clock(report.time):
                self.repeated += 1
                return None
            if not self.stopped_by_us:
                self._check(report)
        return Feedback(
            time=now,
            positions=self._positions(report),
            signals=_signals(report, dropped),
            acknowledged=self._acknowledge(report),
            device_time=None if self._time is None else self._time * 1e-6,
            stopped=stopped,
        )

    def _positions(self, report: Report) -> dict[int, float]:
        outputs = {c: report.outputs[c] for c in self._channels if c < len(report.outputs)}
        return {c: float(value) for c, value in outputs.items() if value != OFF}

    def _follow_clock(self, time: int) -> bool:
        """Whether the time of a report is not before that of the last."""
        if self._time is None:
            self._time = time
        passed = (time - self._time) % 2**32
        if passed >= 2**32 - _REPEATED:
            return False
        if passed >= _HALF:
            raise DeviceFailedError(self._was_reset("its clock began anew"))
        self._time += passed
        return True

    def _reason(self, report: Report) -> str:
        """Why it stopped by itself; what it says before the first command is an old matter."""
        if self._first is None or not (self.armed or report.result == _STOPPED_RESULT):
            return ""
        for bit, reason in _REASONS.items():
            if report.state & bit and not (bit == STOPPED and self.stopped_by_us):
                return reason
        return ""

    def _check(self, report: Report) -> None:
        if self.armed and not report.state & ARMED:
            raise DeviceFailedError(self._was_reset("it is no longer armed"))
        self.armed = self.armed or (self._first is not None and bool(report.state & ARMED))
        if self.armed and report.result not in (_TAKEN, _NOT_NEWER):
            raise DeviceFailedError(
                f"{self._where} refused command {self._unwrapped(report.sequence)}: "
                f"{result_text(report.result)}."
            )

    def _acknowledge(self, report: Report) -> int | None:
        if self.armed and report.result == _TAKEN:
            last = self._unwrapped(report.last)
            if self._first is not None and last >= self._first:
                self._acknowledged = last
        return self._acknowledged

    def _unwrapped(self, sequence: int) -> int:
        """The sequence of a command that was sent, at most 2^16 commands ago."""
        return self._sent - (self._sent - sequence) % 2**16

    def _was_reset(self, sign: str) -> str:
        return (
            f"{self._where} was reset or lost its power while it was running ({sign}): its motors "
            "stand where they were. Look for a loose plug or a weak supply, then start again."
        )


def result_text(result: int) -> str:
    """Meaning of a result."""
    return RESULTS[result] if result < len(RESULTS) else f"result {result}, which is not known"


def _signals(report: Report, dropped: int) -> dict[str, np.ndarray]:
    signals = {f"input{i}": np.array([float(raw)]) for i, raw in enumerate(report.inputs)}
    signals["frames_dropped"] = np.array([float(report.dropped + dropped)])
    signals["commands_refused"] = np.array([float(report.refused)])
    return signals
