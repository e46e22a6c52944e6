"""Signals of the device process: remembered by their handlers, acted on by its loop."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from types import FrameType

GO_TO_REST = (signal.SIGTERM, signal.SIGHUP)
EMERGENCY_STOP = signal.SIGUSR1
IGNORED = (signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP, signal.SIGPIPE)
"""Keys of the terminal are the scene's business, which then finishes or falls silent."""


class Signals:
    """Installs the handlers; `fileno` can be read when a signal has come."""

    def __init__(self) -> None:
        self._received: list[signal.Signals] = []
        self._read, write = os.pipe()
        os.set_blocking(self._read, False)
        os.set_blocking(write, False)
        signal.set_wakeup_fd(write, warn_on_full_buffer=False)
        for each in IGNORED:
            signal.signal(each, signal.SIG_IGN)
        for each in (*GO_TO_REST, EMERGENCY_STOP):
            signal.signal(each, self._remember)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())  # what the scene blocked is inherited

    def _remember(self, number: int, frame: FrameType | None) -> None:
        del frame
        self._received.append(signal.Signals(number))

    def fileno(self) -> int:
        """For `select`."""
        return self._read

    def take(self) -> list[signal.Signals]:
        """Those that came since the last call."""
        with suppress(BlockingIOError):
            while os.read(self._read, 256):
                pass
        found, self._received = self._received, []
        return found
