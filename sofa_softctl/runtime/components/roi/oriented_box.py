"""Boxes that lie askew: three corners and a depth."""

from __future__ import annotations

import numpy as np


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
