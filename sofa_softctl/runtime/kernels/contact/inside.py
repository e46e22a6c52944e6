"""Distance of points to a surface, and which lie inside a closed one."""

from __future__ import annotations

import numpy as np

from sofa_softctl.base.jit import njit

Vector = tuple[float, float, float]


@njit
def depths(points: np.ndarray, x: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """Distance of each point to a closed surface where it lies inside, else 0; shape (n,).

    Args:
        points: Points [length], shape (n, 3).
        x: Nodes of the surface [length], shape (m, 3).
        triangles: Triangles of the surface, all facing outwards or all inwards, shape (t, 3).

    Source: solid angle of a triangle, van Oosterom and Strackee 1983, "The solid angle of a plane
        triangle", eq. (8): over a closed surface they add up to 4 pi inside, and to 0 outside.
    """
    found = np.zeros(len(points))
    for k in range(len(points)):
        angle, nearest = 0.0, np.inf
        for t in range(len(triangles)):
            a = _sub(x[triangles[t, 0]], points[k])
            b = _sub(x[triangles[t, 1]], points[k])
            c = _sub(x[triangles[t, 2]], points[k])
            size_a, size_b, size_c = np.sqrt(_dot(a, a)), np.sqrt(_dot(b, b)), np.sqrt(_dot(c, c))
            rest = size_a * size_b * size_c
            rest += _dot(a, b) * size_c + _dot(b, c) * size_a + _dot(c, a) * size_b
            angle += 2.0 * np.arctan2(_dot(a, _cross(b, c)), rest)
            nearest = min(nearest, _square_distance(a, b, c))
        if abs(angle) > 2.0 * np.pi:
            found[k] = np.sqrt(nearest)
    return found


@njit
def distances(points: np.ndarray, x: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """Distance of each point to a surface, from whichever side; shape (n,). Arguments: depths'."""
    found = np.empty(len(points))
    for k in range(len(points)):
        nearest = np.inf
        for t in range(len(triangles)):
            a = _sub(x[triangles[t, 0]], points[k])
            b = _sub(x[triangles[t, 1]], points[k])
            c = _sub(x[triangles[t, 2]], points[k])
            nearest = min(nearest, _square_distance(a, b, c))
        found[k] = np.sqrt(nearest)
    return found


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
    """Squared distance of the origin to a triangle."""
    n = _cross(_sub(b, a), _sub(c, a))
    square = _dot(n, n)
    beside = _dot(_cross(a, b), n) < 0.0 or _dot(_cross(b, c), n) < 0.0
    if square > 0.0 and not beside and _dot(_cross(c, a), n) >= 0.0:
        return _dot(a, n) ** 2 / square
    return min(_square_to_line(a, b), min(_square_to_line(b, c), _square_to_line(c, a)))


@njit
def _square_to_line(a: Vector, b: Vector) -> float:
    """Squared distance of the origin to the piece from a to b."""
    way = _sub(b, a)
    square = _dot(way, way)
    share = min(max(-_dot(a, way) / square, 0.0), 1.0) if square > 0.0 else 0.0
    point = (a[0] + share * way[0], a[1] + share * way[1], a[2] + share * way[2])
    return _dot(point, point)
