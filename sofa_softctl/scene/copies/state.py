"""State of a scene, transferred between two graphs of one recipe.

Unlike `runtime.simulation.snapshot` this works from SOFA to the embedded runtime: it holds what
moves and what controllers carry, by path, and nothing that only one of the two has.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sofa_softctl.errors import SceneError
from sofa_softctl.runtime.core import attributes
from sofa_softctl.scene.backend.backend import find_backend
from sofa_softctl.scene.control.steps import controllers_of
from sofa_softctl.scene.graph.nodes import nodes_of, own_state

ROOT = ("time", "dt", "gravity", "nbComputedSteps")
"""Data of the root that take part."""
STATE = ("position", "velocity", "rest_position")
"""Data of independent states; mapped ones follow them."""
CHANGING = {
    "CableConstraint": ("value",),
    "JointConstraint": ("value",),
    "PositionConstraint": ("value",),
    "SurfacePressureConstraint": ("value",),
    "TetrahedronFEMForceField": ("youngModulus",),
}
"""Data that controllers write, by the class of component."""
OF_EVERY_CONTROLLER = frozenset("name printLog tags bbox componentState listening".split())
"""Data of controllers that say nothing of their state."""


@dataclass(frozen=True)
class SceneState:
    """State of a scene, between two steps or at the begin of one."""

    root: dict[str, Any]
    """Data of the root by name."""
    data: dict[tuple[str, str], Any]
    """Value of a Data by the path of its object and its own name: arrays, numbers, texts."""
    carried: dict[str, Any]
    """What the `snapshot()` of each controller gave, by its path; None for those that have none."""
    attributes: dict[str, dict[str, Any]]
    """Of each of the scene's own that has none: its attributes, see `runtime.core.attributes`."""


def state_of(root: Any) -> SceneState:
    """State of a scene on either backend, as copies."""
    values = {name: _copied(root.findData(name).value) for name in ROOT if root.findData(name)}
    data: dict[tuple[str, str], Any] = {}
    for path, state in _states(root).items():
        data |= {(path, name): _copied(state.findData(name).value) for name in STATE}
    for node in nodes_of(root):
        for entry in node.objects:
            for name in CHANGING.get(entry.getClassName(), ()):
                data[entry.getPathName(), name] = _copied(entry.findData(name).value)
    carried, own = {}, {}
    for controller in _controllers(root):
        path = controller.getPathName()
        for found in controller.getDataFields():
            if found.getName() not in OF_EVERY_CONTROLLER:
                data[path, found.getName()] = _copied(found.value)
        carried[path] = controller.snapshot() if hasattr(controller, "snapshot") else None
        if not attributes.holds_own_state(controller, "snapshot"):
            own[path] = attributes.capture(controller)
            attributes.warn_unheld(controller, own[path])
    return SceneState(values, data, carried, own)


def put_motion(root: Any, motion: SceneState) -> None:
    """Bring a scene of the embedded runtime to where another one of the same recipe stands.

    Raises:
        SceneError: the two scenes differ.
    """
    from sofa_softctl.runtime.simulation.simulation import loop_of

    states = {path for path, name in motion.data if name == STATE[0]}
    _check_same("states", states, _states(root).keys())
    known = {entry.getPathName(): entry for entry in _controllers(root)}
    _check_same("controllers", motion.carried.keys(), known.keys())
    for name, value in motion.root.items():
        _put(root.findData(name), value)
    root.inherit()
    objects = {e.getPathName(): e for node in nodes_of(root) for e in node.objects}
    for (path, name), value in motion.data.items():
        data = objects[path].findData(name) if path in objects else None
        if data is not None:
            _put(data, value)
    for path, held in motion.attributes.items():
        attributes.put_back(known[path], held)
    for path, carried in motion.carried.items():
        if carried is not None:
            known[path].restore(carried)
    loop_of(root).propagate()


def _states(root: Any) -> dict[str, Any]:
    """The independent states, and those that nothing moves, by path."""
    alone = [node for node in nodes_of(root) if node.getMechanicalMapping() is None]
    found = (own_state(node) for node in alone)
    return {state.getPathName(): state for state in found if state is not None}


def _controllers(root: Any) -> list[Any]:
    return controllers_of(find_backend().Sofa, root)


def _check_same(what: str, of_scene: Any, of_copy: Any) -> None:
    differing = sorted(set(of_scene) ^ set(of_copy))
    if differing:
        raise SceneError(f"the scene and its copy have different {what}: {', '.join(differing)}")


def _copied(value: Any) -> Any:
    """A value that does not change when the scene goes on."""
    if isinstance(value, list):
        return list(value)
    return value.copy() if isinstance(value, np.ndarray) else value


def _put(data: Any, value: Any) -> None:
    """Set a Data; one that has this value stays untouched, so that nothing is computed anew."""
    present = data.value
    array = isinstance(value, np.ndarray)
    if not (np.array_equal(present, value) if array else present == value):
        data.value = value
