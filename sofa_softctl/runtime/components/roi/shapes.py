"""Regions inside boxes, spheres and between planes."""

from __future__ import annotations

import numpy as np
from typing_extensions import override

from sofa_softctl.runtime.components.roi.base import RegionOfInterest
from sofa_softctl.runtime.core.component import Component
from sofa_softctl.runtime.core.data.data import Data
from sofa_softctl.runtime.core.data.types import (
    Bool,
    Coords,
    Elements,
    Integers,
    Real,
    Reals,
    Vector,
    Vectors,
)
from sofa_softctl.runtime.helper.message import complain


def within_oriented_box(points: np.ndarray, box: np.ndarray) -> np.ndarray:
    """Which points lie in a parallelogram, or within half the depth above or below it, bool (n,).

    As in SOFA a point is compared with the sides through corners 0 and 2, each time with the extent
    of the diagonal between them: the same as the parallelogram where that is a rectangle, and more
    than it where it leans over.

    Args:
        points: Shape (n, 3).
        box: Corners 0, 1 and 2 of the parallelogram, one after the other, and the depth, shape
            (10,). Corner 3 lies opposite to corner 1.
    """
    p0, p1, p2, depth = box[:3], box[3:6], box[6:9], box[9]
    normal = _normal(box)
    along, across = _unit(np.cross(p1 - p0, normal)), _unit(np.cross(p2 - p1, normal))
    width, length = abs((p2 - p0) @ along), abs((p2 - p0) @ across)
    from_0, from_2 = points - p0, points - p2
    inside: np.ndarray = np.abs(from_0 @ along) <= width
    inside &= np.abs(from_0 @ across) <= length
    if depth != 0.0:  # without depth SOFA's sides through corner 2 have no direction
        inside &= np.abs(from_2 @ along) <= width
        inside &= np.abs(from_2 @ across) <= length
    inside &= np.abs(across_oriented_box(points, box)) <= abs(depth / 2.0)
    return inside


def across_oriented_box(points: np.ndarray, box: np.ndarray) -> np.ndarray:
    """Heights of points (n, 3) above the plane of the box, shape (n,)."""
    heights: np.ndarray = (points - box[:3]) @ _normal(box)
    return heights


def _normal(box: np.ndarray) -> np.ndarray:
    return _unit(np.cross(box[3:6] - box[:3], box[6:9] - box[:3]))


def _unit(vector: np.ndarray) -> np.ndarray:
    """The vector at length 1; one without length as it is."""
    length = np.linalg.norm(vector)
    return vector / length if length > 0.0 else vector


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
    computeQuads = Bool(True, "Look at quads.", aliases=("computeQuad",), follows="reinit")
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

    @override
    def has_shape(self) -> bool:
        return len(self.box.get()) > 0 or len(self.orientedBox.get()) > 0

    @override
    def contains(self, points: np.ndarray) -> np.ndarray:
        inside = np.zeros(len(points), dtype=bool)
        for box in self.box.get():
            inside |= ((points >= box[:3]) & (points <= box[3:])).all(axis=1)
        if len(self._oriented):
            for box in self._oriented:
                inside |= within_oriented_box(points, box)
        return inside


class PairBoxROI(RegionOfInterest):
    """Inside one box and outside another; the faces belong to each. A box of zeros: nothing."""

    inputs = (*RegionOfInterest.inputs, "inclusiveBox", "includedBox")

    inclusiveBox = Vector(6, [0.0] * 6, "xmin ymin zmin xmax ymax zmax.", unit="length")
    includedBox = Vector(6, [0.0] * 6, "The box that is left out.", unit="length")
    meshPosition = Vectors(3, [], "Unused.", unit="length")
    drawInclusiveBox = Bool(False, "Draw the box.")
    drawIncludedBox = Bool(False, "Draw the box that is left out.")

    @override
    def has_shape(self) -> bool:
        return bool(self.inclusiveBox.get().any() and self.includedBox.get().any())

    @override
    def contains(self, points: np.ndarray) -> np.ndarray:
        return _within(points, self.inclusiveBox.get()) & ~_within(points, self.includedBox.get())


