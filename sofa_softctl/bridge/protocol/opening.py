"""Answers of a board: its description when it is opened, and its reports as feedback."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from sofa_softctl.bridge.device import ChannelSetup, Feedback
from sofa_softctl.bridge.protocol.frames import Conversation
from sofa_softctl.bridge.protocol.messages import (
    ARMED,
    CHANNELS_MAX,
    EMERGENCY,
    FAULT,
    OFF,
    RESULTS,
    STOPPED,
    VERSION,
    WATCHDOG,
    Configure,
    Hello,
    Info,
    Report,
)
from sofa_softctl.errors import DeviceError, DeviceFailedError, DeviceOpenError, DeviceTimeoutError

BAUD_RATES = (1_000_000, 500_000, 250_000, 115_200, 57_600, 9_600)
"""Rates at which a silent board is searched for [bit/s]."""
_RATE_MAX = 2**32 - 1
_PROBE = 0.15
"""Timeout at another rate [s]: at 9600 bit/s question and answer take 60 ms."""
_ATTEMPT = 0.25
"""Timeout of an attempt [s]: a running board answers within milliseconds."""


def greet(talk: Conversation, label: str, timeout: float) -> Info:
    """Ask a board for its description.

    Args:
        talk: Conversation with the board.
        label: Device and port, for messages.
        timeout: Timeout of its answer [s]; it may just be starting.

    Raises:
        DeviceOpenError: It speaks another version, at another rate, or something else.
        DeviceTimeoutError: Nothing comes from it.
    """
    info = talk.ask(Hello(0), Info, timeout=timeout, attempt_timeout=_ATTEMPT)
    if info is None:
        raise _reason(talk, label, timeout)
    return info


def integer_limits(channels: Sequence[ChannelSetup], info: Info, label: str) -> list[Configure]:
    """Return limits of channels in whole units of the board, within the given ones.

    Rates are rounded up: the limits of the bridge apply first, these are a reserve.

    Raises:
        DeviceOpenError: The board lacks the channel or the range.
    """
    count = min(info.channels, CHANNELS_MAX)
    limits = []
    for channel in channels:
        prefix = f"{label}: actuator '{channel.name}'"
        if not 0 <= channel.number < count:
            has = f"channels 0 to {count - 1}" if count else "no channel"
            raise DeviceOpenError(
                f"{prefix} is on channel {channel.number}, but the board has {has}."
            )
        if channel.low < info.low or channel.high > info.high:
            raise DeviceOpenError(
                f"{prefix} has the limits {channel.low:g} to {channel.high:g}, but the board takes "
                f"{info.low} to {info.high} only: give it a smaller range of positions, or another "
                "map."
            )
        low, high = math.ceil(channel.low), math.floor(channel.high)
        if low > high:
            raise DeviceOpenError(
                f"{prefix} has the limits {channel.low:g} to {channel.high:g}, but the board takes "
                "whole numbers only, and there is none between."
            )
        rest = min(max(round(channel.rest), low), high)
        rate = max(1, math.ceil(channel.rate)) if channel.rate < _RATE_MAX else 0  # 0: no limit
        limits.append(Configure(0, channel.number, low, high, rest, rate))
    return limits


def _reason(talk: Conversation, label: str, timeout: float) -> DeviceError:
    if talk.other_version is not None:
        return DeviceOpenError(
            f"{label} speaks version {talk.other_version} of the protocol, this program version "
            f"{VERSION}: load the firmware that belongs to this program (hardware/firmware)."
        )
    parser, rate = talk.parser, talk.port.baud_rate
    heard, frames, sample = parser.received, parser.accepted, parser.sample()
    other_rate = _rate_with_answer(talk)
    if other_rate:
        return DeviceOpenError(
            f"{label} answers at {other_rate} bit/s, not at {rate}: set baud_rate = {other_rate}."
        )
    if frames:
        return DeviceOpenError(
            f"{label} sends {frames} frames in {timeout:g} s, but does not answer HELLO: its "
            "firmware is another one, or another program asks it as well."
        )
    if heard and _is_text(sample):
        return DeviceOpenError(
            f"{label} sends text, {sample[:40].decode(errors='replace')!r}, no frames: it has "
            "other firmware. Load one that speaks the protocol (hardware/firmware)."
        )
    if heard:
        return DeviceOpenError(
            f"{label} sends noise: {heard} bytes, such as {sample[:8].hex(' ')}, but no frame. "
            f"baud_rate = {rate} is not the rate of its firmware, or it has other firmware."
        )
    return DeviceTimeoutError(
        f"{label} is silent: no byte in {timeout:g} s. Is it powered, has it the firmware of "
        f"hardware/firmware, is it this port, and is {rate} the firmware's baud rate?"
    )


def _rate_with_answer(talk: Conversation) -> int | None:
    """Return the common rate at which it answers, or None."""
    configured_rate = talk.port.baud_rate
    for rate in BAUD_RATES:
        if rate == configured_rate:
            continue
        try:
            talk.port.set_baud_rate(rate)
        except (OSError, ValueError):  # the port cannot run at this rate
            continue
        if talk.ask(Hello(0), Info, timeout=_PROBE, attempt_timeout=_PROBE) is not None:
            return rate
    return None


def _is_text(sample: bytes) -> bool:
    printable = sum(32 <= byte < 127 or byte in b"\r\n\t" for byte in sample)
    return printable > 0.9 * len(sample)


_REASONS = {
    EMERGENCY: "its emergency input was pressed",
    FAULT: "it stopped by a fault of its own",
    WATCHDOG: "its watchdog stopped it: no command came in time",
    STOPPED: "another program stopped it by STOP",
}
_ACCEPTED, _STOPPED_RESULT, _NOT_NEWER = 0, 5, 7
_HALF = 2**31
_REPEATED = 100_000
"""A report that is older than the last by less is one that the line repeated [us]."""


class Reports:
    """State of a board, from one report to the next.

    Args:
        label: Device and port, for messages.
        channels: Numbers of the channels in use.
    """

    def __init__(self, label: str, channels: Sequence[int]) -> None:
        self._where, self._channels = label, channels
        self.armed = False
        """True after the board has reported, since the first command, that it is armed."""
        self.stopped_by_us = False
        """True after this program sent STOP."""
        self.repeated = 0
        """Reports that were older than the last."""
        self._first: int | None = None
        self._sent = 0
        self._acknowledged: int | None = None
        self._time: int | None = None  # us, without modulus

    def record_sent(self, sequence: int) -> None:
        """Store the sequence of a command."""
        if self._first is None:
            self._first = sequence
        self._sent = sequence

    def feedback(self, report: Report, now: float, dropped: int) -> Feedback | None:
        """Return the feedback of a report, or None if it repeats an old one.

        Args:
            report: Report that arrived.
            now: Time of its arrival, on the monotonic clock [s].
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
        """Store the time of a report; return False if it is before the last one's."""
        if self._time is None:
            self._time = time
        passed = (time - self._time) % 2**32
        if passed >= 2**32 - _REPEATED:
            return False
        if passed >= _HALF:
            raise DeviceFailedError(self._was_reset("its clock started again"))
        self._time += passed
        return True

    def _reason(self, report: Report) -> str:
        """Return the reason for its own stop since the first command, or ""."""
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
        if self.armed and report.result not in (_ACCEPTED, _NOT_NEWER):
            raise DeviceFailedError(
                f"{self._where} refused command {self._full_sequence(report.sequence)}: "
                f"{result_text(report.result)}."
            )

    def _acknowledge(self, report: Report) -> int | None:
        if self.armed and report.result == _ACCEPTED:
            last = self._full_sequence(report.last)
            if self._first is not None and last >= self._first:
                self._acknowledged = last
        return self._acknowledged

    def _full_sequence(self, sequence: int) -> int:
        """Return the sequence of a command sent at most 2^16 commands ago."""
        return self._sent - (self._sent - sequence) % 2**16

    def _was_reset(self, sign: str) -> str:
        return (
            f"{self._where} was reset or lost its power while it was running ({sign}): its motors "
            "stand where they were. Look for a loose plug or a weak supply, then start again."
        )


def result_text(result: int) -> str:
    """Return the meaning of a result."""
    return RESULTS[result] if result < len(RESULTS) else f"result {result}, which is not known"


def _signals(report: Report, dropped: int) -> dict[str, np.ndarray]:
    signals = {f"input{i}": np.array([float(raw)]) for i, raw in enumerate(report.inputs)}
    signals["frames_dropped"] = np.array([float(report.dropped + dropped)])
    signals["commands_refused"] = np.array([float(report.refused)])
    return signals
