"""An emulated board on a pseudo terminal that speaks the serial protocol, with faults to inject.

It is written from docs/reference/bridge-protocol.md alone and shares no code with the package: a
mistake of one side is not repeated by the other. What it takes and refuses is recorded.

    with Board(channels=2) as board:
        device = SerialDevice("board", port=board.port)
        ...
        board.unplug()
"""

import os
import random
import select
import struct
import termios
import threading
import time
import tty

SPEEDS = {
    getattr(termios, f"B{rate}"): rate
    for rate in (9600, 57600, 115200, 230400, 460800, 500000, 1000000)
}


def crc(data):
    """CRC-32 of zlib and Ethernet, bit by bit."""
    register = 0xFFFFFFFF
    for byte in data:
        register ^= byte
        for _ in range(8):
            register = register >> 1 ^ (0xEDB88320 if register & 1 else 0)
    return register ^ 0xFFFFFFFF


def cobs(data):
    """COBS of at most 253 bytes: each 0 is replaced by the distance to the next."""
    out = bytearray([0])
    mark = 0
    for byte in data:
        if byte == 0:
            out[mark] = len(out) - mark
            mark = len(out)
        out.append(byte)
    out[mark] = len(out) - mark
    return bytes(out)


def uncobs(data):
    """What `cobs` encoded, or None."""
    out = bytearray()
    at = 0
    while at < len(data):
        code = data[at]
        if code == 0 or at + code > len(data):
            return None
        out += data[at + 1 : at + code]
        at += code
        if at < len(data):
            out.append(0)
    return bytes(out)


def frame(message):
    """A message on the wire."""
    return cobs(message + struct.pack("<I", crc(message))) + b"\0"


def unframed(encoded):
    """The message of a frame without its 0, or None."""
    data = uncobs(encoded)
    if data is None or not 8 <= len(data) <= 100:
        return None
    message, (expected,) = data[:-4], struct.unpack("<I", data[-4:])
    return message if crc(message) == expected else None


