"""A file for what a process prints, which another can read when the process is gone."""

from __future__ import annotations

import fcntl
import os
import tempfile
import weakref
from collections.abc import Callable
from multiprocessing.reduction import DupFd
from typing import Any

LONGEST = 8000
"""Of a text that is kept; of longer ones the end [characters]."""
LARGEST = 1 << 24
"""Size of a file beyond which its beginning is dropped [bytes]."""
_KEPT = 4 * (LONGEST + 1)
"""Bytes that hold so many characters, and a part of one at the start."""


class TailFile:
    """A file without a name, to which processes append, and of which the end is read.

    Sent to a process that is being started, it is the same file there. It goes with the last
    process that has it open.
    """

    def __init__(self, fd: int | None = None) -> None:
        if fd is None:
            with tempfile.TemporaryFile(buffering=0) as file:
                fd = os.dup(file.fileno())
            fcntl.fcntl(fd, fcntl.F_SETFL, fcntl.fcntl(fd, fcntl.F_GETFL) | os.O_APPEND)
        self._fd = fd
        weakref.finalize(self, os.close, fd).atexit = False

    def fileno(self) -> int:
        """Its file descriptor."""
        return self._fd

    def text(self) -> str:
        """The last `LONGEST` characters."""
        return self._end().decode(errors="replace")[-LONGEST:]

    def write(self, text: str) -> None:
        """Append a text."""
        os.write(self._fd, text.encode(errors="backslashreplace"))

    def clear(self) -> None:
        """Drop what is in it."""
        os.ftruncate(self._fd, 0)

    def shrink(self) -> None:
        """Drop the beginning of a large file, so that processes that go on do not fill the disk.

        What is written at the same moment comes before what was kept, or is lost.
        """
        if os.fstat(self._fd).st_size > LARGEST:
            end = self._end()
            self.clear()
            os.write(self._fd, end)

    def _end(self) -> bytes:
        return os.pread(self._fd, _KEPT, max(os.fstat(self._fd).st_size - _KEPT, 0))

    def __reduce__(self) -> tuple[Callable[[Any], TailFile], tuple[Any]]:
        return _received, (DupFd(self._fd),)


def _received(fd: Any) -> TailFile:
    return TailFile(fd.detach())
