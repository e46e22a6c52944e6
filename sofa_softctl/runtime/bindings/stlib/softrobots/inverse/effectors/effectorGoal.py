"""Points that effectors should reach."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def EffectorGoal(
    attachedTo: Any = None,
    name: str = "Goal",
    position: Any = None,
    template: str = "Vec3",
    translation: Sequence[float] = (0.0, 0.0, 0.0),
    rotation: Sequence[float] = (0.0, 0.0, 0.0),
    uniformScale: float = 1.0,
    visuScale: float = 0.1,
) -> Any:
    """Add a child with the points that effectors should reach, which a script may move.

    Args:
        attachedTo: Root of the scene.
        name: Name of the child.
        position: Positions of the points.
        template: Vec3, or Rigid3 for bodies.
        translation: Translation of the points [length].
        rotation: Rotation of the points, angles about x, y and z [degree].
        uniformScale: Scale of the points.
        visuScale: Size of the points in a window.

    Returns:
        The child.
    """
    goal = attachedTo.addChild(name)
    goal.addObject("EulerImplicitSolver", firstOrder=True)
    goal.addObject("CGLinearSolver", threshold=1e-5, tolerance=1e-5)
    goal.addObject(
        "MechanicalObject",
        template=template,
        position=position,
        rotation=list(rotation),
        translation=list(translation),
        scale=uniformScale,
        showObject=True,
        showObjectScale=visuScale,
        drawMode=1,
        showColor=[255, 255, 255, 255],
    )
    return goal
