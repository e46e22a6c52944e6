"""Hierarchical grid: an exact map interpolated in cells with corners on demand."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from sofa_softctl.surrogate.cells.cells import UNUSABLE
from sofa_softctl.surrogate.cells.interpolant import (
    ERROR_RATIO_PER_LEVEL,
    Interpolant,
    InterpolatedValues,
    output_rows,
)
from sofa_softctl.surrogate.grid.corners import GridCounts, Key, coarser
from sofa_softctl.surrogate.grid.evaluation import CostlyMap, MapSample, Neighbour

__all__ = ["CostlyMap", "Grid", "GridCounts", "InterpolatedValues", "Neighbour", "MapSample"]


class Grid(Interpolant):
    """Grid of one spacing at a time, spacing / 2^level; finer levels reuse all corners.

    Corners of queried cells are evaluated at first use, the one nearest to a known point first,
    from which its solve starts. A failed corner is not evaluated again, and cells with it are
    unusable: points in them, and outside the bounds, are evaluated by the exact map every time.
    Corners of cells across a bound are evaluated, too; to avoid that, choose bounds at multiples of
    the spacing from the origin. Memory: 8 (1 + d) n bytes per corner, 63 kB for d = 4 and n =
    1,575, up to twice that while it grows. Not for several threads.

    Args:
        exact: The costly map, u (d,) and the nearest known point, or None -> sample.
        spacing: Spacing of level 0 [input], shape (d,), or one for all if another argument gives d.
        origin: Corner of level 0 [input], shape (d,), or one number for all.
        store: Samples of earlier runs, and for later ones. Points that failed there count as failed
            here; see `Store.forget_failed`.
        executor: Evaluates corners in parallel; with processes, `exact` must be picklable.
        lower, upper: Bounds of the region where splines are used [input], shape (d,).

    Source: Jia, Pan, Manocha 2019, section IV-C, with the splines of `spline`.
    """

    def error_estimate(self, points: ArrayLike, *, rows: ArrayLike | None = None) -> np.ndarray:
        """Estimate the largest error of the value in the cell of each point, without evaluations.

        It is the largest error of the parent's spline, of the next coarser level, at the corners of
        the cell and over the outputs, divided by 2^4 for order four. It holds for small spacings,
        and may miss features between corners. Without a known parent, as on level 0, it is
        estimated from the corners of the cell, and too large.

        Args:
            points: Points [input], shape (m, d).
            rows: Outputs in the error; by default all.

        Returns:
            Shape (m,) [output]; NaN outside, in unusable cells, and if a corner of the cell is
            unknown.
        """
        points, selected = self._points(points), output_rows(rows)
        estimate = np.full(len(points), np.nan)
        estimates: dict[Key, float] = {}
        for p, key in enumerate(self.cell_keys(points, self.level)):
            if key not in estimates:
                estimates[key] = self._estimate(key, selected)
            estimate[p] = estimates[key]
        estimate[~self._is_within_bounds(points)] = np.nan
        return estimate

    def _estimate(self, key: Key, rows: np.ndarray | None) -> float:
        cell = self.cells.cell_number(key)
        if cell is None or cell == UNUSABLE:
            return float("nan")
        parent = self.cells.cell_number(coarser(key)) if key[0] else None
        if parent is None or parent == UNUSABLE:
            return self.cells.own_estimate(cell, rows)
        return self.cells.surplus(cell, parent, rows) / ERROR_RATIO_PER_LEVEL

    def _locate(self, points: np.ndarray) -> np.ndarray:
        keys = self.cell_keys(points, self.level)
        numbers = self.cells.find(keys)
        if None in numbers:
            self.cells.add_cells(keys)
            numbers = self.cells.find(keys)
        return np.array(numbers, np.int64)
