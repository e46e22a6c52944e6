"""Cells of a hierarchical grid: positions and corners."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from sofa_softctl.surrogate.cells import spline
from sofa_softctl.surrogate.grid.branches import Branches
from sofa_softctl.surrogate.grid.corners import FAILED, Corners, Key

UNUSABLE = -1
"""Number of unusable cells, and of points outside all cells."""


class GridCells:
    """Cells with known corners, in growing arrays.

    Args:
        corners: Corners of the cells.
    """

    def __init__(self, corners: Corners) -> None:
        d = len(corners.spacing)
        self.corners = corners
        self.size = 0
        self.middle = np.empty((0, d))
        """Middle of each cell [input], shape (capacity, d)."""
        self.half = np.empty((0, d))
        """Half the spacing of each cell [input], shape (capacity, d)."""
        self.rows = np.empty((0, 1 << d), np.int64)
        """Rows of the corners of each cell in `corners.data`, shape (capacity, 2^d)."""
        self.branches = Branches(corners)
        self._offsets = ((spline.signs(d) + 1) // 2).tolist()
        self._edges = _edges(spline.signs(d))
        self._numbers: dict[Key, int] = {}

    def find(self, keys: Iterable[Key]) -> list[int | None]:
        """Return the numbers of cells: `UNUSABLE`, or None for unknown cells."""
        return [self._numbers.get(key) for key in keys]

    def add_cells(self, keys: Iterable[Key]) -> None:
        """Add cells; all their corners are evaluated first."""
        new = [key for key in dict.fromkeys(keys) if self.cell_number(key) is None]
        self.corners.evaluate_missing(corner for key in new for corner in self.corner_keys(key))
        for key in new:
            if self.cell_number(key) is None:
                self._number(key, self.branches.find_rows(self.corner_keys(key), self._edges))

    def cell_number(self, key: Key) -> int | None:
        """Return the number of a cell, `UNUSABLE`, or None if that requires evaluations."""
        if key in self._numbers:
            return self._numbers[key]
        corner_numbers = [self.corners.number(corner) for corner in self.corner_keys(key)]
        if FAILED in corner_numbers:
            return self._number(key, None)
        rows = [row for row in corner_numbers if row is not None]
        if len(rows) < len(corner_numbers) or not self.branches.is_one_branch(rows, self._edges):
            return None
        return self._number(key, rows)

    def _number(self, key: Key, rows: list[int] | None) -> int:
        """Number a cell whose corners have these rows; None makes it unusable."""
        if rows is None:
            self._numbers[key] = UNUSABLE
            self.corners.counts.refused += 1
            return UNUSABLE
        if self.size == len(self.rows):
            self._grow()
        number = self.size
        self.rows[number] = rows
        self.half[number] = 0.5 * self.corners.spacing / 2.0 ** key[0]
        first, last = self.corners.points[[rows[0], rows[-1]]]
        self.middle[number] = 0.5 * (first + last)
        self._numbers[key] = number
        self.size += 1
        return number

    def corner_keys(self, key: Key) -> list[Key]:
        """Return the keys of a cell's corners on its level, in the order of `spline.signs`."""
        level, *index = key
        return [
            (level, *(i + o for i, o in zip(index, offset, strict=True)))
            for offset in self._offsets
        ]

    def evaluate(
        self, number: np.ndarray, points: np.ndarray, rows: np.ndarray | None, gradient: bool
    ) -> tuple[np.ndarray, np.ndarray]:
        """Evaluate the splines of cells (m,) at points (m, d), see `spline.evaluate`."""
        xi, half, corners = self.places(number, points)
        return spline.evaluate(xi, half, corners, self.corners.data, rows=rows, gradient=gradient)

    def curvature(
        self, number: np.ndarray, points: np.ndarray, w: np.ndarray, rows: np.ndarray | None
    ) -> np.ndarray:
        """Return second derivatives of w . f, shape (m, d, d), see `spline.curvature`."""
        xi, half, corners = self.places(number, points)
        return spline.curvature(xi, half, corners, self.corners.data, w, rows=rows)

    def surplus(self, number: int, parent: int, rows: np.ndarray | None) -> float:
        """Return the largest error of the parent's spline at the corners of a cell, over outputs.

        These errors of the parent are exact; its middle is a corner of each child.
        """
        at = self.rows[number]
        points = self.corners.points[at]
        coarse, _ = self.evaluate(np.full(len(at), parent), points, rows, False)
        exact = self.corners.data[at, 0]
        return float(np.abs(coarse - (exact if rows is None else exact[:, rows])).max())

    def own_estimate(self, number: int, rows: np.ndarray | None) -> float:
        """Estimate the largest error of a cell's spline from its corners, over the outputs.

        These are the third-order terms along the edges, 4/27 |2 (f0 - f1) + h (f0' + f1')|, the
        error of a spline of order three, so too large for order four.
        """
        at, (first, second) = self.rows[number], self._edges.T
        data = self.corners.data[at] if rows is None else self.corners.data[at][..., rows]
        way = np.diff(self.corners.points[at][self._edges], axis=1)[:, 0]  # (e, d)
        change = data[second, 0] - data[first, 0]
        slopes = np.einsum("ed,edn->en", way, data[first, 1:] + data[second, 1:])
        third = np.abs(slopes - 2.0 * change).max(axis=1)
        axis = np.abs(way).argmax(axis=1)
        return 4.0 / 27.0 * sum(float(third[axis == k].max()) for k in range(way.shape[1]))

    def places(
        self, number: np.ndarray, points: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return for each point its position in the cell, half the spacing, and corner rows."""
        half = self.half[number]
        return (points - self.middle[number]) / half, half, self.rows[number]

    def _grow(self) -> None:
        for name in ("middle", "half", "rows"):
            old = getattr(self, name)
            new = np.empty((max(16, 2 * len(old)), old.shape[1]), old.dtype)
            new[: len(old)] = old
            setattr(self, name, new)


def _edges(signs: np.ndarray) -> np.ndarray:
    """Return the pairs of corners that differ in one coordinate, shape (d 2^(d-1), 2)."""
    differ = (signs[:, None] != signs[None]).sum(axis=2)
    return np.argwhere(np.triu(differ == 1))
