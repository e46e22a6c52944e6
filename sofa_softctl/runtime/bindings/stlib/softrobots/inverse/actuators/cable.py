"""A cable whose pull is sought."""

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

    The limits are those of the CableActuator. (The original gives them to the node, where they have
    no effect.)

    Args:
        attachedTo: Node of the body.
        name: Of the child.
        cableGeometry: Points that the cable runs through.
        pullPointLocation: Where it is pulled from, fixed in the world; else its first point in
            the body is.
        minForce: Least force.
        maxForce: Largest force.
        minDisplacement: Least length that is pulled.
        maxDisplacement: Largest length that is pulled.
        maxDispVariation: Most that this length changes in one step.
        translation: Of the points [length].
        rotation: Of the points, angles about x, y and z [degree].
        uniformScale: Of the points.

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
    given = {limit: value for limit, value in limits.items() if value is not None}
    cable = add_points(attachedTo, name, cableGeometry, rotation, translation, uniformScale)
    add_cable(cable, "CableActuator", len(cableGeometry), pullPointLocation, **given)
    add_mapping(cable)
    return cable
