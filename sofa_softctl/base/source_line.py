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
"""Line of a scene that is not a Python file."""
_FOLDER: ContextVar[str] = ContextVar("folder", default="")
"""Folder to which messages relate file names; "" for the working folder."""


@contextmanager
def at_line(line: Line) -> Iterator[None]:
    """Set the scene's line in the block, for a scene that is not a Python file."""
    before = _LINE.set(line)
    try:
        yield
    finally:
        _LINE.reset(before)


@contextmanager
def seen_from(folder: str) -> Iterator[None]:
    """Relate file names in messages to a folder in the block; the outermost block counts."""
    before = _FOLDER.set(_FOLDER.get() or folder)
    try:
        yield
    finally:
        _FOLDER.reset(before)


def start_folder() -> str:
    """Return the folder in which the program was started if a scene works in another one, or ''."""
    return _FOLDER.get()


def scene_line() -> Line | None:
    """Return the innermost running line outside this package, or None."""
    if (line := _LINE.get()) is not None:
        return line
    frame = scene_frame()
    return None if frame is None else (frame.f_code.co_filename, frame.f_lineno)


def scene_frame() -> FrameType | None:
    """Return the innermost running function outside this package, or None.

    Callers of this package's commands do not count: they run the command line, not the scene.
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith((_PACKAGE, "<")):
        if frame.f_code.co_filename.startswith(_COMMANDS):
            return None
        frame = frame.f_back
    return frame


def describe(line: Line | None) -> str:
    """Return `scenes/trunk.py:41`, relative to the working folder if the file is below it."""
    if line is None:
        return "scene"
    path, number = line
    relative = os.path.relpath(path, _FOLDER.get() or None)
    return f"{relative if not relative.startswith('..') else path}:{number}"
