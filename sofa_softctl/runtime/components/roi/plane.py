"""PlaneROI."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from sofa_softctl.runtime.components.roi.base import RegionOfInterest
from sofa_softctl.runtime.components.roi.oriented_box import within_oriented_box
from sofa_softctl.runtime.core.data.types import Bool, Vectors


class PlaneROI(RegionOfInterest):
    """Near at least one parallelogram: within half the depth above and below it."""

    inputs: ClassVar[tuple[str, ...]] = ("plane",)

    position = Vectors(
        3, [], "Points to look at.", unit="length", aliases=("rest_position",)
    )
    plane = Vectors(10, [], "Three corners and the depth of each parallelogram.", unit="length")
    drawBoxes = Bool(False, "Draw the region.", aliases=("isVisible",))

    def contains(self, points: np.ndarray) -> np.ndarray:
        """See RegionOfInterest."""
        inside = np.zeros(len(points), dtype=bool)
        for plane in self.plane.get():
            inside |= within_oriented_box(points, plane)
        return inside

    def contains_elements(self, points: np.ndarray, elements: np.ndarray) -> np.ndarray:
        """Which elements lie with all vertices at the same parallelogram, bool (m,)."""
        inside = np.zeros(len(elements), dtype=bool)
        for plane in self.plane.get():
            inside |= within_oriented_box(points, plane)[elements].all(axis=1)
        return inside
