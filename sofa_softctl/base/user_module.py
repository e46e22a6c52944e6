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
"""An import of a module beside the file, as of its package."""


class _FromSource(SourceFileLoader):
    """Reads no bytecode and writes none.

    Python tells bytecode of an older file by whole seconds and the file's size alone: code that is
    edited, run, and edited back within a second would run as it was in between.
    """

    def path_stats(self, path: str) -> NoReturn:  # type: ignore[override]
        """What bytecode is compared with: nothing."""
        raise OSError(f"{path}: bytecode is not used")


def import_file(path: Path, kind: str, *, folder_too: bool = True) -> ModuleType:
    """Import a Python file, anew at every call, as the module KIND_STEM.

    It is in sys.modules while it runs, since dataclasses resolve their annotations there, and
    afterwards; where it raises, the previous module of that name is restored. With relative imports
    it is PACKAGE.KIND_STEM: its folder, and those above, are a package where they have __init__.py.

    Args:
        path: The file.
        kind: Kind of content, such as "scene".
        folder_too: Whether to add its folder to the path, so that it can import its neighbours.

    Raises:
        SoftctlError: it is no text, or its package has the name of another one.
        Exception: raised by the file itself.
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
    loader = _FromSource(name, str(path))  # whatever the suffix
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
    """What is in the file; SoftctlError for binary ones, of which Python's error has no name."""
    try:
        text = path.read_bytes()
    except OSError as error:
        raise SoftctlError(
            f"'{path}' cannot be read ({error.strerror}). Check the path."
        ) from error
    if b"\0" in text:
        raise SoftctlError(f"'{path}' is no Python file: expected text, got binary data.")
    return text


def _package_of(folder: Path) -> tuple[Path, str]:
    """The folder that has the package of a folder, and the package's name; empty: it is none."""
    names: list[str] = []
    while (folder / "__init__.py").is_file():
        names.insert(0, folder.name)
        folder = folder.parent
    return folder, ".".join(names)


def _check_same(package: ModuleType, path: Path) -> None:
    """SoftctlError where the package is not that of the file, but another one of its name."""
    if path.resolve().parent not in [Path(place).resolve() for place in package.__path__]:
        raise SoftctlError(
            f"'{path}' imports modules of its package '{package.__name__}', but another one of "
            f"this name was imported before, {package.__file__}. Rename one of the two folders."
        )
