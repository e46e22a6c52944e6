"""Coarser meshes for display: nodes in cells of a grid become one of them."""

from __future__ import annotations

import numpy as np

CELLS_TRIED = 12
"""Number of grids tried; each differs from the last one by a third in the number of triangles."""


def reduce_triangles(
    points: np.ndarray, triangles: np.ndarray, count_max: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return a mesh of some of the nodes, with at most so many triangles.

    The nodes stay nodes of the mesh, so a deformed body is shown by the same indices.

    Args:
        points: Nodes [length], shape (n, 3).
        triangles: Node numbers, shape (k, 3).
        count_max: Maximum number of triangles.

    Returns:
        Indices of the nodes shown, shape (m,), and triangles of these, shape (j, 3).

    Source: vertex clustering; Rossignac and Borrel, Multi-resolution 3D approximations for
    rendering complex scenes, 1993, with a node of the mesh in place of the mean.
    """
    nodes, numbers = np.unique(triangles, return_inverse=True)
    if len(triangles) <= count_max:
        return nodes, numbers.reshape(-1, 3)
    points = np.nan_to_num(points)
    low, high = points[nodes].min(axis=0), points[nodes].max(axis=0)
    extent = float((high - low).max()) or 1.0
    corners = points[triangles]
    edges = corners[:, 1:] - corners[:, :1]
    area = 0.5 * np.linalg.norm(np.cross(edges[:, 0], edges[:, 1]), axis=1).sum()
    cell = float(np.sqrt(2.0 * area / count_max)) if area > 0.0 else extent
    for _ in range(CELLS_TRIED):
        representatives, coarse = _cluster(points, nodes, numbers, low, cell)
        if len(coarse) <= count_max:
            break
        cell *= 1.2
    return representatives, coarse[:count_max]


def _cluster(
    points: np.ndarray, nodes: np.ndarray, numbers: np.ndarray, low: np.ndarray, cell: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return one node of each cell of a grid, and the triangles between different cells."""
    coordinates = np.floor((points[nodes] - low) / cell).astype(np.int64)
    _, first, clusters = np.unique(coordinates, axis=0, return_index=True, return_inverse=True)
    coarse = clusters.ravel()[numbers.ravel()].reshape(-1, 3)
    a, b, c = coarse.T
    coarse = coarse[(a != b) & (b != c) & (c != a)]
    _, unique = np.unique(np.sort(coarse, axis=1), axis=0, return_index=True)
    return nodes[first], coarse[np.sort(unique)]
