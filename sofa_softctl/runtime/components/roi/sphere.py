"""SphereROI."""

from __future__ import annotations

import numpy as np

from sofa_softctl.runtime.components.roi.base import RegionOfInterest
from sofa_softctl.runtime.core.data.types import Bool, Integers, Real, Reals, Vector, Vectors


class SphereROI(RegionOfInterest):
    """Inside at least one sphere; its surface belongs to it."""

    inputs = ("centers", "radii", "direction", "normal", "edgeAngle", "triAngle")

    position = Vectors(
        3, [], "Points to look at.", unit="length", aliases=("rest_position",)
    )
    centers = Vectors(3, [], "Centre of each sphere.", unit="length")
    radii = Reals([], "Radius of each sphere; one for all.", unit="length")
    direction = Vector(3, [0.0, 0.0, 0.0], "With edgeAngle: edges along it are left out.")
    normal = Vector(3, [0.0, 0.0, 0.0], "With triAngle: triangles that face it are left out.")
    edgeAngle = Real(
        0.0, "Edges nearer than this to the direction are left out; unused at 0.", unit="degree"
    )
    triAngle = Real(
        0.0,
        "Triangles whose inner normal is nearer than this to the normal are left out; unused at 0.",
        unit="degree",
        aliases=("angle",),
    )
    indices = Integers([0], "Nodes inside.", aliases=("pointIndices",), computed=True)
    drawROI = Bool(False, "Draw the spheres.", aliases=("isVisible", "drawSphere"))

    def contains(self, points: np.ndarray) -> np.ndarray:
        """See RegionOfInterest."""
        centers, radii = self.centers.get(), self.radii.get()
        if len(radii) not in (1, len(centers)):
            raise self.fault(f"has {len(centers)} centers but {len(radii)} radii.")
        inside = np.zeros(len(points), dtype=bool)
        for center, radius in zip(centers, np.broadcast_to(radii, len(centers)), strict=True):
            inside |= ((points - center) ** 2).sum(axis=1) <= radius**2
        return inside

    def contains_elements(self, points: np.ndarray, elements: np.ndarray) -> np.ndarray:
        """See RegionOfInterest."""
        inside = super().contains_elements(points, elements)
        corners, width = points[elements], elements.shape[1]
        if width == 2 and self.edgeAngle.get() > 0.0:
            cosines = _unit(corners[:, 1] - corners[:, 0]) @ _unit(self.direction.get())
            inside &= np.abs(cosines) < abs(np.cos(np.radians(self.edgeAngle.get())))
        if width == 3 and self.triAngle.get() > 0.0:
            sides = corners[:, 2] - corners[:, 0], corners[:, 1] - corners[:, 0]
            cosines = _unit(np.cross(*sides)) @ _unit(self.normal.get())
            inside &= cosines < np.cos(np.radians(self.triAngle.get()))
        return inside


def _unit(vectors: np.ndarray) -> np.ndarray:
    """Each at length 1; those without length as they are."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return vectors / np.where(lengths > 0.0, lengths, 1.0)