def _within(points: np.ndarray, box: np.ndarray) -> np.ndarray:
    corners = box.reshape(2, 3)
    inside = (points >= corners.min(axis=0)) & (points <= corners.max(axis=0))
    return np.asarray(inside.all(axis=1))


class PlaneROI(RegionOfInterest):
    """Near at least one parallelogram: within half the depth above and below it.

    As in SOFA a parallelogram without depth holds every point of its plane, state and elements
    are searched upward too, and a parallelogram that changes counts when the points or elements
    change, not at once.
    """

    position = Coords(
        [], "Points to look at.", unit="length", auto_link=False, aliases=("rest_position",)
    )
    plane = Vectors(
        10,
        [[0.0] * 10],
        "Three corners and the depth of each parallelogram.",
        unit="length",
        follows="reinit",
    )
    drawBoxes = Bool(False, "Draw the region.", aliases=("isVisible",))

    @override
    def find_points(self) -> Data:
        state = None if self._context is None else self._context.find_upward("state")
        return super().find_points() if state is None else state.rest_position

    @override
    def find_topology(self) -> Component | None:
        return None if self._context is None else self._context.find_upward("topology")

    def compute(self) -> None:
        """See Engine; without a parallelogram the outputs stay as they are."""
        if len(self.plane.get()):
            super().compute()

    @override
    def contains(self, points: np.ndarray) -> np.ndarray:
        return np.any(self._near(points), axis=0)

    def contains_elements(self, points: np.ndarray, elements: np.ndarray) -> np.ndarray:
        """Which elements lie with all vertices at the same parallelogram, bool (m,)."""
        return np.any(self._near(points)[:, elements].all(axis=2), axis=0)

    def _near(self, points: np.ndarray) -> np.ndarray:
        """Which points are near each parallelogram, bool (planes, n)."""
        return np.array(
            [
                within_oriented_box(points, plane)
                if plane[9] != 0.0
                else across_oriented_box(points, plane) == 0.0
                for plane in self.plane.get()
            ]
        )


class SphereROI(RegionOfInterest):
    """Inside at least one sphere; its surface belongs to it.

    As in SOFA a sphere that changes counts when the points or elements change, not at once.
    """

    position = Coords([], "Points to look at.", unit="length", aliases=("rest_position",))
    centers = Vectors(3, [], "Centre of each sphere.", unit="length", follows="reinit")
    radii = Reals([], "Radius of each sphere; one for all.", unit="length", follows="reinit")
    direction = Vector(3, [0.0, 0.0, 0.0], "With edgeAngle: edges along it are left out.")
    normal = Vector(3, [0.0, 0.0, 0.0], "With triAngle: triangles that face it are left out.")
    edgeAngle = Real(
        0.0,
        "Edges nearer than this to the direction are left out; unused at 0.",
        unit="degree",
        follows="reinit",
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

    @override
    def contains(self, points: np.ndarray) -> np.ndarray:
        inside = np.zeros(len(points), dtype=bool)
        if len(points):
            centers = self.centers.get()
            radii = np.broadcast_to(self.radii.get(), len(centers))
            for center, radius in zip(centers, radii, strict=True):
                inside |= ((points - center) ** 2).sum(axis=1) <= radius**2
        return inside

    @override
    def contains_elements(self, points: np.ndarray, elements: np.ndarray) -> np.ndarray:
        inside = super().contains_elements(points, elements)
        corners, width = points[elements], elements.shape[1]
        if width == 2 and self.edgeAngle.get() > 0.0:
            cosines = _units(corners[:, 1] - corners[:, 0]) @ _units(self.direction.get())
            inside &= np.abs(cosines) < abs(np.cos(np.radians(self.edgeAngle.get())))
        if width == 3 and self.triAngle.get() > 0.0:
            sides = corners[:, 2] - corners[:, 0], corners[:, 1] - corners[:, 0]
            cosines = _units(np.cross(*sides)) @ _units(self.normal.get())
            inside &= cosines < np.cos(np.radians(self.triAngle.get()))
        return inside


def _units(vectors: np.ndarray) -> np.ndarray:
    """Each at length 1; those without length as they are."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return vectors / np.where(lengths > 0.0, lengths, 1.0)
