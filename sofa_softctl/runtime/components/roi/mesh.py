"""MeshROI."""

from __future__ import annotations

import numpy as np
from typing_extensions import override

from sofa_softctl.base.source_line import describe
from sofa_softctl.runtime.components.roi.base import KINDS, RegionOfInterest, has_input
from sofa_softctl.runtime.core.data.types import Bool, Coords, Elements, Vector
from sofa_softctl.runtime.helper import message


class MeshROI(RegionOfInterest):
    """Inside a closed surface of triangles, whichever way they face.

    The surface is by default the rest position of the node's state, or its loader's points, with
    the triangles of its topology. As in SOFA, only points within `box`, the surface's bounding box
    at init, are tested, and without `strict` an element is inside with all vertices or its centre.
    """

    inputs = (*RegionOfInterest.inputs, "ROIposition", "ROIedges", "ROItriangles")

    ROIposition = Coords([], "Points of the surface.", unit="length")
    ROIedges = Elements(2, [], "Unused: edges of the surface.")
    ROItriangles = Elements(3, [], "Triangles of the surface.")
    computeMeshROI = Bool(True, "False: every point is inside, as in SOFA.", follows="reinit")
    strict = Bool(
        False, "Elements with all vertices inside; otherwise also by centre.", follows="reinit"
    )
    box = Vector(
        6, [0.0] * 6, "xmin ymin zmin xmax ymax zmax of the surface.", unit="length", read_only=True
    )
    drawOut = Bool(False, "Draw what is outside.")
    drawBox = Bool(False, "Draw the box.")

    def init(self) -> None:
        """Find the surface and its box, then compute."""
        self._find_surface()
        points = self.ROIposition.get()[:, :3]
        if len(points):
            self.box.set(np.concatenate([points.min(axis=0), points.max(axis=0)]))
        super().init()

    def _find_surface(self) -> None:
        assert self._context is not None
        if not has_input(self.ROIposition):
            message.warning(
                self,
                f"{describe(self._where)}: {self.describe()} has no 'ROIposition': the region is "
                "that of the node's own points.",
            )
            if states := self._context.of("state"):
                self.ROIposition.setParent(states[0].rest_position)
            elif loaders := self._context.of("loader"):
                self.ROIposition.setParent(loaders[0].position)
        topology = self.find_topology()
        for name, kind in (("ROIedges", "edges"), ("ROItriangles", "triangles")):
            enabled = self._data[KINDS[kind][2]].get()
            if topology is not None and enabled and not has_input(self._data[name]):
                self._data[name].setParent(topology._data[kind])

    @override
    def contains(self, points: np.ndarray) -> np.ndarray:
        if not self.computeMeshROI.get():
            return np.ones(len(points), dtype=bool)
        low, high = self.box.get()[:3], self.box.get()[3:]
        inside: np.ndarray = ((points >= low) & (points <= high)).all(axis=1)
        surface, triangles = self.ROIposition.get()[:, :3], self.ROItriangles.get()
        self._check("ROItriangles", triangles, len(surface))
        corners = surface[triangles]  # (m, 3, 3)
        for number in np.flatnonzero(inside):
            point = points[number]
            is_low_nearer = ((low - point) ** 2).sum() < ((high - point) ** 2).sum()
            end = low - 100.0 if is_low_nearer else high + 100.0  # in any unit, as in SOFA
            inside[number] = _count_crossings(point, end - point, corners) % 2
        return inside

    @override
    def contains_elements(self, points: np.ndarray, elements: np.ndarray) -> np.ndarray:
        inside = super().contains_elements(points, elements)
        if not self.strict.get():
            inside |= self.contains(points)[elements].all(axis=1)
        return inside


def _count_crossings(start: np.ndarray, direction: np.ndarray, corners: np.ndarray) -> int:
    """Return the number of triangles (m, 3, 3) that a ray crosses, edges included."""
    sides = np.roll(corners, -1, axis=1) - corners
    normal = np.cross(sides[:, 0], sides[:, 1])
    slope = normal @ direction
    is_crossing = slope != 0.0
    corners, sides, normal, slope = (part[is_crossing] for part in (corners, sides, normal, slope))
    times = ((corners[:, 0] - start) * normal).sum(axis=1) / slope
    points = start + times[:, None] * direction
    sides_of_points = np.cross(sides, points[:, None] - corners) @ normal[:, :, None]
    return int(((times >= 0.0) & (sides_of_points[..., 0] >= 0.0).all(axis=1)).sum())
