"""BoxROI."""

from __future__ import annotations

import numpy as np

from sofa_softctl.runtime.components.roi.base import RegionOfInterest
from sofa_softctl.runtime.core.data.types import Bool, Elements, Vectors


class BoxROI(RegionOfInterest):
    """Inside at least one box; the faces belong to it. Without any box: the unit box.

    Of `orientedBox` what there is at init counts, as in SOFA.
    """

    inputs = (*RegionOfInterest.inputs, "box", "orientedBox")

    box = Vectors(6, [], "xmin ymin zmin xmax ymax zmax of each box.", unit="length")
    orientedBox = Vectors(
        10, [], "Three corners and the depth of each box that lies askew.", unit="length"
    )
    drawROI = Bool(False, "Draw the boxes.", aliases=("drawBoxes",))
    quads = Elements(4, [], "Quads to look at.", aliases=("quad",))
    computeQuads = Bool(True, "Look at quads.", aliases=("computeQuad",))
    quadsInROI = Elements(4, [], "Quads inside.", aliases=("quadInROI",), computed=True)

    _oriented = np.empty((0, 10))

    def init(self) -> None:
        """Sort the corners of each box, then compute."""
        boxes = self.box.get()
        given = (self.box, self.orientedBox)
        if not any(data.isSet() or data.hasParent() for data in given):
            boxes = np.array([[0.0, 0.0, 0.0, 1.0, 1.0, 1.0]])
        low, high = np.minimum(boxes[:, :3], boxes[:, 3:]), np.maximum(boxes[:, :3], boxes[:, 3:])
        self.box.set(np.concatenate([low, high], axis=1))
        self._oriented = self.orientedBox.get().copy()
        super().init()

    def has_shape(self) -> bool:
        """See RegionOfInterest."""
        return len(self.box.get()) > 0 or len(self.orientedBox.get()) > 0

    def contains(self, points: np.ndarray) -> np.ndarray:
        """See RegionOfInterest."""
        inside = np.zeros(len(points), dtype=bool)
        for box in self.box.get():
            inside |= ((points >= box[:3]) & (points <= box[3:])).all(axis=1)
        if len(self._oriented):
            from sofa_softctl.runtime.components.roi.oriented_box import within_oriented_box

            for box in self._oriented:
                inside |= within_oriented_box(points, box)
        return inside
