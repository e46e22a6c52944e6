"""Real-time settings that a process asks of the kernel, and its signals."""

from __future__ import annotations

import ctypes
import errno
import gc
import os
import resource
import signal
from contextlib import suppress
from types import FrameType

SCHED_PRIORITY = 40
"""Priority under SCHED_FIFO: below threads of interrupts (50), which serve the devices."""
_NOW, _LATER = 1, 2
"""MCL_CURRENT and MCL_FUTURE of mlockall(2) on Linux."""


def apply_settings(realtime: bool) -> list[str]:
    """Stop Python's garbage collector, and with `realtime` ask for priority and locked memory.

    Returns:
        A sentence per setting that was not permitted.
    """
    gc.collect()
    gc.freeze()
    gc.disable()
    with suppress(OSError), open("/proc/self/timerslack_ns", "w") as file:
        file.write("1")  # timers end on time, not up to 50 us later
    return [note for note in (_set_priority(), _lock_memory()) if note] if realtime else []


def _set_priority() -> str:
    if not hasattr(os, "sched_setscheduler"):
        return "no real-time priority: this system has no SCHED_FIFO."
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(SCHED_PRIORITY))
    except PermissionError:
        return (
            "no real-time priority: the device process has to share its core. Allow it with "
            f"'{_user()} - rtprio {SCHED_PRIORITY}' in /etc/security/limits.conf, and log in again."
        )
    except OSError as error:
        return f"no real-time priority: {error.strerror}."
    return ""


def _lock_memory() -> str:
    """Lock present memory, and future memory only without a limit, at which allocations fail."""
    try:
        call = ctypes.CDLL(None, use_errno=True).mlockall
    except (OSError, AttributeError):
        return "no locked memory: this system has no mlockall."
    unlimited = resource.getrlimit(resource.RLIMIT_MEMLOCK)[0] == resource.RLIM_INFINITY
    if call(_NOW | _LATER if unlimited else _NOW) == 0:
        return ""
    error = ctypes.get_errno()
    if error not in (errno.ENOMEM, errno.EPERM):
        return f"no locked memory: {os.strerror(error)}."
    return (
        "no locked memory: a page on disk may delay a command. Allow it with "
        f"'{_user()} - memlock unlimited' in /etc/security/limits.conf, and log in again."
    )


def _user() -> str:
    return os.environ.get("USER", "YOUR_NAME")


GO_TO_REST = (signal.SIGTERM, signal.SIGHUP)
EMERGENCY_STOP = signal.SIGUSR1
IGNORED = (signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP, signal.SIGPIPE)
"""Keys of the terminal are the scene's business, which then finishes or falls silent."""


class Signals:
    """Signal handlers; `fileno` is readable after a signal."""

    def __init__(self) -> None:
        self._received: list[signal.Signals] = []
        self._read, write = os.pipe()
        os.set_blocking(self._read, False)
        os.set_blocking(write, False)
        signal.set_wakeup_fd(write, warn_on_full_buffer=False)
        for number in IGNORED:
            signal.signal(number, signal.SIG_IGN)
        for number in (*GO_TO_REST, EMERGENCY_STOP):
            signal.signal(number, self._remember)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())  # what the scene blocked is inherited

    def _remember(self, number: int, frame: FrameType | None) -> None:
        del frame
        self._received.append(signal.Signals(number))

    def fileno(self) -> int:
        """Return the file descriptor, for `select`."""
        return self._read

    def take_received(self) -> list[signal.Signals]:
        """Return the signals since the last call."""
        with suppress(BlockingIOError):
            while os.read(self._read, 256):
                pass
        received, self._received = self._received, []
        return received
