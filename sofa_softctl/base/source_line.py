"""Locate the executing line of the scene, for errors and Data."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from types import FrameType

_PACKAGE = str(Path(__file__).absolute().parents[1]) + os.sep
_COMMANDS = os.path.join(_PACKAGE, "cli", "")

Line = tuple[str, int]
"""A file and the number of a line in it."""
_LINE: ContextVar[Line | None] = ContextVar("line", default=None)
"""Of a scene that is no Python."""
_FOLDER: ContextVar[str] = ContextVar("folder", default="")
"""From which messages see files; empty: the working folder."""


@contextmanager
def at_line(line: Line) -> Iterator[None]:
    """Within it, that is the scene's line: of a scene that is no Python."""
    before = _LINE.set(line)
    try:
        yield
    finally:
        _LINE.reset(before)


@contextmanager
def seen_from(folder: str) -> Iterator[None]:
    """Within it, messages name files as seen from a folder; the outermost one counts."""
    before = _FOLDER.set(_FOLDER.get() or folder)
    try:
        yield
    finally:
        _FOLDER.reset(before)


def start_folder() -> str:
    """The folder from which the program was started, where a scene works in its own; else ''."""
    return _FOLDER.get()


def scene_line() -> Line | None:
    """The innermost running line outside this package; None when there is none."""
    if (line := _LINE.get()) is not None:
        return line
    frame = scene_frame()
    return None if frame is None else (frame.f_code.co_filename, frame.f_lineno)


def scene_frame() -> FrameType | None:
    """The innermost running function outside this package; None when there is none.

    Beyond a command of this package is no scene any more, but what runs the command line.
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith((_PACKAGE, "<")):
        if frame.f_code.co_filename.startswith(_COMMANDS):
            return None
        frame = frame.f_back
    return frame


def describe(line: Line | None) -> str:
    """`scenes/trunk.py:41`, relative to the working folder where the file is below it."""
    if line is None:
        return "scene"
    path, number = line
    relative = os.path.relpath(path, _FOLDER.get() or None)
    return f"{relative if not relative.startswith('..') else path}:{number}"
