"""BoxROI."""

from __future__ import annotations

import numpy as np

from sofa_softctl.runtime.components.roi.base import RegionOfInterest
from sofa_softctl.runtime.core.data.types import Vectors


class BoxROI(RegionOfInterest):
    """Inside at least one box; the faces belong to it. Without a box: the unit box."""

    inputs = ("box", "orientedBox")

    box = Vectors(6, [], "xmin ymin zmin xmax ymax zmax of each box.", unit="length")
    orientedBox = Vectors(10, [], "Three corners and a depth: not supported.", unit="length")

    def init(self) -> None:
        """Sort the corners of each box, then compute."""
        if len(self.orientedBox.get()):
            raise self.fault("does not support orientedBox; use 'box'.")
        boxes = self.box.get()
        if not (self.box.isSet() or self.box.hasParent()):
            boxes = np.array([[0.0, 0.0, 0.0, 1.0, 1.0, 1.0]])
        low, high = np.minimum(boxes[:, :3], boxes[:, 3:]), np.maximum(boxes[:, :3], boxes[:, 3:])
        self.box.set(np.concatenate([low, high], axis=1))
        super().init()

    def contains(self, points: np.ndarray) -> np.ndarray:
        """See RegionOfInterest."""
        inside = np.zeros(len(points), dtype=bool)
        for box in self.box.get():
            inside |= ((points >= box[:3]) & (points <= box[3:])).all(axis=1)
        return inside
