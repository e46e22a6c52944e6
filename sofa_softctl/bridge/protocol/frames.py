"""Frames of the serial protocol: messages with a CRC-32, encoded by COBS, ended by a byte 0."""

from __future__ import annotations

from dataclasses import replace
from time import monotonic, sleep
from typing import TypeVar
from zlib import crc32

from sofa_softctl.base.serial_port import SerialPort
from sofa_softctl.bridge.protocol.messages import Message, OtherVersionError, parse
from sofa_softctl.errors import DeviceTimeoutError

MESSAGE_MIN, MESSAGE_MAX = 4, 96
"""Least and greatest size of a message [bytes]."""
_CRC = 4
_ENCODED_MAX = MESSAGE_MAX + _CRC + 1
"""Greatest size of a frame before its 0 [bytes]: short messages have one byte of overhead."""
_SAMPLE = 64


def encode(message: bytes) -> bytes:
    """Encode a message as a frame, with its final 0.

    Raises:
        ValueError: The message has less than 4 or more than 96 bytes.
    """
    if not MESSAGE_MIN <= len(message) <= MESSAGE_MAX:
        raise ValueError(f"a message has {MESSAGE_MIN} to {MESSAGE_MAX} bytes, got {len(message)}")
    blocks = (message + crc32(message).to_bytes(_CRC, "little")).split(b"\0")
    return b"".join(bytes([len(block) + 1]) + block for block in blocks) + b"\0"


def decode(encoded: bytes) -> bytes | None:
    """Decode a frame without its final 0; return None if it is not a frame, or damaged."""
    if not MESSAGE_MIN + _CRC < len(encoded) <= _ENCODED_MAX or 0 in encoded:
        return None
    blocks, start = [], 0
    while start < len(encoded):
        end = start + encoded[start]
        blocks.append(encoded[start + 1 : end])
        start = end
    content = b"\0".join(blocks)
    if start != len(encoded):
        return None
    message, crc = content[:-_CRC], content[-_CRC:]
    return message if crc == crc32(message).to_bytes(_CRC, "little") else None


class FrameParser:
    """Finds frames in a stream of bytes that arrives in pieces, and counts other bytes."""

    def __init__(self) -> None:
        self._rest = b""
        self.received = 0
        """Bytes that arrived."""
        self.accepted = 0
        """Frames that were whole."""
        self.dropped = 0
        """Frames that were too long, too short, not encoded by COBS, or whose CRC did not match."""
        self.noise = b""
        """The first bytes that belong to no frame."""

    def feed(self, data: bytes) -> list[bytes]:
        """Return the messages that these bytes complete, oldest first."""
        self.received += len(data)
        *frames, last = data.split(b"\0")
        messages = []
        for frame in frames:
            encoded, self._rest = self._rest + frame, b""
            if not encoded:
                continue
            message = decode(encoded)
            if message is None:
                self.dropped += 1
                self.noise += encoded[: _SAMPLE - len(self.noise)]
            else:
                self.accepted += 1
                messages.append(message)
        self._rest += last[: _ENCODED_MAX + 1 - len(self._rest)]  # one more: it is too long
        return messages

    def sample(self) -> bytes:
        """Return the first bytes outside frames, an unfinished frame included."""
        return (self.noise + self._rest)[:_SAMPLE]


Answer = TypeVar("Answer", bound=Message)


class Conversation:
    """Messages to and from a board.

    Args:
        port: Open serial port; its owner closes it.
    """

    def __init__(self, port: SerialPort) -> None:
        self.port = port
        self.parser = FrameParser()
        self.other_version: int | None = None
        """Version of the last message with another version."""
        self.refused = 0
        """Messages with another version, an unknown type, or a wrong length."""
        self._next = 0

    def send(self, *messages: Message) -> None:
        """Send messages with the sequence that they have, in one piece.

        Raises:
            DeviceError: See `SerialPort.write`.
        """
        frames = b"".join(encode(message.to_bytes()) for message in messages)
        # The byte 0 ends whatever the board has read before: noise, or a part of a message.
        self.port.write(b"\0" + frames)

    def send_next(self, message: Message) -> int:
        """Send a message, not a command, with the next sequence; return the sequence."""
        self._next = (self._next + 1) % 2**16
        self.send(replace(message, sequence=self._next))
        return self._next

    def receive(self) -> list[Message]:
        """Return the messages since the last call, oldest first. Does not wait."""
        messages = []
        for message in self.parser.feed(self.port.read()):
            try:
                messages.append(parse(message))
            except OtherVersionError:
                self.other_version = message[0]
                self.refused += 1
            except ValueError:
                self.refused += 1
        return messages

    def ask(
        self, message: Message, kind: type[Answer], *, timeout: float, attempt_timeout: float
    ) -> Answer | None:
        """Send a message until it is answered, and drop other messages.

        Args:
            message: Question; gets the next sequence in each attempt.
            kind: Class of the answer.
            timeout: Time for all attempts [s].
            attempt_timeout: Time of one attempt [s].

        Returns:
            Answer, or None.
        """
        end, sequences = monotonic() + timeout, set()
        while monotonic() < end:
            attempt_end = min(end, monotonic() + attempt_timeout)
            try:
                sequences.add(self.send_next(message))
            except DeviceTimeoutError:  # the line is full: perhaps not for long
                sleep(0.01)
            while monotonic() < attempt_end:
                for answer in self.receive():
                    if isinstance(answer, kind) and answer.sequence in sequences:
                        return answer
                if self.other_version is not None:
                    return None
                sleep(0.001)
        return None
