"""What a run prints: by Python, by C and C++, and by processes that it starts."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from io import TextIOWrapper

from sofa_softctl.base.executors.worker import TailFile, output_file

_LINES = 1
"""_IOLBF of stdio.h, in glibc and musl."""


class Output:
    """What was printed so far, of megabytes the end."""

    def __init__(self, file: TailFile) -> None:
        self._file = file

    @property
    def text(self) -> str:
        """The end of it."""
        _flush()
        return self._file.text()

    def write(self, text: str) -> None:
        """Add a text."""
        _flush()
        self._file.write(text)


@contextmanager
def captured() -> Iterator[Output]:
    """Keep what is printed in the block, in the order in which it comes, off the terminal.

    It is in the file of this worker, where the parent can read it when the worker is gone.
    """
    file = output_file()
    _flush()
    kept = {fd: os.dup(fd) for fd in (1, 2)}
    try:
        for fd in kept:
            os.dup2(file.fileno(), fd)
        _set_line_buffered()
        with redirect_stdout(_stream(1)), redirect_stderr(_stream(2)):
            yield Output(file)
    finally:
        _flush()
        for fd, before in kept.items():
            os.dup2(before, fd)
            os.close(before)


def _stream(fd: int) -> TextIOWrapper:
    """A stream without a buffer. It is not closed: loggers may keep it for later runs."""
    raw = open(fd, "wb", buffering=0, closefd=False)
    return TextIOWrapper(raw, "utf-8", errors="backslashreplace", write_through=True)  # type: ignore[type-var]


def _flush() -> None:
    """Write what Python and C hold in buffers."""
    for stream in (sys.__stdout__, sys.__stderr__):
        if stream is not None:
            with suppress(OSError, ValueError):
                stream.flush()
    ctypes.CDLL(None).fflush(None)


def _set_line_buffered() -> None:
    """Make C write each line at once: a file it would write by blocks, and after Python."""
    library = ctypes.CDLL(None)
    with suppress(ValueError):  # it has another name
        stdout = ctypes.c_void_p.in_dll(library, "stdout")
        library.setvbuf(stdout, None, _LINES, ctypes.c_size_t(0))
