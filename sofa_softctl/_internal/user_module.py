"""Import of users' Python files: scenes, problems, plugins."""

from __future__ import annotations

import importlib.util
import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import NoReturn

from sofa_softctl.errors import SoftctlError


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
    afterwards; where it raises, the previous module of that name is restored.

    Args:
        path: The file.
        kind: Kind of content, such as "scene".
        folder_too: Whether to add its folder to the path, so that it can import its neighbours.

    Raises:
        SoftctlError: it is no text.
        Exception: raised by the file itself.
    """
    folder = str(path.resolve().parent)
    if folder_too and folder not in sys.path:
        sys.path.insert(0, folder)
    name = f"{kind}_{path.stem}"
    loader = _FromSource(name, str(path))  # whatever the suffix
    spec = importlib.util.spec_from_file_location(name, path, loader=loader)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    before = sys.modules.get(spec.name)
    sys.modules[spec.name] = module
    try:
        _check_text(path)
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[spec.name]
        if before is not None:
            sys.modules[spec.name] = before
        raise
    return module


def _check_text(path: Path) -> None:
    """SoftctlError for binary files, of which Python's error does not give the name."""
    try:
        if b"\0" in path.read_bytes():
            raise SoftctlError(f"'{path}' is no Python file: expected text, got binary data.")
    except OSError as error:
        raise SoftctlError(
            f"'{path}' cannot be read ({error.strerror}). Check the path."
        ) from error
