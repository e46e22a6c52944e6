"""Messages of the serial protocol, to and from bytes."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Self

from typing_extensions import override

VERSION = 1
CHANNELS_MAX = 16

UNITS = ("us", "step", "Pa", "count")
"""Units of values, by the number in INFO."""
RESULTS = (
    "taken",
    "no such channel",
    "limits that contradict each other, or exceed the device's own",
    "a channel is not configured",
    "not armed",
    "stopped",
    "a value outside its limits",
    "not newer than the last command",
    "armed: not now",
)
"""Meaning of a result, by its number."""
OFF = -(2**31)
ARMED, STOPPED, WATCHDOG, EMERGENCY, FAULT, MOVING = (1 << bit for bit in range(6))
"""Bits of the state."""


class OtherVersionError(ValueError):
    """A message has another version of the protocol."""


@dataclass(frozen=True)
class Message:
    """Base class of messages."""

    type: ClassVar[int]
    layout: ClassVar[struct.Struct] = struct.Struct("")
    """Layout of the content, or of its part of constant length."""

    sequence: int
    """Number of the message at its sender, modulo 2^16; an answer repeats the question's."""

    def content(self) -> bytes:
        """Return the bytes after the first four."""
        return b""

    def to_bytes(self) -> bytes:
        """Return the message as bytes, without its CRC."""
        return struct.pack("<BBH", VERSION, self.type, self.sequence) + self.content()

    @classmethod
    def from_content(cls, sequence: int, content: bytes) -> Self:
        """Read a message from its content; struct.error or ValueError if the length is wrong."""
        return cls(sequence, *cls.layout.unpack(content))


@dataclass(frozen=True)
class Hello(Message):
    """Question for the board's `Info`."""

    type = 0x01


@dataclass(frozen=True)
class Configure(Message):
    """Sets the limits of a channel."""

    type = 0x02
    layout = struct.Struct("<BiiiI")

    channel: int
    low: int
    """Least value [device unit]."""
    high: int
    """Greatest value [device unit]."""
    rest: int
    """Value at rest [device unit]."""
    rate: int
    """Greatest change in a second [device unit / s]; 0: no limit."""

    @override
    def content(self) -> bytes:
        return self.layout.pack(self.channel, self.low, self.high, self.rest, self.rate)


@dataclass(frozen=True)
class Arm(Message):
    """Begins, or ends, taking commands."""

    type = 0x03
    layout = struct.Struct("<B")

    on: int
    """1: begin, 0: end."""

    @override
    def content(self) -> bytes:
        return self.layout.pack(self.on)


@dataclass(frozen=True)
class SetValues(Message):
    """COMMAND: values of channels at one moment."""

    type = 0x04
    layout = struct.Struct("<IH")

    time: int
    """Time of the values on the sender's clock, modulo 2^32 [us]."""
    values: Mapping[int, int] = field(default_factory=dict)
    """Values by number of the channel, 0 to 15 [device unit]."""

    @override
    def content(self) -> bytes:
        mask = sum(1 << channel for channel in self.values)
        values = [value for _, value in sorted(self.values.items())]
        return self.layout.pack(self.time, mask) + struct.pack(f"<{len(values)}i", *values)

    @classmethod
    @override
    def from_content(cls, sequence: int, content: bytes) -> Self:
        time, mask = cls.layout.unpack_from(content)
        channels = [channel for channel in range(CHANNELS_MAX) if mask >> channel & 1]
        values = struct.unpack(f"<{len(channels)}i", content[cls.layout.size :])
        return cls(sequence, time, dict(zip(channels, values, strict=True)))


@dataclass(frozen=True)
class Stop(Message):
    """Ends all motion immediately."""

    type = 0x05


@dataclass(frozen=True)
class Ping(Message):
    """Asks for a report."""

    type = 0x06


@dataclass(frozen=True)
class Info(Message):
    """Description of the device."""

    type = 0x81
    layout = struct.Struct("<BBBBHHBxii16s")

    major: int
    """Version of the firmware."""
    minor: int
    channels: int
    """Number of channels."""
    inputs: int
    """Number of analogue inputs."""
    watchdog: int
    """Silence after which it stops [ms]."""
    rate: int
    """Most commands in a second [Hz]."""
    unit: int
    """Unit of the values: an index of `UNITS`."""
    low: int
    """Least value that it takes [device unit]."""
    high: int
    """Greatest value that it takes [device unit]."""
    name: bytes
    """16 bytes, ASCII, filled with 0."""

    @override
    def content(self) -> bytes:
        first = (self.major, self.minor, self.channels, self.inputs, self.watchdog, self.rate)
        return self.layout.pack(*first, self.unit, self.low, self.high, self.name)


@dataclass(frozen=True)
class Ack(Message):
    """Answers CONFIGURE, ARM and STOP."""

    type = 0x82
    layout = struct.Struct("<BB")

    answers: int
    """Type of the message that it answers."""
    result: int
    """An index of `RESULTS`."""

    @override
    def content(self) -> bytes:
        return self.layout.pack(self.answers, self.result)


@dataclass(frozen=True)
class Report(Message):
    """FEEDBACK: answers COMMAND and PING."""

    type = 0x84
    layout = struct.Struct("<BBHIHHBB")

    state: int
    """Bits `ARMED` to `MOVING`."""
    result: int
    """An index of `RESULTS`."""
    last: int
    """Sequence of the last accepted COMMAND."""
    time: int
    """Time on the device's clock, modulo 2^32 [us]."""
    dropped: int
    """Frames that it dropped, modulo 2^16."""
    refused: int
    """Commands that it refused, modulo 2^16."""
    outputs: tuple[int, ...] = ()
    """Present output of each channel [device unit]; `OFF`: no command has switched it on."""
    inputs: tuple[int, ...] = ()
    """Each analogue input, 0 to 65535 of full scale."""

    @override
    def content(self) -> bytes:
        n, m = len(self.outputs), len(self.inputs)
        counts = (self.dropped, self.refused, n, m)
        head = self.layout.pack(self.state, self.result, self.last, self.time, *counts)
        return head + struct.pack(f"<{n}i{m}H", *self.outputs, *self.inputs)

    @classmethod
    @override
    def from_content(cls, sequence: int, content: bytes) -> Self:
        state, result, last, time, dropped, refused, n, m = cls.layout.unpack_from(content)
        values = struct.unpack(f"<{n}i{m}H", content[cls.layout.size :])
        first = (sequence, state, result, last, time, dropped, refused)
        return cls(*first, values[:n], values[n:])


TYPES: dict[int, type[Message]] = {
    kind.type: kind for kind in (Hello, Configure, Arm, SetValues, Stop, Ping, Info, Ack, Report)
}


def parse(message: bytes) -> Message:
    """Read a message from bytes, whose CRC has been checked.

    Raises:
        OtherVersionError: The message has another version.
        ValueError: The type is unknown, or the content has another length.
    """
    if len(message) < 4:
        raise ValueError(f"a message of {len(message)} bytes")
    version, number, sequence = struct.unpack_from("<BBH", message)
    if version != VERSION:
        raise OtherVersionError(f"version {version} of the protocol")
    if number not in TYPES:
        raise ValueError(f"no message has the type 0x{number:02x}")
    try:
        return TYPES[number].from_content(sequence, message[4:])
    except struct.error as error:
        raise ValueError(f"{TYPES[number].__name__}: {error}") from error
