"""Location of points in hexahedra, and the weights of their vertices."""

from __future__ import annotations

import numpy as np


def locate_in_hexahedra(
    points: np.ndarray, x: np.ndarray, hexahedra: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Find the hexahedron in which each point lies deepest, or of nearest centroid if outside all.

    Coordinates along the edges from a hexahedron's first vertex to its second, fourth and fifth,
    as if it were a parallelepiped.

    Args:
        points: Points to locate, shape (k, 3).
        x: Vertices, shape (n, 3).
        hexahedra: Vertices of each hexahedron, shape (m, 8).

    Returns:
        Hexahedron of each point, shape (k,), and its coordinates there, shape (k, 3).

    Source: SOFA's BarycentricMapperMeshTopology (behaviour).
    """
    corners = x[hexahedra]  # (m, 8, 3)
    edges = corners[:, [1, 3, 4]] - corners[:, :1]  # rows
    inverse = np.linalg.inv(edges.transpose(0, 2, 1))
    centers = corners.mean(axis=1)
    best, inner = np.empty(len(points), np.int64), np.empty((len(points), 3))
    for k, point in enumerate(points):
        v = np.einsum("mij,mj->mi", inverse, point - corners[:, 0])
        depth = np.maximum(-v, v - 1.0).max(axis=1)
        squares = ((point - centers) ** 2).sum(axis=1)
        best[k] = np.where(depth > 0.0, squares, depth).argmin()
        inner[k] = v[best[k]]
    return best, inner


def trilinear(inner: np.ndarray) -> np.ndarray:
    """Return the weights of the vertices at coordinates (k, 3) in a hexahedron, shape (k, 8)."""
    fx, fy, fz = inner.T
    gx, gy, gz = 1.0 - fx, 1.0 - fy, 1.0 - fz
    flat = [gx * gy, fx * gy, fx * fy, gx * fy]
    return np.stack([part * gz for part in flat] + [part * fz for part in flat], axis=1)
