"""State of a scene, transferred between two graphs of one recipe.

Unlike `runtime.simulation.snapshot` this works from SOFA to the embedded runtime: it holds motions
and states of controllers, by path, and nothing that only one backend has.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sofa_softctl.errors import SceneError
from sofa_softctl.runtime.core import attributes
from sofa_softctl.scene.backend.backend import find_backend
from sofa_softctl.scene.graph.nodes import controllers_of, nodes_of, own_state

ROOT = ("time", "dt", "gravity", "nbComputedSteps")
"""Transferred Data of the root."""
STATE = ("position", "velocity", "rest_position")
"""Transferred Data of independent states."""
CHANGING = {
    "AssumedStrainFEMForceField": ("youngModulus", "poissonRatio", "ParameterSet"),
    "CableConstraint": ("value",),
    "JointConstraint": ("value",),
    "PositionConstraint": ("value",),
    "SurfacePressureConstraint": ("value",),
    "TetrahedronFEMForceField": ("youngModulus",),
}
"""Data written by controllers, by class of component."""
OF_EVERY_CONTROLLER = frozenset("name printLog tags bbox componentState listening".split())
"""Data of controllers that are not part of their state."""


@dataclass(frozen=True)
class SceneState:
    """State of a scene between two steps, or at the start of one."""

    root: dict[str, Any]
    """Data of the root by name."""
    data: dict[tuple[str, str], Any]
    """Values of Data by the path of the object and the name: arrays, numbers, texts."""
    carried: dict[str, Any]
    """Result of each controller's `snapshot()` by path, or None without that method."""
    attributes: dict[str, dict[str, Any]]
    """Attributes of controllers without `snapshot()`, see `runtime.core.attributes`."""


def state_of(root: Any) -> SceneState:
    """Return the state of a scene on either backend, as copies."""
    values = {name: _copy_value(root.findData(name).value) for name in ROOT if root.findData(name)}
    data: dict[tuple[str, str], Any] = {}
    for path, state in _states(root).items():
        data |= {(path, name): _copy_value(state.findData(name).value) for name in STATE}
    for node in nodes_of(root):
        for component in node.objects:
            for name in CHANGING.get(component.getClassName(), ()):
                data[component.getPathName(), name] = _copy_value(component.findData(name).value)
    carried, own_attributes = {}, {}
    for controller in _controllers(root):
        path = controller.getPathName()
        for data_field in controller.getDataFields():
            if data_field.getName() not in OF_EVERY_CONTROLLER:
                data[path, data_field.getName()] = _copy_value(data_field.value)
        carried[path] = controller.snapshot() if hasattr(controller, "snapshot") else None
        if not attributes.holds_own_state(controller, "snapshot"):
            own_attributes[path] = attributes.capture(controller)
            attributes.warn_unheld(controller, own_attributes[path])
    return SceneState(values, data, carried, own_attributes)


def apply_state(root: Any, state: SceneState) -> None:
    """Set a scene of the embedded runtime to the state of another one with the same recipe.

    Raises:
        SceneError: the two scenes differ.
    """
    from sofa_softctl.runtime.simulation.simulation import loop_of

    states = {path for path, name in state.data if name == STATE[0]}
    _check_same("states", states, _states(root).keys())
    controllers = {controller.getPathName(): controller for controller in _controllers(root)}
    _check_same("controllers", state.carried.keys(), controllers.keys())
    for name, value in state.root.items():
        _set_if_changed(root.findData(name), value)
    root.inherit()
    objects = {e.getPathName(): e for node in nodes_of(root) for e in node.objects}
    for (path, name), value in state.data.items():
        data = objects[path].findData(name) if path in objects else None
        if data is not None:
            _set_if_changed(data, value)
    for path, values in state.attributes.items():
        attributes.put_back(controllers[path], values)
    for path, carried in state.carried.items():
        if carried is not None:
            controllers[path].restore(carried)
    loop_of(root).propagate()


def _states(root: Any) -> dict[str, Any]:
    """Return the states of nodes without a mechanical mapping, by their paths."""
    unmapped = [node for node in nodes_of(root) if node.getMechanicalMapping() is None]
    states = (own_state(node) for node in unmapped)
    return {state.getPathName(): state for state in states if state is not None}


def _controllers(root: Any) -> list[Any]:
    return controllers_of(find_backend().Sofa, root)


def _check_same(kind: str, of_scene: Any, of_copy: Any) -> None:
    differing = sorted(set(of_scene) ^ set(of_copy))
    if differing:
        raise SceneError(f"the scene and its copy have different {kind}: {', '.join(differing)}")


def _copy_value(value: Any) -> Any:
    """Return a value that does not change with the scene."""
    if isinstance(value, list):
        return list(value)
    return value.copy() if isinstance(value, np.ndarray) else value


def _set_if_changed(data: Any, value: Any) -> None:
    """Set a Data unless it has the value already, which avoids recomputation."""
    present = data.value
    is_array = isinstance(value, np.ndarray)
    if not (np.array_equal(present, value) if is_array else present == value):
        data.value = value
