"""Which files a run reads: its scene, modules beside it, meshes."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import sofa_softctl

_PACKAGE = Path(sofa_softctl.__file__).resolve().parent


class _Listener:
    """What an audit hook of Python hears; hooks cannot be removed, so there is one."""

    def __init__(self) -> None:
        self.paths: set[str] | None = None

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.paths is None or event != "open":
            return
        path, mode = arguments[0], arguments[1]
        if isinstance(path, str) and not (mode and set(mode) & set("wax+")):
            self.paths.add(path)


@cache
def _listener() -> _Listener:
    found = _Listener()
    sys.addaudithook(found)
    return found


@contextmanager
def files_read() -> Iterator[set[str]]:
    """Absolute paths of files that Python reads in the block, filled in at its end.

    Those of Python, of installed packages and of the system are left out; files that a library in
    C++ opens by itself are not seen.
    """
    listener, found = _listener(), set[str]()
    before, listener.paths = listener.paths, set()
    known = set(sys.modules)
    try:
        yield found
    finally:
        heard, listener.paths = listener.paths or set(), before
        modules = (sys.modules.get(name) for name in set(sys.modules) - known)
        files = (getattr(module, "__file__", None) for module in modules)
        new = {file for file in files if isinstance(file, str)}  # Python may read .pyc files only
        found |= {path for path in map(os.path.realpath, heard | new) if counts(path)}


def counts(path: str) -> bool:
    """Whether a file is no part of Python, of the system or of an installed package."""
    left_out = (*_elsewhere(), os.path.realpath(tempfile.gettempdir()) + "/numba")
    return (
        os.path.isfile(path)
        and not path.endswith((".pyc", ".nbi", ".nbc", ".mcap", ".so"))
        and not path.startswith(left_out)
    )


@cache
def _elsewhere() -> tuple[str, ...]:
    places = {sys.prefix, sys.base_prefix, sys.exec_prefix, str(_PACKAGE)}
    return (*(os.path.realpath(place) + os.sep for place in places), "/proc/", "/sys/", "/dev/")
