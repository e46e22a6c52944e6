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
"""Most bytes of a message."""
_TEXT_MAX = 200
"""Most characters of a name; why something stopped is cut."""
_NUMBERS_MAX = 1024
_SESSIONS = 16
"""Earlier sessions of a sender that are remembered, so that a late message opens none again."""


_REASONS = ("malformed", "version", "old", "oversized", "not finite")


@dataclass(frozen=True)
class PeerFeedback:
    """What a program said."""

    time: float | None
    """When it measured, on its own clock [s]."""
    acknowledged: int | None
    """Sequence of the newest command that it took."""
    to: str
    """Session of that command."""
    positions: dict[int, float]
    """By channel [device unit]."""
    efforts: dict[int, float]
    """By channel."""
    signals: dict[str, np.ndarray]
    """By name."""
    stopped: str
    """Why it stopped by itself; empty: it did not."""


def encode(kind: str, session: str, **content: Any) -> bytes:
    """A message of ours."""
    head = {"softctl": VERSION, "type": kind, "session": session}
    return json.dumps(head | content, separators=(",", ":"), allow_nan=False).encode()


@dataclass
class Inbox:
    """Accepts each feedback once and in order, and counts what is none.

    Args:
        channels: Channels of the actuators, by their names.
    """

    channels: Mapping[str, int]
    dropped: dict[str, int] = field(default_factory=lambda: dict.fromkeys(_REASONS, 0))
    """Messages that were not accepted, by the reason."""
    other_version: Any = None
    """Version of the last message that had another one."""
    _session: str | None = None
    _earlier: list[str] = field(default_factory=list)
    _last: int = -1

    def accept(self, data: bytes) -> PeerFeedback | None:
        """The feedback in a message; None: there is none, or it is not newer than the last."""
        reason = ""
        found = None
        try:
            found = self._parse(data)
        except _Refused as refused:
            reason = refused.args[0]
        except _NONSENSE:
            reason = "malformed"
        if reason:
            self.dropped[reason] += 1
        return found

    def describe(self) -> str:
        """What was dropped, for messages; empty: nothing was."""
        found = [f"{count} {reason}" for reason, count in self.dropped.items() if count]
        return f"dropped messages: {', '.join(found)}" if found else ""

    def _parse(self, data: bytes) -> PeerFeedback:
        if len(data) > SIZE_MAX:
            raise _Refused("oversized")
        said = json.loads(data.decode())
        version = said["softctl"]
        if type(version) is not int or version != VERSION:
            self.other_version = version
            raise _Refused("version")
        if said["type"] != "feedback":
            raise ValueError
        stopped = _reason(said.get("stopped"))
        try:
            found = self._content(said, stopped)
        except (*_NONSENSE, _Refused):  # whatever else is wrong, a program that stopped is heard
            if not stopped:
                raise
            found = PeerFeedback(None, None, "", {}, {}, {}, stopped)
        self._check_newer(_text(said.get("session", "")), _whole(said["sequence"]))
        return found

    def _content(self, said: dict[str, Any], stopped: str) -> PeerFeedback:
        acknowledged = said.get("acknowledged")
        return PeerFeedback(
            time=None if said.get("time") is None else _number(said["time"]),
            acknowledged=None if acknowledged is None else _whole(acknowledged),
            to="" if acknowledged is None else _text(said["to"]),
            positions=self._by_channel(said.get("positions", {})),
            efforts=self._by_channel(said.get("efforts", {})),
            signals={_text(name): _array(one) for name, one in said.get("signals", {}).items()},
            stopped=stopped,
        )

    def _check_newer(self, session: str, sequence: int) -> None:
        if session != self._session:
            if session in self._earlier:
                raise _Refused("old")
            if self._session is not None:
                self._earlier = [*self._earlier, self._session][-_SESSIONS:]
            self._session, self._last = session, -1
        if sequence <= self._last:
            raise _Refused("old")
        self._last = sequence

    def _by_channel(self, values: Mapping[str, Any]) -> dict[int, float]:
        """By the name of an actuator or the number of a channel; other names are others' matter."""
        found = {}
        for name, value in values.items():
            number = _number(value)
            if name in self.channels:
                found[self.channels[name]] = number
            elif name.isdecimal():
                found[int(name)] = number
        return found


_NONSENSE = (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError)
"""What parsing raises where a message is none."""


class _Refused(Exception):
    """A message is not accepted; its argument is a reason of `Inbox.dropped`."""


def _number(value: Any) -> float:
    if type(value) not in (int, float):
        raise ValueError
    if not math.isfinite(value):
        raise _Refused("not finite")
    return float(value)


def _whole(value: Any) -> int:
    if type(value) is not int or not 0 <= value < 2**63:
        raise ValueError
    return int(value)


def _text(value: Any) -> str:
    if type(value) is not str or len(value) > _TEXT_MAX:
        raise ValueError
    return str(value)


def _reason(value: Any) -> str:
    """Why it stopped, whatever that is; empty: false, null, 0 or nothing."""
    if not value:
        return ""
    return (value if type(value) is str else reprlib.repr(value))[:_TEXT_MAX]


def _array(value: Any) -> np.ndarray:
    numbers = value if type(value) is list else [value]
    if not 0 < len(numbers) <= _NUMBERS_MAX:
        raise ValueError
    return np.array([_number(entry) for entry in numbers])
