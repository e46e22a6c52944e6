"""Stiff springs on the points in a box, as a prefab."""

from __future__ import annotations

from typing import Any

import Sofa.Core

_BOX = [0, 0, 0, 1, 1, 1]


class FixedBox(Sofa.Prefab):  # type: ignore[misc]
    """Node whose springs pull the points of a box to rest; `parent` has the points."""

    prefabData = [
        {
            "name": "boxCoords",
            "type": "Vec6d",
            "help": "The box: smallest x, y, z, then largest.",
            "default": _BOX,
        },
        {
            "name": "showBox",
            "type": "bool",
            "help": "Whether a window shows the box.",
            "default": False,
        },
    ]

    def __init__(self, *args: Any, **values: Any) -> None:
        if "parent" not in values:
            raise TypeError("FixedBox must be given its parent: a node with a MechanicalObject.")
        for old, new in (("BoxCoords", "boxCoords"), ("ShowBox", "showBox")):
            if values.get(old) is not None:
                Sofa.msg_deprecated("FixedBox", f"{old} is now called {new}.")
                values.setdefault(new, values[old])
        Sofa.Prefab.__init__(self, *args, **values)

    def init(self) -> None:
        """Add the region and the springs."""
        self.addObject(
            "BoxROI",
            name="BoxROI",
            box=self.boxCoords.getLinkPath(),
            drawBoxes=self.showBox.getLinkPath(),
        )
        self.addObject("RestShapeSpringsForceField", points="@BoxROI.indices", stiffness=1e12)