class Board:
    """A board with servos, in a thread of its own; a context manager that ends it.

    Args:
        channels, inputs: How many.
        unit, low, high: Unit (its number in the protocol) and range of all channels.
        watchdog: Silence after which it stops [s].
        version: Version of the protocol that it speaks.
        baud_rate: Rate of its UART; with another one of the host only noise passes. None: any.
        link: A path that always leads to its port, also after `replug`.
        seed: Of the faults.
    """

    def __init__(
        self,
        channels=4,
        inputs=2,
        *,
        unit=0,
        low=500,
        high=2500,
        watchdog=0.1,
        version=1,
        baud_rate=None,
        rate=200,
        name="emulated",
        link=None,
        seed=0,
    ):
        self.channels, self.inputs, self.unit = channels, [0] * inputs, unit
        self.low, self.high, self.watchdog = low, high, watchdog
        self.version, self.baud_rate, self.rate, self.name = version, baud_rate, rate, name
        self.link = None if link is None else os.fspath(link)
        self.random = random.Random(seed)
        self.started = 0.0
        # What was seen on its side of the wire.
        self.wire = bytearray()
        """All bytes that arrived."""
        self.messages = []
        """(time, type, sequence) of all messages whose CRC matched."""
        self.taken = []
        """(time, sequence, {channel: value}, time in the message) of all commands taken."""
        self.refused_commands = []
        """(time, sequence, {channel: value}, result) of those refused."""
        self.stops = []
        """(time, reason) of stops: 'STOP', 'watchdog', 'emergency', 'fault'."""
        # Faults.
        self.silent = False
        """Takes everything, and answers nothing."""
        self.dead = False
        """Takes nothing and answers nothing; its watchdog does not run either."""
        self.deaf = False
        """Does not even empty its line: it fills up."""
        self.delay = 0.0
        """Time before each answer [s]."""
        self.flip_sent = 0.0
        """Probability that a bit of a frame that it sends is flipped."""
        self.flip_received = 0.0
        """Probability that a bit of a chunk that it receives is flipped."""
        self.emergency = False
        """Whether its emergency input is pressed."""
        self._outbox = []
        self._lock = threading.RLock()
        self._fds = []
        self._ended = False
        self._power_up()
        self.port = self.replug()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    # -- faults that happen at once ------------------------------------------------------

    def reset(self):
        """Power-cycle: it forgets everything but stays on the line."""
        with self._lock:
            self._power_up()

    def unplug(self):
        """Close its side of the pseudo terminal: the host sees a port that is gone."""
        with self._lock:
            for fd in self._fds:
                os.close(fd)
            self._fds = []
            if self.link and os.path.lexists(self.link):
                os.remove(self.link)

    def replug(self):
        """Power up on a new pseudo terminal; returns its path, or `link`."""
        with self._lock:
            self.unplug()
            master, slave = os.openpty()
            tty.setraw(slave)
            os.set_blocking(master, False)
            self._fds = [master, slave]
            self._power_up()
            path = os.ttyname(slave)
            if self.link:
                os.symlink(path, self.link)
            return self.link or path

    def send(self, data):
        """Send bytes that belong to nothing, such as noise."""
        with self._lock:
            self._write(data)

    def garbage(self, count):
        """Send random bytes."""
        self.send(self.random.randbytes(count))

    def fail(self):
        """Stop by a fault of its own."""
        with self._lock:
            self._stop(4, "fault")

    def close(self):
        """End it."""
        self._ended = True
        self._thread.join()
        self.unplug()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()

    # -- the board -----------------------------------------------------------------------

    @property
    def output(self):
        """Present outputs; None for those that are off."""
        with self._lock:
            self._move()
            return [None if value is None else round(value) for value in self._output]

    def _power_up(self):
        self.started = self._moved = time.monotonic()
        self._rest = b""
        self._limits = {}
        self._output = [None] * self.channels
        self._goal = [None] * self.channels
        self._state = 0
        self._last, self._any = 0, False
        self._dropped = self._refused = 0
        self._fed = 0.0

    def _run(self):
        while not self._ended:
            with self._lock:
                self._tick()
                master = self._fds[0] if self._fds else None
            if master is None or self.deaf:
                time.sleep(0.002)
                continue
            try:
                if select.select([master], [], [], 0.002)[0]:
                    with self._lock:
                        self._receive(master)
            except (OSError, ValueError):  # unplugged meanwhile
                time.sleep(0.002)

    def _receive(self, master):
        data = os.read(master, 4096)
        self.wire += data
        if self.dead:
            return
        if not self._same_speed() or self.random.random() < self.flip_received:
            data = self._flipped(data)
        for encoded in self._frames(data):
            message = unframed(encoded)
            if message is None:
                self._dropped += 1
            else:
                self._handle(message)

    def _frames(self, data):
        *ended, self._rest = (self._rest + data).split(b"\0")
        self._rest = self._rest[-200:]
        return [entry for entry in ended if entry]

    def _flipped(self, data):
        data = bytearray(data)
        for _ in range(1 + len(data) // 8):
            data[self.random.randrange(len(data))] ^= 1 << self.random.randrange(8)
        return bytes(data)

    def _same_speed(self):
        if self.baud_rate is None or not self._fds:
            return True
        return SPEEDS.get(termios.tcgetattr(self._fds[1])[5]) == self.baud_rate

    def _tick(self):
        now = time.monotonic()
        self._move()
        if self.emergency and not self._state & 8:
            self._stop(3, "emergency")
        if self._state & 1 and not self.dead and now - self._fed > self.watchdog:
            self._stop(2, "watchdog")
        while self._outbox and self._outbox[0][0] <= now:
            self._write(self._outbox.pop(0)[1])

    def _move(self):
        now = time.monotonic()
        elapsed, self._moved = now - self._moved, now
        for channel, goal in enumerate(self._goal):
            at = self._output[channel]
            if goal is None or at is None:
                continue
            rate = self._limits[channel][3]
            most = abs(goal - at) if rate == 0 else rate * elapsed
            self._output[channel] = at + max(-most, min(most, goal - at))

    def _stop(self, bit, reason):
        self._move()
        self._state = (self._state | 1 << bit) & ~1
        self._goal = list(self._output)
        self.stops.append((time.monotonic(), reason))

    def _write(self, data):
        if not self._fds:
            return
        try:
            os.write(self._fds[0], data)
        except OSError:  # nobody reads: a UART does not care
            pass

    def _answer(self, kind, sequence, content):
        if self.silent:
            return
        data = frame(struct.pack("<BBH", self.version, kind, sequence) + content)
        if not self._same_speed() or self.random.random() < self.flip_sent:
            data = self._flipped(data)
        self._outbox.append((time.monotonic() + self.delay, data))
        self._tick()

    def _ack(self, sequence, kind, result):
        self._answer(0x82, sequence, bytes([kind, result]))

    def _feedback(self, sequence, result):
        self._move()
        moving = any(a != b for a, b in zip(self._goal, self._output, strict=True))
        micros = int((time.monotonic() - self.started) * 1e6) % 2**32
        outputs = [-(2**31) if value is None else round(value) for value in self._output]
        content = struct.pack(
            "<BBHIHHBB",
            self._state | 32 * moving,
            result,
            self._last,
            micros,
            min(self._dropped, 65535),
            min(self._refused, 65535),
            self.channels,
            len(self.inputs),
        )
        content += struct.pack(f"<{self.channels}i{len(self.inputs)}H", *outputs, *self.inputs)
        self._answer(0x84, sequence, content)

    def _handle(self, message):
        version, kind, sequence = struct.unpack_from("<BBH", message)
        content = message[4:]
        self.messages.append((time.monotonic(), kind, sequence))
        if kind == 0x01 and not content:
            self._info(sequence)
        elif version != self.version:
            self._dropped += 1
        elif kind == 0x02 and len(content) == 17:
            self._configure(sequence, *struct.unpack("<BiiiI", content))
        elif kind == 0x03 and content in (b"\0", b"\1"):
            self._arm(sequence, content[0])
        elif kind == 0x04 and len(content) >= 6:
            self._command(sequence, content)
        elif kind == 0x05 and not content:
            self._stop(1, "STOP")
            self._ack(sequence, 5, 0)
        elif kind == 0x06 and not content:
            self._feedback(sequence, 0)
        else:
            self._dropped += 1

    def _info(self, sequence):
        content = struct.pack(
            "<BBBBHHBBii16s",
            *(1, 0, self.channels, len(self.inputs), round(self.watchdog * 1000), self.rate),
            *(self.unit, 0, self.low, self.high, self.name.encode()),
        )
        self._answer(0x81, sequence, content)

    def _configure(self, sequence, channel, low, high, rest, rate):
        if self._state & 1:
            result = 8
        elif channel >= self.channels:
            result = 1
        elif not self.low <= low <= rest <= high <= self.high:
            result = 2
        else:
            result, self._limits[channel] = 0, (low, high, rest, rate)
        self._ack(sequence, 2, result)

    def _arm(self, sequence, on):
        result = 0
        if not on:
            self._move()
            self._state &= ~1
            self._goal = list(self._output)
        elif self.emergency:
            result = 5
        elif not self._limits:
            result = 3
        else:
            self._state = 1
            self._any = False
            self._dropped = self._refused = 0
            self._fed = time.monotonic()
        self._ack(sequence, 3, result)

    def _command(self, sequence, content):
        when, mask = struct.unpack_from("<IH", content)
        numbers = [channel for channel in range(16) if mask & 1 << channel]
        if len(content) != 6 + 4 * len(numbers):
            self._dropped += 1
            return
        values = dict(
            zip(numbers, struct.unpack_from(f"<{len(numbers)}i", content, 6), strict=True)
        )
        result = self._judge(sequence, values)
        now = time.monotonic()
        if result:
            self._refused += 1
            self.refused_commands.append((now, sequence, values, result))
        else:
            self.taken.append((now, sequence, values, when))
            self._last, self._any, self._fed = sequence, True, now
            self._move()
            for channel, value in values.items():
                self._goal[channel] = value
                if self._output[channel] is None:
                    self._output[channel] = value
        self._feedback(sequence, result)

    def _judge(self, sequence, values):
        if self._state & 0x1E:
            return 5
        if not self._state & 1:
            return 4
        if self._any and not 1 <= (sequence - self._last) % 65536 <= 32767:
            return 7
        if any(channel >= self.channels for channel in values):
            return 1
        if any(channel not in self._limits for channel in values):
            return 3
        if any(not self._limits[c][0] <= v <= self._limits[c][1] for c, v in values.items()):
            return 6
        return 0
