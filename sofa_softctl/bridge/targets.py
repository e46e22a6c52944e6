"""What a scene asks of a robot after each step: efforts or displacements of its actuators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from sofa_softctl.bridge.config.fit import Match
from sofa_softctl.bridge.config.scene_actuators import driven_by
from sofa_softctl.errors import SceneError
from sofa_softctl.scene.control import options
from sofa_softctl.scene.control.system import effort_factor
from sofa_softctl.scene.control.units import QUANTITIES
from sofa_softctl.scene.graph.nodes import nodes_of

_EXPECTED = (
    "a controller with a list `actuators`, such as an InverseController, or a list of components "
    f"({', '.join(sorted(QUANTITIES))})"
)


def find_source(bridge: Any, source: Any) -> tuple[Any, list[Any]]:
    """What drives the actuators, and these.

    Args:
        bridge: The HardwareBridge.
        source: A controller or a list of components; None: the only controller of the scene that
            drives any, in a scene without one all its actuators.

    Raises:
        SceneError: `source` is something else, there are several controllers, or no actuators.
    """
    if source is None:
        return _only_source(bridge)
    if isinstance(source, list | tuple):
        source = SimpleNamespace(actuators=list(source))
    found = driven_by(source)
    if not found:
        shown = getattr(source, "actuators", source)
        options.wrong(bridge, "source", _EXPECTED, shown)
    return source, found


def _only_source(bridge: Any) -> tuple[Any, list[Any]]:
    entries = [entry for node in nodes_of(bridge.root) for entry in node.objects]
    driving = [entry for entry in entries if driven_by(entry)]
    if len(driving) > 1:
        names = ", ".join(repr(entry.getPathName()) for entry in driving)
        options.wrong(bridge, "source", "the controller to follow", None, f"These drive: {names}.")
    if driving:
        return driving[0], driven_by(driving[0])
    known = [
        entry
        for entry in entries
        if entry.getClassName() in QUANTITIES
        and entry.getClassName() != "PositionConstraint"  # effectors are made of them
    ]
    if not known:
        advice = "Make the bridge after them."
        options.wrong(bridge, "source", f"{_EXPECTED}, as the scene has none so far", None, advice)
    return SimpleNamespace(actuators=known), known


DISPLACEMENTS = ("displacement", "volumeGrowth")
EFFORTS = ("force", "pressure")
"""Data of components, which are also the names of what their `value` may be, in `valueType`."""


class Targets:
    """Reads the targets of a robot from a scene.

    An output Data of the controller that is named as what is asked for (`displacement`, `effort`)
    comes first: it is that of the step, while SOFA's cables write their displacement a step late.
    Otherwise it is the component's `value` where that imposes it, and its own Data where not.

    Args:
        root: Root of the scene.
        controller: What drives the actuators; None: nobody is known.
        components: The actuators, in the controller's order.
        matches: Those of the robot, in its order.
    """

    def __init__(
        self, root: Any, controller: Any, components: Sequence[Any], matches: Sequence[Match]
    ) -> None:
        self._factors = np.array([match.factor for match in matches])
        self._sources = [_reader(root, controller, components, match) for match in matches]

    def read(self) -> np.ndarray:
        """Targets at the end of the step [the robot's units], shape (n_actuators,).

        Raises:
            SceneError: Data has fewer numbers than actuators.
        """
        found: np.ndarray = np.array([read() for read in self._sources]) * self._factors
        return found


def _reader(
    root: Any, controller: Any, components: Sequence[Any], match: Match
) -> Callable[[], float]:
    component, index = components[match.index], match.index
    output = getattr(controller, "outputs", {}).get(match.source)
    if output is not None and np.shape(output.value) == (len(components),):
        return lambda: _number(output, index)
    effort = match.source == "effort"
    scale = 1.0 / effort_factor(root, component) if effort else 1.0
    kind = next(name for name in (EFFORTS if effort else DISPLACEMENTS) if _has(component, name))
    if _has(component, "valueType") and component.valueType.value == kind:
        chosen = component.findData("valueIndex")
        place = 0 if chosen is None else int(chosen.value)
        return lambda: scale * _number(component.value, place)
    data = component.findData(kind)
    return lambda: scale * _number(data, 0)


def _number(data: Any, index: int) -> float:
    values = np.ravel(data.value)
    if index >= len(values):
        raise SceneError(
            f"{data.getPathName()}: expected {index + 1} numbers or more, one an actuator, got "
            f"{len(values)}: what writes it must give each its target in every step."
        )
    return float(values[index])


def _has(component: Any, name: str) -> bool:
    return component.findData(name) is not None
