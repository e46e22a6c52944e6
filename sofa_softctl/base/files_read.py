"""Files of a scene or problem: those that Python reads, and modules next to them."""

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
    """Audit hook of Python that collects opened files; a single one, as hooks cannot be removed."""

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
    listener = _Listener()
    sys.addaudithook(listener)
    return listener


@contextmanager
def files_read(*imported: str) -> Iterator[set[str]]:
    """Yield a set; the end of the block fills it with the absolute paths of files that Python read.

    Files of Python, of installed packages and of the system are left out; files that a library in
    C++ opens are not seen.

    Args:
        imported: Python files that the block imports. They are among the paths, and so are modules
            of their folders that were imported before, which the block does not read again.
    """
    listener, paths = _listener(), set[str]()
    paths_before, listener.paths = listener.paths, set()
    names_before = set(sys.modules)
    try:
        yield paths
    finally:
        opened_paths = listener.paths or set()
        listener.paths = None if paths_before is None else paths_before | opened_paths
        modules = (sys.modules.get(name) for name in set(sys.modules) - names_before)
        files = (getattr(module, "__file__", None) for module in modules)
        imported_files = {
            file for file in files if isinstance(file, str)
        }  # Python may read .pyc files only
        paths |= {
            path
            for path in map(os.path.realpath, opened_paths | imported_files)
            if is_project_file(path)
        }
        paths |= add_sibling_modules(imported)


def add_sibling_modules(files: Iterable[str]) -> set[str]:
    """Return absolute paths of Python files, and of imported modules of their folders."""
    file_paths = {os.path.realpath(file) for file in files}
    if not file_paths:
        return set()
    folders = tuple(os.path.dirname(file) + os.sep for file in file_paths if os.path.isfile(file))
    modules = [module for name, module in list(sys.modules.items()) if "main__" not in name]
    module_files = (getattr(module, "__file__", None) for module in modules)
    module_paths = {os.path.realpath(source) for source in module_files if isinstance(source, str)}
    siblings = {path for path in module_paths if path.startswith(folders)}
    return {path for path in file_paths | siblings if is_project_file(path)}


def files_below(folder: str | os.PathLike[str]) -> set[str]:
    """Return absolute paths of all files of a folder, except hidden files and recordings."""
    paths = set()
    for parent, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith((".", "__pycache__"))]
        paths |= {os.path.join(parent, name) for name in names if not name.startswith(".")}
    return {path for path in map(os.path.realpath, paths) if is_project_file(path)}


def is_project_file(path: str) -> bool:
    """Return True if a file is not part of Python, the system or an installed package."""
    excluded = (*_installed_folders(), os.path.realpath(tempfile.gettempdir()) + "/numba")
    return (
        os.path.isfile(path)
        and not path.endswith((".pyc", ".nbi", ".nbc", ".kernel", ".lock", ".mcap", ".so"))
        and not path.startswith(excluded)
    )


@cache
def _installed_folders() -> tuple[str, ...]:
    folders = {sys.prefix, sys.base_prefix, sys.exec_prefix, str(_PACKAGE)}
    return (*(os.path.realpath(folder) + os.sep for folder in folders), "/proc/", "/sys/", "/dev/")
