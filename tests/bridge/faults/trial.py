"""One run of the whole chain with a fault in it, and what came of it."""

import os
import signal
import time
from contextlib import suppress
from pathlib import Path

import numpy as np

from sofa_softctl.record.record import read_record
from tests.bridge.faults import robot
from tests.bridge.faults.host import SCENE

WITHIN = 30.0
"""Time in which a thing must happen at all, on a busy machine [s]."""


class Trial:
    """A scene that moves a robot.

    Args:
        server: Forks its process.
        board: The wire side.
        folder: For its files.
        scene: What the scene itself does wrong; see its FAULT.
        slow: See `robot.text`.
        file_size: See `Server.start`.
        duration: Of the scene [s].
        moment: At which the fault is injected [s of the scene].
    """

    def __init__(
        self, server, board, folder, *, scene="", slow="", file_size=None, duration=0.5, moment=0.2
    ):
        self.server, self.board, self.folder = server, board, Path(folder)
        self.config = self.folder / "bar.toml"
        self.config.write_text(robot.text(board.tables, slow=slow))
        self.moving = self.folder / "moving"
        self._environment = {
            "FAULT": scene,
            "MOVING": str(self.moving),
            "MOMENT": str(moment),
            "DURATION": str(moment + duration),
        }
        self._file_size = file_size
        self.words = ""
        """What users read; also in other terminals, first."""
        self.host = self._start("run")
        self.device = 0
        """Process id of the device process; 0: it did not start."""
        self.moment = np.inf
        """When the fault was injected, on the monotonic clock [s]."""

    def _start(self, name, **environment):
        words = ["run", SCENE, "--bridge", self.config, "--record", f"{name}.mcap"]
        return self.server.start(
            [*words, *getattr(self.board, "plugins", ())],
            self.folder,
            file_size=self._file_size,
            **{**self._environment, **environment},
        )

    def run_to_end(self, name):
        """Another run with the same file: exit status, and what it wrote."""
        return self._ended(self._start(name, MOVING=str(self.folder / "another")))

    def command(self, *arguments):
        """A command of `softctl`: exit status, and what it wrote."""
        return self._ended(self.server.start(arguments, self.folder))

    def _ended(self, host):
        self.until(host.ended)
        return host.status, host.words

    def sleep(self, seconds):
        """Wait."""
        time.sleep(seconds)

    def until_moving(self):
        """Wait until the robot moves, or the scene itself did something wrong."""
        self.until(lambda: self.moving.exists() or self.host.ended())
        with suppress(AssertionError, OSError):
            self.device = self.host.device_process()
        if self.moving.exists():
            self.moment = float(self.moving.read_text())

    def inject(self, fault):
        """Inject a fault."""
        self.moment = time.monotonic()
        fault(self)

    def until(self, found, within=WITHIN):
        """Wait until something is true."""
        end = time.monotonic() + within
        while not (value := found()):
            assert time.monotonic() < end, f"not within {within} s: {self.host.words}"
            time.sleep(0.005)
        return value

    def end(self):
        """Wait for the end of the host and of its device process; the exit status."""
        self.until(self.host.ended)
        self.until(lambda: not self.device or not alive(self.device))
        self.words += self.host.words
        return self.host.status

    def record(self, name="run"):
        """The recording of a run, complete or not."""
        file = self.folder / f"{name}.mcap"
        return read_record(file if file.exists() else f"{file}.part")

    def close(self):
        """Leave no process behind."""
        for pid in (self.host.pid, self.device):
            if pid and alive(pid):
                for number in (signal.SIGCONT, signal.SIGKILL):
                    os.kill(pid, number)
        self.until(self.host.ended)
        self.board.close()


def alive(pid):
    """Whether a process runs."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False
