"""Actuators of a scene: names, quantities, limits."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sofa_softctl.errors import SceneError
from sofa_softctl.scene.control.system import ComplianceSystem
from sofa_softctl.scene.control.units import QUANTITIES
from sofa_softctl.scene.graph.nodes import nodes_of, path_of

LISTS = ("actuators", "lines")
"""Attributes of controllers that hold the components that they drive."""


@dataclass(frozen=True)
class SceneActuator:
    """One actuator of a scene, with its limits in the scene's units."""

    name: str
    """Name of the actuator."""
    effort: str
    """Quantity of its effort."""
    displacement: str
    """Quantity of its displacement."""
    effort_limits: tuple[float, float]
    """Least and greatest effort; infinite: none is set."""
    displacement_limits: tuple[float, float]
    """Least and greatest displacement; infinite: none is set."""
    displacement_step: float
    """Greatest change of the displacement in a step; infinite: none is set."""
    effort_step: float = math.inf
    """Greatest change of the effort in a step; infinite: none is set."""

    @property
    def quantities(self) -> tuple[str, str]:
        """Quantities of its commands."""
        return self.effort, self.displacement

    def limits(self, quantity: str) -> tuple[float, float]:
        """Return limits on one of its quantities."""
        return self.effort_limits if quantity == self.effort else self.displacement_limits

    def step(self, quantity: str) -> float:
        """Return the greatest change of one of its quantities in a step."""
        return self.displacement_step if quantity == self.displacement else self.effort_step


def driven_by(controller: Any) -> list[Any]:
    """Return the actuators that a controller drives, in its order."""
    for name in LISTS:
        components = getattr(controller, name, None)
        if isinstance(components, Sequence) and components and all(map(_is_actuator, components)):
            return list(components)
    return []


def _is_actuator(component: Any) -> bool:
    return hasattr(component, "getClassName") and component.getClassName() in QUANTITIES


def names_of(controller: Any, components: Sequence[Any]) -> list[str]:
    """Return names of a controller's actuators: its own, or names of their nodes."""
    names = getattr(controller, "names", None)
    if isinstance(names, Sequence) and len(names) == len(components):
        return [str(name) for name in names]
    node_names = [component.getContext().getName() for component in components]
    paths = [path_of(component) for component in components]
    return [p if node_names.count(n) > 1 else n for n, p in zip(node_names, paths, strict=True)]


def actuators_of(root: Any, controller: Any = None) -> list[SceneActuator]:
    """Return the actuators of a controller, or without one of the scene.

    Args:
        root: Root of a scene that is initialised.
        controller: Controller of the actuators; by default the first that drives any.
    """
    scene_components = [item for node in nodes_of(root) for item in node.objects]
    if controller is None:
        controller = next((item for item in scene_components if driven_by(item)), None)
    components = driven_by(controller) or [item for item in scene_components if _is_actuator(item)]
    limits = _limits(root, controller, components)
    return [
        SceneActuator(name, *QUANTITIES[component.getClassName()], *limits[i])
        for i, (name, component) in enumerate(
            zip(names_of(controller, components), components, strict=True)
        )
    ]


def _limits(root: Any, controller: Any, components: Sequence[Any]) -> list[Any]:
    """Return limits of an inverse controller's actuators, or infinite ones."""
    count = len(components)
    limits: dict[str, Any] = {}
    if components and hasattr(getattr(controller, "driven", None), "limits"):
        try:
            system = ComplianceSystem(root)
            factor = np.array([system.effort_factor(component) for component in components])
            limits = controller.driven.limits(factor)
        except SceneError:  # a scene without a constraint solver: reported when it runs
            limits = {}

    def values_of(name: str, unset: float) -> list[float]:
        values: list[float] = np.broadcast_to(limits.get(name, unset), count).astype(float).tolist()
        return values

    inf = math.inf
    rate = np.broadcast_to(getattr(controller, "effort_rate", math.inf), count).astype(float)
    if (speed := getattr(controller, "motor_speed", None)) is not None:
        slowest = np.minimum(limits.get("displacement_rate", inf), speed * root.dt.value)
        limits["displacement_rate"] = slowest
    effort = zip(values_of("effort_min", -inf), values_of("effort_max", inf), strict=True)
    displacement = zip(
        values_of("displacement_min", -inf), values_of("displacement_max", inf), strict=True
    )
    return list(
        zip(effort, displacement, values_of("displacement_rate", inf), rate.tolist(), strict=True)
    )
