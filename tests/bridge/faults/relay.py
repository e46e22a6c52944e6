"""A serial line that damages, delays or loses bytes, between the host and a board's port.

It is a thread: the host opens its pseudo terminal, and it opens the board's.
"""

import os
import random
import select
import threading
import time
import tty
from pathlib import Path

from tests.bridge.faults.wire_record import commands


class Relay:
    """A board behind a line that may be bad; see `RealBoard` for what is not said here.

    Args:
        board: The board.
        folder: For the link to its port.
    """

    def __init__(self, board, folder):
        self.board = board
        self.where = board.where
        self.random = random.Random(1)
        self.flips = [0.0, 0.0]
        """Probability that a bit of a byte is flipped: on the way to the board, and from it."""
        self.noise = [(0, 0.0), (0, 0.0)]
        """Random bytes that come between others: how many, and with which chance each ms."""
        self.cut = [False, False]
        """Whether bytes are lost."""
        self.delay = [0.0, 0.0]
        """Delay of all bytes [s]."""
        self.deaf = False
        """Whether nothing is taken from the host any more: its line fills up."""
        self._sent = []
        self._waiting = [[], []]
        (port,) = (table["port"] for table in board.tables.values())
        self._master, slave = os.openpty()
        tty.setraw(slave)
        self._slave = slave
        self._board = os.open(port, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
        os.set_blocking(self._master, False)
        self.link = Path(folder) / "relay"
        os.symlink(os.ttyname(slave), self.link)
        self._ended = False
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def __getattr__(self, name):
        return getattr(self.board, name)

    @property
    def tables(self):
        return {
            name: {**table, "port": str(self.link)} for name, table in self.board.tables.items()
        }

    def sent(self):
        """Commands that the host wrote, before anything happened to them."""
        times = [when for when, data in self._sent for _ in data]
        return commands(times, b"".join(data for _, data in self._sent))

    def close(self):
        self._ended = True
        self._thread.join()
        for fd in (self._master, self._slave, self._board):
            os.close(fd)
        self.board.close()

    def _run(self):
        ends = (self._master, self._board)
        while not self._ended:
            sources = [self._board] if self.deaf else list(ends)
            ready = select.select(sources, [], [], 0.001)[0]
            for way, (source, to) in enumerate((ends, ends[::-1])):
                data = os.read(source, 4096) if source in ready else b""
                if data and way == 0:
                    self._sent.append((time.monotonic(), data))
                self._pass(way, data, to)

    def _pass(self, way, data, to):
        due = time.monotonic() + self.delay[way]
        if data and not self.cut[way]:
            self._waiting[way].append((due, self._damaged(data, self.flips[way])))
        count, chance = self.noise[way]
        if self.random.random() < chance:
            self._waiting[way].append((due, self.random.randbytes(count)))
        while self._waiting[way] and self._waiting[way][0][0] <= time.monotonic():
            try:
                os.write(to, self._waiting[way].pop(0)[1])
            except BlockingIOError:  # nobody reads: a UART does not care
                pass

    def _damaged(self, data, chance):
        data = bytearray(data)
        for index in range(len(data)):
            if self.random.random() < chance:
                data[index] ^= 1 << self.random.randrange(8)
        return bytes(data)
