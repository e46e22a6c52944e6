"""Cells of a regular grid that a surface meets or encloses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sofa_softctl.runtime.mesh.touch import touch_cube

OUTSIDE, BOUNDARY, INSIDE = 0, 1, 2
"""Kinds of cells: neither met nor enclosed, met, enclosed."""
_CORNERS = np.array([(i, j, k) for k in (0, 1) for i, j in ((0, 0), (1, 0), (1, 1), (0, 1))])
"""Corners of a cell, in the order of a hexahedron's vertices."""
_PARTS = np.indices((2, 2, 2)).reshape(3, -1).T
"""The eight finer cells of a cell."""
_PAIRS_MAX = 200_000
"""Pairs of triangle and cell that are tested at a time, to bound the memory."""


@dataclass(frozen=True)
class VoxelGrid:
    """Box of equal cells along the axes, numbered with the first direction running first."""

    origin: np.ndarray
    """First corner [length], shape (3,)."""
    size: np.ndarray
    """Edges of a cell [length], shape (3,)."""
    counts: np.ndarray
    """Cells along each direction, shape (3,)."""

    def steps(self, points: np.ndarray) -> np.ndarray:
        """Return coordinates of points (k, 3) from the first corner in edges of a cell.

        Rounded as in SOFA, since rounding decides in which cell a point on a side lies.
        """
        return (points - self.origin) * self.size * (1.0 / (self.size * self.size))

    def numbers(self, indices: np.ndarray) -> np.ndarray:
        """Return the numbers of the cells with indices (i, j, k), shape (..., 3)."""
        i, j, k = np.moveaxis(indices, -1, 0)
        return np.asarray(i + self.counts[0] * (j + self.counts[1] * k))

    def indices(self) -> np.ndarray:
        """Return the indices (i, j, k) of every cell in order, shape (cells, 3)."""
        return np.indices(self.counts[::-1].tolist()).reshape(3, -1).T[:, ::-1]

    def hexahedra(self, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return vertices (v, 3), along z first as in SOFA, and hexahedra (m, 8) of these cells."""
        corners = self.indices()[numbers][:, None] + _CORNERS  # (m, 8, 3)
        row = self.counts + 1
        keys = (corners[..., 0] * row[1] + corners[..., 1]) * row[2] + corners[..., 2]
        used, vertices = np.unique(keys, return_inverse=True)
        i, remainder = np.divmod(used, row[1] * row[2])
        steps = np.stack([i, *np.divmod(remainder, row[2])], axis=1)
        return self.origin + self.size * steps, vertices.reshape(-1, 8)


def voxelize(points: np.ndarray, triangles: np.ndarray, cells: VoxelGrid) -> np.ndarray:
    """Return the kind of every cell, shape (cells,).

    A cell is met if a vertex lies in it or a triangle touches it, sides included; enclosed if every
    path through neighbours out of the grid crosses cells that are met. The triangles need not
    close; cells behind a hole wider than a cell are outside.

    Args:
        points: Vertices of the surface, shape (v, 3); those outside the grid count for the nearest
            cell of the triangles' range, but do not meet it.
        triangles: Vertices of the triangles, shape (t, 3).
        cells: The grid.

    Source: SOFA's SparseGridTopology (behaviour).
    """
    from scipy import ndimage  # which takes a while to import

    index = np.floor(cells.steps(points)).astype(np.int64)
    is_within = ((index >= 0) & (index < cells.counts)).all(axis=1)
    index = np.clip(index, 0, cells.counts - 1)
    is_met = np.zeros(int(np.prod(cells.counts)), bool)
    is_met[cells.numbers(index[is_within])] = True
    low, high = index[triangles].min(axis=1), index[triangles].max(axis=1)  # (t, 3)
    extent = high - low + 1
    ends = np.cumsum(extent.prod(axis=1))
    start = 0
    while start < len(triangles):
        before = ends[start - 1] if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, before + _PAIRS_MAX)))
        _meet(points, triangles[start:stop], low[start:stop], extent[start:stop], cells, is_met)
        start = stop
    is_free = ~is_met.reshape(cells.counts[::-1])
    regions, count = ndimage.label(is_free)
    is_open = np.zeros(count + 1, bool)
    for axis in range(3):
        for side in (0, -1):
            is_open[np.unique(regions.take(side, axis=axis))] = True
    kinds = np.where(is_open[regions], OUTSIDE, INSIDE).ravel()
    kinds[is_met] = BOUNDARY
    return kinds


def coarser(
    cells: VoxelGrid, kinds: np.ndarray, weights: np.ndarray
) -> tuple[VoxelGrid, np.ndarray, np.ndarray]:
    """Return cells of twice the size, their kinds, and the mean weight of their eight parts.

    Args:
        cells: The finer cells; the grid grows by one cell along directions with an odd number.
        kinds: Kinds of the finer cells. A cell is met unless all of its parts are of one kind.
        weights: Weights of the finer cells; parts outside the grid weigh nothing.
    """
    coarse = VoxelGrid(cells.origin, 2.0 * cells.size, (cells.counts + 1) // 2)
    indices = 2 * coarse.indices()[:, None] + _PARTS  # (c, 8, 3)
    is_in_grid = (indices < cells.counts).all(axis=2)
    number = np.where(is_in_grid, cells.numbers(indices), 0)
    parts = np.where(is_in_grid, kinds[number], OUTSIDE)
    coarse_kinds = np.full(len(indices), BOUNDARY)
    for kind in (INSIDE, OUTSIDE):
        coarse_kinds[(parts == kind).all(axis=1)] = kind
    return coarse, coarse_kinds, np.where(is_in_grid, weights[number], 0.0).sum(axis=1) / 8.0


def _meet(
    points: np.ndarray,
    triangles: np.ndarray,
    low: np.ndarray,
    extent: np.ndarray,
    cells: VoxelGrid,
    is_met: np.ndarray,
) -> None:
    """Mark the cells that triangles touch, among `extent` cells from `low` for each, (t, 3)."""
    counts = extent.prod(axis=1)
    owner = np.repeat(np.arange(len(triangles)), counts)
    k = np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)
    nx, ny, _ = extent[owner].T
    index = low[owner] + np.stack([k % nx, k // nx % ny, k // (nx * ny)], axis=1)
    number = cells.numbers(index)
    is_open = ~is_met[number]
    owner, index, number = owner[is_open], index[is_open], number[is_open]
    first = cells.origin + cells.size * index
    diagonal = cells.origin + cells.size * (index + 1) - first
    center = first + 0.5 * diagonal
    corners = (points[triangles[owner]] - center[:, None]) / diagonal[:, None]  # (p, 3, 3)
    is_met[number[touch_cube(corners.astype(np.float32))]] = True
