"""Scene files: Python with createScene(root), or XML."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from sofa_softctl.base.suggestions import files_like
from sofa_softctl.base.user_module import import_file
from sofa_softctl.errors import SceneError
from sofa_softctl.runtime.helper.repository import from_its_folder, in_folder

PYTHON = (".py", ".pyscn", ".py3", ".py3scn")
XML = (".scn", ".xml")


def import_scene(path: str | Path) -> ModuleType:
    """Import the module of a scene file, and add its folder to the path, as runSofa.

    Its createScene works in its folder. An XML scene is a module with a createScene, too.

    Raises:
        SceneError: The file does not exist, or has no createScene(root).
        Exception: Any error of the file itself.
    """
    name, path = path, Path(os.path.abspath(path))
    if not path.is_file():
        if path.is_dir():
            raise SceneError(f"'{name}' is a folder. Name the scene file in it: Python, FILE.py.")
        close = files_like(path, (*PYTHON, *XML))
        hint = f" Did you mean '{Path(name).parent / close[0]}'?" if close else ""
        raise SceneError(f"There is no scene file '{name}'.{hint}")
    if path.suffix.lower() in XML:
        return _xml_module(path)
    if path.suffix.lower() not in PYTHON:
        raise SceneError(
            f"'{name}' is no scene: Python (.py, .pyscn) with createScene(root), or XML (.scn, "
            ".xml)."
        )
    with in_folder(path.parent):
        module: Any = _import(path)
    if not callable(getattr(module, "createScene", None)):
        old = " createGraph is that of SofaPython 2." if hasattr(module, "createGraph") else ""
        raise SceneError(f"'{name}' has no function createScene(root).{old}")
    module.createScene = from_its_folder(module.createScene, path)
    return module


def _import(path: Path) -> ModuleType:
    try:
        return import_file(path, "scene")
    except SyntaxError as error:
        if "print" in str(error.msg) or isinstance(error, TabError):
            error.add_note(
                "This scene is in Python 2, of SOFA up to v20.12: 'python -m lib2to3 -w FILE' (up "
                "to Python 3.12) rewrites most of it."
            )
        raise


def _xml_module(path: Path) -> ModuleType:
    from sofa_softctl.runtime.simulation.scene_xml import fill_root, read_xml

    read = read_xml(path)
    module: Any = ModuleType(f"scene_{path.stem}", f"The scene '{path}'.")
    module.__file__ = str(path)

    def createScene(root: Any) -> Any:
        return fill_root(root, read)

    createScene.__module__, createScene.__qualname__ = module.__name__, "createScene"
    module.createScene = from_its_folder(createScene, path)
    sys.modules[module.__name__] = module
    return module
