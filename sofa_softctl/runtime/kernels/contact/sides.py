"""Side of a surface, open or closed, on which points lie; edges that cross it."""

from __future__ import annotations

import numpy as np

from sofa_softctl.base.jit import njit

Vector = tuple[float, float, float]
EQUAL_LENGTH_TOLERANCE = 1e-9
"""Lengths up to this fraction of a surface's size are equal: rounding errors [-]."""


def rims(triangles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the border of a surface.

    Args:
        triangles: Triangles, shape (t, 3).

    Returns:
        True for edges of a triangle, from corner k to k + 1, that no other triangle has, (t, 3);
        True for corners of a triangle that lie on such an edge, shape (t, 3).
    """
    edges = np.sort(triangles[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1)
    _, number, count = np.unique(edges, axis=0, return_inverse=True, return_counts=True)
    is_border = count[number.ravel()] == 1
    nodes = np.zeros(int(triangles.max(initial=-1)) + 1, dtype=bool)
    nodes[edges[is_border].ravel()] = True
    return is_border.reshape(-1, 3), nodes[triangles]


@njit
def heights(
    points: np.ndarray,
    x: np.ndarray,
    triangles: np.ndarray,
    rim_edges: np.ndarray,
    rim_corners: np.ndarray,
    pairs: np.ndarray,
    tolerance: float,
) -> np.ndarray:
    """Return the signed distance of points to a surface, negative behind it, shape (n,).

    NaN for points without a paired triangle, and for points whose nearest point is on the border
    of the surface: such a point lies beside it, not behind.

    Args:
        points: Points [length], shape (n, 3).
        x: Nodes of the surface [length], shape (m, 3).
        triangles: Triangles, all facing the same way, shape (t, 3).
        rim_edges, rim_corners: Border of the surface, see `rims`.
        pairs: Triangles and points to compare, shape (p, 2).
        tolerance: Difference up to which distances are equal [length].

    Source: normals of edges and corners, triangles weighted by their angle there: Baerentzen
        and Aanaes 2005, "Signed distance computation using the angle weighted pseudonormal".
    """
    count = len(points)
    nearest = np.full(count, np.inf)
    for k in range(len(pairs)):
        t, j = pairs[k]
        offset, _ = _to_triangle(points[j], x, triangles[t])
        nearest[j] = min(nearest[j], np.sqrt(_dot(offset, offset)))
    side, is_beside = np.zeros(count), np.isinf(nearest)
    for k in range(len(pairs)):
        t, j = pairs[k]
        offset, part = _to_triangle(points[j], x, triangles[t])
        if np.sqrt(_dot(offset, offset)) > nearest[j] + tolerance:
            continue
        if part >= 4:
            is_beside[j] |= rim_corners[t, part - 4]
        elif part >= 1:
            is_beside[j] |= rim_edges[t, part - 1]
        side[j] += _angle(x, triangles[t], part) * _dot(_normal(x, triangles[t]), offset)
    signed = np.empty(count)
    for j in range(count):  # numba takes seconds to compile np.where
        signed[j] = -nearest[j] if side[j] < 0.0 else nearest[j]
        if is_beside[j] and not nearest[j] <= tolerance:
            signed[j] = np.nan
    return signed


@njit
def crossings(
    points: np.ndarray,
    edges: np.ndarray,
    x: np.ndarray,
    triangles: np.ndarray,
    pairs: np.ndarray,
    tolerance: float,
) -> np.ndarray:
    """Return the end of an edge behind the triangle that it crosses, for each pair, (p,).

    1 for the first end, 2 for the second; 0 if the edge does not cross, or only touches.

    Args:
        points: Ends of the edges [length], shape (n, 3).
        edges: Edges, shape (e, 2).
        x: Nodes of the surface [length], shape (m, 3).
        triangles: Triangles, shape (t, 3).
        pairs: Triangles and edges to compare, shape (p, 2).
        tolerance: Distance up to which an end lies on the surface [length].
    """
    ends = np.zeros(len(pairs), np.int64)
    for k in range(len(pairs)):
        t, e = pairs[k]
        p, q = points[edges[e, 0]], points[edges[e, 1]]
        n = _normal(x, triangles[t])
        start, end = _dot(n, _sub(p, x[triangles[t, 0]])), _dot(n, _sub(q, x[triangles[t, 0]]))
        if start * end >= 0.0 or min(abs(start), abs(end)) <= tolerance:
            continue
        along = _sub(q, p)
        turn_min, turn_max = np.inf, -np.inf
        for c in range(3):
            a = _sub(x[triangles[t, c]], p)
            b = _sub(x[triangles[t, (c + 1) % 3]], p)
            turn = _dot(along, _cross(a, b))
            turn_min, turn_max = min(turn_min, turn), max(turn_max, turn)
        if turn_min >= 0.0 or turn_max <= 0.0:
            ends[k] = 1 if start < 0.0 else 2
    return ends


@njit
def _to_triangle(p: np.ndarray, x: np.ndarray, triangle: np.ndarray) -> tuple[Vector, int]:
    """Return the offset of a point from the nearest point of a triangle, and the part it is on.

    Part 0 is the inside of the triangle, 1 + k the edge from corner k on, 4 + k the corner k.
    """
    offset, part, square_min = (0.0, 0.0, 0.0), 4, np.inf
    for k in range(3):
        a, b = x[triangle[k]], x[triangle[(k + 1) % 3]]
        ab, ap = _sub(b, a), _sub(p, a)
        fraction = _dot(ap, ab) / _dot(ab, ab)
        clipped = min(max(fraction, 0.0), 1.0)
        offset_k = (ap[0] - clipped * ab[0], ap[1] - clipped * ab[1], ap[2] - clipped * ab[2])
        square = _dot(offset_k, offset_k)
        if square < square_min:
            offset, square_min = offset_k, square
            part = 1 + k
            if fraction <= 0.0:
                part = 4 + k
            elif fraction >= 1.0:
                part = 4 + (k + 1) % 3
    n = _normal(x, triangle)
    for k in range(3):
        a, b = x[triangle[k]], x[triangle[(k + 1) % 3]]
        if _dot(_cross(_sub(b, a), _sub(p, a)), n) <= 0.0:
            return offset, part
    height = _dot(n, _sub(p, x[triangle[0]]))
    return (height * n[0], height * n[1], height * n[2]), 0


@njit
def _angle(x: np.ndarray, triangle: np.ndarray, part: int) -> float:
    """Return the angle of a triangle around its inside, an edge or a corner."""
    if part == 0:
        return 2.0 * np.pi
    if part < 4:
        return np.pi
    a = x[triangle[part - 4]]
    ab, ac = _sub(x[triangle[(part - 3) % 3]], a), _sub(x[triangle[(part - 2) % 3]], a)
    cosine = _dot(ab, ac) / np.sqrt(_dot(ab, ab) * _dot(ac, ac))
    return np.arccos(min(max(cosine, -1.0), 1.0))


@njit
def _normal(x: np.ndarray, triangle: np.ndarray) -> Vector:
    """Return the unit normal of a triangle."""
    a = x[triangle[0]]
    n = _cross(_sub(x[triangle[1]], a), _sub(x[triangle[2]], a))
    size = np.sqrt(_dot(n, n))
    return n[0] / size, n[1] / size, n[2] / size


@njit
def _sub(a: np.ndarray, b: np.ndarray) -> Vector:
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


@njit
def _dot(a: Vector, b: Vector) -> float:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@njit
def _cross(a: Vector, b: Vector) -> Vector:
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]
