"""The serial protocol, written for the tests from its page alone: frames and messages in bytes."""

import os
import select
import struct
import time
import zlib
from collections import namedtuple

HELLO, CONFIGURE, ARM, COMMAND, STOP, PING = range(1, 7)
INFO, ACK, FEEDBACK = 0x81, 0x82, 0x84
ARMED, BY_STOP, BY_WATCHDOG, BY_EMERGENCY, BY_FAULT, MOVING = (1 << bit for bit in range(6))
OFF = -(2**31)
STEP = 0.0005
"""Time that passes at once on a board whose time does not pass by itself [s]."""

Info = namedtuple(
    "Info", "major minor channels inputs watchdog rate_max unit reserved least greatest name"
)
Feedback = namedtuple("Feedback", "state result taken time dropped refused outputs inputs")


def frame(message):
    """A message on the wire."""
    parts = (message + struct.pack("<I", zlib.crc32(message))).split(b"\0")
    return b"".join(bytes([len(part) + 1]) + part for part in parts) + b"\0"


def message(type_, sequence, content=b"", version=1):
    return struct.pack("<BBH", version, type_, sequence % 65536) + content


def configure(channel, low, high, rest, rate=0):
    return struct.pack("<BiiiI", channel, low, high, rest, rate)


def command(values, time_us=0):
    """Content of a COMMAND with values by channel."""
    mask = sum(1 << channel for channel in values)
    numbers = [values[channel] for channel in sorted(values)]
    return struct.pack(f"<IH{len(numbers)}i", time_us % 2**32, mask, *numbers)


def unframe(data):
    """The message of a frame without its last 0; an AssertionError says that it is none."""
    decoded = bytearray()
    while data:
        code = data[0]
        assert 0 < code <= len(data), "COBS"
        decoded += data[1:code] + b"\0"
        data = data[code:]
    body, crc = bytes(decoded[:-5]), bytes(decoded[-5:-1])
    assert struct.pack("<I", zlib.crc32(body)) == crc, "CRC"
    return body


def parse(body):
    """(type, sequence, content) of an answer; contents are Info, (type, result) or Feedback."""
    version, type_, sequence = struct.unpack_from("<BBH", body)
    assert version == 1
    content = body[4:]
    if type_ == INFO:
        found = Info(*struct.unpack("<BBBBHHBBii16s", content))
        return type_, sequence, found._replace(name=found.name.rstrip(b"\0").decode())
    if type_ == ACK:
        return type_, sequence, struct.unpack("<BB", content)
    assert type_ == FEEDBACK
    *head, n, m = struct.unpack_from("<BBHIHHBB", content)
    numbers = struct.unpack(f"<{n}i{m}H", content[14:])
    return type_, sequence, Feedback(*head, numbers[:n], numbers[n:])


class Line:
    """A host on the serial line of a board: asks and waits for the answer.

    Times are the board's: if it has a method `run(duration, sent)`, time passes by it alone,
    otherwise it is this machine's.

    Args:
        board: Has `port`, the path of its line, and perhaps `run`, which lets time pass once it
            has `sent` bytes, and returns how many it has answered.
    """

    def __init__(self, board):
        self.fd = os.open(board.port, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
        self._run = getattr(board, "run", None)
        self._sent = self._came = 0
        self._received = b""
        self.sequence = 0
        self.write(b"\0")

    def close(self):
        os.close(self.fd)

    def write(self, data):
        self._sent += os.write(self.fd, data)

    def send(self, type_, content=b"", sequence=None):
        """Send a message without waiting. Returns its sequence."""
        if sequence is None:
            self.sequence = sequence = (self.sequence + 1) % 65536
        self.write(frame(message(type_, sequence, content)))
        return sequence

    def sleep(self, duration):
        """Let time pass [s]; answers are kept."""
        if self._run is None:
            time.sleep(duration)
            return
        answered = self._run(duration, self._sent)
        while self._came < answered:
            assert select.select([self.fd], [], [], 5.0)[0], "the line is stuck"
            self._read()

    def _read(self):
        data = os.read(self.fd, 4096)
        self._came += len(data)
        self._received += data

    def _wait(self, left):
        """Wait for bytes, for at most `left` [s]. Returns what is left."""
        if self._run is not None:
            self.sleep(STEP)
            return left - STEP
        start = time.monotonic()
        if select.select([self.fd], [], [], left)[0]:
            self._read()
        return left - (time.monotonic() - start)

    def forget(self):
        """Drop the beginning of an answer."""
        self._received = b""

    def receive(self, timeout=2.0):
        """The next answer, or None after `timeout` [s]."""
        while True:
            data, separator, rest = self._received.partition(b"\0")
            if separator:
                self._received = rest
                if data:
                    return parse(unframe(data))
            elif timeout <= 0.0:
                return None
            else:
                timeout = self._wait(timeout)

    def ask(self, type_, content=b"", sequence=None):
        """Content of the answer."""
        asked = self.send(type_, content, sequence)
        while True:
            found = self.receive()
            assert found is not None, "no answer"
            if found[1] == asked:
                return found[2]

    def command(self, values, sequence=None, time_us=0):
        """Feedback to a COMMAND with values by channel."""
        return self.ask(COMMAND, command(values, time_us), sequence)

    def arm(self, channels, low, high, rest, rate=0):
        """Configure channels alike, and arm."""
        for channel in channels:
            content = configure(channel, low, high, rest, rate)
            assert self.ask(CONFIGURE, content) == (CONFIGURE, 0)
        assert self.ask(ARM, b"\1") == (ARM, 0)

    def stream(self, values, duration, period=0.01):
        """Feedbacks to `values(t)`, by channel, sent every `period` for `duration` [s]."""
        found = []
        for k in range(round(duration / period)):
            self.send(COMMAND, command(values(k * period), round(k * period * 1e6)))
            self.sleep(period)
            found.append(self.receive()[2])
        return found
