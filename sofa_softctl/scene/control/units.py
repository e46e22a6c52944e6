"""Units that a scene declares, and quantities of its actuators."""

from __future__ import annotations

import inspect
from typing import Any, NamedTuple

from sofa_softctl.base.source_line import scene_frame
from sofa_softctl.errors import SceneError
from sofa_softctl.scene.graph.recipe import recipe_of
from sofa_softctl.units import Units


def declared_units(root: Any) -> Units | None:
    """Return UNITS of the scene's file, or of the running file if the scene's is unknown.

    Call it while the scene is made. In runSofa the running file is taken.

    Args:
        root: Root of the scene.

    Returns:
        The units, or None if the file declares none.

    Raises:
        SceneError: UNITS does not have one unit each of length, mass and time.
    """
    try:
        names = getattr(inspect.unwrap(recipe_of(root).create), "__globals__", {})
    except SceneError:
        frame = scene_frame()
        names = {} if frame is None else frame.f_globals
    text = names.get("UNITS")
    return None if text is None else Units.parse(text)


class ActuatorQuantities(NamedTuple):
    """Quantities of an actuator's effort and displacement."""

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
"""Quantities by class of component that becomes a motor or pump."""
MODULUS = ActuatorQuantities("pressure", "volume")
"""Quantities of a YoungModulusActuator; effort times displacement is an energy."""


def quantities_of(component: Any) -> ActuatorQuantities:
    """Return the quantities of an actuator."""
    return QUANTITIES.get(component.getClassName(), MODULUS)


def is_effort(component: Any) -> bool:
    """Return True if a component's Data `value` is an effort, by its `valueType`."""
    return component.valueType.value not in ("displacement", "volumeGrowth")


def value_quantity(component: Any) -> str:
    """Return the quantity of a component's Data `value`."""
    quantities = quantities_of(component)
    return quantities.effort if is_effort(component) else quantities.displacement
