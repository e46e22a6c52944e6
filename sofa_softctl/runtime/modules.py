"""Answers `import Sofa`, `import Sofa.Core`, `import SofaRuntime`, ... where SOFA is not installed.

A finder at the end of sys.meta_path: a real SOFA on the path is found before it, unless
SOFTCTL_BACKEND=embedded puts it in front. Nothing of the runtime is imported before a scene asks.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import os
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

VERSION = "25.06.00"
"""The version of SOFA whose names and numbers the embedded runtime follows."""


def install() -> None:
    """Put the finder into sys.meta_path, once."""
    if not any(isinstance(finder, Finder) for finder in sys.meta_path):
        sys.meta_path.append(Finder())
    if os.environ.get("SOFTCTL_BACKEND", "auto").lower() == "embedded":
        put_first()


def put_first() -> None:
    """Answer before a SOFA that is installed."""
    sys.meta_path[:] = [entry for entry in sys.meta_path if not isinstance(entry, Finder)]
    sys.meta_path.insert(0, Finder())


def is_embedded(module: ModuleType) -> bool:
    """Whether a module named Sofa... is ours."""
    return isinstance(getattr(module, "__loader__", None), _Loader)


class Finder(importlib.abc.MetaPathFinder):
    """Finds the modules of SOFA's Python API in this package."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """See importlib.abc.MetaPathFinder."""
        if fullname not in _CONTENTS:
            return None
        del path, target
        package = any(name.startswith(f"{fullname}.") for name in _CONTENTS)
        return importlib.machinery.ModuleSpec(fullname, _Loader(), is_package=package)


class _Loader(importlib.abc.Loader):
    def create_module(self, spec: importlib.machinery.ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        module.__doc__ = "SOFA's Python API, answered by the embedded runtime of sofa_softctl."
        vars(module).update(_CONTENTS[module.__name__]())


def _sofa() -> dict[str, Any]:
    from sofa_softctl.runtime import message

    names = ("info", "warning", "error", "fatal", "deprecated")
    contents: dict[str, Any] = {f"msg_{name}": getattr(message, name) for name in names}
    contents["__version__"] = VERSION
    return contents | {
        name.partition(".")[2]: importlib.import_module(name)
        for name in ("Sofa.Core", "Sofa.Simulation", "Sofa.Helper", "Sofa.constants")
    }


def _core() -> dict[str, Any]:
    from sofa_softctl.runtime import factory
    from sofa_softctl.runtime.base import Base
    from sofa_softctl.runtime.component import Component
    from sofa_softctl.runtime.controller import Controller
    from sofa_softctl.runtime.data import Data, WriteAccess
    from sofa_softctl.runtime.node import Node

    return {
        "Base": Base,
        "BaseComponent": Component,
        "BaseObject": Component,
        "Controller": Controller,
        "Data": Data,
        "Node": Node,
        "Object": Component,
        "ObjectFactory": factory.ObjectFactory,
        "WriteAccessor": WriteAccess,
    }


def _simulation() -> dict[str, Any]:
    from sofa_softctl.runtime import simulation

    names = (
        "animate animateNSteps init initRoot initTextures initVisual load reset unload updateVisual"
    )
    return {name: getattr(simulation, name) for name in names.split()}


def _helper() -> dict[str, Any]:
    from sofa_softctl.runtime import message

    names = ("info", "warning", "error", "fatal", "deprecated")
    return {f"msg_{name}": getattr(message, name) for name in names}


def _constants() -> dict[str, Any]:
    return {name: importlib.import_module(f"Sofa.constants.{name}") for name in ("Key", "KeyCode")}


def _key() -> dict[str, Any]:
    """Keys as the characters that key events carry."""
    keys = {"leftarrow": "\x12", "uparrow": "\x13", "rightarrow": "\x14", "downarrow": "\x15"}
    keys |= {"space": " ", "plus": "+", "minus": "-"}
    keys |= {letter: letter for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"}
    return keys | {f"KP_{digit}": digit for digit in "0123456789"}


def _key_code() -> dict[str, Any]:
    """Keys as the numbers of their characters."""
    return {name: ord(character) for name, character in _key().items()}


def _runtime() -> dict[str, Any]:
    def import_plugin(name: str) -> bool:
        """Nothing to load: the embedded runtime has its components built in."""
        del name
        return True

    class Repository:
        """Folders in which files are looked for."""

        def __init__(self) -> None:
            self.paths: list[str] = []

        def addFirstPath(self, path: str) -> None:
            """Look there first."""
            self.paths.insert(0, path)

        def addLastPath(self, path: str) -> None:
            """Look there last."""
            self.paths.append(path)

        def getFirstPath(self) -> str:
            """Where is looked first."""
            return self.paths[0] if self.paths else ""

    return {
        "DataRepository": Repository(),
        "PluginRepository": Repository(),
        "importPlugin": import_plugin,
        "init": lambda: None,
    }


_CONTENTS: dict[str, Callable[[], dict[str, Any]]] = {
    "Sofa": _sofa,
    "Sofa.Core": _core,
    "Sofa.Helper": _helper,
    "Sofa.Simulation": _simulation,
    "Sofa.SofaConstraintSolver": dict,
    "Sofa.SofaLinearSolver": dict,
    "Sofa.Types": dict,
    "Sofa.constants": _constants,
    "Sofa.constants.Key": _key,
    "Sofa.constants.KeyCode": _key_code,
    "SofaRuntime": _runtime,
}
