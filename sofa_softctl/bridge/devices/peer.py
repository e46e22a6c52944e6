"""Base class of devices that are a lab's own program, with JSON messages."""

from __future__ import annotations

import math
import secrets
from abc import abstractmethod
from collections.abc import Sequence
from time import monotonic, sleep
from typing import Any

import numpy as np
from typing_extensions import override

from sofa_softctl.bridge.device import (
    Capabilities,
    ChannelSetup,
    Command,
    Device,
    Feedback,
    explain_silence,
)
from sofa_softctl.bridge.protocol.json_messages import VERSION, Inbox, encode
from sofa_softctl.errors import (
    DeviceError,
    DeviceFailedError,
    DeviceOpenError,
    DeviceTimeoutError,
)

_GREETING_INTERVAL = 0.05
"""Interval of greetings until the program answers [s]."""
_IDLE_INTERVAL = 0.25
"""Interval of greetings without commands [s]."""
_STOP_TIMEOUT, _STOP_INTERVAL = 0.3, 0.05
"""Timeout of the report of a stop, and interval of its repetitions [s]."""
_STOP_COUNT = 3
"""Number of stops sent to a program that does not answer."""


class PeerDevice(Device):
    """A program that takes commands, or only sends measurements, such as a camera's.

    Args:
        name: Name of its table in the configuration file.
        unit: Unit of the values of its channels.
        answers: Whether it answers commands; without, nobody notices that it is gone.
        watchdog: Silence after which it promises to stop its motors [s]; 0: it does not.
        timeout: Time in which it must answer, or send its first measurement, when it is opened [s];
            0: do not wait.
        answer_timeout: Time in which it must answer later [s].
    """

    def __init__(
        self,
        name: str,
        *,
        unit: str = "",
        answers: bool = True,
        watchdog: float = 0.0,
        timeout: float = 3.0,
        answer_timeout: float = 0.5,
    ) -> None:
        super().__init__(name)
        self.unit, self.answers, self.watchdog = unit, answers, watchdog
        self.timeout, self.answer_timeout = timeout, answer_timeout
        self._where = f"device '{name}'"
        self._is_open = False
        self._first: Feedback | None = None

    # -- transport of messages ----------------------------------------------------------------

    @property
    @abstractmethod
    def can_send(self) -> bool:
        """True if the options have an address of commands."""

    @abstractmethod
    def _connect(self) -> str:
        """Open the connection, and describe it; `DeviceOpenError`."""

    @abstractmethod
    def _send(self, data: bytes) -> None:
        """Send a message without waiting; `DeviceFailedError` or `DeviceTimeoutError`."""

    @abstractmethod
    def _receive(self) -> list[bytes]:
        """Return the messages that arrived, without waiting; `DeviceFailedError`."""

    @abstractmethod
    def _disconnect(self) -> None:
        """Close the connection; raises nothing."""

    # -- the contract --------------------------------------------------------------------------

    @override
    def open(self, channels: Sequence[ChannelSetup]) -> Capabilities:
        self.close()
        self._names = [channel.name for channel in channels]
        self._low = np.array([channel.low for channel in channels])
        self._high = np.array([channel.high for channel in channels])
        self._inbox = Inbox({channel.name: channel.number for channel in channels})
        if channels and not self.can_send:
            raise DeviceOpenError(
                f"{self._where} has actuators, such as '{channels[0].name}', but its options do "
                "not say where commands go: it could only be read."
            )
        self._session = secrets.token_hex(4)
        self._sent = -1
        self._acknowledged: int | None = None
        self._stopped_here, self._stop_seen = False, False
        self._hello = encode(
            "hello", self._session, channels={c.name: _as_json(c) for c in channels}
        )
        self._with = self._connect()
        self._is_open = True
        self._first = None
        try:
            self._greet()
        except DeviceError:
            self.close()
            raise
        self._last_sent, self._unanswered = -math.inf, math.inf
        notes = [] if self.answers or not channels else [
            f"{self._where} does not answer (answers = false): that it takes commands is not known."
        ]  # fmt: skip
        position_count = len(self._first.positions) if self._first else 0
        measures = bool(channels) and position_count == len(channels)
        if self.answers and channels and not measures:
            notes.append(
                f"{self._where}: its answer to 'hello' lacks `positions` of all motors. Where they "
                "are measured, let it have them."
            )
        return Capabilities(
            description=f"{self._with}, JSON messages of version {VERSION}",
            unit=self.unit,
            resolution=0.0,
            range=(-math.inf, math.inf),
            rate_max=math.inf,
            watchdog=self.watchdog or None,
            acknowledges=self.answers and bool(channels),
            moves=bool(channels),
            measures=measures,
            notes=tuple(notes),
        )

    @override
    def write(self, command: Command) -> None:
        self._check_open()
        if not self._names:
            return
        values = np.clip(command.values, self._low, self._high).tolist()
        by_name = dict(zip(self._names, values, strict=True))
        self._sent = max(self._sent, command.sequence)
        time = round(command.time, 6)
        self._send(
            encode("command", self._session, sequence=command.sequence, time=time, values=by_name)
        )
        self._note_sent()

    def read(self) -> Feedback | None:
        """Return the newest feedback; greet the program if it got no command for a while."""
        self._check_open()
        feedback, self._first = self._newest() or self._first, None
        if feedback is not None:
            self._unanswered = math.inf
        now = monotonic()
        if self.answers and now - self._unanswered > self.answer_timeout:
            raise DeviceTimeoutError(
                f"{self._where}: {self._with} does not answer any more, for "
                f"{now - self._unanswered:.2g} s. "
                f"{explain_silence(self.dropped(), 'Does it still run?')}"
            )
        if self.can_send and now - self._last_sent > _IDLE_INTERVAL:
            self._send(self._hello)
            self._note_sent()
        return feedback

    @override
    def dropped(self) -> dict[str, int]:
        return dict(self._inbox.dropped) if self._is_open else {}

    def stop(self) -> None:
        """Send 'stop' until the program reports that it stopped."""
        if not self._is_open or not self._names:
            return
        self._stopped_here = True
        end, next_stop = monotonic() + _STOP_TIMEOUT, -math.inf
        sent = 0
        while monotonic() < end:
            if monotonic() > next_stop:
                self._send(encode("stop", self._session))
                sent, next_stop = sent + 1, monotonic() + _STOP_INTERVAL
            if self.answers:
                self._newest()
            if self._stop_seen or (sent == _STOP_COUNT and not self.answers):
                return
            sleep(0.001)
        promise = f" It promises to stop after {self.watchdog:g} s." if self.watchdog else ""
        raise DeviceTimeoutError(
            f"{self._where}: {self._with} did not report in {_STOP_TIMEOUT:g} s that it "
            f"stopped.{promise}"
        )

    @override
    def close(self) -> None:
        if self._is_open:
            self._is_open = False
            self._disconnect()

    # -- helpers ---------------------------------------------------------------------------------

    def _greet(self) -> None:
        """Wait for the program's first message."""
        if not self.timeout or (self._names and not self.answers):
            return
        end, next_greeting = monotonic() + self.timeout, -math.inf
        trouble = ""
        while monotonic() < end:
            try:
                if self.can_send and monotonic() > next_greeting:
                    next_greeting = monotonic() + _GREETING_INTERVAL
                    self._send(self._hello)
                if (feedback := self._newest()) is not None:
                    self._first = feedback
                    return
            except (DeviceFailedError, DeviceTimeoutError) as error:  # it may just be starting
                trouble = str(error)
            if self._inbox.dropped["version"]:
                raise DeviceOpenError(
                    f"{self._where}: {self._with} sends messages of version "
                    f"{self._inbox.other_version!r}, this program understands version {VERSION}."
                )
            sleep(0.002)
        dropped = self._inbox.describe()
        trouble = f" ({dropped})" if dropped else f" ({trouble})" if trouble else ""
        raise DeviceTimeoutError(
            f"{self._where}: nothing came from {self._with} in {self.timeout:g} s{trouble}. Does "
            "it run, and are its address and port right? docs/reference/bridge-messages.md has the "
            "messages that it must send."
        )

    def _newest(self) -> Feedback | None:
        """Return the feedback since the last call, with the newest values, or None."""
        answers = [
            answer for data in self._receive() if (answer := self._inbox.accept(data)) is not None
        ]
        if not answers:
            return None
        for answer in answers:
            number = answer.acknowledged
            if number is not None and answer.to == self._session and number <= self._sent:
                self._acknowledged = number
        dropped = float(sum(self._inbox.dropped.values()))
        signals = {name: value for answer in answers for name, value in answer.signals.items()}
        heard = answers if self._sent >= 0 else answers[-1:]  # before, it may mean an earlier run
        stopped = next((answer.stopped for answer in heard if answer.stopped), "")
        self._stop_seen = self._stop_seen or (self._stopped_here and bool(stopped))
        return Feedback(
            time=monotonic(),
            positions={c: value for answer in answers for c, value in answer.positions.items()},
            efforts={c: value for answer in answers for c, value in answer.efforts.items()},
            signals=signals | {"messages_dropped": np.array([dropped])},
            acknowledged=self._acknowledged,
            device_time=answers[-1].time,
            stopped="" if self._stopped_here else stopped,
        )

    def _check_open(self) -> None:
        if not self._is_open:
            raise DeviceFailedError(f"{self._where} is not open.")

    def _note_sent(self) -> None:
        self._last_sent = monotonic()
        self._unanswered = min(self._unanswered, self._last_sent)


def _as_json(channel: ChannelSetup) -> dict[str, Any]:
    """Return a channel for the greeting; a missing limit of the rate is null."""
    return {
        "channel": channel.number,
        "low": channel.low,
        "high": channel.high,
        "rest": channel.rest,
        "rate": channel.rate if math.isfinite(channel.rate) else None,
    }
