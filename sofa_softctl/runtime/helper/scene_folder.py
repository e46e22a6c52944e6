"""What a scene finds while it is loaded, as in runSofa: its folder, its name in sys.argv."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any

from sofa_softctl.runtime.helper import source_line


@contextmanager
def in_folder(folder: Path) -> Iterator[None]:
    """Work in a folder; messages still name files as seen from where the program was started."""
    try:
        before = os.getcwd()
    except OSError:  # it was deleted
        before = ""
    with source_line.seen_from(before):
        os.chdir(folder)
        try:
            yield
        finally:
            if before:
                os.chdir(before)


@contextmanager
def command_line_of(file: Path) -> Iterator[None]:
    """Within it, the command line is a scene's name, as runSofa gives it without --argv.

    A scene that reads sys.argv would take the arguments of this program for its own.
    """
    before, sys.argv = sys.argv, [file.stem]
    try:
        yield
    finally:
        sys.argv = before


def from_its_folder(create: Callable[..., Any], file: Path) -> Callable[..., Any]:
    """The same createScene, which works in the folder of its file.

    A text among its arguments that names a file as seen from where it is called becomes the
    absolute path, so that `softctl run scenes/arm.py --set policy=arm.safetensors` finds it.
    """
    folder = file.resolve().parent

    @wraps(create)
    def create_there(*args: Any, **values: Any) -> Any:
        named = {name: _absolute(value) for name, value in values.items()}
        with in_folder(folder):
            return create(*args, **named)

    return create_there


def _absolute(value: Any) -> Any:
    is_name = isinstance(value, str) and ("." in value or os.sep in value)
    return os.path.abspath(value) if is_name and os.path.isfile(value) else value
