"""Stiff springs on the points in a box."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def FixedBox(
    applyTo: Any = None,
    atPositions: Sequence[float] = (-1.0, -1.0, -1.0, 1.0, 1.0, 1.0),
    name: str = "FixedBox",
    doVisualization: bool = False,
    position: Any = None,
    constraintStrength: float = 1e12,
    doRecomputeDuringSimulation: bool = False,
) -> Any:
    """Add a child whose springs pull the points of a box to their rest positions.

    Args:
        applyTo: Node with the degrees of freedom.
        atPositions: Box: smallest x, y, z, then largest [length].
        name: Name of the child.
        doVisualization: Show the box in a window.
        position: All points, by default the points of the node.
        constraintStrength: Stiffness of the springs [force/length]; the original has 1e12 always.
        doRecomputeDuringSimulation: Find the points in the box again while the object moves.

    Returns:
        The child.
    """
    child = applyTo.addChild(name)
    points = {} if position is None else {"position": position}
    child.addObject(
        "BoxROI",
        name="BoxROI",
        box=list(atPositions),
        drawBoxes=doVisualization,
        doUpdate=doRecomputeDuringSimulation,
        **points,
    )
    child.addObject(
        "RestShapeSpringsForceField", points="@BoxROI.indices", stiffness=constraintStrength
    )
    return child
