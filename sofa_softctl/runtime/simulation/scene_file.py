"""Python files that hold a scene."""

from __future__ import annotations

import difflib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

from sofa_softctl.errors import SceneError


def import_scene(path: str | Path) -> ModuleType:
    """The module of a scene file; its folder is on the path from then on, as in runSofa.

    Raises:
        SceneError: there is no such file, or it has no createScene(root).
        Exception: whatever the file itself raises.
    """
    path = Path(path)
    if not path.is_file():
        near = [entry.name for entry in path.parent.iterdir()] if path.parent.is_dir() else []
        close = difflib.get_close_matches(path.name, near, n=1)
        hint = f" Did you mean '{path.parent / close[0]}'?" if close else ""
        raise SceneError(f"There is no scene file '{path}'.{hint}")
    if path.suffix != ".py":
        raise SceneError(
            f"'{path}' is no Python scene (.py with createScene(root)). XML scenes (.scn) run in "
            "SOFA only."
        )
    folder = str(path.resolve().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    spec = importlib.util.spec_from_file_location(f"scene_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    if not callable(getattr(module, "createScene", None)):
        raise SceneError(f"'{path}' has no function createScene(root).")
    return module
