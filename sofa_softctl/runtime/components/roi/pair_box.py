"""PairBoxROI."""

from __future__ import annotations

import numpy as np

from sofa_softctl.runtime.components.roi.base import RegionOfInterest
from sofa_softctl.runtime.core.data.types import Bool, Vector, Vectors


class PairBoxROI(RegionOfInterest):
    """Inside one box and outside another; the faces belong to each. A box of zeros: nothing."""

    inputs = (*RegionOfInterest.inputs, "inclusiveBox", "includedBox")

    inclusiveBox = Vector(6, [0.0] * 6, "xmin ymin zmin xmax ymax zmax.", unit="length")
    includedBox = Vector(6, [0.0] * 6, "The box that is left out.", unit="length")
    meshPosition = Vectors(3, [], "Unused.", unit="length")
    drawInclusiveBox = Bool(False, "Draw the box.")
    drawIncludedBox = Bool(False, "Draw the box that is left out.")

    def has_shape(self) -> bool:
        """See RegionOfInterest."""
        return bool(self.inclusiveBox.get().any() and self.includedBox.get().any())

    def contains(self, points: np.ndarray) -> np.ndarray:
        """See RegionOfInterest."""
        return _within(points, self.inclusiveBox.get()) & ~_within(points, self.includedBox.get())


def _within(points: np.ndarray, box: np.ndarray) -> np.ndarray:
    corners = box.reshape(2, 3)
    inside = (points >= corners.min(axis=0)) & (points <= corners.max(axis=0))
    return np.asarray(inside.all(axis=1))
