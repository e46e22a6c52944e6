"""Locate the executing line of the scene, for errors and Data."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import FrameType

_PACKAGE = str(Path(__file__).absolute().parents[2]) + os.sep
_COMMANDS = os.path.join(_PACKAGE, "cli", "")

Line = tuple[str, int]
"""A file and the number of a line in it."""


def scene_line() -> Line | None:
    """The innermost running line outside this package; None when there is none."""
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
    """`scenes/trunk.py:41`, relative to the working folder where that is shorter."""
    if line is None:
        return "scene"
    path, number = line
    relative = os.path.relpath(path)
    return f"{relative if not relative.startswith('..') else path}:{number}"
