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
    """Add a child whose springs hold the points of a box at rest.

    Args:
        applyTo: Node with the degrees of freedom.
        atPositions: The box: smallest x, y, z, then largest [length].
        name: Of the child.
        doVisualization: Whether a window shows the box.
        position: Points of which some are in the box; those of the node by default.
        constraintStrength: Stiffness of the springs [force/length]; the original has 1e12 always.
        doRecomputeDuringSimulation: Whether points may come and go while the object moves.

    Returns:
        The child.
    """
    child = applyTo.addChild(name)
    given = {} if position is None else {"position": position}
    child.addObject(
        "BoxROI",
        name="BoxROI",
        box=list(atPositions),
        drawBoxes=doVisualization,
        doUpdate=doRecomputeDuringSimulation,
        **given,
    )
    child.addObject(
        "RestShapeSpringsForceField", points="@BoxROI.indices", stiffness=constraintStrength
    )
    return child
