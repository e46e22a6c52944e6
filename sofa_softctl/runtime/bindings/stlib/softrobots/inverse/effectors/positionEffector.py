"""Points of a body that are to reach a goal."""

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
    """Add a child with points that are to reach a goal.

    Args:
        attachedTo: Node of the body.
        name: Of the child.
        position: The points.
        effectorGoal: Where they are to go, or a link to it.
        template: Vec3 in a deformable body, 'Rigid3d' on a rigid one.
        directions: Directions in which they count.
        useDirections: Which of these are used.
        translation: Of the points [length].
        rotation: Of the points, angles about x, y and z [degree].
        uniformScale: Of the points.

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
