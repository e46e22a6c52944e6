"""Points in a box that keep some of their coordinates."""

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
    """Add a child that keeps the points of a box from moving along some axes.

    Args:
        attachedTo: Node with the degrees of freedom.
        box: Smallest x, y, z, then largest [length].
        fixedAxis: Of x, y and z, whether the points stay.
        name: Of the child.
        drawBoxes: Whether a window shows the box.
        fixAll: All points of the node, instead of those in the box.
        doUpdate: Whether points may come and go while the object moves.

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
