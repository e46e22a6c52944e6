"""Targets of a robot from a scene after each step: efforts or displacements of actuators."""

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
    """Find the controller of the actuators, and the actuators.

    Args:
        bridge: The HardwareBridge.
        source: A controller or a list of components; by default the scene's only controller that
            drives any, in a scene without one all its actuators.

    Raises:
        SceneError: `source` is something else, there are several controllers, or no actuators.
    """
    if source is None:
        return _only_source(bridge)
    if isinstance(source, list | tuple):
        source = SimpleNamespace(actuators=list(source))
    components = driven_by(source)
    if not components:
        value = getattr(source, "actuators", source)
        options.raise_invalid_option(bridge, "source", _EXPECTED, value)
    return source, components


def _only_source(bridge: Any) -> tuple[Any, list[Any]]:
    objects = [component for node in nodes_of(bridge.root) for component in node.objects]
    controllers = [component for component in objects if driven_by(component)]
    if len(controllers) > 1:
        names = ", ".join(repr(component.getPathName()) for component in controllers)
        options.raise_invalid_option(
            bridge, "source", "the controller to follow", None, f"These drive: {names}."
        )
    if controllers:
        return controllers[0], driven_by(controllers[0])
    components = [
        component
        for component in objects
        if component.getClassName() in QUANTITIES
        and component.getClassName() != "PositionConstraint"  # effectors are made of them
    ]
    if not components:
        advice = "Make the bridge after them."
        options.raise_invalid_option(
            bridge, "source", f"{_EXPECTED}, as the scene has none so far", None, advice
        )
    return SimpleNamespace(actuators=components), components


DISPLACEMENTS = ("displacement", "volumeGrowth")
EFFORTS = ("force", "pressure")
"""Data of components, which are also values of their `valueType`."""


class Targets:
    """Reads the targets of a robot from a scene.

    An output Data of the controller that is named as what is asked for (`displacement`, `effort`)
    comes first: it belongs to the step, while SOFA's cables write their displacement a step late.
    Otherwise it is the component's `value` where that imposes it, and its own Data where not.

    Args:
        root: Root of the scene.
        controller: Controller of the actuators, or None.
        components: The actuators, in the controller's order.
        matches: Matches with the robot's actuators, in its order.
    """

    def __init__(
        self, root: Any, controller: Any, components: Sequence[Any], matches: Sequence[Match]
    ) -> None:
        self._factors = np.array([match.factor for match in matches])
        self._sources = [_reader(root, controller, components, match) for match in matches]

    def read(self) -> np.ndarray:
        """Return the targets at the end of the step [the robot's units], shape (n_actuators,).

        Raises:
            SceneError: Data has fewer numbers than actuators.
        """
        targets: np.ndarray = np.array([read() for read in self._sources]) * self._factors
        return targets


def _reader(
    root: Any, controller: Any, components: Sequence[Any], match: Match
) -> Callable[[], float]:
    component, index = components[match.index], match.index
    output = getattr(controller, "outputs", {}).get(match.source)
    if output is not None and np.shape(output.value) == (len(components),):
        return lambda: _number_at(output, index)
    effort = match.source == "effort"
    scale = 1.0 / effort_factor(root, component) if effort else 1.0
    data_name = next(
        name for name in (EFFORTS if effort else DISPLACEMENTS) if _has_data(component, name)
    )
    if _has_data(component, "valueType") and component.valueType.value == data_name:
        value_index = component.findData("valueIndex")
        position = 0 if value_index is None else int(value_index.value)
        return lambda: scale * _number_at(component.value, position)
    data = component.findData(data_name)
    return lambda: scale * _number_at(data, 0)


def _number_at(data: Any, index: int) -> float:
    values = np.ravel(data.value)
    if index >= len(values):
        raise SceneError(
            f"{data.getPathName()}: expected {index + 1} numbers or more, one an actuator, got "
            f"{len(values)}: what writes it must give each its target in every step."
        )
    return float(values[index])


def _has_data(component: Any, name: str) -> bool:
    return component.findData(name) is not None
