"""Actuators of inverse control: components, the Data that drive them, and their limits."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from sofa_softctl.errors import SceneError
from sofa_softctl.scene.control.access import watch
from sofa_softctl.scene.control.units import quantities_of
from sofa_softctl.scene.graph.nodes import path_of


class ActuatorType(NamedTuple):
    """Names of the Data that drive a component, "" if it has none."""

    drive: str
    """`valueType` for which `value` is the multiplier."""
    effort_min: str
    """Smallest multiplier."""
    effort_max: str
    """Largest multiplier."""
    displacement_min: str
    """Smallest displacement; a leading minus: the Data holds its negative."""
    displacement_max: str
    """Largest displacement."""
    displacement_rate: str
    """Largest change of the displacement in a step."""


KINDS = {
    "CableConstraint": ActuatorType(
        "force", "minForce", "maxForce", "-maxNegativeDisp", "maxPositiveDisp",
        "maxDispVariation",
    ),
    "PositionConstraint": ActuatorType(
        "force", "minForce", "maxForce", "-maxNegativeDisp", "maxPositiveDisp", ""
    ),
    "JointConstraint": ActuatorType(
        "force", "minForce", "maxForce", "minDisplacement", "maxDisplacement", ""
    ),
    "SurfacePressureConstraint": ActuatorType(
        "pressure", "minPressure", "maxPressure", "minVolumeGrowth", "maxVolumeGrowth",
        "maxVolumeGrowthVariation",
    ),
}  # fmt: skip
"""Components with one row whose multiplier is the effort, times the integrator's factor."""
LIMITS = {
    "effort_min": -math.inf,
    "effort_max": math.inf,
    "displacement_min": -math.inf,
    "displacement_max": math.inf,
    "displacement_rate": math.inf,
}
"""Default limits of an actuator, for those that the scene does not set."""


