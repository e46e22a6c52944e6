"""Cable whose pull is computed by the inverse problem."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from softrobots.actuators.cable import add_cable, add_mapping, add_points


def PullingCable(
    attachedTo: Any = None,
    name: str = "Cable",
    cableGeometry: Sequence[Sequence[float]] = ((1.0, 0.0, 0.0), (0.0, 0.0, 0.0)),
    pullPointLocation: Sequence[float] | None = None,
    minForce: float | None = None,
    maxForce: float | None = None,
    minDisplacement: float | None = None,
    maxDisplacement: float | None = None,
    maxDispVariation: float | None = None,
    translation: Sequence[float] = (0.0, 0.0, 0.0),
    rotation: Sequence[float] = (0.0, 0.0, 0.0),
    uniformScale: float = 1.0,
) -> Any:
    """Add a child with a cable through a deformable body.

    The CableActuator gets the limits. (The original gives them to the node, where they have no
    effect.)

    Args:
        attachedTo: Node of the body.
        name: Name of the child.
        cableGeometry: Points that the cable runs through.
        pullPointLocation: Pull point, fixed in the world; by default the first point, which moves
            with the body.
        minForce: Minimum force.
        maxForce: Maximum force.
        minDisplacement: Minimum pulled length.
        maxDisplacement: Maximum pulled length.
        maxDispVariation: Maximum change of the pulled length in one step.
        translation: Translation of the points [length].
        rotation: Rotation of the points, angles about x, y and z [degree].
        uniformScale: Scale of the points.

    Returns:
        The child, with `CableActuator`.
    """
    limits = {
        "minForce": minForce,
        "maxForce": maxForce,
        "minDisplacement": minDisplacement,
        "maxDisplacement": maxDisplacement,
        "maxDispVariation": maxDispVariation,
    }
    set_limits = {limit: value for limit, value in limits.items() if value is not None}
    cable = add_points(attachedTo, name, cableGeometry, rotation, translation, uniformScale)
    add_cable(cable, "CableActuator", len(cableGeometry), pullPointLocation, **set_limits)
    add_mapping(cable)
    return cable
