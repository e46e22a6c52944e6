"""Units that a scene declares, and what its actuators measure."""

from __future__ import annotations

import inspect
from typing import Any, NamedTuple

from sofa_softctl.base.source_line import scene_frame
from sofa_softctl.errors import SceneError
from sofa_softctl.scene.graph.recipe import recipe_of
from sofa_softctl.units import Units


def declared_units(root: Any) -> Units | None:
    """UNITS of the scene's file; of the file of the running line where nobody knows it.

    Call it while the scene is made. In runSofa the file is that of the running line.

    Args:
        root: Root of the scene.

    Returns:
        The units; None where the file declares none.

    Raises:
        SceneError: UNITS is not one unit each of length, mass and time.
    """
    try:
        names = getattr(inspect.unwrap(recipe_of(root).create), "__globals__", {})
    except SceneError:
        frame = scene_frame()
        names = {} if frame is None else frame.f_globals
    text = names.get("UNITS")
    return None if text is None else Units.parse(text)


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
