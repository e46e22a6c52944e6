"""Portable scenes: parameters from runSofa, and solvers by their names in several SOFAs."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from sofa_softctl.errors import SceneError
from sofa_softctl.scene.backend.backend import find_backend
from sofa_softctl.scene.graph.recipe import Recipe, has_recipe, remember_recipe
from sofa_softctl.scene.session.loader import arguments_of

Create = TypeVar("Create", bound=Callable[..., Any])

CONSTRAINT_SOLVERS = ("BlockGaussSeidelConstraintSolver", "GenericConstraintSolver")
"""The projected Gauss-Seidel solver in SOFA v25.12 and newer, and in v25.06."""


def add_constraint_solver(root: Any, **values: Any) -> Any:
    """Add the projected Gauss-Seidel constraint solver by its name in this version of SOFA.

    Args:
        root: Node to which it is added, after the plugins are loaded.
        values: Data of the solver, such as maxIterations and tolerance.
    """
    available = find_backend().component_names_among(CONSTRAINT_SOLVERS)
    return root.addObject((*available, CONSTRAINT_SOLVERS[-1])[0], **values)


def parameters_from_argv(create: Create) -> Create:
    """Decorate a createScene so that runSofa can set its parameters, like `softctl run --set`.

    `runSofa -l SofaPython3 scene.py --argv path=eight --argv radius=30` then calls
    createScene(root, path="eight", radius=30.0). Texts are converted to the defaults' types.

    Raises:
        SceneError: an argument is not NAME=VALUE, or the scene has no parameter of that name.
    """

    @functools.wraps(create)
    def createScene(root: Any, *args: Any, **values: Any) -> Any:
        has_parameters = args or values or has_recipe(root)  # a root that we have made ourselves
        if not has_parameters and _is_run_by_runsofa(create):
            values = arguments_of(create, dict(map(_parameter, sys.argv[1:])))
            remember_recipe(root, Recipe(createScene, values))
            _keep_on_path(create)
        return create(root, *args, **values)

    return createScene  # type: ignore[return-value]


def _is_run_by_runsofa(create: Any) -> bool:
    """Return True if sys.argv begins with the scene file's stem, as runSofa sets it."""
    return bool(sys.argv) and sys.argv[0] == Path(create.__code__.co_filename).stem


def _keep_on_path(create: Any) -> None:
    """Add the scene's folder to the path, for other processes and later imports.

    RunSofa has its working folder on the path, which is the scene's only while it loads.
    """
    folder = str(Path(create.__code__.co_filename).resolve().parent)
    if folder not in sys.path:
        sys.path.append(folder)


def _parameter(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise SceneError(f"A scene's parameter in --argv is NAME=VALUE, got '{text}'.")
    return name.strip(), value
