"""Distance of points to a surface, and depth inside a closed one."""

from __future__ import annotations

import numpy as np

from sofa_softctl.base.jit import njit
from sofa_softctl.runtime.kernels.contact.sides import _to_triangle

Vector = tuple[float, float, float]


@njit
def depths(points: np.ndarray, x: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """Return the distance to a closed surface of each point inside it, else 0; shape (n,).

    Args:
        points: Points [length], shape (n, 3).
        x: Nodes of the surface [length], shape (m, 3).
        triangles: Triangles of the surface, all facing outwards or all inwards, shape (t, 3).

    Source: solid angle of a triangle, van Oosterom and Strackee 1983, "The solid angle of a plane
        triangle", eq. (8): over a closed surface they add up to 4 pi inside, and to 0 outside.
    """
    depth = np.zeros(len(points))
    for k in range(len(points)):
        angle, nearest = 0.0, np.inf
        for t in range(len(triangles)):
            a = _sub(x[triangles[t, 0]], points[k])
            b = _sub(x[triangles[t, 1]], points[k])
            c = _sub(x[triangles[t, 2]], points[k])
            size_a, size_b, size_c = np.sqrt(_dot(a, a)), np.sqrt(_dot(b, b)), np.sqrt(_dot(c, c))
            denominator = size_a * size_b * size_c
            denominator += _dot(a, b) * size_c + _dot(b, c) * size_a + _dot(c, a) * size_b
            angle += 2.0 * np.arctan2(_dot(a, _cross(b, c)), denominator)
            nearest = min(nearest, _square_distance(a, b, c))
        if abs(angle) > 2.0 * np.pi:
            depth[k] = np.sqrt(nearest)
    return depth


@njit
def distances(points: np.ndarray, x: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """Return the distance of each point to a surface, from any side; shape (n,). See `depths`."""
    distance = np.empty(len(points))
    for k in range(len(points)):
        nearest = np.inf
        for t in range(len(triangles)):
            a = _sub(x[triangles[t, 0]], points[k])
            b = _sub(x[triangles[t, 1]], points[k])
            c = _sub(x[triangles[t, 2]], points[k])
            nearest = min(nearest, _square_distance(a, b, c))
        distance[k] = np.sqrt(nearest)
    return distance


@njit
def nearest_points(points: np.ndarray, x: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """Return the point of a surface that is nearest to each point, shape (n, 3).

    Args:
        points: Points [length], shape (n, 3).
        x: Nodes of the surface [length], shape (m, 3).
        triangles: Triangles with an area, shape (t, 3).
    """
    count = len(triangles)
    centers, radii = np.empty((count, 3)), np.empty(count)
    for t in range(count):
        a, b, c = x[triangles[t, 0]], x[triangles[t, 1]], x[triangles[t, 2]]
        radius = 0.0
        for i in range(3):
            centers[t, i] = (a[i] + b[i] + c[i]) / 3.0
        for k in range(3):
            offset = _sub(x[triangles[t, k]], centers[t])
            radius = max(radius, np.sqrt(_dot(offset, offset)))
        radii[t] = radius
    nearest = np.empty((len(points), 3))
    for j in range(len(points)):
        distance_min = np.inf
        for t in range(count):
            offset = _sub(points[j], centers[t])
            reach = distance_min + radii[t]
            if _dot(offset, offset) > reach * reach:
                continue
            offset, _ = _to_triangle(points[j], x, triangles[t])
            distance = np.sqrt(_dot(offset, offset))
            if distance < distance_min:
                distance_min = distance
                for i in range(3):
                    nearest[j, i] = points[j, i] - offset[i]
    return nearest


@njit
def _sub(a: Vector, b: Vector) -> Vector:
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


@njit
def _dot(a: Vector, b: Vector) -> float:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@njit
def _cross(a: Vector, b: Vector) -> Vector:
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@njit
def _square_distance(a: Vector, b: Vector, c: Vector) -> float:
    """Return the squared distance of the origin to a triangle."""
    n = _cross(_sub(b, a), _sub(c, a))
    square = _dot(n, n)
    is_beside = _dot(_cross(a, b), n) < 0.0 or _dot(_cross(b, c), n) < 0.0
    if square > 0.0 and not is_beside and _dot(_cross(c, a), n) >= 0.0:
        return _dot(a, n) ** 2 / square
    return min(_square_to_line(a, b), min(_square_to_line(b, c), _square_to_line(c, a)))


@njit
def _square_to_line(a: Vector, b: Vector) -> float:
    """Return the squared distance of the origin to the segment from a to b."""
    ab = _sub(b, a)
    square = _dot(ab, ab)
    s = min(max(-_dot(a, ab) / square, 0.0), 1.0) if square > 0.0 else 0.0
    point = (a[0] + s * ab[0], a[1] + s * ab[1], a[2] + s * ab[2])
    return _dot(point, point)
