"""SphereROI."""

from __future__ import annotations

import numpy as np

from sofa_softctl.runtime.components.roi.base import RegionOfInterest
from sofa_softctl.runtime.core.data.types import Reals, Vectors


class SphereROI(RegionOfInterest):
    """Inside at least one sphere; its surface belongs to it."""

    inputs = ("centers", "radii")

    centers = Vectors(3, [[0.0, 0.0, 0.0]], "Centre of each sphere.", unit="length")
    radii = Reals([1.0], "Radius of each sphere; one for all.", unit="length")

    def contains(self, points: np.ndarray) -> np.ndarray:
        """See RegionOfInterest."""
        centers, radii = self.centers.get(), self.radii.get()
        if len(radii) not in (1, len(centers)):
            raise self.fault(f"has {len(centers)} centers but {len(radii)} radii.")
        inside = np.zeros(len(points), dtype=bool)
        for center, radius in zip(centers, np.broadcast_to(radii, len(centers)), strict=True):
            inside |= np.linalg.norm(points - center, axis=1) <= radius
        return inside
