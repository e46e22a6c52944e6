"""Isolation of a run: its output is kept, and what it sets in its process is set back."""

from __future__ import annotations

import ctypes
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from io import TextIOWrapper
from typing import Any

import numpy as np

from sofa_softctl.base.executors.worker import TailFile, output_file

_LINES = 1
"""_IOLBF of stdio.h, in glibc and musl."""


class Output:
    """Printed text of a run; of megabytes, only the end."""

    def __init__(self, file: TailFile) -> None:
        self._file = file

    @property
    def text(self) -> str:
        """End of the text."""
        _flush()
        return self._file.text()

    def write(self, text: str) -> None:
        """Add a text."""
        _flush()
        self._file.write(text)


@contextmanager
def capture_output() -> Iterator[Output]:
    """Redirect all that is printed in the block, in order, to the file of this worker.

    The parent can read the file if the worker is gone.
    """
    file = output_file()
    _flush()
    copies = {fd: os.dup(fd) for fd in (1, 2)}
    try:
        for fd in copies:
            os.dup2(file.fileno(), fd)
        _set_line_buffered()
        with redirect_stdout(_stream(1)), redirect_stderr(_stream(2)):
            yield Output(file)
    finally:
        _flush()
        for fd, copy in copies.items():
            os.dup2(copy, fd)
            os.close(copy)


def _stream(fd: int) -> TextIOWrapper:
    """Return an unbuffered stream, which stays open: loggers may keep it for later runs."""
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
    """Make C write each line immediately: to files it writes blocks, after Python."""
    library = ctypes.CDLL(None)
    with suppress(ValueError):  # it has another name
        stdout = ctypes.c_void_p.in_dll(library, "stdout")
        library.setvbuf(stdout, None, _LINES, ctypes.c_size_t(0))


class Settings:
    """Settings of this process at a moment."""

    def __init__(self) -> None:
        self._values = [get() for get, _ in _SETTINGS]

    def restore(self) -> None:
        """Restore the settings."""
        for (_, put), value in zip(_SETTINGS, self._values, strict=True):
            put(value)


@contextmanager
def restored_settings() -> Iterator[None]:
    """Restore settings at the end of the block."""
    settings = Settings()
    try:
        yield
    finally:
        settings.restore()


def _folder() -> str:
    with suppress(FileNotFoundError):  # it was removed
        return os.getcwd()
    return ""


def _set_folder(path: str) -> None:
    if path and path != _folder():
        with suppress(OSError):
            os.chdir(path)


def _set_environment(values: dict[str, str]) -> None:
    if values != dict(os.environ):
        os.environ.clear()
        os.environ.update(values)


def _set_path(path: list[str]) -> None:
    sys.path[:] = path


def _set_filters(filters: list[Any]) -> None:
    warnings.resetwarnings()  # also, so that what was warned of before is warned of again
    warnings.filters[:] = filters  # type: ignore[index]


def _umask() -> int:
    mask = os.umask(0o077)  # it can be read by setting it alone
    os.umask(mask)
    return mask


_SETTINGS: tuple[tuple[Callable[[], Any], Callable[[Any], object]], ...] = (
    (_folder, _set_folder),
    (lambda: dict(os.environ), _set_environment),
    (lambda: list(sys.path), _set_path),
    (lambda: list(warnings.filters), _set_filters),
    (sys.getrecursionlimit, sys.setrecursionlimit),
    (_umask, os.umask),
    (np.geterr, lambda value: np.seterr(**value)),
    (np.geterrcall, np.seterrcall),
    (np.get_printoptions, lambda value: np.set_printoptions(**value)),
)
"""Functions that read and set each setting."""
