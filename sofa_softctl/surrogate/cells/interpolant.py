"""Base class of grids: splines in place of a costly map."""

from __future__ import annotations

from abc import abstractmethod
from concurrent.futures import Executor
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sofa_softctl.surrogate.cells import spline
from sofa_softctl.surrogate.cells.cells import REFUSED, GridCells
from sofa_softctl.surrogate.cells.spline import DIMENSIONS
from sofa_softctl.surrogate.grid.corners import Key
from sofa_softctl.surrogate.grid.embedding import Jet
from sofa_softctl.surrogate.grid.evaluation import CostlyMap
from sofa_softctl.surrogate.grid.sampled import SampledMap
from sofa_softctl.surrogate.grid.store import Store

SLACK = 1e-9
"""Tolerance of the bounds [spacing of level 0]."""
SHRINKS = 16.0
"""Error reduction by halving the spacing: 2^4, for splines of order four."""


@dataclass(frozen=True, eq=False)
class InterpolatedValues(Jet):
    """Values and gradients at points; the gradient has shape (0, n, d) without `gradient`."""

    exact: np.ndarray
    """Whether the exact map was evaluated, shape (m,)."""


class Interpolant(SampledMap):
    """Splines in place of an exact map; `Grid` and `AdaptiveGrid` choose the cells.

    Arguments: see `Grid`.
    """

    level = 0
    """Level of the cells, or of the smallest ones; may be set."""

    def __init__(
        self,
        exact: CostlyMap,
        spacing: ArrayLike,
        *,
        origin: ArrayLike = 0.0,
        store: Store | None = None,
        executor: Executor | None = None,
        lower: ArrayLike | None = None,
        upper: ArrayLike | None = None,
    ) -> None:
        bounds = (-np.inf if lower is None else lower, np.inf if upper is None else upper)
        given = [np.atleast_1d(np.asarray(a, float)) for a in (spacing, origin, *bounds)]
        h, start, self.lower, self.upper = (np.array(a) for a in np.broadcast_arrays(*given))
        if h.ndim != 1 or len(h) not in DIMENSIONS:
            raise ValueError(
                f"spacing, origin, lower and upper must have shape (d,), d from 1 to "
                f"{DIMENSIONS[-1]}. Got: {h.shape}"
            )
        if not (np.isfinite(h).all() and (h > 0.0).all()):
            raise ValueError(f"spacing must be positive. Got: {h}")
        if not (self.lower < self.upper).all():
            raise ValueError(f"lower must be below upper. Got: {self.lower} and {self.upper}")
        super().__init__(exact, h, start, store=store, executor=executor)
        self.cells = GridCells(self.corners)

    def refine(self) -> None:
        """Halve the spacing, or the smallest one."""
        self.level += 1

    def at(
        self, points: ArrayLike, *, rows: ArrayLike | None = None, gradient: bool = True
    ) -> InterpolatedValues:
        """Values and gradients at points; missing corners are evaluated first.

        Args:
            points: The points [input], shape (m, d).
            rows: Selected outputs, shape (k,), which the time is proportional to; None: all.
            gradient: Whether to compute the gradient.

        Raises:
            MapError: A point is outside or in a refused cell, and the map has no solution there.
            WorkerError: A worker process was killed; completed samples are kept.
        """
        points, chosen = self._points(points), output_rows(rows)
        number = self._located(points)
        inside = number != REFUSED
        if inside.all():
            return InterpolatedValues(
                *self.cells.evaluate(number, points, chosen, gradient), ~inside
            )
        samples = self.corners.fall_back(points[~inside])
        n = (self.corners.outputs or len(samples[0].value)) if chosen is None else len(chosen)
        pick = slice(None) if chosen is None else chosen
        value = np.empty((len(points), n))
        slope = np.empty((len(points) if gradient else 0, n, points.shape[1]))
        value[~inside] = [sample.value[pick] for sample in samples]
        if gradient:
            slope[~inside] = [sample.gradient[pick] for sample in samples]
        if inside.any():
            found = self.cells.evaluate(number[inside], points[inside], chosen, gradient)
            value[inside] = found[0]
            if gradient:
                slope[inside] = found[1]
        return InterpolatedValues(value, slope, ~inside)

    def curvature(
        self, points: ArrayLike, weights: ArrayLike, *, rows: ArrayLike | None = None
    ) -> np.ndarray:
        """Second derivatives of the weighted sum of the outputs at points.

        Args:
            points: The points [input], shape (m, d).
            weights: Weight of each output, or of those of `rows`, at each point, shape (m, n).
            rows: Selected outputs.

        Returns:
            Shape (m, d, d) [weight * output / input^2]; NaN outside and in refused cells, as the
            exact map gives no second derivatives.
        """
        points, chosen, w = self._points(points), output_rows(rows), np.asarray(weights, float)
        number = self._located(points)
        inside = number != REFUSED
        total = np.full((*points.shape, points.shape[1]), np.nan)
        if inside.any():
            total[inside] = self.cells.curvature(number[inside], points[inside], w[inside], chosen)
        return total

    def places(self, points: ArrayLike) -> tuple[np.ndarray, tuple[np.ndarray, ...]]:
        """Which points are in usable cells, (m,), and the arguments of `spline` for those.

        These are xi, half the spacing, and the rows of their corners in `corners.data`. Missing
        corners are evaluated first.
        """
        points = self._points(points)
        number = self._located(points)
        inside = number != REFUSED
        return inside, self.cells.places(number[inside], points[inside])

    def cell_keys(self, points: np.ndarray, level: int) -> list[Key]:
        """Keys of the cells of points on a level. A point on a bound is in the cell inside."""
        h, origin = self.spacing / 2.0**level, self.corners.origin
        first = np.floor((self.lower - origin) / h + SLACK)
        last = np.maximum(np.ceil((self.upper - origin) / h - SLACK) - 1.0, first)
        index = np.clip(np.floor((points - origin) / h), first, last).astype(np.int64)
        levels = np.full((len(index), 1), level)
        return list(map(tuple, np.hstack((levels, index)).tolist()))

    def interpolate(
        self, places: tuple[np.ndarray, ...], data: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """See `SampledMap`: splines."""
        xi, half, corners = places
        return spline.evaluate(xi, half, corners, data)

    def bend(self, places: tuple[np.ndarray, ...], data: np.ndarray, w: np.ndarray) -> np.ndarray:
        """See `SampledMap`: splines."""
        xi, half, corners = places
        return spline.curvature(xi, half, corners, data, w)

    @abstractmethod
    def _locate(self, points: np.ndarray) -> np.ndarray:
        """Number of the cell of each point within the bounds; missing corners are evaluated."""

    def _located(self, points: np.ndarray) -> np.ndarray:
        self.counts.queries += len(points)
        number = np.full(len(points), REFUSED)
        inside = self._inside(points)
        if inside.any():
            number[inside] = self._locate(points[inside])
        return number

    def _inside(self, points: np.ndarray) -> np.ndarray:
        slack = SLACK * self.spacing
        within = (points >= self.lower - slack) & (points <= self.upper + slack)
        found: np.ndarray = np.logical_and.reduce(within, axis=1)
        return found


def output_rows(rows: ArrayLike | None) -> np.ndarray | None:
    """Rows of outputs as an integer array; None, for all, stays."""
    return None if rows is None else np.atleast_1d(np.asarray(rows, np.int64))
