"""Wire sides that are no board: a program that speaks UDP, and a device that keeps a record."""

import json
import os
import random
import select
import socket
import threading
import time
import tty
from pathlib import Path

import numpy as np

from tests.bridge.faults import robot
from tests.bridge.faults.wire_record import Sent, commands, last_change
from tests.bridge.peer import Peer

WIRE_DEVICE = Path(__file__).parents[1] / "stream" / "wire_device.py"


class Program:
    """A program that takes commands by UDP, behind a network that may be bad; see `RealBoard`."""

    where = "UDP on this machine"

    def __init__(self):
        self.peer, self.random = Peer(), random.Random(2)
        self.bad = False
        """Whether datagrams overtake each other, and some come twice or never."""
        self.delay = 0.0
        """Of all datagrams [s]."""
        self._sent, self._waiting = [], []
        self._here = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._here.bind(("127.0.0.1", 0))
        self._there = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._there.connect(("127.0.0.1", self.peer.port))
        self._host = None
        self._ended = False
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    @property
    def tables(self):
        port = self._here.getsockname()[1]
        return {"board": {"type": "udp", "host": "127.0.0.1", "port": port, "watchdog": 0.1}}

    def close(self):
        self._ended = True
        self._thread.join()
        self._here.close()
        self._there.close()
        self.peer.close()

    def disturbed(self):
        return False

    def commands(self):
        """Commands that the host sent."""
        said = [(when, json.loads(data)) for when, data in self._sent]
        return [
            Sent(when, each["sequence"], by_channel(each["values"]))
            for when, each in said
            if each["type"] == "command"
        ]

    def taken(self):
        """Numbers of the commands that the program took, in its order."""
        return [number for _, number, _ in self.peer.taken]

    def still(self):
        sent = self.commands()
        return last_change([one.time for one in sent], [list(one.values.values()) for one in sent])

    def assert_safe(self):
        """The program took no command that was older than one before."""
        assert (np.diff(self.taken()) > 0).all()

    def _run(self):
        while not self._ended:
            for end in select.select([self._here, self._there], [], [], 0.001)[0]:
                if end is self._here:
                    data, self._host = end.recvfrom(65536)
                    self._sent.append((time.monotonic(), data))
                    self._keep(data, lambda data: self._there.send(data))
                else:
                    self._keep(end.recv(65536), lambda data: self._here.sendto(data, self._host))
            now = time.monotonic()
            ready = [entry for entry in self._waiting if entry[0] <= now]
            self._waiting = [entry for entry in self._waiting if entry[0] > now]
            for _, data, send in sorted(ready, key=lambda entry: entry[0]):
                send(data)

    def _keep(self, data, send):
        copies = self.random.choice([0, 1, 1, 2, 3]) if self.bad else 1
        for _ in range(copies):
            late = self.delay + (self.random.uniform(0.0, 0.05) if self.bad else 0.0)
            self._waiting.append((time.monotonic() + late, data, send))


class Recorder:
    """A device that writes down what reaches it, and fails after 20 commands; see `RealBoard`."""

    where = "recorder"
    plugins = ("--plugin", WIRE_DEVICE)

    def __init__(self, folder, fault):
        self.path = Path(folder) / "wire.txt"
        self.tables = {
            "board": {"type": "wire", "record": str(self.path), "fault": fault, "after": 20}
        }

    def close(self):
        pass

    def disturbed(self):
        return False

    def _lines(self, what):
        lines = [line.split() for line in self.path.read_text().splitlines()]
        return [line[2:] for line in lines if line[1] == what]

    def commands(self):
        return [
            Sent(float(when), int(number), dict(zip(robot.CHANNELS, values, strict=True)))
            for when, number, *words in self._lines("write")
            if (values := list(map(float.fromhex, words)))
        ]

    @property
    def moment(self):
        """When it fails."""
        return self.commands()[20].time

    def still(self):
        return float(self._lines("stop")[0][0])

    def assert_safe(self):
        """It was stopped, and closed after that."""
        assert self._lines("stop") and self._lines("close")


class Talker:
    """A board with other firmware, which sends text."""

    where = "emulated board"

    def __init__(self, folder):
        self._master, self._slave = os.openpty()
        tty.setraw(self._slave)
        port = os.ttyname(self._slave)
        self.tables = {"board": {"type": "serial", "port": port, "timeout": 0.5}}
        self._received, self._ended = bytearray(), False
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self):
        while not self._ended:
            if select.select([self._master], [], [], 0.02)[0]:
                self._received += os.read(self._master, 4096)
            os.write(self._master, b"ok\r\n")

    def close(self):
        self._ended = True
        self._thread.join()
        os.close(self._master)
        os.close(self._slave)

    def disturbed(self):
        return False

    def commands(self):
        return commands([0.0] * len(self._received), bytes(self._received))

    def assert_safe(self):
        """It got no command; see `commands`."""


def by_channel(values):
    """Values by channel, of those by the names of cables."""
    return {robot.CHANNELS[int(name[-1])]: value for name, value in values.items()}
