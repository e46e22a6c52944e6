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


def is_in_oriented_box(points: np.ndarray, box: np.ndarray) -> np.ndarray:
    """Return True for points within half the depth above or below a parallelogram, shape (n,).

    As in SOFA, a point is compared with the sides through corners 0 and 2, by the extent of the
    diagonal between them. For a rectangle this is exact; a slanted parallelogram gets larger.

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
    inside &= np.abs(heights_above_box(points, box)) <= abs(depth / 2.0)
    return inside


def heights_above_box(points: np.ndarray, box: np.ndarray) -> np.ndarray:
    """Return the heights of points (n, 3) above the plane of the box, shape (n,)."""
    return (points - box[:3]) @ _normal(box)


def _normal(box: np.ndarray) -> np.ndarray:
    return _unit(np.cross(box[3:6] - box[:3], box[6:9] - box[:3]))


def _unit(vector: np.ndarray) -> np.ndarray:
    """Return the vector at length 1, or a zero vector unchanged."""
    length = np.linalg.norm(vector)
    return vector / length if length > 0.0 else vector


class BoxROI(RegionOfInterest):
    """Inside at least one box, faces included; by default in the unit box.

    As in SOFA, later changes of `orientedBox` do not count.
    """

    inputs = (*RegionOfInterest.inputs, "box", "orientedBox")

    box = Vectors(6, [], "xmin ymin zmin xmax ymax zmax of each box.", unit="length")
    orientedBox = Vectors(
        10, [], "Three corners and the depth of each oriented box.", unit="length"
    )
    drawROI = Bool(False, "Draw the boxes.", aliases=("drawBoxes",))
    quads = Elements(4, [], "Quads to test.", aliases=("quad",))
    computeQuads = Bool(True, "Test quads.", aliases=("computeQuad",), follows="reinit")
    quadsInROI = Elements(4, [], "Quads inside.", aliases=("quadInROI",), computed=True)

    _oriented_boxes = np.empty((0, 10))

    def init(self) -> None:
        """Sort the corners of each box, then compute."""
        boxes = self.box.get()
        sources = (self.box, self.orientedBox)
        if not any(data.isSet() or data.hasParent() for data in sources):
            boxes = np.array([[0.0, 0.0, 0.0, 1.0, 1.0, 1.0]])
        low, high = np.minimum(boxes[:, :3], boxes[:, 3:]), np.maximum(boxes[:, :3], boxes[:, 3:])
        self.box.set(np.concatenate([low, high], axis=1))
        self._oriented_boxes = self.orientedBox.get().copy()
        super().init()

    @override
    def has_shape(self) -> bool:
        return len(self.box.get()) > 0 or len(self.orientedBox.get()) > 0

    @override
    def contains(self, points: np.ndarray) -> np.ndarray:
        inside = np.zeros(len(points), dtype=bool)
        for box in self.box.get():
            inside |= ((points >= box[:3]) & (points <= box[3:])).all(axis=1)
        if len(self._oriented_boxes):
            for box in self._oriented_boxes:
                inside |= is_in_oriented_box(points, box)
        return inside


class PairBoxROI(RegionOfInterest):
    """Inside one box and outside another, faces included; with a box of zeros, nothing."""

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
        return _in_box(points, self.inclusiveBox.get()) & ~_in_box(points, self.includedBox.get())


def _in_box(points: np.ndarray, box: np.ndarray) -> np.ndarray:
    corners = box.reshape(2, 3)
    inside = (points >= corners.min(axis=0)) & (points <= corners.max(axis=0))
    return np.asarray(inside.all(axis=1))


class PlaneROI(RegionOfInterest):
    """Within half the depth above or below at least one parallelogram.

    As in SOFA, a parallelogram without depth contains all points of its plane, state and topology
    may be in a node above, and changed parallelograms count once points or elements change.
    """

    position = Coords(
        [], "Points to test.", unit="length", auto_link=False, aliases=("rest_position",)
    )
    plane = Vectors(
        10, [[0.0] * 10], "Three corners and depth of each.", unit="length", follows="reinit"
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
        """Sort nodes and elements; without a parallelogram the outputs do not change."""
        if len(self.plane.get()):
            super().compute()

    @override
    def contains(self, points: np.ndarray) -> np.ndarray:
        return np.any(self._is_near_planes(points), axis=0)

    def contains_elements(self, points: np.ndarray, elements: np.ndarray) -> np.ndarray:
        """Return True for elements with all vertices at the same parallelogram, shape (m,)."""
        return np.any(self._is_near_planes(points)[:, elements].all(axis=2), axis=0)

    def _is_near_planes(self, points: np.ndarray) -> np.ndarray:
        """Return True for points at each parallelogram, shape (planes, n)."""
        return np.array(
            [
                is_in_oriented_box(points, plane)
                if plane[9] != 0.0
                else heights_above_box(points, plane) == 0.0
                for plane in self.plane.get()
            ]
        )


class SphereROI(RegionOfInterest):
    """Inside at least one sphere, surface included.

    As in SOFA, a changed sphere counts only once the points or elements change.
    """

    position = Coords([], "Points to test.", unit="length", aliases=("rest_position",))
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
        """Return True if there are spheres; warn if radii do not fit the centers."""
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
    """Return the vectors at length 1, zero vectors unchanged."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return vectors / np.where(lengths > 0.0, lengths, 1.0)
