"""Base class of grids: splines in place of a costly map."""

from __future__ import annotations

from abc import abstractmethod
from concurrent.futures import Executor
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sofa_softctl.surrogate.cells import spline
from sofa_softctl.surrogate.cells.cells import UNUSABLE, GridCells
from sofa_softctl.surrogate.cells.spline import DIMENSIONS
from sofa_softctl.surrogate.grid.corners import Key
from sofa_softctl.surrogate.grid.embedding import Jet
from sofa_softctl.surrogate.grid.evaluation import CostlyMap
from sofa_softctl.surrogate.grid.sampled import SampledMap
from sofa_softctl.surrogate.grid.store import Store

BOUND_TOLERANCE = 1e-9
"""Tolerance of the bounds [spacing of level 0]."""
ERROR_RATIO_PER_LEVEL = 16.0
"""Error reduction by halving the spacing: 2^4, for splines of order four."""


@dataclass(frozen=True, eq=False)
class InterpolatedValues(Jet):
    """Values and gradients at points; the gradient has shape (0, n, d) without `gradient`."""

    exact: np.ndarray
    """Whether the exact map was evaluated, shape (m,)."""


class Interpolant(SampledMap):
    """Splines in place of an exact map; `Grid` and `AdaptiveGrid` choose the cells.

    The arguments are explained in `Grid`.
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
        arrays = [np.atleast_1d(np.asarray(a, float)) for a in (spacing, origin, *bounds)]
        h, start, self.lower, self.upper = (np.array(a) for a in np.broadcast_arrays(*arrays))
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
        """Evaluate values and gradients at points; missing corners are evaluated first.

        Args:
            points: Points [input], shape (m, d).
            rows: Selected outputs, shape (k,), to which the time is proportional; by default all.
            gradient: Compute the gradient.

        Raises:
            MapError: A point outside or in an unusable cell has no solution of the map.
            WorkerError: A worker process was killed; completed samples are kept.
        """
        points, selected = self._points(points), output_rows(rows)
        number = self._locate_all(points)
        inside = number != UNUSABLE
        if inside.all():
            return InterpolatedValues(
                *self.cells.evaluate(number, points, selected, gradient), ~inside
            )
        samples = self.corners.fall_back(points[~inside])
        n = (self.corners.outputs or len(samples[0].value)) if selected is None else len(selected)
        pick = slice(None) if selected is None else selected
        value = np.empty((len(points), n))
        slope = np.empty((len(points) if gradient else 0, n, points.shape[1]))
        value[~inside] = [sample.value[pick] for sample in samples]
        if gradient:
            slope[~inside] = [sample.gradient[pick] for sample in samples]
        if inside.any():
            evaluated = self.cells.evaluate(number[inside], points[inside], selected, gradient)
            value[inside] = evaluated[0]
            if gradient:
                slope[inside] = evaluated[1]
        return InterpolatedValues(value, slope, ~inside)

    def curvature(
        self, points: ArrayLike, weights: ArrayLike, *, rows: ArrayLike | None = None
    ) -> np.ndarray:
        """Return the second derivatives of the weighted sum of outputs at points.

        Args:
            points: Points [input], shape (m, d).
            weights: Weight of each output, or of the outputs `rows`, at each point, shape (m, n).
            rows: Selected outputs.

        Returns:
            Shape (m, d, d) [weight * output / input^2]; NaN outside and in unusable cells, since
            the exact map has no second derivatives.
        """
        points, chosen, w = self._points(points), output_rows(rows), np.asarray(weights, float)
        number = self._locate_all(points)
        inside = number != UNUSABLE
        total = np.full((*points.shape, points.shape[1]), np.nan)
        if inside.any():
            total[inside] = self.cells.curvature(number[inside], points[inside], w[inside], chosen)
        return total

    def places(self, points: ArrayLike) -> tuple[np.ndarray, tuple[np.ndarray, ...]]:
        """Return a mask of points in usable cells, and the arguments of `spline` for these.

        The arguments are xi, half the spacing, and the rows of corners in `corners.data`. Missing
        corners are evaluated first.
        """
        points = self._points(points)
        number = self._locate_all(points)
        inside = number != UNUSABLE
        return inside, self.cells.places(number[inside], points[inside])

    def cell_keys(self, points: np.ndarray, level: int) -> list[Key]:
        """Return the keys of the cells of points on a level; bounds belong to the cells inside."""
        h, origin = self.spacing / 2.0**level, self.corners.origin
        first = np.floor((self.lower - origin) / h + BOUND_TOLERANCE)
        last = np.maximum(np.ceil((self.upper - origin) / h - BOUND_TOLERANCE) - 1.0, first)
        index = np.clip(np.floor((points - origin) / h), first, last).astype(np.int64)
        levels = np.full((len(index), 1), level)
        return list(map(tuple, np.hstack((levels, index)).tolist()))

    def interpolate(
        self, places: tuple[np.ndarray, ...], data: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Interpolate other data of the corners by splines."""
        xi, half, corners = places
        return spline.evaluate(xi, half, corners, data)

    def second_derivative_product(
        self, places: tuple[np.ndarray, ...], data: np.ndarray, w: np.ndarray
    ) -> np.ndarray:
        """Return second derivatives of splines through other data of the corners."""
        xi, half, corners = places
        return spline.curvature(xi, half, corners, data, w)

    @abstractmethod
    def _locate(self, points: np.ndarray) -> np.ndarray:
        """Return the cell number of points within the bounds; missing corners are evaluated."""

    def _locate_all(self, points: np.ndarray) -> np.ndarray:
        self.counts.queries += len(points)
        number = np.full(len(points), UNUSABLE)
        inside = self._is_within_bounds(points)
        if inside.any():
            number[inside] = self._locate(points[inside])
        return number

    def _is_within_bounds(self, points: np.ndarray) -> np.ndarray:
        slack = BOUND_TOLERANCE * self.spacing
        is_within = (points >= self.lower - slack) & (points <= self.upper + slack)
        is_inside: np.ndarray = np.logical_and.reduce(is_within, axis=1)
        return is_inside


def output_rows(rows: ArrayLike | None) -> np.ndarray | None:
    """Convert rows of outputs to an integer array; None, for all, is kept."""
    return None if rows is None else np.atleast_1d(np.asarray(rows, np.int64))
