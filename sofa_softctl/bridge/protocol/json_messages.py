"""JSON messages with a lab's own program (docs/reference/bridge-messages.md)."""

from __future__ import annotations

import json
import math
import reprlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

VERSION = 1
SIZE_MAX = 8192
"""Greatest size of a message [bytes]."""
_TEXT_MAX = 200
"""Greatest length of a name; the reason of a stop is cut to it."""
_NUMBERS_MAX = 1024
_EARLIER_SESSIONS_MAX = 16
"""Number of a sender's earlier sessions that are stored, so that late messages open none."""


_REASONS = ("malformed", "version", "old", "oversized", "not finite")


@dataclass(frozen=True)
class PeerFeedback:
    """Feedback of a program."""

    time: float | None
    """Time of the measurement on the program's clock [s]."""
    acknowledged: int | None
    """Sequence of the newest accepted command."""
    to: str
    """Session of that command."""
    positions: dict[int, float]
    """Positions by channel [device unit]."""
    efforts: dict[int, float]
    """Efforts by channel."""
    signals: dict[str, np.ndarray]
    """Signals by name."""
    stopped: str
    """Reason for the program's own stop, or ""."""


def encode(kind: str, session: str, **content: Any) -> bytes:
    """Encode a message to the program."""
    head = {"softctl": VERSION, "type": kind, "session": session}
    return json.dumps(head | content, separators=(",", ":"), allow_nan=False).encode()


@dataclass
class Inbox:
    """Accepts each feedback once and in order, and counts other messages.

    Args:
        channels: Channels of the actuators, by their names.
    """

    channels: Mapping[str, int]
    dropped: dict[str, int] = field(default_factory=lambda: dict.fromkeys(_REASONS, 0))
    """Number of messages that were not accepted, by reason."""
    other_version: Any = None
    """Version of the last message with another version."""
    _session: str | None = None
    _earlier: list[str] = field(default_factory=list)
    _last: int = -1

    def accept(self, data: bytes) -> PeerFeedback | None:
        """Return the feedback in a message, or None if it is not newer feedback."""
        reason = ""
        feedback = None
        try:
            feedback = self._parse(data)
        except _RefusalError as refused:
            reason = refused.args[0]
        except _NONSENSE:
            reason = "malformed"
        if reason:
            self.dropped[reason] += 1
        return feedback

    def describe(self) -> str:
        """Describe dropped messages, or return ""."""
        counts = [f"{count} {reason}" for reason, count in self.dropped.items() if count]
        return f"dropped messages: {', '.join(counts)}" if counts else ""

    def _parse(self, data: bytes) -> PeerFeedback:
        if len(data) > SIZE_MAX:
            raise _RefusalError("oversized")
        fields = json.loads(data.decode())
        version = fields["softctl"]
        if type(version) is not int or version != VERSION:
            self.other_version = version
            raise _RefusalError("version")
        if fields["type"] != "feedback":
            raise ValueError
        stopped = _reason(fields.get("stopped"))
        try:
            feedback = self._content(fields, stopped)
        except (
            *_NONSENSE,
            _RefusalError,
        ):  # whatever else is wrong, a program that stopped is heard
            if not stopped:
                raise
            feedback = PeerFeedback(None, None, "", {}, {}, {}, stopped)
        self._check_newer(_text(fields.get("session", "")), _natural_number(fields["sequence"]))
        return feedback

    def _content(self, fields: dict[str, Any], stopped: str) -> PeerFeedback:
        acknowledged = fields.get("acknowledged")
        return PeerFeedback(
            time=None if fields.get("time") is None else _number(fields["time"]),
            acknowledged=None if acknowledged is None else _natural_number(acknowledged),
            to="" if acknowledged is None else _text(fields["to"]),
            positions=self._by_channel(fields.get("positions", {})),
            efforts=self._by_channel(fields.get("efforts", {})),
            signals={
                _text(name): _array(values) for name, values in fields.get("signals", {}).items()
            },
            stopped=stopped,
        )

    def _check_newer(self, session: str, sequence: int) -> None:
        if session != self._session:
            if session in self._earlier:
                raise _RefusalError("old")
            if self._session is not None:
                self._earlier = [*self._earlier, self._session][-_EARLIER_SESSIONS_MAX:]
            self._session, self._last = session, -1
        if sequence <= self._last:
            raise _RefusalError("old")
        self._last = sequence

    def _by_channel(self, values: Mapping[str, Any]) -> dict[int, float]:
        """Return values by channel, from names of actuators or numbers; drop other names."""
        values_by_channel = {}
        for name, value in values.items():
            number = _number(value)
            if name in self.channels:
                values_by_channel[self.channels[name]] = number
            elif name.isdecimal():
                values_by_channel[int(name)] = number
        return values_by_channel


_NONSENSE = (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError)
"""Errors of parsing something else than a message."""


class _RefusalError(Exception):
    """A message is not accepted; its argument is a reason of `Inbox.dropped`."""


def _number(value: Any) -> float:
    if type(value) not in (int, float):
        raise ValueError
    if not math.isfinite(value):
        raise _RefusalError("not finite")
    return float(value)


def _natural_number(value: Any) -> int:
    if type(value) is not int or not 0 <= value < 2**63:
        raise ValueError
    return int(value)


def _text(value: Any) -> str:
    if type(value) is not str or len(value) > _TEXT_MAX:
        raise ValueError
    return str(value)


def _reason(value: Any) -> str:
    """Return the reason of a stop as text, or "" for false, null, 0 or nothing."""
    if not value:
        return ""
    return (value if type(value) is str else reprlib.repr(value))[:_TEXT_MAX]


def _array(value: Any) -> np.ndarray:
    numbers = value if type(value) is list else [value]
    if not 0 < len(numbers) <= _NUMBERS_MAX:
        raise ValueError
    return np.array([_number(number) for number in numbers])
