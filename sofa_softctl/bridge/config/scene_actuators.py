"""Actuators of a scene as the bridge sees them: names, quantities, limits."""

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
    """Its name."""
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
        """In what it can be commanded."""
        return self.effort, self.displacement

    def limits(self, quantity: str) -> tuple[float, float]:
        """Limits on one of its quantities."""
        return self.effort_limits if quantity == self.effort else self.displacement_limits

    def step(self, quantity: str) -> float:
        """Greatest change of one of its quantities in a step."""
        return self.displacement_step if quantity == self.displacement else self.effort_step


def driven_by(controller: Any) -> list[Any]:
    """Components that a controller drives, in its order; empty: none that the bridge knows."""
    for name in LISTS:
        found = getattr(controller, name, None)
        if isinstance(found, Sequence) and found and all(map(_known, found)):
            return list(found)
    return []


def _known(component: Any) -> bool:
    return hasattr(component, "getClassName") and component.getClassName() in QUANTITIES


def names_of(controller: Any, components: Sequence[Any]) -> list[str]:
    """Names of a controller's actuators: its own, or those of their nodes."""
    names = getattr(controller, "names", None)
    if isinstance(names, Sequence) and len(names) == len(components):
        return [str(name) for name in names]
    found = [each.getContext().getName() for each in components]
    paths = [path_of(each) for each in components]
    return [p if found.count(n) > 1 else n for n, p in zip(found, paths, strict=True)]


def actuators_of(root: Any, controller: Any = None) -> list[SceneActuator]:
    """Actuators of a controller; without one, of the whole scene, by the names of their nodes.

    Args:
        root: Root of a scene that is initialised.
        controller: What drives them; None: the first controller that drives any.
    """
    entries = [entry for node in nodes_of(root) for entry in node.objects]
    if controller is None:
        controller = next((each for each in entries if driven_by(each)), None)
    components = driven_by(controller) or [each for each in entries if _known(each)]
    limits = _limits(root, controller, components)
    return [
        SceneActuator(name, *QUANTITIES[component.getClassName()], *limits[i])
        for i, (name, component) in enumerate(
            zip(names_of(controller, components), components, strict=True)
        )
    ]


def _limits(root: Any, controller: Any, components: Sequence[Any]) -> list[Any]:
    """Limits of an inverse controller's actuators; of others, none are known."""
    count = len(components)
    found: dict[str, Any] = {}
    if components and hasattr(getattr(controller, "driven", None), "limits"):
        try:
            system = ComplianceSystem(root)
            factor = np.array([system.effort_factor(each) for each in components])
            found = controller.driven.limits(factor)
        except SceneError:  # a scene without a constraint solver: reported when it runs
            found = {}

    def each(name: str, unset: float) -> list[float]:
        values: list[float] = np.broadcast_to(found.get(name, unset), count).astype(float).tolist()
        return values

    inf = math.inf
    rate = np.broadcast_to(getattr(controller, "effort_rate", math.inf), count).astype(float)
    if (speed := getattr(controller, "motor_speed", None)) is not None:
        moved_rate = np.minimum(found.get("displacement_rate", inf), speed * root.dt.value)
        found["displacement_rate"] = moved_rate
    effort = zip(each("effort_min", -inf), each("effort_max", inf), strict=True)
    moved = zip(each("displacement_min", -inf), each("displacement_max", inf), strict=True)
    return list(zip(effort, moved, each("displacement_rate", inf), rate.tolist(), strict=True))
