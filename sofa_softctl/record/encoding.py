"""Messages of a recording in protobuf, and their schema; JSON as earlier versions wrote it.

    message Number  { double time = 1; double value = 2; }
    message Numbers { double time = 1; repeated double value = 2; }
    message Text    { double time = 1; string value = 2; }
    message Row     { double time = 1; repeated double value = 2; double clock = 3; }
    message Event   { double time = 1; string value = 2; double clock = 3; }

The first three hold values of steps, the last two rows of streams, which have other times. Doubles
are eight bytes each, so that values are read back exactly, NaN and infinities too. Fields are
written in this order, the time also when it is 0.

Format: https://protobuf.dev/programming-guides/encoding, https://mcap.dev/spec/registry#protobuf.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence

import numpy as np

PACKAGE = "softctl"
NUMBER, NUMBERS, TEXT = f"{PACKAGE}.Number", f"{PACKAGE}.Numbers", f"{PACKAGE}.Text"
ROW, EVENT = f"{PACKAGE}.Row", f"{PACKAGE}.Event"
"""Names of the messages."""
_TIME, _VALUE, _LIST, _CLOCK = b"\x09", b"\x11", b"\x12", b"\x19"
"""Tags: field 1 and 2 as eight bytes, field 2 with a length, field 3 as eight bytes."""
_DOUBLE, _STRING = 1, 9
_SINGLE, _REPEATED = 1, 3
_FIELDS = {
    NUMBER: (_DOUBLE, _SINGLE),
    NUMBERS: (_DOUBLE, _REPEATED),
    TEXT: (_STRING, _SINGLE),
    ROW: (_DOUBLE, _REPEATED),
    EVENT: (_STRING, _SINGLE),
}
"""Type and label of `value` in each message."""
STREAM_MESSAGES = (ROW, EVENT)
"""Messages with a clock."""


def message_name(shape: tuple[int, ...] | None) -> str:
    """Return the name of the message for values of a shape; None for texts."""
    if shape is None:
        return TEXT
    return NUMBERS if shape else NUMBER


def encode_head(shape: tuple[int, ...]) -> bytes:
    """Return the bytes in front of the numbers of a message."""
    return _encode_list_head(math.prod(shape)) if shape else _VALUE


def encode_time(time: float) -> bytes:
    """Return the first field of a message."""
    return _TIME + struct.pack("<d", time)


def encode_text(text: str) -> bytes:
    """Return the second field of a text."""
    data = text.encode(errors="replace")
    return _LIST + _varint(len(data)) + data


def schema() -> bytes:
    """Return the FileDescriptorSet of the messages."""
    content = b"".join(_message(name, *field) for name, field in _FIELDS.items())
    file = _field(1, b"softctl.proto") + _field(2, PACKAGE.encode()) + content
    return _field(1, file + _field(12, b"proto3"))


def decode_numbers(
    messages: Sequence[bytes], shape: tuple[int, ...]
) -> tuple[np.ndarray, np.ndarray]:
    """Return times of shape (n,) and values of shape (n, *shape).

    Raises:
        ValueError: These are not messages of that shape.
    """
    head = encode_head(shape)
    first = 1 + 8 + len(head)
    size = first + 8 * math.prod(shape)
    if any(len(message) != size for message in messages):
        raise ValueError(f"its messages do not hold values of shape {shape}")
    table = np.frombuffer(b"".join(messages), np.uint8).reshape(len(messages), size)
    if (table[:, 0] != _TIME[0]).any() or (table[:, 9:first] != np.frombuffer(head, "u1")).any():
        raise ValueError("its messages have other fields")
    times = table[:, 1:9].copy().view("<f8").reshape(len(messages))
    values = table[:, first:].copy().view("<f8").reshape(len(messages), *shape)
    return times.astype(float, copy=False), values.astype(float, copy=False)


def decode_texts(messages: Sequence[bytes]) -> tuple[np.ndarray, np.ndarray]:
    """Return times and texts, shape (n,) each.

    Raises:
        ValueError: These are not texts.
    """
    times, texts = np.empty(len(messages)), []
    for step, message in enumerate(messages):
        if message[:1] != _TIME or message[9:10] != _LIST:
            raise ValueError("its messages have other fields")
        (times[step],) = struct.unpack("<d", message[1:9])
        start = next(i for i in range(10, len(message)) if message[i] < 128) + 1
        texts.append(message[start:].decode())
    return times, np.array(texts, dtype=str)


def encode_rows(time: np.ndarray, clock: np.ndarray, values: np.ndarray) -> list[bytes]:
    """Return the messages of a stream's rows.

    Args:
        time: Time of each row, shape (n,).
        clock: Clock of each row [s], shape (n,).
        values: Numbers of each row, shape (n, ...).
    """
    count, size = len(values), math.prod(values.shape[1:])
    parts = (
        _repeat_tag(_TIME, count),
        _row_bytes(time, count),
        _repeat_tag(_encode_list_head(size), count),
        _row_bytes(values, count),
        _repeat_tag(_CLOCK, count),
        _row_bytes(clock, count),
    )
    return [row.tobytes() for row in np.concatenate(parts, axis=1)]


def encode_event(time: float, clock: float, text: str) -> bytes:
    """Return the message of a text of a stream."""
    return encode_time(time) + encode_text(text) + _CLOCK + struct.pack("<d", clock)


def decode_rows(
    messages: Sequence[bytes], shape: tuple[int, ...]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return times and clocks of shape (n,), values of shape (n, *shape).

    Raises:
        ValueError: These are not messages of that shape.
    """
    head, count, numbers = _encode_list_head(math.prod(shape)), len(messages), math.prod(shape)
    starts = np.cumsum([0, 1, 8, len(head), 8 * numbers, 1, 8])
    if any(len(message) != starts[-1] for message in messages):
        raise ValueError(f"its messages do not hold values of shape {shape}")
    table = np.frombuffer(b"".join(messages), np.uint8).reshape(count, starts[-1])
    parts = [table[:, a:b] for a, b in zip(starts[:-1], starts[1:], strict=True)]
    for part, tag in zip(parts[::2], (_TIME, head, _CLOCK), strict=True):
        if (part != np.frombuffer(tag, "u1")).any():
            raise ValueError("its messages have other fields")
    time, values, clock = (
        part.copy().view("<f8").astype(float, copy=False) if part.size else np.empty((count, 0))
        for part in parts[1::2]
    )
    return time.reshape(count), clock.reshape(count), values.reshape(count, *shape)


