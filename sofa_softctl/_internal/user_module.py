"""Python files of users: scenes, problems, plugins."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType


def import_file(path: Path, kind: str, *, folder_too: bool = True) -> ModuleType:
    """The module of a Python file, run anew at every call, under the name KIND_STEM.

    It is known by that name while it runs, since dataclasses look their annotations up there, and
    afterwards; where it raises, what bore the name before does so again.

    Args:
        path: The file.
        kind: What it holds, such as "scene".
        folder_too: Whether its folder is on the path from then on, so that it finds its neighbours.

    Raises:
        ImportError: it is no Python file.
        Exception: whatever the file itself raises.
    """
    folder = str(path.resolve().parent)
    if folder_too and folder not in sys.path:
        sys.path.insert(0, folder)
    spec = importlib.util.spec_from_file_location(f"{kind}_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"'{path}' is no Python file (.py).")
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
