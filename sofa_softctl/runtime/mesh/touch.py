"""Test if triangles touch a cube, decided as SOFA decides it: in single precision.

A triangle may lie on a cube's side or pass through its edge; then rounding decides, so the
operations have the order of SOFA's test. Exact arithmetic would give other cells.

Source: Voorhies 1992, "Triangle-cube intersection", Graphics Gems III; Green, Hatch 1995, "Fast
polygon-cube intersection testing", Graphics Gems V; SOFA's SparseGridTopology (behaviour).
"""

from __future__ import annotations

import numpy as np

_EDGES = ((0, 1, 2), (1, 2, 0), (2, 0, 1))
"""Axes in cyclic order."""
_BEVELS = np.array([(1, 1, 0), (1, -1, 0), (1, 0, 1), (1, 0, -1), (0, 1, 1), (0, 1, -1)], "f4")
"""Normals of planes along the cube's edges, at a distance of 1 along each axis."""
_CORNERS = np.array([(1, 1, 1), (1, 1, -1), (1, -1, 1), (1, -1, -1)], "f4")
"""Normals of planes at the cube's corners, which lie at 1.5."""


def touch_cube(corners: np.ndarray) -> np.ndarray:
    """Return True for triangles that touch the unit cube around the origin, sides included, (p,).

    Args:
        corners: Corners of the triangles [edge of the cube], shape (p, 3, 3), single precision.
    """
    touches: np.ndarray = np.any(np.all(np.abs(corners) <= 0.5, axis=2), axis=1)
    undecided = np.flatnonzero(~touches & ~_is_separated(corners))
    for k in range(3):
        touches[undecided] |= _segments_touch(
            corners[undecided, k], corners[undecided, (k + 1) % 3]
        )
    undecided = undecided[~touches[undecided]]
    touches[undecided] = _is_pierced(corners[undecided])
    return touches


def _is_separated(corners: np.ndarray) -> np.ndarray:
    """Return True for triangles outside a plane of the cube's sides, edges or corners, (p,)."""
    is_separated: np.ndarray = np.zeros(len(corners), bool)
    for values, limit in (
        (corners, 0.5),
        (_sums(corners, _BEVELS), 1.0),
        (_sums(corners, _CORNERS), 1.5),
    ):
        for is_outside in (values > limit, values < -limit):  # (p, 3, planes)
            is_separated = is_separated | np.any(np.all(is_outside, axis=1), axis=1)
    return is_separated


def _sums(corners: np.ndarray, normals: np.ndarray) -> np.ndarray:
    """Return the product of each corner with each normal of entries 1, -1 and 0, added in order."""
    x, y, z = (corners[:, :, None, k] for k in range(3))
    summed: np.ndarray = x * normals[:, 0] + y * normals[:, 1] + z * normals[:, 2]
    return summed


def _segments_touch(start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Return True for segments that no plane along them separates from the cube, shape (p,)."""
    along = end - start
    sign = np.where(along < 0, np.float32(-1), np.float32(1))
    touches: np.ndarray = np.all((start * sign <= 0.5) & (end * sign >= -0.5), axis=1)
    for _, j, k in _EDGES:
        distance = along[:, k] * start[:, j] - along[:, j] * start[:, k]
        radius = np.float32(0.5) * (along[:, k] * sign[:, j] + along[:, j] * sign[:, k])
        touches &= distance * distance <= radius * radius
    return touches


def _is_pierced(corners: np.ndarray) -> np.ndarray:
    """Return True for triangles that a diagonal pierces; their edges do not touch the cube.

    The diagonal nearest to the normal decides.
    """
    normal = _cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    is_flat = ~normal.any(axis=1)
    diagonal = np.where(normal < 0, np.float32(-1), np.float32(1))
    with np.errstate(invalid="ignore", divide="ignore"):
        position = _dot(normal, corners[:, 0]) / _dot(normal, diagonal)
    is_inside = ~is_flat & (np.abs(position) <= 0.5)
    is_pierced = np.zeros(len(corners), bool)
    points = position[is_inside, None] * diagonal[is_inside]
    is_pierced[is_inside] = _contain(corners[is_inside], normal[is_inside], points)
    return is_pierced


def _contain(corners: np.ndarray, normal: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Return True for triangles that contain the points, seen along the normal's largest entry."""
    size = np.abs(normal)
    z = np.where(
        size[:, 0] > size[:, 2],
        np.where(size[:, 0] > size[:, 1], 0, 1),
        np.where(size[:, 1] > size[:, 2], 1, 2),
    )
    row = np.arange(len(corners))
    is_flipped = normal[row, z] < 0
    x, y = (z + np.where(is_flipped, 2, 1)) % 3, (z + np.where(is_flipped, 1, 2)) % 3
    px, py = points[row, x], points[row, y]
    count = np.zeros(len(corners), int)
    for k in range(3):
        start, end = corners[:, k], corners[:, (k + 1) % 3]
        vx, vy, wx, wy = start[row, x], start[row, y], end[row, x], end[row, y]
        step = (wx > px).astype(np.int8) - (vx > px)
        across = ((wy > py) != (vy > py)) & (
            step * (px - vx) * (wy - vy) <= step * (py - vy) * (wx - vx)
        )
        above = ((wy > py) == (vy > py)) & (vy <= py)
        count += step * (across | above)
    return np.asarray(count != 0)


def _cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.stack([a[:, j] * b[:, k] - a[:, k] * b[:, j] for _, j, k in _EDGES], axis=1)


def _dot(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    summed: np.ndarray = a[:, 0] * b[:, 0] + a[:, 1] * b[:, 1] + a[:, 2] * b[:, 2]
    return summed
