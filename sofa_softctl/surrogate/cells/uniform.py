"""Hierarchical grid: an exact map interpolated in cells with corners on demand."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from sofa_softctl.surrogate.cells.cells import REFUSED
from sofa_softctl.surrogate.cells.interpolant import (
    SHRINKS,
    Interpolant,
    InterpolatedValues,
    output_rows,
)
from sofa_softctl.surrogate.grid.corners import GridCounts, Key, coarser
from sofa_softctl.surrogate.grid.evaluation import CostlyMap, MapSample, Neighbour

__all__ = ["CostlyMap", "Grid", "GridCounts", "InterpolatedValues", "Neighbour", "MapSample"]


class Grid(Interpolant):
    """A grid of one spacing at a time, spacing / 2^level; finer levels reuse all corners.

    Corners of queried cells are evaluated at first use, those nearest to a known point first, which
    is the start of the solve. A failed corner is not tried again, and cells with it are refused:
    points in them, and outside the bounds, are evaluated by the exact map every time. Corners of
    cells that reach beyond a bound are evaluated as any others; where that must not be, put the
    bound at a multiple of the spacing from the origin. Memory: 8 (1 + d) n bytes a corner, 63 kB
    for d = 4 and n = 1,575, up to twice that as it grows. One thread at a time.

    Args:
        exact: The costly map, u (d,) and the nearest known point, or None -> sample.
        spacing: Spacing of level 0 [input], shape (d,), or one for all if another argument gives d.
        origin: A corner of level 0 [input], shape (d,), or one for all.
        store: Samples of earlier runs, and for later ones. Points that failed there count as failed
            here; see `Store.forget_failed`.
        executor: Evaluates corners in parallel; with processes, `exact` must be picklable.
        lower, upper: Bounds of the region where splines are used [input], shape (d,).

    Source: Jia, Pan, Manocha 2019, section IV-C, with the splines of `spline`.
    """

    def error_estimate(self, points: ArrayLike, *, rows: ArrayLike | None = None) -> np.ndarray:
        """Estimated largest error of the value in the cell of each point. Evaluates nothing.

        The largest error of the parent's spline, of the next coarser level, at the corners of the
        cell and over the outputs, divided by 2^4, for order four. It holds for small spacings, and
        may miss features between corners. Where there is no such parent, as on level 0 and where
        the known part of the grid ends: from the cell's own corners, and rather too large.

        Args:
            points: The points [input], shape (m, d).
            rows: Outputs in the error; None: all.

        Returns:
            Shape (m,) [output]; NaN outside and in refused cells, where the exact map is asked,
            and where a corner of the cell is unknown.
        """
        points, chosen = self._points(points), output_rows(rows)
        estimate = np.full(len(points), np.nan)
        found: dict[Key, float] = {}
        for p, key in enumerate(self.cell_keys(points, self.level)):
            if key not in found:
                found[key] = self._estimate(key, chosen)
            estimate[p] = found[key]
        estimate[~self._inside(points)] = np.nan
        return estimate

    def _estimate(self, key: Key, rows: np.ndarray | None) -> float:
        cell = self.cells.known(key)
        if cell is None or cell == REFUSED:
            return float("nan")
        parent = self.cells.known(coarser(key)) if key[0] else None
        if parent is None or parent == REFUSED:
            return self.cells.own_estimate(cell, rows)
        return self.cells.surplus(cell, parent, rows) / SHRINKS

    def _locate(self, points: np.ndarray) -> np.ndarray:
        keys = self.cell_keys(points, self.level)
        numbers = self.cells.find(keys)
        if None in numbers:
            self.cells.want(keys)
            numbers = self.cells.find(keys)
        return np.array(numbers, np.int64)
