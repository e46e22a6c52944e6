"""A microcontroller on a serial line that speaks the protocol of docs/reference/bridge-protocol.md.

Nothing moves before the first command, which arms the board.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from time import monotonic

import numpy as np
from typing_extensions import override

from sofa_softctl.base.serial_port import SerialPort
from sofa_softctl.bridge.device import (
    Capabilities,
    ChannelSetup,
    Command,
    Device,
    Feedback,
    explain_silence,
)
from sofa_softctl.bridge.protocol.frames import Conversation
from sofa_softctl.bridge.protocol.messages import (
    CHANNELS_MAX,
    UNITS,
    Ack,
    Arm,
    Info,
    Message,
    Ping,
    Report,
    SetValues,
    Stop,
)
from sofa_softctl.bridge.protocol.opening import Reports, greet, integer_limits, result_text
from sofa_softctl.errors import (
    DeviceError,
    DeviceFailedError,
    DeviceOpenError,
    DeviceTimeoutError,
)

_SETUP_TIMEOUT, _ATTEMPT_TIMEOUT = 1.0, 0.25
"""Timeout of a question when the device is opened, and of each attempt [s]."""
_IDLE_INTERVAL = 0.1
"""Interval of questions for a report without commands [s]."""
_ARM = "to begin; is its emergency input pressed, or not wired (D2 to GND on the ATmega328P)?"
_STOP_TIMEOUT, _STOP_INTERVAL = 0.3, 0.05
"""Timeout of the acknowledgement of STOP, and interval of its repetitions [s]."""


class SerialDevice(Device):
    """A board with the firmware of hardware/firmware, or another one that speaks the protocol.

    Feedback has the board's outputs as positions, and as signals `input0`, `input1`, ... (analogue
    inputs, 0 to 65535 of full scale), `frames_dropped` (there and here) and `commands_refused`.

    Args:
        name: Name of its table in the configuration file.
        port: The serial port, such as '/dev/ttyACM0'.
        baud_rate: Rate of the line [bit/s].
        timeout: Time in which the board must answer when it is opened [s]: an Arduino restarts
            when its port is opened, and answers after 1 to 2 s.
        answer_timeout: Time in which it must answer later [s].
    """

    identity = ("port",)
    modules = ("serial",)

    def __init__(
        self,
        name: str,
        *,
        port: str,
        baud_rate: int = 500_000,
        timeout: float = 4.0,
        answer_timeout: float = 0.5,
    ) -> None:
        super().__init__(name)
        self.port, self.baud_rate = port, baud_rate
        self.timeout, self.answer_timeout = timeout, answer_timeout
        self._where = f"device '{name}' at {port}"
        self._talk: Conversation | None = None
        self._first: Feedback | None = None

    @override
    def open(self, channels: Sequence[ChannelSetup]) -> Capabilities:
        self.close()
        self._talk = Conversation(SerialPort(self.port, self.baud_rate))
        try:
            info = greet(self._talk, self._where, self.timeout)
            self._numbers = [channel.number for channel in channels]
            self._reports = Reports(self._where, self._numbers)
            self._limits = integer_limits(channels, info, self._where)
            self._watchdog = info.watchdog * 1e-3
            self._configure()
            self._first = self._first_report()
        except DeviceError:
            self.close()
            raise
        self._last_sent, self._unanswered = -math.inf, math.inf
        return self._capabilities(info)

    def _configure(self) -> None:
        """Send limits of all channels, then arm and disarm the board, which ends an old stop."""
        self._require_acknowledgement(Arm(0, 0), "to end what another program began")
        for limits in self._limits:
            self._require_acknowledgement(limits, f"the limits of channel {limits.channel}")
        if self._limits:
            self._require_acknowledgement(Arm(0, 1), _ARM)
            self._require_acknowledgement(Arm(0, 0), "to wait")

    def _first_report(self) -> Feedback | None:
        """Return the feedback before the first command."""
        assert self._talk is not None
        report = self._talk.ask(
            Ping(0), Report, timeout=_SETUP_TIMEOUT, attempt_timeout=_ATTEMPT_TIMEOUT
        )
        if report is None:
            raise DeviceTimeoutError(
                f"{self._where} did not answer a request in {_SETUP_TIMEOUT:g} s."
            )
        dropped = self._talk.parser.dropped + self._talk.refused
        return self._reports.feedback(report, monotonic(), dropped)

    def _require_acknowledgement(self, question: Message, request: str) -> None:
        assert self._talk is not None
        answer = self._talk.ask(
            question, Ack, timeout=_SETUP_TIMEOUT, attempt_timeout=_ATTEMPT_TIMEOUT
        )
        if answer is None:
            raise DeviceTimeoutError(
                f"{self._where} did not answer a request in {_SETUP_TIMEOUT:g} s."
            )
        if answer.result:
            raise DeviceOpenError(f"{self._where} refuses {request}: {result_text(answer.result)}.")

    def write(self, command: Command) -> None:
        """Send a command; the first ones arm the board, until it reports that it is armed."""
        talk = self._require_open()
        messages: list[Message] = []
        if not self._numbers:
            return
        if not self._reports.armed and not self._reports.stopped_by_us:
            messages.append(Arm(0, 1))
        time = int(command.time * 1e6) % 2**32
        messages.append(
            SetValues(command.sequence % 2**16, time, self._integer_values(command.values))
        )
        self._reports.record_sent(command.sequence)
        talk.send(*messages)
        self._note_sent()

    def read(self) -> Feedback | None:
        """Return the newest feedback; ask for a report without commands."""
        talk = self._require_open()
        feedback, self._first = self._first, None
        for message in talk.receive():
            if isinstance(message, Report):
                dropped = talk.parser.dropped + talk.refused
                feedback = self._reports.feedback(message, monotonic(), dropped) or feedback
                self._unanswered = math.inf
            elif isinstance(message, Ack) and message.answers == Arm.type and message.result:
                reason = result_text(message.result)
                raise DeviceFailedError(f"{self._where} refuses to begin: {reason}.")
        now = monotonic()
        if now - self._unanswered > self.answer_timeout:
            raise DeviceTimeoutError(
                f"{self._where} does not answer any more, for {now - self._unanswered:.2g} s. "
                f"{explain_silence(self.dropped(), 'Is it powered, and is its cable whole?')}"
            )
        if now - self._last_sent > _IDLE_INTERVAL:
            talk.send_next(Ping(0))
            self._note_sent()
        return feedback

    def stop(self) -> None:
        """Send STOP until the board acknowledges it."""
        if self._talk is None:
            return
        self._reports.stopped_by_us = True
        try:
            answer = self._talk.ask(
                Stop(0), Ack, timeout=_STOP_TIMEOUT, attempt_timeout=_STOP_INTERVAL
            )
        except DeviceError as error:
            raise DeviceFailedError(
                f"{self._where} could not be stopped: {error} {self._stop_advice()}"
            ) from error
        if answer is None:
            raise DeviceTimeoutError(
                f"{self._where} did not acknowledge STOP in {_STOP_TIMEOUT:g} s. "
                f"{self._stop_advice()}"
            )

    @override
    def close(self) -> None:
        talk, self._talk = self._talk, None
        if talk is not None:
            talk.port.close()

    def _require_open(self) -> Conversation:
        if self._talk is None:
            raise DeviceFailedError(f"{self._where} is not open.")
        return self._talk

    def _note_sent(self) -> None:
        self._last_sent = monotonic()
        self._unanswered = min(self._unanswered, self._last_sent)

    def _integer_values(self, values: np.ndarray) -> dict[int, int]:
        """Return integer values by channel; rounding must not exceed a limit."""
        values_by_channel = {}
        for limits, value in zip(self._limits, values.tolist(), strict=True):
            values_by_channel[limits.channel] = min(max(round(value), limits.low), limits.high)
        return values_by_channel

    @override
    def dropped(self) -> dict[str, int]:
        if self._talk is None:
            return {}
        return {
            "with a wrong checksum or length": self._talk.parser.dropped,
            "of another version or type": self._talk.refused,
            "that repeat old ones": self._reports.repeated,
        }

    def _stop_advice(self) -> str:
        """Return advice for a board that cannot be stopped."""
        if not self._watchdog:
            return "It has no watchdog: switch its motors off."
        return f"Its watchdog stops it {self._watchdog:g} s after the last command."

    def _capabilities(self, info: Info) -> Capabilities:
        name = info.name.rstrip(b"\0").decode("ascii", "replace")
        n, m = info.channels, info.inputs
        frame_bytes = max(4 + 6 + 4 * min(n, CHANNELS_MAX), 18 + 4 * n + 2 * m) + 6
        notes = []
        positions = self._first.positions if self._first else {}
        measures = len(positions) >= len(self._numbers)
        if not measures:
            notes.append(
                f"at {self.port}: what its motors are said to measure is what was asked of them, "
                "as hobby servos do not measure."
            )
        if not 0.0 < self._watchdog <= 0.1:
            notes.append(
                f"{self._where}: its watchdog has {info.watchdog} ms; the protocol asks for at "
                "most 100 ms, so that motors stop when this computer does."
            )
        return Capabilities(
            description=f"{name}, firmware {info.major}.{info.minor}, at {self.port}, "
            f"{self.baud_rate} bit/s: {n} channels, {m} inputs",
            unit=UNITS[info.unit] if info.unit < len(UNITS) else UNITS[-1],
            resolution=1.0,
            range=(float(info.low), float(info.high)),
            rate_max=min(float(info.rate) or math.inf, self.baud_rate / 10.0 / frame_bytes),
            watchdog=self._watchdog or None,
            acknowledges=True,
            measures=measures,
            measures_effort=False,
            notes=tuple(notes),
        )
