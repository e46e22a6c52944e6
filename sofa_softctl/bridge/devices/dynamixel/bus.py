"""The line to the motors: half duplex, many motors, one master.

Instructions are framed by dynamixel_sdk, through an object with the methods of its `PortHandler`.
Its own reading waits in a loop, by the wall clock, for up to 34 ms where a motor is silent: answers
are collected here instead, as they arrive.
"""

from __future__ import annotations

from collections.abc import Iterator
from time import monotonic, sleep
from typing import Any, NamedTuple

from sofa_softctl.base.serial_port import SerialPort
from sofa_softctl.bridge.devices.dynamixel.registers import Register
from sofa_softctl.errors import DeviceUnavailableError

HEADER = b"\xff\xff\xfd"
STATUS = 0x55
BROADCAST = 0xFE
ALERT = 0x80
"""Bit of the error byte: the hardware error status is not 0."""
_WAIT = 0.1
"""Longest time until a motor answers at opening, with a slow USB adapter [s]."""


class Answer(NamedTuple):
    """Status of one motor."""

    id: int
    error: int
    data: bytes


class Bus:
    """An open line.

    Args:
        port: The serial port.
        baud_rate: Rate of the line [bit/s].

    Raises:
        DeviceUnavailableError: dynamixel_sdk is not installed.
        DeviceOpenError: The port cannot be opened.
    """

    def __init__(self, port: str, baud_rate: int) -> None:
        try:
            from dynamixel_sdk.protocol2_packet_handler import Protocol2PacketHandler
        except ImportError as error:
            from sofa_softctl.base.extras import install_command

            raise DeviceUnavailableError(
                f"the Python package dynamixel-sdk is not installed: {install_command('hardware')}"
            ) from error
        self.sdk: Any = Protocol2PacketHandler()
        self.line = SerialPort(port, baud_rate)
        self.is_using = False
        """Named as in the SDK, which sets it while a packet is on its way."""
        self.idle_at = 0.0
        """Time at which the line is free again, if all motors answer [s]."""
        self.damaged = 0
        """Packets with a wrong checksum that arrived."""
        self._buffer = b""
        self._fast_size = 0  # bytes that each motor gives in a packet of Fast Sync Read
        self._longest = 0  # bytes of a packet: what claims to be longer is none
        self._deadline = 0.0

    def close(self) -> None:
        """Release the port; raises nothing."""
        self.line.close()

    def discard(self) -> None:
        """Drop received bytes: late answers to earlier questions."""
        self._buffer = b""
        self.line.discard_input()

    # Methods of a port that `dynamixel_sdk.Protocol2PacketHandler` calls.

    def getBaudRate(self) -> int:
        """Return the rate of the line [bit/s]."""
        return self.line.baud_rate

    def clearPort(self) -> None:
        """Ignore the call: received bytes are read before anything is sent."""

    def writePort(self, packet: list[int]) -> int:
        """Send without waiting."""
        self.line.write(bytes(packet))
        self.idle_at = max(self.idle_at, monotonic()) + self.duration(len(packet))
        return len(packet)

    def readPort(self, length: int) -> bytes:
        """Return up to `length` bytes; wait 0.2 ms if there is none: the SDK asks in a loop."""
        if not self._buffer:
            self._buffer = self.line.read()
            if not self._buffer:
                sleep(2e-4)
        data, self._buffer = self._buffer[:length], self._buffer[length:]
        return data

    def setPacketTimeout(self, length: int) -> None:
        """Start the timeout of an answer of `length` bytes."""
        self._deadline = max(self.idle_at, monotonic()) + self.duration(length) + _WAIT

    def setPacketTimeoutMillis(self, milliseconds: float) -> None:
        """Start the timeout of an answer."""
        self._deadline = monotonic() + milliseconds * 1e-3

    def isPacketTimeout(self) -> bool:
        """Return True after the timeout."""
        return monotonic() > self._deadline

    # Without waiting.

    def duration(self, length: int) -> float:
        """Return the time of `length` bytes on the line [s]: 8 bits, start and stop bit each."""
        return 10.0 * length / self.line.baud_rate

    def sync_write(self, register: Register, values: dict[int, int]) -> None:
        """Write a register of several motors simultaneously; nobody answers."""
        data = [
            byte
            for motor, value in values.items()
            for byte in (motor, *value.to_bytes(register.size, "little", signed=value < 0))
        ]
        self.sdk.syncWriteTxOnly(self, register.address, register.size, data, len(data))

    def sync_read(self, register: Register, motors: list[int], *, fast: bool, pause: float) -> None:
        """Ask several motors for a register; `answers` returns their answers.

        Args:
            register: Register to read.
            motors: Ids.
            fast: Whether they answer in one packet (Fast Sync Read).
            pause: Return delay of a motor [s].
        """
        length = answer_length(register.size, len(motors), fast=fast)
        self._fast_size = register.size
        self._longest = length if fast else 2 * answer_length(register.size, 1, fast=False)
        self.sdk.syncReadTx(self, register.address, register.size, motors, len(motors), fast)
        self.is_using = False  # the SDK clears it when it reads
        self.idle_at += self.duration(length) + pause * (1 if fast else len(motors))

    def answers(self) -> Iterator[Answer]:
        """Yield the answers since the last call."""
        self._buffer += self.line.read()
        while (packet := self._next_packet()) is not None:
            if packet[7] != STATUS:  # an adapter that echoes what is sent
                continue
            if packet[4] == BROADCAST:
                yield from self._split(packet)
            else:
                plain = bytes(self.sdk.removeStuffing(list(packet)))
                length = int.from_bytes(plain[5:7], "little")
                yield Answer(plain[4], plain[8], plain[9 : length + 5])

    def _next_packet(self) -> bytes | None:
        """Return the next complete packet with the right CRC; drop other bytes."""
        while True:
            start = self._buffer.find(HEADER)
            if start < 0:
                self._buffer = self._buffer[-2:]
                return None
            self._buffer = self._buffer[start:]
            if len(self._buffer) < 10:
                return None
            end = 7 + int.from_bytes(self._buffer[5:7], "little")
            if self._buffer[3] or not 10 <= end <= self._longest:
                self._buffer = self._buffer[1:]
            elif len(self._buffer) < end:
                return None
            elif self.sdk.updateCRC(0, self._buffer, end - 2) == int.from_bytes(
                self._buffer[end - 2 : end], "little"
            ):
                packet, self._buffer = self._buffer[:end], self._buffer[end:]
                return packet
            else:
                self.damaged += 1
                self._buffer = self._buffer[1:]

    def _split(self, packet: bytes) -> Iterator[Answer]:
        """Yield the answers in a packet of Fast Sync Read: error, id, data, CRC of each motor."""
        size = self._fast_size
        for start in range(8, len(packet), size + 4):
            part = packet[start : start + size + 4]
            yield Answer(part[1], part[0], part[2 : 2 + size])


def answer_length(size: int, count: int, *, fast: bool) -> int:
    """Return the length of answers of `count` motors with `size` bytes each [bytes]."""
    return 8 + count * (size + 4) if fast else count * (size + 11)
