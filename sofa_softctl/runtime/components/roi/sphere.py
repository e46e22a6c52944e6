"""SphereROI."""

from __future__ import annotations

import numpy as np

from sofa_softctl.runtime.components.roi.base import RegionOfInterest
from sofa_softctl.runtime.core.data.types import (
    Bool,
    Coords,
    Integers,
    Real,
    Reals,
    Vector,
    Vectors,
)
from sofa_softctl.runtime.helper.strictness import complain


class SphereROI(RegionOfInterest):
    """Inside at least one sphere; its surface belongs to it.

    As in SOFA a sphere that changes counts when the points or elements change, not at once.
    """

    position = Coords([], "Points to look at.", unit="length", aliases=("rest_position",))
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

    def has_shape(self) -> bool:
        """See RegionOfInterest; radii that do not fit the centers are complained of."""
        count, radii = len(self.centers.get()), len(self.radii.get())
        if count and radii not in (1, count):
            problem = f"has {count} centers but {radii} radii, so that nothing is inside."
            complain(self, self.fault(problem))
            return False
        return count > 0

    def contains(self, points: np.ndarray) -> np.ndarray:
        """See RegionOfInterest."""
        inside = np.zeros(len(points), dtype=bool)
        if len(points):
            centers = self.centers.get()
            radii = np.broadcast_to(self.radii.get(), len(centers))
            for center, radius in zip(centers, radii, strict=True):
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
