"""Cells of a regular grid that a surface meets or encloses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sofa_softctl.runtime.mesh.touch import touch_cube

OUTSIDE, BOUNDARY, INSIDE = 0, 1, 2
"""Kinds of cells: neither met nor enclosed, met, enclosed."""
_CORNERS = np.array([(i, j, k) for k in (0, 1) for i, j in ((0, 0), (1, 0), (1, 1), (0, 1))])
"""Of a cell, in the order of a hexahedron's vertices."""
_PARTS = np.indices((2, 2, 2)).reshape(3, -1).T
"""The eight finer cells of a cell."""
_TESTED_AT_ONCE = 200_000
"""Pairs of triangle and cell, to bound the memory."""


@dataclass(frozen=True)
class Cells:
    """A box of equal cells along the axes, numbered with the first direction running first."""

    origin: np.ndarray
    """First corner [length], shape (3,)."""
    size: np.ndarray
    """Edges of a cell [length], shape (3,)."""
    counts: np.ndarray
    """Cells along each direction, shape (3,)."""

    def steps(self, points: np.ndarray) -> np.ndarray:
        """Coordinates of points (k, 3) in edges of a cell from the first corner.

        Rounded as SOFA rounds them: it decides in which cell a point on a side lies.
        """
        return (points - self.origin) * self.size * (1.0 / (self.size * self.size))

    def numbers(self, places: np.ndarray) -> np.ndarray:
        """Number of the cell at each place (i, j, k), shape (..., 3)."""
        i, j, k = np.moveaxis(places, -1, 0)
        found: np.ndarray = i + self.counts[0] * (j + self.counts[1] * k)
        return found

    def places(self) -> np.ndarray:
        """Place (i, j, k) of every cell in order, shape (cells, 3)."""
        return np.indices(self.counts[::-1].tolist()).reshape(3, -1).T[:, ::-1]

    def hexahedra(self, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Vertices (v, 3) and hexahedra (m, 8) of the cells of these numbers, in that order.

        Vertices of those cells alone, along z first, as SOFA sorts them.
        """
        corners = self.places()[numbers][:, None] + _CORNERS  # (m, 8, 3)
        row = self.counts + 1
        keys = (corners[..., 0] * row[1] + corners[..., 1]) * row[2] + corners[..., 2]
        used, found = np.unique(keys, return_inverse=True)
        i, rest = np.divmod(used, row[1] * row[2])
        steps = np.stack([i, *np.divmod(rest, row[2])], axis=1)
        return self.origin + self.size * steps, found.reshape(-1, 8)


def voxelize(points: np.ndarray, triangles: np.ndarray, cells: Cells) -> np.ndarray:
    """The kind of every cell, shape (cells,).

    A cell is met where a vertex lies in it or a triangle touches it, sides included; enclosed where
    every way along neighbours out of the grid leads through cells that are met. The triangles need
    not close; through a hole wider than a cell the outside enters.

    Args:
        points: Vertices of the surface, shape (v, 3); those outside the grid count for the nearest
            cell of the triangles' range, but do not meet it.
        triangles: Shape (t, 3).
        cells: The grid.

    Source: SOFA's SparseGridTopology (behaviour).
    """
    from scipy import ndimage  # which takes a while to import

    place = np.floor(cells.steps(points)).astype(np.int64)
    within = ((place >= 0) & (place < cells.counts)).all(axis=1)
    place = np.clip(place, 0, cells.counts - 1)
    met = np.zeros(int(np.prod(cells.counts)), bool)
    met[cells.numbers(place[within])] = True
    low, high = place[triangles].min(axis=1), place[triangles].max(axis=1)  # (t, 3)
    reach = high - low + 1
    ends = np.cumsum(reach.prod(axis=1))
    start = 0
    while start < len(triangles):
        before = ends[start - 1] if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, before + _TESTED_AT_ONCE)))
        _meet(points, triangles[start:stop], low[start:stop], reach[start:stop], cells, met)
        start = stop
    free = ~met.reshape(cells.counts[::-1])
    regions, count = ndimage.label(free)
    open_regions = np.zeros(count + 1, bool)
    for axis in range(3):
        for side in (0, -1):
            open_regions[np.unique(regions.take(side, axis=axis))] = True
    kinds = np.where(open_regions[regions], OUTSIDE, INSIDE).ravel()
    kinds[met] = BOUNDARY
    return kinds


def coarser(
    cells: Cells, kinds: np.ndarray, weights: np.ndarray
) -> tuple[Cells, np.ndarray, np.ndarray]:
    """Cells of twice the size, their kinds, and the mean of their eight parts' weights.

    Args:
        cells: The finer cells; where their number along a direction is odd the grid grows by one.
        kinds: Of each finer cell. A cell is met unless all of its parts are of one kind.
        weights: Of each finer cell; parts out of the grid weigh nothing.
    """
    coarse = Cells(cells.origin, 2.0 * cells.size, (cells.counts + 1) // 2)
    places = 2 * coarse.places()[:, None] + _PARTS  # (c, 8, 3)
    there = (places < cells.counts).all(axis=2)
    number = np.where(there, cells.numbers(places), 0)
    parts = np.where(there, kinds[number], OUTSIDE)
    found = np.full(len(places), BOUNDARY)
    for kind in (INSIDE, OUTSIDE):
        found[(parts == kind).all(axis=1)] = kind
    return coarse, found, np.where(there, weights[number], 0.0).sum(axis=1) / 8.0


def _meet(
    points: np.ndarray,
    triangles: np.ndarray,
    low: np.ndarray,
    reach: np.ndarray,
    cells: Cells,
    met: np.ndarray,
) -> None:
    """Mark the cells that triangles touch, of the `reach` cells from `low` on of each, (t, 3)."""
    counts = reach.prod(axis=1)
    owner = np.repeat(np.arange(len(triangles)), counts)
    k = np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)
    nx, ny, _ = reach[owner].T
    place = low[owner] + np.stack([k % nx, k // nx % ny, k // (nx * ny)], axis=1)
    number = cells.numbers(place)
    unknown = ~met[number]
    owner, place, number = owner[unknown], place[unknown], number[unknown]
    first = cells.origin + cells.size * place
    diagonal = cells.origin + cells.size * (place + 1) - first
    center = first + 0.5 * diagonal
    corners = (points[triangles[owner]] - center[:, None]) / diagonal[:, None]  # (p, 3, 3)
    met[number[touch_cube(corners.astype(np.float32))]] = True