def decode_events(messages: Sequence[bytes]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return times, clocks and texts, shape (n,) each.

    Raises:
        ValueError: These are not texts of a stream.
    """
    if any(message[-9:-8] != _CLOCK for message in messages):
        raise ValueError("its messages have other fields")
    times, texts = decode_texts([message[:-9] for message in messages])
    clocks = [struct.unpack("<d", message[-8:])[0] for message in messages]
    return times, np.array(clocks, dtype=float), texts


def _encode_list_head(size: int) -> bytes:
    return _LIST + _varint(8 * size)


def _repeat_tag(tag: bytes, count: int) -> np.ndarray:
    return np.broadcast_to(np.frombuffer(tag, np.uint8), (count, len(tag)))


def _row_bytes(numbers: np.ndarray, count: int) -> np.ndarray:
    """Return the bytes of each row's numbers, shape (count, 8 * numbers of a row)."""
    data = np.ascontiguousarray(numbers, dtype="<f8").tobytes()
    return np.frombuffer(data, np.uint8).reshape(count, len(data) // count)


def _message(name: str, kind: int, label: int) -> bytes:
    """Return a DescriptorProto in a FileDescriptorProto."""
    fields = _descriptor("time", 1, _DOUBLE, _SINGLE) + _descriptor("value", 2, kind, label)
    if name in STREAM_MESSAGES:
        fields += _descriptor("clock", 3, _DOUBLE, _SINGLE)
    return _field(4, _field(1, name.removeprefix(f"{PACKAGE}.").encode()) + fields)


def _descriptor(name: str, number: int, kind: int, label: int) -> bytes:
    """Return a FieldDescriptorProto in a DescriptorProto."""
    numbers = _field(3, number) + _field(4, label) + _field(5, kind)
    return _field(2, _field(1, name.encode()) + numbers + _field(10, name.encode()))


def _field(number: int, value: int | bytes) -> bytes:
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    return _varint(number << 3 | 2) + _varint(len(value)) + value


def _varint(number: int) -> bytes:
    """Encode an integer in groups of seven bits, the lowest first."""
    encoded = bytearray()
    while number > 127:
        encoded.append(number & 127 | 128)
        number >>= 7
    return bytes([*encoded, number])
