"""Elements for points outside a mesh, as SOFA's topology containers choose them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np


def nearest_in_cells(
    points: np.ndarray, outside: np.ndarray, x: np.ndarray, elements: np.ndarray, edges: np.ndarray
) -> Iterator[tuple[int, int]]:
    """Yield points outside all elements, each with the element of nearest centroid in its cell.

    Cells are cubes whose side is the mean length of the edges; an element is in all cells that its
    bounding box meets. The 26 cells around count too if the squared distance to the centroid is
    more than half a side (a number, whatever the unit). Points whose cell has no element are left
    out: for them all elements count.

    Args:
        points: Shape (k, 3).
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
        in_cell = ((first <= cell) & (cell <= last)).all(axis=1)
        if not in_cell.any():
            continue
        nearest = np.where(in_cell, squares, np.inf).argmin()
        if squares[nearest] > side / 2.0:
            around = ((first <= cell + 1.0) & (cell - 1.0 <= last)).all(axis=1)
            least = squares[around].min()
            if least < squares[nearest]:  # of equal ones that of the first cell, x before y and z
                tied = np.flatnonzero(around & (squares == least))
                nearest = min(tied, key=lambda e: (*np.maximum(first[e], cell - 1.0), e))
        yield int(k), int(nearest)
