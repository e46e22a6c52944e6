"""Declarations of a scene file for planning: SURROGATE and TASKS."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from sofa_softctl.errors import ReachError, SceneError, SoftctlError
from sofa_softctl.scene.session.loader import arguments_of, load_scene
from sofa_softctl.surrogate.grid.embedding import Layout
from sofa_softctl.surrogate.models.robot import PlannedRobot
from sofa_softctl.surrogate.models.task import Task

MakeTask = Callable[..., Task]
"""(layout, fraction of the time at each instant (K,), task parameters) -> task.

With a parameter `start` without default, it gets the outputs at the start of the plan, (n,)."""


def read_surrogate(scene: str | Path) -> dict[str, Any]:
    """Return a scene file's SURROGATE, arguments of `PlannedRobot`.

    Raises:
        SceneError: The file has no SURROGATE, or one with unknown arguments.
    """
    surrogate = getattr(load_scene(scene).module, "SURROGATE", None)
    if not isinstance(surrogate, Mapping):
        raise SceneError(
            f"'{scene}' has no dictionary SURROGATE, which says how the map of its equilibria is "
            "made, see scenes/laser_arm.py."
        )
    unknown = [key for key in surrogate if key not in SURROGATE_NAMES]
    if unknown:
        raise SceneError(
            f"'{scene}': SURROGATE has no '{unknown[0]}'. Known: {', '.join(SURROGATE_NAMES)}."
        )
    if "scale" not in surrogate:
        raise SceneError(f"'{scene}': SURROGATE needs 'scale', the tension of a control of 1.")
    return dict(surrogate)


def read_task(scene: str | Path, name: str) -> tuple[dict[str, Any], MakeTask]:
    """Return a scene file's SURROGATE, and one of its TASKS.

    Raises:
        SceneError: The file has no SURROGATE, one with unknown arguments, or not this task.
    """
    tasks = getattr(load_scene(scene).module, "TASKS", {})
    if not isinstance(tasks, Mapping) or name not in tasks:
        names = ", ".join(sorted(map(str, tasks))) if isinstance(tasks, Mapping) else ""
        raise SceneError(
            f"'{scene}' has no task '{name}' to plan. It has: {names or 'none'}. A scene file that "
            "can be planned for has the dictionaries SURROGATE and TASKS, see scenes/laser_arm.py."
        )
    return read_surrogate(scene), tasks[name]


def make_task(
    make: MakeTask,
    layout: Layout,
    instants: int,
    parameters: Mapping[str, Any] | None = None,
    start: Callable[[], np.ndarray] | None = None,
) -> Task:
    """Create the task over K instants.

    Args:
        make: Function of the scene file.
        layout: Layout of the outputs.
        instants: Number K of instants.
        parameters: Values of the function's further parameters; texts are converted.
        start: Returns the outputs at the start of the plan [length], shape (n,); called if the
            function takes them.

    Raises:
        ParameterError: The function does not take a parameter or its value.
        ValueError: The function did not return a `Task`.
    """
    function = partial(make, layout)
    if start is not None and _asks_for_start(make):
        function = _given_start(make, layout, start())
    values = arguments_of(function, parameters or {}, who="The task", option="--task-set")
    task = function(np.arange(instants) / (instants - 1), **values)
    if not isinstance(task, Task):
        raise ValueError(f"the function must return a Task. Got: {type(task).__name__}")
    return task


def _asks_for_start(make: MakeTask) -> bool:
    parameter = inspect.signature(make).parameters.get("start")
    return parameter is not None and parameter.default is parameter.empty


def _given_start(make: MakeTask, layout: Layout, start: np.ndarray) -> partial[Task]:
    """Bind `start` of a function, which users do not give."""
    signature = inspect.signature(make)
    _, *parameters = signature.parameters.values()
    function = partial(make, layout, start=start)
    own_parameters = [parameter for parameter in parameters if parameter.name != "start"]
    function.__signature__ = signature.replace(parameters=own_parameters)  # type: ignore[attr-defined]
    return function


@contextmanager
def at_fault(location: str) -> Iterator[None]:
    """Raise a `ValueError` as a SceneError with the part of the scene file and its line.

    Errors of this package, such as of a store, contain their location already.

    Raises:
        SceneError: In place of a ValueError.
    """
    try:
        yield
    except ReachError as error:
        raise ReachError(f"{location}: {error}") from error
    except SoftctlError:
        raise
    except ValueError as error:
        raise SceneError(f"{location}: {error}").with_traceback(error.__traceback__) from error


def _names() -> tuple[str, ...]:
    """Return the arguments of `PlannedRobot` that a scene file gives."""
    callers = ("self", "scene", "parameters", "store", "executor", "exact")
    return tuple(n for n in inspect.signature(PlannedRobot.__init__).parameters if n not in callers)


SURROGATE_NAMES = _names()
"""Valid arguments in SURROGATE."""
