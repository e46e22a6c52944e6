"""Control of soft robots in SOFA scenes, with or without SOFA installed.

Importing the package makes `import Sofa` work where SOFA is not installed; nothing else happens,
and every name below is loaded when it is first used.
"""

from __future__ import annotations

import importlib
from typing import Any

from sofa_softctl.base.registry import Registry
from sofa_softctl.runtime.bindings import modules as _modules

_modules.install()


def _load_plugins() -> None:
    importlib.import_module("sofa_softctl.plugins").plugins()


Registry.load_plugins = staticmethod(_load_plugins)

_HOMES = {
    "FrictionWithoutCreep": "sofa_softctl.scene.control.contacts",
    "Grasp": "sofa_softctl.inverse.rows.grasp",
    "HardwareBridge": "sofa_softctl.bridge.controller",
    "IdentificationController": "sofa_softctl.identification.online.controller",
    "InverseController": "sofa_softctl.inverse.controller",
    "InverseProblem": "sofa_softctl.qpcc.problem.problem",
    "InverseSolution": "sofa_softctl.qpcc.solve.solution",
    "LibraryController": "sofa_softctl.library.playing.controller",
    "LookAhead": "sofa_softctl.inverse.aspects.look_ahead",
    "Playback": "sofa_softctl.scene.control.playback",
    "Record": "sofa_softctl.record.record",
    "SceneController": "sofa_softctl.scene.control.controller",
    "SearchOptions": "sofa_softctl.qpcc.problem.modes",
    "Session": "sofa_softctl.scene.session.session",
    "Sofa": "Sofa",
    "Status": "sofa_softctl.status",
    "SurrogateController": "sofa_softctl.surrogate.scene.controller",
    "add_center_effector": "sofa_softctl.inverse.rows.effectors",
    "add_constraint_solver": "sofa_softctl.scene.session.portable",
    "add_effector": "sofa_softctl.inverse.rows.effectors",
    "add_elasticity": "sofa_softctl.scene.session.elasticity",
    "add_line_stiffness": "sofa_softctl.scene.control.line_stiffness",
    "controller": "sofa_softctl.plugins",
    "errors": "sofa_softctl.errors",
    "goal": "sofa_softctl.scene.control.goal",
    "hookimpl": "sofa_softctl.hooks",
    "open_view": "sofa_softctl.view.browser.view",
    "parameters_from_argv": "sofa_softctl.scene.session.portable",
    "read_record": "sofa_softctl.record.record",
    "run": "sofa_softctl.view.result",
    "solve_inverse": "sofa_softctl.qpcc.solve.solve",
}

_ON_BACKEND = (
    "FrictionWithoutCreep",
    "HardwareBridge",
    "IdentificationController",
    "InverseController",
    "LibraryController",
    "Playback",
    "SceneController",
    "Sofa",
    "SurrogateController",
    "add_elasticity",
    "add_line_stiffness",
)
"""Names that import Sofa: the backend is chosen first, since SOFA need not be on the path."""

__all__ = [  # noqa: F822  (loaded by __getattr__)
    "FrictionWithoutCreep",
    "Grasp",
    "HardwareBridge",
    "IdentificationController",
    "InverseController",
    "InverseProblem",
    "InverseSolution",
    "LibraryController",
    "LookAhead",
    "Playback",
    "Record",
    "SceneController",
    "SearchOptions",
    "Session",
    "Sofa",
    "Status",
    "SurrogateController",
    "add_center_effector",
    "add_constraint_solver",
    "add_effector",
    "add_elasticity",
    "add_line_stiffness",
    "controller",
    "errors",
    "goal",
    "hookimpl",
    "open_view",
    "parameters_from_argv",
    "read_record",
    "run",
    "solve_inverse",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'sofa_softctl' has no attribute '{name}'")
    if name in _ON_BACKEND:
        importlib.import_module("sofa_softctl.scene.backend.backend").find_backend()
    module = importlib.import_module(_HOMES[name])
    if module.__name__.rpartition(".")[2] == name:
        return module
    return getattr(module, {"solve_inverse": "solve"}.get(name, name))


def __dir__() -> list[str]:
    return __all__
