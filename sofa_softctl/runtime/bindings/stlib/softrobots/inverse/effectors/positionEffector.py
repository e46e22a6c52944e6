"""Points of a body that should reach a goal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from softrobots.actuators.cable import add_mapping


def PositionEffector(
    attachedTo: Any = None,
    name: str = "effector",
    position: Any = None,
    effectorGoal: Any = None,
    template: str = "Vec3",
    directions: Any = None,
    useDirections: Any = None,
    translation: Sequence[float] = (0.0, 0.0, 0.0),
    rotation: Sequence[float] = (0.0, 0.0, 0.0),
    uniformScale: float = 1.0,
) -> Any:
    """Add a child with points that should reach a goal.

    Args:
        attachedTo: Node of the body.
        name: Name of the child.
        position: Positions of the points.
        effectorGoal: Positions of the goal, or a link to them.
        template: Vec3 in a deformable body, 'Rigid3d' on a rigid one.
        directions: Directions in which the distance to the goal counts.
        useDirections: For each direction, 1 if it is used, else 0.
        translation: Translation of the points [length].
        rotation: Rotation of the points, angles about x, y and z [degree].
        uniformScale: Scale of the points.

    Returns:
        The child, with `PositionEffector`.
    """
    effector = attachedTo.addChild(name)
    effector.addObject(
        "MechanicalObject",
        template=template,
        position=position,
        rotation=list(rotation),
        translation=list(translation),
        scale=uniformScale,
    )
    chosen = {"directions": directions, "useDirections": useDirections}
    effector.addObject(
        "PositionEffector",
        template=template,
        indices=list(range(len(position))),
        effectorGoal=effectorGoal,
        **{key: value for key, value in chosen.items() if value is not None},
    )
    rigid = template in ("Rigid3", "Rigid3d", "Rigid3f")
    add_mapping(effector, "RigidMapping" if rigid else "BarycentricMapping")
    return effector
