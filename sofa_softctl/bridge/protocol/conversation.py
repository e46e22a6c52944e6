"""Messages over a serial port: sent, received, and asked until they are answered."""

from __future__ import annotations

from dataclasses import replace
from time import monotonic, sleep
from typing import TypeVar

from sofa_softctl.base.serial_port import SerialPort
from sofa_softctl.bridge.protocol.frames import FrameParser, encode
from sofa_softctl.bridge.protocol.messages import Message, OtherVersionError, parse
from sofa_softctl.errors import DeviceTimeoutError

Answer = TypeVar("Answer", bound=Message)


class Conversation:
    """Messages to and from a board.

    Args:
        port: Its port; whoever opened it closes it.
    """

    def __init__(self, port: SerialPort) -> None:
        self.port = port
        self.parser = FrameParser()
        self.other_version: int | None = None
        """Version of the last message that had another one."""
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
        """Send a message with the next sequence of those that are no commands; returns it."""
        self._next = (self._next + 1) % 2**16
        self.send(replace(message, sequence=self._next))
        return self._next

    def receive(self) -> list[Message]:
        """The messages that arrived since the last call, oldest first. Does not wait."""
        found = []
        for message in self.parser.feed(self.port.read()):
            try:
                found.append(parse(message))
            except OtherVersionError:
                self.other_version = message[0]
                self.refused += 1
            except ValueError:
                self.refused += 1
        return found

    def ask(
        self, message: Message, kind: type[Answer], *, within: float, every: float
    ) -> Answer | None:
        """Send a message until it is answered; other messages are dropped meanwhile.

        Args:
            message: The question; it gets the next sequence, another one in each attempt.
            kind: Class of the answer.
            within: Time for all attempts [s].
            every: Time of one attempt [s].

        Returns:
            The answer, or None.
        """
        end, asked = monotonic() + within, set()
        while monotonic() < end:
            again = min(end, monotonic() + every)
            try:
                asked.add(self.send_next(message))
            except DeviceTimeoutError:  # the line is full: perhaps not for long
                sleep(0.01)
            while monotonic() < again:
                for answer in self.receive():
                    if isinstance(answer, kind) and answer.sequence in asked:
                        return answer
                if self.other_version is not None:
                    return None
                sleep(0.001)
        return None
