"""Import finder for `Sofa`, `Sofa.Core`, `SofaRuntime`, ... where SOFA is not installed.

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
from pkgutil import resolve_name
from types import MappingProxyType, ModuleType
from typing import Any

from typing_extensions import override

from sofa_softctl.runtime.bindings.stlib import finder as libraries

VERSION = "25.06.00"
"""Version of SOFA whose names and numbers the embedded runtime follows."""


def install() -> None:
    """Add the finders of SOFA's modules and of the libraries to sys.meta_path, once."""
    if not any(isinstance(finder, Finder) for finder in sys.meta_path):
        sys.meta_path.append(Finder())
    libraries.install()
    if os.environ.get("SOFTCTL_BACKEND", "auto").lower() == "embedded":
        put_first()


def put_first() -> None:
    """Move the finder before an installed SOFA. The libraries stay behind their originals."""
    sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, Finder)]
    sys.meta_path.insert(0, Finder())


def is_embedded(module: ModuleType) -> bool:
    """Return True if a module named Sofa... belongs to the embedded runtime."""
    return isinstance(getattr(module, "__loader__", None), _Loader)


class Finder(importlib.abc.MetaPathFinder):
    """Import finder of the modules of SOFA's Python API in this package."""

    @override
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
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
        contents = _CONTENTS[module.__name__]()
        vars(module).update(contents)
        if homes := _LATER.get(module.__name__):
            names = [name for name in (*contents, *homes) if not name.startswith("__")]
            module.__all__ = names  # type: ignore[attr-defined]
            module.__getattr__ = _on_first_use(module, homes)  # type: ignore[method-assign]
            module.__dir__ = lambda: [*vars(module), *homes]  # type: ignore[method-assign]


