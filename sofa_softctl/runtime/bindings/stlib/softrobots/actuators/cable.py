"""Cable that is pulled by a force, or by a length."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def PullingCable(
    attachedTo: Any = None,
    name: str = "Cable",
    cableGeometry: Sequence[Sequence[float]] = ((1.0, 0.0, 0.0), (0.0, 0.0, 0.0)),
    rotation: Sequence[float] = (0.0, 0.0, 0.0),
    translation: Sequence[float] = (0.0, 0.0, 0.0),
    uniformScale: float = 1.0,
    pullPointLocation: Sequence[float] | None = None,
    initialValue: float = 0.0,
    valueType: str = "displacement",
) -> Any:
    """Add a child with a cable through a deformable body.

    Args:
        attachedTo: Node of the body.
        name: Name of the child.
        cableGeometry: Points that the cable runs through.
        rotation: Rotation of the points, angles about x, y and z [degree].
        translation: Translation of the points [length].
        uniformScale: Scale of the points.
        pullPointLocation: Pull point, fixed in the world; by default the first point, which moves
            with the body.
        initialValue: Force or pulled length.
        valueType: 'displacement' or 'force'.

    Returns:
        The child, with `CableConstraint`.
    """
    cable = add_points(attachedTo, name, cableGeometry, rotation, translation, uniformScale)
    add_cable(
        cable,
        "CableConstraint",
        len(cableGeometry),
        pullPointLocation,
        value=initialValue,
        valueType=valueType,
    )
    add_mapping(cable)
    return cable


def add_points(
    body: Any,
    name: str,
    points: Sequence[Sequence[float]],
    rotation: Sequence[float],
    translation: Sequence[float],
    scale: float,
    **values: Any,
) -> Any:
    """Add a child with points."""
    child = body.addChild(name)
    child.addObject(
        "MechanicalObject",
        position=[list(point) for point in points],
        rotation=list(rotation),
        translation=list(translation),
        scale=scale,
        **values,
    )
    return child


def add_cable(node: Any, kind: str, count: int, pull_point: Any, **values: Any) -> Any:
    """Add the constraint of a cable along the first points of a node."""
    if pull_point is not None:
        values["pullPoint"] = list(pull_point)
    return node.addObject(
        kind, indices=list(range(count)), hasPullPoint=pull_point is not None, **values
    )


def add_mapping(node: Any, kind: str = "BarycentricMapping") -> None:
    """Map the points of a node to the body above it."""
    node.addObject(kind, name="Mapping", mapForces=False, mapMasses=False)
