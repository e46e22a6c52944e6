"""Locate the element that carries a point, with SOFA's tie-breaking.

Elements for points outside a mesh, as SOFA's topology containers choose them.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sofa_softctl.base.jit import njit


@njit
def _inverse(m: np.ndarray, out: np.ndarray) -> None:
    """Compute cofactors, each divided by the determinant: rounding then decides ties as in SOFA."""
    det = (
        m[0, 0] * m[1, 1] * m[2, 2]
        + m[1, 0] * m[2, 1] * m[0, 2]
        + m[2, 0] * m[0, 1] * m[1, 2]
        - m[0, 0] * m[2, 1] * m[1, 2]
        - m[1, 0] * m[0, 1] * m[2, 2]
        - m[2, 0] * m[1, 1] * m[0, 2]
    )
    out[0, 0] = (m[1, 1] * m[2, 2] - m[2, 1] * m[1, 2]) / det
    out[1, 0] = (m[1, 2] * m[2, 0] - m[2, 2] * m[1, 0]) / det
    out[2, 0] = (m[1, 0] * m[2, 1] - m[2, 0] * m[1, 1]) / det
    out[0, 1] = (m[2, 1] * m[0, 2] - m[0, 1] * m[2, 2]) / det
    out[1, 1] = (m[2, 2] * m[0, 0] - m[0, 2] * m[2, 0]) / det
    out[2, 1] = (m[2, 0] * m[0, 1] - m[0, 0] * m[2, 1]) / det
    out[0, 2] = (m[0, 1] * m[1, 2] - m[1, 1] * m[0, 2]) / det
    out[1, 2] = (m[0, 2] * m[1, 0] - m[1, 2] * m[0, 0]) / det
    out[2, 2] = (m[0, 0] * m[1, 1] - m[1, 0] * m[0, 1]) / det


@njit
def locate(
    points: np.ndarray, x: np.ndarray, elements: np.ndarray, best: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    """Find the element in which each point lies deepest, or of nearest centroid for points outside.

    The third axis of a triangle is ab cross ac; a point counts as inside within 1 % of its length.

    Args:
        points: Points to locate, shape (k, 3).
        x: Vertices, shape (n, 3).
        elements: Tetrahedra (m, 4) or triangles (m, 3).
        best: Output, element of each point or -1, shape (k,).
        weights: Output, weights of the element's second and later vertices, shape (k, 3);
            0 along a triangle's third axis.

    Returns:
        Squared distance to the centroid for points outside all elements; others not above 0.
    """
    corners = elements.shape[1]
    inverse, edges, w = np.empty((3, 3)), np.empty((3, 3)), np.empty(3)
    distance = np.full(points.shape[0], 1e10)
    best[:] = -1
    for e in range(elements.shape[0]):
        t = elements[e]
        for i in range(3):
            for j in range(corners - 1):
                edges[i, j] = x[t[j + 1], i] - x[t[0], i]
        if corners == 3:
            for i in range(3):
                j, k = (i + 1) % 3, (i + 2) % 3
                edges[i, 2] = edges[j, 0] * edges[k, 1] - edges[k, 0] * edges[j, 1]
        _inverse(edges, inverse)
        for p in range(points.shape[0]):
            d0 = points[p, 0] - x[t[0], 0]
            d1 = points[p, 1] - x[t[0], 1]
            d2 = points[p, 2] - x[t[0], 2]
            for i in range(3):
                w[i] = inverse[i, 0] * d0 + inverse[i, 1] * d1 + inverse[i, 2] * d2
            if corners == 4:
                d = max(max(-w[0], -w[1]), max(-w[2], w[0] + w[1] + w[2] - 1.0))
            else:
                d = max(max(-w[0], -w[1]), max(abs(w[2]) - 0.01, w[0] + w[1] - 1.0))
            if d > 0.0:
                d = 0.0
                for i in range(3):
                    center = 0.0
                    for j in range(corners):
                        center += x[t[j], i]
                    d += (points[p, i] - center / corners) ** 2
            if d < distance[p]:
                distance[p] = d
                best[p] = e
                for i in range(corners - 1):
                    weights[p, i] = w[i]
    return distance


def nearest_in_cells(
    points: np.ndarray, outside: np.ndarray, x: np.ndarray, elements: np.ndarray, edges: np.ndarray
) -> Iterator[tuple[int, int]]:
    """Yield points outside all elements, each with the element of nearest centroid in its cell.

    Cells are cubes whose side is the mean length of the edges; an element is in all cells that its
    bounding box meets. The 26 cells around count too if the squared distance to the centroid is
    more than half a side (a number in any unit). Points whose cell has no element are left out:
    for them all elements count.

    Args:
        points: Positions of the points, shape (k, 3).
        outside: True for points outside all elements, shape (k,).
        x: Vertices, shape (n, 3).
        elements: Vertices of each element, shape (m, corners).
        edges: Vertices of each edge, shape (q, 2).

    Source: SOFA's BarycentricMapperTopologyContainer (behaviour).
    """
    if not outside.any():
        return
    side = np.linalg.norm(x[edges[:, 0]] - x[edges[:, 1]], axis=1).mean()
    corners = x[elements]  # (m, corners, 3)
    first, last = (np.floor(ends * (1.0 / side)) for ends in (corners.min(1), corners.max(1)))
    centroids = corners.sum(axis=1) / elements.shape[1]
    for k in np.flatnonzero(outside):
        cell = np.floor(points[k] * (1.0 / side))
        squares = ((points[k] - centroids) ** 2).sum(axis=1)
        is_in_cell = ((first <= cell) & (cell <= last)).all(axis=1)
        if not is_in_cell.any():
            continue
        nearest = np.where(is_in_cell, squares, np.inf).argmin()
        if squares[nearest] > side / 2.0:
            is_around = ((first <= cell + 1.0) & (cell - 1.0 <= last)).all(axis=1)
            square_min = squares[is_around].min()
            if square_min < squares[nearest]:  # ties: the first cell, x before y and z
                ties = np.flatnonzero(is_around & (squares == square_min))
                nearest = min(ties, key=lambda e: (*np.maximum(first[e], cell - 1.0), e))
        yield int(k), int(nearest)
