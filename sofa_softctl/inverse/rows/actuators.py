"""Actuators of inverse control: components, the Data that drive them, and their limits."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from sofa_softctl.errors import SceneError
from sofa_softctl.scene.control.units import quantities_of
from sofa_softctl.scene.graph.nodes import path_of


class ActuatorType(NamedTuple):
    """Names of a component's Data for driving it; empty: there is none."""

    drive: str
    """`valueType` for which `value` is the multiplier."""
    effort_min: str
    """Least multiplier."""
    effort_max: str
    """Greatest multiplier."""
    displacement_min: str
    """Least displacement; a minus: its negative."""
    displacement_max: str
    """Greatest displacement."""
    displacement_rate: str
    """Greatest change of the displacement in a step."""


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
"""Limits of an actuator, with values for those that the scene does not set."""


class Actuators:
    """Actuators of a controller: their limits, and their values in the forward solver.

    Args:
        components: One component of KINDS each, or a YoungModulusActuator.
        names: Names in messages; by default those of their nodes.

    Raises:
        SceneError: there is no component, or one cannot be driven.
    """

    def __init__(self, components: Sequence[Any], names: Sequence[str] | None) -> None:
        self.components = list(components)
        if not self.components:
            raise SceneError("InverseController needs at least one actuator.")
        paths = [entry.getPathName() for entry in self.components]
        if twice := [path for path in paths if paths.count(path) > 1]:
            raise SceneError(f"InverseController drives '{twice[0]}' twice. Name it once.")
        self.kinds = [_kind(entry) for entry in self.components]
        self.names = tuple(names or _names(self.components))
        self.quantities = [quantities_of(entry) for entry in self.components]
        self.given: dict[str, Any] = {}
        """Limits that the user gave the controller [effort, displacement], by the names of LIMITS:
        a number or shape (n_a,) each."""
        self.changes = np.array([kind is None for kind in self.kinds])
        """Which efforts are changes in one step, as of a Young's modulus."""
        self._first = [None if k is None else np.array(c.value.value) for c, k in self._both()]
        self._seen: list[Any] = [0 if value is None else value for value in self._first]
        self._step = -1.0
        self._told: list[Any] = []
        self._data = {
            name: [_data(entry, getattr(kind, name, "")) for entry, kind in self._both()]
            for name in LIMITS
        }

    def newly_set(self, step: float) -> list[Any]:
        """Return components whose value somebody else has set, the first time it happens.

        Args:
            step: Number of the step, as time by dt: a snapshot that returns sets values, too.
        """
        values = [np.array(entry.value.value if kind else 0) for entry, kind in self._both()]
        new = [
            entry
            for entry, now, before in zip(self.components, values, self._seen, strict=False)
            if not np.array_equal(now, before) and entry not in self._told
        ]
        new = new if abs(step - self._step - 1.0) < 0.01 else []
        self._seen, self._step = values, step
        self._told += new
        return new

    def _both(self) -> list[tuple[Any, ActuatorType | None]]:
        return list(zip(self.components, self.kinds, strict=True))

    @property
    def count(self) -> int:
        """Number of actuators."""
        return len(self.components)

    def limits(self, factor: np.ndarray) -> dict[str, Any]:
        """Limits of this step, by the names of InverseProblem; a number where none is set.

        Args:
            factor: Multiplier of one unit of effort, shape (n_a,).
        """
        found = {name: self._limit(name) for name in LIMITS}
        for name in ("effort_min", "effort_max"):
            if isinstance(found[name], np.ndarray):
                found[name] = found[name] / factor
        for name, limit in self.given.items():
            if isinstance(limit, np.ndarray):
                tighter = np.maximum if name.endswith("_min") else np.minimum
                found[name] = tighter(found[name], limit)
        if self.changes.any():
            self._add_changes(found, factor)
        return found

    def own_limit(self, name: str, actuator: int) -> tuple[str, Any, float] | None:
        """Limit that the scene set on a component.

        Returns:
            Name of the Data, the Data, and the factor from its value to the limit's; None where
            the scene set none.
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

    def _add_changes(self, found: dict[str, Any], factor: np.ndarray) -> None:
        for name in ("effort_min", "effort_max"):
            found[name] = np.array(np.broadcast_to(found[name], self.count), dtype=float)
            for i in np.flatnonzero(self.changes):
                found[name][i] = self.components[i].limits()[name] / factor[i]

    def lasting(self, effort: np.ndarray) -> np.ndarray:
        """Efforts to hold, shape (n_a,): changes become zero."""
        found: np.ndarray = np.where(self.changes, 0.0, effort)
        return found

    def keep(self, multiplier: np.ndarray) -> None:
        """Set the multipliers that the forward solver imposes, shape (n_a,)."""
        for (entry, kind), value in zip(self._both(), multiplier, strict=True):
            if kind is not None:
                entry.value.value = [value]
        self._seen = []

    def release(self) -> None:
        """Restore the values of the scene."""
        for entry, first in zip(self.components, self._first, strict=True):
            if first is not None:
                entry.value.value = first
        self._seen = []


def _kind(component: Any) -> ActuatorType | None:
    name = component.getClassName()
    if name == "YoungModulusActuator" and hasattr(component, "limits"):
        return None
    kind = KINDS.get(name)
    where = f"InverseController cannot drive {component.getPathName()}"
    if kind is None:
        raise SceneError(
            f"{where}, a {name}: it drives {', '.join(KINDS)}, and in the embedded runtime "
            "YoungModulusActuator."
        )
    if component.valueType.value != kind.drive:
        raise SceneError(
            f"{where}: it needs a {name} with valueType='{kind.drive}', got "
            f"'{component.valueType.value}'."
        )
    return kind


def _names(components: Sequence[Any]) -> list[str]:
    """Names of the nodes; where they would not tell actuators apart, the components' paths."""
    nodes = [entry.getContext() for entry in components]
    paths = [node.getPathName() for node in nodes]
    names = [
        f"{node.getName()}.{entry.getName()}" if paths.count(path) > 1 else node.getName()
        for node, path, entry in zip(nodes, paths, components, strict=True)
    ]
    return [
        path_of(entry) if names.count(name) > 1 else name
        for name, entry in zip(names, components, strict=True)
    ]


def _data(component: Any, name: str) -> tuple[float, Any]:
    sign = -1.0 if name.startswith("-") else 1.0
    return sign, component.findData(name.lstrip("-")) if name else None
