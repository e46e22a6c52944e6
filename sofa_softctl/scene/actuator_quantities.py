"""Quantities of actuators: the one place that knows what their efforts and displacements are."""

from __future__ import annotations

from typing import Any, NamedTuple


class ActuatorQuantities(NamedTuple):
    """Quantities whose units `units` has."""

    effort: str
    """Quantity of the effort, such as 'pressure'."""
    displacement: str
    """Quantity of the displacement, such as 'volume'."""


QUANTITIES = {
    "CableConstraint": ActuatorQuantities("force", "length"),
    "CableActuator": ActuatorQuantities("force", "length"),
    "PositionConstraint": ActuatorQuantities("force", "length"),
    "JointConstraint": ActuatorQuantities("torque", "angle"),
    "JointActuator": ActuatorQuantities("torque", "angle"),
    "SurfacePressureConstraint": ActuatorQuantities("pressure", "volume"),
    "SurfacePressureActuator": ActuatorQuantities("pressure", "volume"),
}
"""Components that become motors or pumps."""
MODULUS = ActuatorQuantities("pressure", "volume")
"""Those of a YoungModulusActuator; effort times displacement is an energy."""


def quantities_of(component: Any) -> ActuatorQuantities:
    """Quantities of an actuator."""
    return QUANTITIES.get(component.getClassName(), MODULUS)


def is_effort(component: Any) -> bool:
    """Whether a component's Data `value` is an effort, by its `valueType`."""
    return component.valueType.value not in ("displacement", "volumeGrowth")


def value_quantity(component: Any) -> str:
    """Quantity of a component's Data `value`."""
    quantities = quantities_of(component)
    return quantities.effort if is_effort(component) else quantities.displacement
