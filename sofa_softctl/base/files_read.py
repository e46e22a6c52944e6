"""Which files a scene or problem consists of: what Python reads, and modules beside them."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterable, Iterator
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
def files_read(*imported: str) -> Iterator[set[str]]:
    """Absolute paths of files that Python reads in the block, filled in at its end.

    Those of Python, of installed packages and of the system are left out; files that a library in
    C++ opens by itself are not seen.

    Args:
        imported: Python files that the block imports. They are among the paths, and so are modules
            of their folders that were imported before, which the block does not read again.
    """
    listener, found = _listener(), set[str]()
    before, listener.paths = listener.paths, set()
    known = set(sys.modules)
    try:
        yield found
    finally:
        heard = listener.paths or set()
        listener.paths = None if before is None else before | heard
        modules = (sys.modules.get(name) for name in set(sys.modules) - known)
        files = (getattr(module, "__file__", None) for module in modules)
        new = {file for file in files if isinstance(file, str)}  # Python may read .pyc files only
        found |= {path for path in map(os.path.realpath, heard | new) if counts(path)}
        found |= with_modules_beside(imported)


def with_modules_beside(files: Iterable[str]) -> set[str]:
    """Absolute paths of Python files, and of modules of their folders that were imported."""
    given = {os.path.realpath(file) for file in files}
    if not given:
        return set()
    folders = tuple(os.path.dirname(file) + os.sep for file in given if os.path.isfile(file))
    modules = [module for name, module in list(sys.modules.items()) if "main__" not in name]
    known = (getattr(module, "__file__", None) for module in modules)
    paths = {os.path.realpath(each) for each in known if isinstance(each, str)}
    beside = {path for path in paths if path.startswith(folders)}
    return {path for path in given | beside if counts(path)}


def files_below(folder: str | os.PathLike[str]) -> set[str]:
    """Absolute paths of all files of a folder of scenes, but for hidden ones and recordings."""
    found = set()
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith((".", "__pycache__"))]
        found |= {os.path.join(place, name) for name in names if not name.startswith(".")}
    return {path for path in map(os.path.realpath, found) if counts(path)}


def counts(path: str) -> bool:
    """Whether a file is no part of Python, of the system or of an installed package."""
    left_out = (*_elsewhere(), os.path.realpath(tempfile.gettempdir()) + "/numba")
    return (
        os.path.isfile(path)
        and not path.endswith((".pyc", ".nbi", ".nbc", ".kernel", ".lock", ".mcap", ".so"))
        and not path.startswith(left_out)
    )


@cache
def _elsewhere() -> tuple[str, ...]:
    places = {sys.prefix, sys.base_prefix, sys.exec_prefix, str(_PACKAGE)}
    return (*(os.path.realpath(place) + os.sep for place in places), "/proc/", "/sys/", "/dev/")
