"""Actuators of a scene that a policy drives, within limits and rates."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sofa_softctl.errors import SceneError
from sofa_softctl.inverse.rows.actuators import KINDS
from sofa_softctl.learning.task.quantities import Quantities
from sofa_softctl.scene.control.system import effort_factor
from sofa_softctl.scene.control.units import value_quantity
from sofa_softctl.scene.graph.nodes import component_at
from sofa_softctl.units import Units, symbol


@dataclass(frozen=True)
class Action:
    """Actuator of a scene, such as a cable or a chamber.

    Forces and pressures are efforts, as in inverse control; SOFA's Data `value` contains them times
    a factor of the integrator. By default, the component's limits in the scene apply: to
    forces and pressures, or to displacements and volumes with their greatest change in a step.
    """

    actuator: str
    """Path of a CableConstraint, SurfacePressureConstraint or the like: '/trunk/long_up/cable'."""
    low: float | None = None
    """Least value."""
    high: float | None = None
    """Greatest value."""
    rate: float | None = None
    """Greatest change [1/time]."""
    idle: float | None = None
    """Value of an action of zero, at which untrained policies begin: by default the mean of the
    limits; 0 is better for cables, which are slack there."""
    drive: str = ""
    """`valueType` to set on the component, such as 'force', or "" to leave it."""


class Actuation:
    """Actuators of a scene, driven within their limits and rates.

    Args:
        actions: The actuators, in this order.
        root: Root of the scene.
        units: Units of the scene.

    Raises:
        SceneError: A component is missing or cannot be driven, or a limit is unknown.

    Attributes:
        rate: Greatest change of each value [1/time].
    """

    def __init__(self, actions: Sequence[Action], root: Any, units: Units | None) -> None:
        paths = [action.actuator for action in actions]
        if not paths or len(set(paths)) < len(paths):
            raise SceneError(f"Actions need actuators of their own, one at least. Got: {paths}")
        self.components = [component_at(root, path) for path in paths]
        for action, component in zip(actions, self.components, strict=True):
            _set_drive(action, component)
        self._dt = root.findData("dt")
        self._factor = np.array([_factor(root, component) for component in self.components])
        driven = zip(actions, self.components, self._factor, strict=True)
        limits = [
            _limits(action, component, factor, float(self._dt.value))
            for action, component, factor in driven
        ]
        low, high, self.rate = np.array(limits).T
        idle = 0.5 * low + 0.5 * high
        for k, action in enumerate(actions):
            idle[k] = idle[k] if action.idle is None else action.idle
        symbols = [symbol(units, value_quantity(component)) for component in self.components]
        self.quantities = Quantities(tuple(paths), tuple(symbols), low, high, idle)
        self._values = [component.findData("value") for component in self.components]
        self._first = [np.array(data.value, dtype=float) for data in self._values]
        self.asked = self.applied = np.zeros(0)
        self._begin()

    def request(self, values: np.ndarray) -> np.ndarray:
        """Request values, shape (n,), which are clipped to their bounds.

        Returns:
            True for values out of bounds, shape (n,).
        """
        self.asked = self._clip(values)
        return self.quantities.is_outside(values)

    def advance(self) -> None:
        """Move the actuators towards their requested values, as far as rates allow in a step."""
        distance = self.asked - self.applied
        if distance.any():
            limit = self.rate * float(self._dt.value)  # np.clip takes ten times as long as both
            self.applied = self.applied + np.minimum(np.maximum(distance, -limit), limit)
        for data, value in zip(self._values, (self.applied * self._factor).tolist(), strict=True):
            if data.value.tolist() != [value]:
                data.value = [value]

    def reset(self) -> None:
        """Restore the values of the scene."""
        for data, first in zip(self._values, self._first, strict=True):
            data.value = first.tolist()
        self._begin()

    def _begin(self) -> None:
        first = np.array([value[0] for value in self._first]) / self._factor
        self.asked = self._clip(first)
        self.applied = self.asked.copy()

    def _clip(self, values: np.ndarray) -> np.ndarray:
        clipped: np.ndarray = np.clip(values, self.quantities.low, self.quantities.high)
        return clipped


def _set_drive(action: Action, component: Any) -> None:
    kind = component.getClassName()
    if kind not in KINDS:
        raise SceneError(
            f"'{action.actuator}' is a {kind}, which cannot be driven; expected one of "
            f"{', '.join(KINDS)}."
        )
    if action.drive and action.drive != component.valueType.value:
        component.valueType.value = action.drive


def _factor(root: Any, component: Any) -> float:
    """Return the factor from our value to SOFA's Data `value`."""
    kind = KINDS[component.getClassName()]
    return effort_factor(root, component) if component.valueType.value == kind.drive else 1.0


def _limits(action: Action, component: Any, factor: float, dt: float) -> tuple[float, float, float]:
    """Return low, high and rate of the action, by default of the component."""
    kind = KINDS[component.getClassName()]
    if component.valueType.value == kind.drive:
        names = (kind.effort_min, kind.effort_max, "")
    else:
        names = (kind.displacement_min, kind.displacement_max, kind.displacement_rate)
    low, high, change = (_scene_limit(component, name, factor) for name in names)
    limits = (
        low if action.low is None else action.low,
        high if action.high is None else action.high,
        math.inf if change is None else change / dt,
    )
    if limits[0] is None or limits[1] is None or not limits[0] < limits[1]:
        raise SceneError(
            f"'{action.actuator}' needs limits, low below high. Got: {limits[0]} and {limits[1]}. "
            f"Give low= and high=, or set {names[0].lstrip('-')} and {names[1]} in the scene."
        )
    for name, bound, widest in ((names[0], low, limits[0]), (names[1], high, limits[1])):
        excess = 0.0 if bound is None else (bound - widest if name is names[0] else widest - bound)
        if excess > 1e-9 * (limits[1] - limits[0]):
            raise SceneError(
                f"'{action.actuator}' has the limits {limits[0]:g} to {limits[1]:g} in the task, "
                f"beyond those of the scene, {name.lstrip('-')}: {abs(bound or 0.0):g}."
            )
    rate = limits[2] if action.rate is None else action.rate
    if not rate > 0.0:
        raise SceneError(f"'{action.actuator}' needs a positive rate. Got: {rate}")
    return limits[0], limits[1], rate


def _scene_limit(component: Any, name: str, factor: float) -> float | None:
    """Return a limit of the scene, without the factor, or its negative for '-NAME'."""
    data = component.findData(name.lstrip("-")) if name else None
    if data is None or not data.isSet():
        return None
    value = float(data.value) / factor
    return -value if name.startswith("-") else value
