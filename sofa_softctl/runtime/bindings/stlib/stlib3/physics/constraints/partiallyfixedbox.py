"""Points in a box with some fixed coordinates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def PartiallyFixedBox(
    attachedTo: Any = None,
    box: Sequence[float] = (-1.0, -1.0, -1.0, 1.0, 1.0, 1.0),
    fixedAxis: Sequence[int] = (1, 1, 1),
    name: str = "PartiallyFixedBox",
    drawBoxes: bool = False,
    fixAll: bool = False,
    doUpdate: bool = False,
) -> Any:
    """Add a child that fixes the points of a box along some axes.

    Args:
        attachedTo: Node with the degrees of freedom.
        box: Smallest x, y, z, then largest [length].
        fixedAxis: For each of x, y and z, 1 if the points are fixed along it.
        name: Name of the child.
        drawBoxes: Show the box in a window.
        fixAll: Fix all points of the node, not only those in the box.
        doUpdate: Find the points in the box again while the object moves.

    Returns:
        The child.
    """
    child = attachedTo.addChild(name)
    child.addObject("BoxROI", name="BoxROI", box=list(box), drawBoxes=drawBoxes, doUpdate=doUpdate)
    child.addObject(
        "PartialFixedProjectiveConstraint",
        indices="@BoxROI.indices",
        fixedDirections=list(fixedAxis),
        fixAll=fixAll,
    )
    return child