class Actuators:
    """Actuators of a controller: their limits, and their values in the forward solver.

    Args:
        components: One component of KINDS each, or a YoungModulusActuator.
        names: Names in messages; the names of their nodes by default.

    Raises:
        SceneError: there is no component, or one cannot be driven.
    """

    def __init__(self, components: Sequence[Any], names: Sequence[str] | None) -> None:
        self.components = list(components)
        if not self.components:
            raise SceneError("InverseController needs at least one actuator.")
        paths = [component.getPathName() for component in self.components]
        if twice := [path for path in paths if paths.count(path) > 1]:
            raise SceneError(f"InverseController drives '{twice[0]}' twice. Name it once.")
        self.kinds = [_kind(component) for component in self.components]
        self.names = tuple(names or _names(self.components))
        self.quantities = [quantities_of(component) for component in self.components]
        self.options: dict[str, Any] = {}
        """Limits that the user gave the controller [effort, displacement], by the names of LIMITS:
        a number or shape (n_a,) each."""
        self.is_change = np.array([kind is None for kind in self.kinds])
        """True for efforts that are changes in one step, as of a Young's modulus, shape (n_a,)."""
        self.has_changes = bool(self.is_change.any())
        self._values = [None if kind is None else c.findData("value") for c, kind in self._pairs()]
        self._initial = [() if data is None else tuple(data.value) for data in self._values]
        self._were_set = watch([data for data in self._values if data is not None])
        self._last = self._initial
        self._step = -1.0
        self._reported: list[Any] = []
        self._data = {
            name: [_data(component, getattr(kind, name, "")) for component, kind in self._pairs()]
            for name in LIMITS
        }
        own_limits = (data for pairs in self._data.values() for _, data in pairs)
        self.own_limits = [data for data in own_limits if data is not None]
        """Data of the components that limit them."""

    def newly_set(self, step: float) -> list[Any]:
        """Return components whose value somebody else has set, the first time it happens.

        Args:
            step: Number of the step, as time by dt: a snapshot that returns sets values, too.
        """
        is_next, self._step = abs(step - self._step - 1.0) < 0.01, step
        if not self._were_set():
            return []
        values = [() if data is None else tuple(data.value) for data in self._values]
        new = []
        if values != self._last and is_next:
            new = [
                component
                for component, value, last in zip(self.components, values, self._last, strict=False)
                if value != last and component not in self._reported
            ]
        self._last = values
        self._reported += new
        return new

    def _pairs(self) -> list[tuple[Any, ActuatorType | None]]:
        return list(zip(self.components, self.kinds, strict=True))

    @property
    def count(self) -> int:
        """Number of actuators."""
        return len(self.components)

    def limits(self, factor: np.ndarray) -> dict[str, Any]:
        """Return the limits of this step by the names of InverseProblem; a number if none is set.

        Args:
            factor: Multiplier of one unit of effort, shape (n_a,).
        """
        limits = {name: self._limit(name) for name in LIMITS}
        for name in ("effort_min", "effort_max"):
            if isinstance(limits[name], np.ndarray):
                limits[name] = limits[name] / factor
        for name, limit in self.options.items():
            if isinstance(limit, np.ndarray):
                tighter = np.maximum if name.endswith("_min") else np.minimum
                limits[name] = tighter(limits[name], limit)
        if self.has_changes:
            self._add_changes(limits, factor)
        return limits

    def own_limit(self, name: str, actuator: int) -> tuple[str, Any, float] | None:
        """Return the limit that the scene set on a component.

        Returns:
            Name of the Data, the Data, and the factor from its value to the limit; None if the
            scene set no limit.
        """
        sign, data = self._data[name][actuator]
        if data is None or not data.isSet():
            return None
        return getattr(self.kinds[actuator], name).lstrip("-"), data, sign

    def _limit(self, name: str) -> Any:
        unset = LIMITS[name]
        values = [
            unset if data is None or not data.isSet() else sign * data.value
            for sign, data in self._data[name]
        ]
        return unset if values.count(unset) == len(values) else np.array(values)

    def _add_changes(self, limits: dict[str, Any], factor: np.ndarray) -> None:
        for name in ("effort_min", "effort_max"):
            limits[name] = np.array(np.broadcast_to(limits[name], self.count), dtype=float)
            for i in np.flatnonzero(self.is_change):
                limits[name][i] = self.components[i].limits()[name] / factor[i]

    def held_effort(self, effort: np.ndarray) -> np.ndarray:
        """Return the efforts to hold, shape (n_a,): changes become zero."""
        return np.where(self.is_change, 0.0, effort) if self.has_changes else effort

    def impose(self, multiplier: np.ndarray) -> None:
        """Set the multipliers that the forward solver imposes, shape (n_a,)."""
        for data, value in zip(self._values, multiplier, strict=True):
            if data is not None:
                data.value = [value]
        self._last = []

    def release(self) -> None:
        """Restore the values of the scene."""
        for data, value in zip(self._values, self._initial, strict=True):
            if data is not None:
                data.value = value
        self._last = []


def _kind(component: Any) -> ActuatorType | None:
    name = component.getClassName()
    if name == "YoungModulusActuator" and hasattr(component, "limits"):
        return None
    kind = KINDS.get(name)
    prefix = f"InverseController cannot drive {component.getPathName()}"
    if kind is None:
        raise SceneError(
            f"{prefix}, a {name}: it drives {', '.join(KINDS)}, and in the embedded runtime "
            "YoungModulusActuator."
        )
    if component.valueType.value != kind.drive:
        raise SceneError(
            f"{prefix}: it needs a {name} with valueType='{kind.drive}', got "
            f"'{component.valueType.value}'."
        )
    return kind


def _names(components: Sequence[Any]) -> list[str]:
    """Return the names of the nodes, or the components' paths if these names are ambiguous."""
    nodes = [component.getContext() for component in components]
    paths = [node.getPathName() for node in nodes]
    names = [
        f"{node.getName()}.{component.getName()}" if paths.count(path) > 1 else node.getName()
        for node, path, component in zip(nodes, paths, components, strict=True)
    ]
    return [
        path_of(component) if names.count(name) > 1 else name
        for name, component in zip(names, components, strict=True)
    ]


def _data(component: Any, name: str) -> tuple[float, Any]:
    sign = -1.0 if name.startswith("-") else 1.0
    return sign, component.findData(name.lstrip("-")) if name else None
