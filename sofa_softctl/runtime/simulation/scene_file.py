"""Python files that hold a scene."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

from sofa_softctl._internal.suggestions import files_like
from sofa_softctl._internal.user_module import import_file
from sofa_softctl.errors import SceneError


def import_scene(path: str | Path) -> ModuleType:
    """The module of a scene file; its folder is on the path from then on, as in runSofa.

    Raises:
        SceneError: there is no such file, or it has no createScene(root).
        Exception: whatever the file itself raises.
    """
    path = Path(path)
    if not path.is_file():
        if path.is_dir():
            raise SceneError(f"'{path}' is a folder. Name the scene file in it: Python, FILE.py.")
        close = files_like(path, (".py",))
        hint = f" Did you mean '{path.parent / close[0]}'?" if close else ""
        raise SceneError(f"There is no scene file '{path}'.{hint}")
    if path.suffix != ".py":
        raise SceneError(
            f"'{path}' is no Python scene (.py with createScene(root)). XML scenes (.scn) run in "
            "SOFA only."
        )
    module = import_file(path, "scene")
    if not callable(getattr(module, "createScene", None)):
        raise SceneError(f"'{path}' has no function createScene(root).")
    return module
