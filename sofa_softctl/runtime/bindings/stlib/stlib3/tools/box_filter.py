"""Points in boxes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class BoxFilter:
    """Regions of an object's points, one for each box; in a child `Select` of a node."""

    def __init__(self, node: Any, sourceObject: Any, orientedBoxes: Sequence[Any]) -> None:
        child = node.addChild("Select")
        self.sourceObject = sourceObject
        self.boxes = [
            child.addObject(
                "BoxROI",
                name="filters" if number == 0 else f"filters{number}",
                orientedBox=box,
                position=sourceObject.dofs.findData("position").getLinkPath(),
                drawBoxes=True,
                drawPoints=True,
                drawSize=2.0,
            )
            for number, box in enumerate(orientedBoxes)
        ]

    def getIndices(self) -> list[list[int]]:
        """Return the indices of the points in each box."""
        self.sourceObject.dofs.init()
        for box in self.boxes:
            box.init()
        return [[int(index) for index in box.indices.value] for box in self.boxes]
