"""Import of users' Python files: scenes, problems, plugins."""

from __future__ import annotations

import importlib.util
import re
import sys
from importlib import import_module
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import NoReturn

from sofa_softctl.errors import SoftctlError

_RELATIVE = re.compile(rb"^\s*from\s+\.", re.MULTILINE)
"""Relative import of a neighbouring module."""


class _FromSource(SourceFileLoader):
    """Loader that neither reads nor writes bytecode.

    Python recognises outdated bytecode only by whole seconds and by the file's size: code that is
    edited, run, and edited back within a second would run as it was in between.
    """

    def path_stats(self, path: str) -> NoReturn:  # type: ignore[override]
        """Raise an error, so that bytecode is not used."""
        raise OSError(f"{path}: bytecode is not used")


def import_file(path: Path, kind: str, *, folder_too: bool = True) -> ModuleType:
    """Import a Python file as the module KIND_STEM, again at every call.

    It is in sys.modules while it runs, since dataclasses resolve their annotations there, and
    afterwards; if it raises, the previous module of that name is restored. With relative imports
    it is PACKAGE.KIND_STEM: folders with an __init__.py are packages.

    Args:
        path: The file.
        kind: Kind of content, such as "scene".
        folder_too: Add its folder to the path, so that it can import its neighbours.

    Raises:
        SoftctlError: The file is not text, or its package has the name of another one.
        Exception: Raised by the file itself.
    """
    text, folder, package = _read(path), path.resolve().parent, ""
    if folder_too:
        if _RELATIVE.search(text):
            folder, package = _package_of(folder)
        if str(folder) not in sys.path:
            sys.path.insert(0, str(folder))
        if package:
            _check_same(import_module(package), path)
    name = f"{package}.{kind}_{path.stem}".removeprefix(".")
    loader = _FromSource(name, str(path))  # for any suffix
    spec = importlib.util.spec_from_file_location(name, path, loader=loader)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    before = sys.modules.get(spec.name)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[spec.name]
        if before is not None:
            sys.modules[spec.name] = before
        raise
    return module


def _read(path: Path) -> bytes:
    """Return the content of a file; raise SoftctlError for binary ones, as Python names no file."""
    try:
        text = path.read_bytes()
    except OSError as error:
        raise SoftctlError(
            f"'{path}' cannot be read ({error.strerror}). Check the path."
        ) from error
    if b"\0" in text:
        raise SoftctlError(f"'{path}' is not a Python file: expected text, got binary data.")
    return text


def _package_of(folder: Path) -> tuple[Path, str]:
    """Return the parent folder of a folder's package and the package's name, or "" without one."""
    names: list[str] = []
    while (folder / "__init__.py").is_file():
        names.insert(0, folder.name)
        folder = folder.parent
    return folder, ".".join(names)


def _check_same(package: ModuleType, path: Path) -> None:
    """Raise SoftctlError if a package of the same name but another folder was imported before."""
    if path.resolve().parent not in [Path(folder).resolve() for folder in package.__path__]:
        raise SoftctlError(
            f"'{path}' imports modules of its package '{package.__name__}', but another one of "
            f"this name was imported before, {package.__file__}. Rename one of the two folders."
        )
