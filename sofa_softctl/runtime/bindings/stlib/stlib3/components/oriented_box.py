"""Rotated boxes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from splib3.numerics import getOrientedBoxFromTransform


def addOrientedBoxRoi(
    parentNode: Any,
    position: Any,
    name: str = "BoxROI",
    translation: Sequence[float] = (0.0, 0.0, 0.0),
    eulerRotation: Sequence[float] = (0.0, 0.0, 0.0),
    scale: Sequence[float] = (1.0, 1.0, 1.0),
    drawBoxes: bool = True,
) -> Any:
    """Add the region of points in a rotated box of sides `scale`.

    Args:
        parentNode: Node to which it is added.
        position: All points, or a link to them.
        name: Name of the region.
        translation: Middle of the box [length].
        eulerRotation: Angles about x, y and z [degree].
        scale: Sides of the box [length].
        drawBoxes: Show the box in a window.

    Returns:
        The BoxROI.
    """
    box = getOrientedBoxFromTransform(
        translation=translation, eulerRotation=eulerRotation, scale=scale
    )
    return parentNode.addObject(
        "BoxROI", name=name, position=position, orientedBox=box, drawBoxes=drawBoxes
    )
