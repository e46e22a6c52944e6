"""What a policy drives in a scene, within limits and rates."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sofa_softctl.errors import SceneError
from sofa_softctl.inverse.rows.actuators import KINDS
from sofa_softctl.learning.task.quantities import Quantities, component_at
from sofa_softctl.scene.control.system import effort_factor
from sofa_softctl.scene.control.units import value_quantity
from sofa_softctl.units import Units, symbol


@dataclass(frozen=True)
class Action:
    """An actuator of a scene, such as a cable or a chamber.

    Forces and pressures are these, as in inverse control, whatever the time step: SOFA's Data
    `value` has them times a factor of the integrator. Limits that are left out are those that the
    scene sets on the component: of forces and pressures, or of displacements and volumes with their
    greatest change in a step.
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
    """Value of an action of zero, which is where an untrained policy begins: half way between the
    limits, or for what only pulls better 0, where it is slack."""
    drive: str = ""
    """`valueType` that is set on the component: 'force', 'displacement', ...; empty: as it is."""


class Actuation:
    """Drives the actuators of a scene: values within limits, changed no faster than their rates.

    Args:
        actions: The actuators, in this order.
        root: Root of the scene.
        units: Of the scene.

    Raises:
        SceneError: There is no such component, it cannot be driven, or a limit is unknown.

    Attributes:
        rate: Greatest change of each [1/time].
    """

    def __init__(self, actions: Sequence[Action], root: Any, units: Units | None) -> None:
        paths = [one.actuator for one in actions]
        if not paths or len(set(paths)) < len(paths):
            raise SceneError(f"Actions need actuators of their own, one at least. Got: {paths}")
        self.components = [component_at(root, path) for path in paths]
        for one, component in zip(actions, self.components, strict=True):
            _set_drive(one, component)
        self._dt = root.findData("dt")
        self._factor = np.array([_factor(root, component) for component in self.components])
        limits = [
            _limits(one, component, factor, float(self._dt.value))
            for one, component, factor in zip(actions, self.components, self._factor, strict=True)
        ]
        low, high, self.rate = np.array(limits).T
        idle = 0.5 * low + 0.5 * high
        for k, one in enumerate(actions):
            idle[k] = idle[k] if one.idle is None else one.idle
        symbols = [symbol(units, value_quantity(one)) for one in self.components]
        self.quantities = Quantities(tuple(paths), tuple(symbols), low, high, idle)
        self._first = [np.array(one.value.value, dtype=float) for one in self.components]
        self.asked = self.applied = np.zeros(0)
        self._begin()

    def ask(self, values: np.ndarray) -> np.ndarray:
        """Values from now on, shape (n,); those out of bounds are brought back to them.

        Returns:
            Which were out of bounds, shape (n,).
        """
        self.asked = self._within(values)
        return self.quantities.outside(values)

    def advance(self) -> None:
        """Move the actuators towards what was asked for, as far as rates allow in a step."""
        most = self.rate * float(self._dt.value)
        self.applied = self.applied + np.clip(self.asked - self.applied, -most, most)
        for component, value in zip(self.components, self.applied * self._factor, strict=True):
            component.value.value = [float(value)]

    def reset(self) -> None:
        """Back to the values of the scene."""
        for component, first in zip(self.components, self._first, strict=True):
            component.value.value = first.tolist()
        self._begin()

    def _begin(self) -> None:
        first = np.array([value[0] for value in self._first]) / self._factor
        self.asked = self._within(first)
        self.applied = self.asked.copy()

    def _within(self, values: np.ndarray) -> np.ndarray:
        found: np.ndarray = np.clip(values, self.quantities.low, self.quantities.high)
        return found


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
    """What SOFA's `value` is over ours."""
    kind = KINDS[component.getClassName()]
    return effort_factor(root, component) if component.valueType.value == kind.drive else 1.0


def _limits(action: Action, component: Any, factor: float, dt: float) -> tuple[float, float, float]:
    """Low, high and rate: the action's own, or those of the component."""
    kind = KINDS[component.getClassName()]
    if component.valueType.value == kind.drive:
        names = (kind.effort_min, kind.effort_max, "")
    else:
        names = (kind.displacement_min, kind.displacement_max, kind.displacement_rate)
    low, high, change = (_own(component, name, factor) for name in names)
    found = (
        low if action.low is None else action.low,
        high if action.high is None else action.high,
        math.inf if change is None else change / dt,
    )
    if found[0] is None or found[1] is None or not found[0] < found[1]:
        raise SceneError(
            f"'{action.actuator}' needs limits, low below high. Got: {found[0]} and {found[1]}. "
            f"Give low= and high=, or set {names[0].lstrip('-')} and {names[1]} in the scene."
        )
    for name, bound, widest in ((names[0], low, found[0]), (names[1], high, found[1])):
        beyond = 0.0 if bound is None else (bound - widest if name is names[0] else widest - bound)
        if beyond > 1e-9 * (found[1] - found[0]):
            raise SceneError(
                f"'{action.actuator}' has the limits {found[0]:g} to {found[1]:g} in the task, "
                f"beyond those of the scene, {name.lstrip('-')}: {abs(bound or 0.0):g}."
            )
    rate = found[2] if action.rate is None else action.rate
    if not rate > 0.0:
        raise SceneError(f"'{action.actuator}' needs a positive rate. Got: {rate}")
    return found[0], found[1], rate


def _own(component: Any, name: str, factor: float) -> float | None:
    """A limit that the scene set, without the factor; a minus before the name: its negative."""
    data = component.findData(name.lstrip("-")) if name else None
    if data is None or not data.isSet():
        return None
    value = float(data.value) / factor
    return -value if name.startswith("-") else value
