"""Settings of the process that a run may change, and the next run must not see."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np


class Settings:
    """The settings of this process at a moment."""

    def __init__(self) -> None:
        self._values = [get() for get, _ in _SETTINGS]

    def restore(self) -> None:
        """Set them to what they were."""
        for (_, put), value in zip(_SETTINGS, self._values, strict=True):
            put(value)


@contextmanager
def isolated() -> Iterator[None]:
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
    found = os.umask(0o077)  # it can be read by setting it alone
    os.umask(found)
    return found


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
"""How to read each setting, and how to set it."""