def _on_first_use(module: ModuleType, homes: dict[str, str]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a module that imports these contents at their first use."""
    otherwise = vars(module).get("__getattr__")

    def get(name: str) -> Any:
        if name in homes:
            content = resolve_name(homes[name])
            setattr(module, name, content)
            return content
        if otherwise is not None:
            return otherwise(name)
        raise AttributeError(f"module '{module.__name__}' has no attribute '{name}'")

    return get


def _message_functions() -> dict[str, Any]:
    from sofa_softctl.runtime.helper import message

    functions = {name: getattr(message, name) for name in ("info", "warning", "error", "fatal")}
    functions["deprecated"] = message.warn_deprecated
    return {f"msg_{name}": function for name, function in functions.items()}


def _sofa() -> dict[str, Any]:
    from sofa_softctl.runtime.simulation.scene_file import import_scene

    contents = _message_functions()
    contents["__version__"] = VERSION
    contents["GetVersion"] = _version
    contents["import_sofa_python_scene"] = import_scene
    contents["__getattr__"] = _not_in_sofa
    submodules = ("Core", "Helper", "Simulation", "Types", "constants")
    return contents | {name: importlib.import_module(f"Sofa.{name}") for name in submodules}


def _not_in_sofa(name: str) -> Any:
    if name == "PythonScriptController":
        raise AttributeError(
            "Sofa.PythonScriptController is SofaPython 2. Derive from Sofa.Core.Controller: its "
            "onAnimateBeginEvent(self, event) is called in each step; root.addObject(Class(...))."
        )
    raise AttributeError(f"module 'Sofa' has no attribute '{name}'")


def _version() -> str:
    """Return the version of SOFA, such as 'v25.06'."""
    return f"v{VERSION.rpartition('.')[0]}"


def _core() -> dict[str, Any]:
    from sofa_softctl.runtime.behavior.mechanics import Mass
    from sofa_softctl.runtime.behavior.state import MechanicalState
    from sofa_softctl.runtime.core import children, context, factory, link
    from sofa_softctl.runtime.core.base import Base
    from sofa_softctl.runtime.core.component import Component
    from sofa_softctl.runtime.core.data import data
    from sofa_softctl.runtime.core.data import views as data_container
    from sofa_softctl.runtime.core.link_path import LinkPath
    from sofa_softctl.runtime.core.node import Node
    from sofa_softctl.runtime.core.scripted import Controller, DataEngine

    return {
        "Base": Base,
        "BaseComponent": Component,
        "BaseContext": context.BaseContext,
        "BaseMass": Mass,
        "BaseMechanicalState": MechanicalState,
        "BaseNode": context.BaseNode,
        "BaseObject": Component,
        "ClassEntry": factory.ClassEntry,
        "Context": context.Context,
        "Controller": Controller,
        "Data": data.Data,
        "DataContainer": data_container.DataContainer,
        "DataContainerContextManager": data.WriteAccess,
        "DataDict": MappingProxyType,
        "DataEngine": DataEngine,
        "DataString": data_container.DataString,
        "DataVectorString": data_container.DataVectorString,
        "Link": link.Link,
        "LinkPath": LinkPath,
        "MassVec3d": Mass,
        "Node": Node,
        "NodeIterator": children.NodeIterator,
        "Object": Component,
        "ObjectFactory": factory.ObjectFactory,
        "TaskScheduler": importlib.import_module("Sofa.Core.TaskScheduler"),
        "WriteAccessor": data.WriteAccess,
    }


def _task_scheduler() -> dict[str, Any]:
    """SOFA's pool of threads, unused: every component starts the threads that it needs."""
    return {
        "GetHardwareThreadsCount": lambda: os.cpu_count() or 1,
        "getThreadCount": lambda: 1,
        "init": lambda nbThread=0: None,
        "stop": lambda: None,
    }


def _simulation() -> dict[str, Any]:
    from sofa_softctl.runtime.simulation import simulation

    names = (
        "animate animateNSteps init initRoot initTextures initVisual load print reset unload "
        "updateVisual"
    )
    return {name: getattr(simulation, name) for name in names.split()}


def _helper() -> dict[str, Any]:
    from sofa_softctl.runtime.helper import message

    contents = _message_functions()
    contents["MessageHandler"] = message.MessageHandler
    contents["GetVersion"] = _version
    return contents | {"System": importlib.import_module("Sofa.Helper.System")}


def _system() -> dict[str, Any]:
    from sofa_softctl.runtime.helper.repository import FileRepository

    return {"FileRepository": FileRepository}


def _gui() -> dict[str, Any]:
    from sofa_softctl.runtime.bindings import gui

    return {"BaseGUI": gui.BaseGUI, "GUIManager": gui.GUIManager}


def _imgui() -> dict[str, Any]:
    from sofa_softctl.runtime.bindings import gui

    return gui.imgui()


def _sofa_gl() -> dict[str, Any]:
    from sofa_softctl.runtime.bindings import gui

    return gui.sofa_gl()


def _sofa_types() -> dict[str, Any]:
    from sofa_softctl.runtime.bindings import vector_types

    return dict(vector_types.vector_types())


def _types() -> dict[str, Any]:
    from sofa_softctl.runtime.core.data.box import BoundingBoxData

    return {"BoundingBox": BoundingBoxData}


def _py_types() -> dict[str, Any]:
    from sofa_softctl.runtime.bindings import vector_types

    return vector_types.py_types()


def _constraint_solver() -> dict[str, Any]:
    from sofa_softctl.runtime.behavior.solvers import ConstraintSolver

    return {"ConstraintSolverImpl": ConstraintSolver}


def _deformable() -> dict[str, Any]:
    from sofa_softctl.runtime.components.spring.linear import LinearSpring, SpringForceField

    kinds = ("Rigid3d", "Vec1d", "Vec3d")
    springs = {f"SpringForceField_{kind}": SpringForceField for kind in kinds}
    return {"LinearSpring": LinearSpring, **springs}


def _linear_solver() -> dict[str, Any]:
    from sofa_softctl.runtime.behavior.solvers import LinearSolver

    names = ("Mat3x3d", "d")
    return {f"MatrixLinearSolverCompressedRowSparseMatrix{name}": LinearSolver for name in names}


def _soft_robots_inverse() -> dict[str, Any]:
    from sofa_softctl.runtime.components.softrobots_inverse.qp_solver import QPInverseProblemSolver

    return {"QPInverseProblemSolver": QPInverseProblemSolver}


def _constants() -> dict[str, Any]:
    names = ["Key", "KeyCode"]
    modules = {name: importlib.import_module(f"Sofa.constants.{name}") for name in names}
    return {"__all__": names, **modules}


def _key() -> dict[str, Any]:
    """Keys as the characters that key events carry."""
    keys = {"leftarrow": "\x12", "uparrow": "\x13", "rightarrow": "\x14", "downarrow": "\x15"}
    keys |= {"space": " ", "plus": "+", "minus": "-"}
    keys |= {letter: letter for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"}
    return keys | {f"KP_{digit}": digit for digit in "0123456789"}


def _key_code() -> dict[str, Any]:
    """Keys as the numbers of their characters."""
    return {name: ord(character) for name, character in _key().items() if len(name) != 4}


def _runtime() -> dict[str, Any]:
    from sofa_softctl.runtime.core import factory
    from sofa_softctl.runtime.helper import repository

    def import_plugin(name: str) -> bool:
        """Return True; the components of the embedded runtime are built in."""
        del name
        return True

    return {
        "DataRepository": repository.data,
        "PluginRepository": repository.plugins,
        "Timer": importlib.import_module("SofaRuntime.Timer"),
        "getCategories": factory.categories_of,
        "importPlugin": import_plugin,
        "init": lambda: None,
    }


def _timer() -> dict[str, Any]:
    from sofa_softctl.runtime.helper import timer

    names = (
        "begin clear end getInterval getRecords isEnabled setEnabled setInterval setOutputType "
        "stepBegin stepEnd"
    )
    return {name: getattr(timer, name) for name in names.split()}


_LATER = {
    "Sofa": {
        "Prefab": "sofa_softctl.runtime.bindings.prefab:Prefab",
        "SofaGL": "Sofa.SofaGL",
        "PyTypes": "Sofa.PyTypes",
    },
    "Sofa.Core": {
        "BasePrefab": "sofa_softctl.runtime.bindings.prefab:RawPrefab",
        "ContactListener": "sofa_softctl.runtime.components.collision.listener:ContactListener",
        "ForceFieldRigid3d": "sofa_softctl.runtime.bindings.force_field:ForceFieldRigid3d",
        "ForceFieldVec3d": "sofa_softctl.runtime.bindings.force_field:ForceFieldVec3d",
        "PointSetTopologyModifier": (
            "sofa_softctl.runtime.components.topology.beside:PointSetTopologyModifier"
        ),
        "RawPrefab": "sofa_softctl.runtime.bindings.prefab:RawPrefab",
    },
}
"""Contents that few scenes use, imported at their first use."""
_CONTENTS: dict[str, Callable[[], dict[str, Any]]] = {
    "Sofa": _sofa,
    "Sofa.Core": _core,
    "Sofa.Core.TaskScheduler": _task_scheduler,
    "Sofa.Gui": _gui,
    "Sofa.Helper": _helper,
    "Sofa.ImGui": _imgui,
    "Sofa.Helper.System": _system,
    "Sofa.PyTypes": _py_types,
    "Sofa.Simulation": _simulation,
    "Sofa.SofaBaseTopology": dict,
    "Sofa.SofaConstraintSolver": _constraint_solver,
    "Sofa.SofaDeformable": _deformable,
    "Sofa.SofaGL": _sofa_gl,
    "Sofa.SofaLinearSolver": _linear_solver,
    "Sofa.SofaLinearSystem": dict,
    "Sofa.SoftRobotsInverse": _soft_robots_inverse,
    "Sofa.Types": _types,
    "Sofa.constants": _constants,
    "Sofa.constants.Key": _key,
    "Sofa.constants.KeyCode": _key_code,
    "SofaImGui": dict,
    "SofaQt": dict,
    "SofaRuntime": _runtime,
    "SofaRuntime.Timer": _timer,
    "SofaTypes": _sofa_types,
}
