"""Splines of high degree over a whole box, for few inputs: smooth, and without gradients."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from concurrent.futures import Executor

import numpy as np
from numpy.typing import ArrayLike
from scipy.interpolate import make_interp_spline

from sofa_softctl.errors import MapError
from sofa_softctl.surrogate.grid.corners import FAILED, Corners, GridCounts, Key, lowest
from sofa_softctl.surrogate.grid.embedding import Jet
from sofa_softctl.surrogate.grid.evaluation import CostlyMap
from sofa_softctl.surrogate.grid.store import Store
from sofa_softctl.surrogate.grid.tensor_kernels import curvatures, values_and_gradients

DEGREE_DEFAULT = 7
"""Default degree of the splines."""


class TensorSpline:
    """Tensor-product splines through values of a costly map at all corners of a box.

    Derivatives are continuous up to the degree minus one, while first derivatives of a `Grid` jump
    between cells. A planner whose equations contain derivatives of the map, as with a mass matrix,
    converges on them. The map's gradients are not used. All (1 + width / spacing)^d corners of the
    box are evaluated at the first query, for at most three inputs. Errors fall with the power
    degree + 1 of the spacing. A point takes 20 us for 45 outputs.

    Args:
        exact: The costly map; its gradients may have no columns, (n, 0).
        spacing: Distance of corners [input], shape (d,) or one for all.
        lower, upper: Ends of the box [input], shape (d,), a multiple of the spacing apart.
        degree: Odd degree, less than the number of corners along each input.
        store: Samples of earlier runs, and for later ones.
        executor: Evaluates corners in parallel; with processes, `exact` must be picklable.

    Raises:
        ValueError: Arguments that do not fit each other.

    Source: de Boor 1978, chapter XVII, on tensor products.
    """

    def __init__(
        self,
        exact: CostlyMap,
        spacing: ArrayLike,
        *,
        lower: ArrayLike,
        upper: ArrayLike,
        degree: int = DEGREE_DEFAULT,
        store: Store | None = None,
        executor: Executor | None = None,
    ) -> None:
        arrays = [np.atleast_1d(np.asarray(a, float)) for a in (spacing, lower, upper)]
        h, self.lower, self.upper = (np.array(a) for a in np.broadcast_arrays(*arrays))
        if h.ndim != 1 or not np.isfinite([h, self.lower, self.upper]).all() or h.min() <= 0.0:
            raise ValueError(
                "spacing, lower and upper must be finite and of shape (d,), spacing positive. Got: "
                f"{h}, {self.lower} and {self.upper}"
            )
        cells = (self.upper - self.lower) / h
        self._cells = np.round(cells).astype(int)
        if (np.abs(cells - self._cells) > 1e-6).any() or degree % 2 == 0:
            raise ValueError(
                "upper - lower must be a multiple of the spacing, and degree odd. Got: "
                f"{cells} times the spacing, degree {degree}"
            )
        if len(h) > 3:
            raise ValueError(
                f"A spline over a box is for three inputs at most; use a Grid. Got: {len(h)}"
            )
        if not 1 <= degree <= self._cells.min():
            raise ValueError(
                f"degree must be from 1 to {self._cells.min()}, one less than the number of "
                f"corners along an input. Got: {degree}"
            )
        self.degree, self.level = degree, 0
        self.corners = Corners(exact, h, self.lower, store=store, executor=executor, slopes=False)
        self._splines: tuple[_Spline, _Spline] | None = None

    @property
    def counts(self) -> GridCounts:
        """Counts so far."""
        return self.corners.counts

    @property
    def dimension(self) -> int:
        """Number of inputs d."""
        return len(self.lower)

    @property
    def size(self) -> int:
        """Number of outputs n; 0 without samples."""
        return self.corners.outputs

    def refine(self) -> None:
        """Halve the spacing; all corners are reused."""
        self.level, self._splines = self.level + 1, None

    def cover(self, progress: Callable[[int, int], None] | None = None) -> None:
        """Evaluate all unknown corners, layer by layer.

        Args:
            progress: Called after each layer with the numbers of finished and of all corners.

        Raises:
            MapError: The map has no value at a corner.
            WorkerError: A worker process was killed; completed samples are kept.
        """
        layers = self._keys()
        total, finished = sum(map(len, layers)), 0
        for layer in layers:
            self.corners.evaluate_missing(layer)
            for key in layer:
                if self.corners.number(key) == FAILED:
                    raise MapError(
                        f"A spline over a box needs all of its corners, but at "
                        f"{self.corners.place(key)}: {self.corners.failures[lowest(key)]} "
                        f"Narrow the box, from {self.lower} to {self.upper}."
                    )
            finished += len(layer)
            if progress is not None:
                progress(finished, total)

    def at(self, points: ArrayLike) -> Jet:
        """Evaluate values and gradients at points (m, d); NaN outside the box.

        Raises:
            MapError: The map has no value at a corner.
            WorkerError: A worker process was killed; completed samples are kept.
        """
        return self._through()[0].at(self._points(points))

    def curvature(self, points: ArrayLike, weights: ArrayLike) -> np.ndarray:
        """Return second derivatives of outputs times weights (m, n) at points, shape (m, d, d)."""
        return self._through()[0].curvature(self._points(points), np.asarray(weights, float))

    def error_estimate(self, points: ArrayLike) -> np.ndarray:
        """Estimate the largest error of the value at points (m, d), shape (m,) [output].

        It is the difference from a spline of the next lower odd degree, too large if the spacing
        resolves the map. NaN outside, and everywhere with degree 1.
        """
        points = self._points(points)
        spline, lower = self._through()
        difference: np.ndarray = np.abs(spline.at(points).value - lower.at(points).value).max(
            axis=1
        )
        return difference if self.degree > 1 else np.full(len(points), np.nan)

    def _through(self) -> tuple[_Spline, _Spline]:
        """Return the spline, and the spline of the next lower odd degree."""
        if self._splines is None:
            self.cover()
            numbers = [self.corners.number(key) for layer in self._keys() for key in layer]
            values = self.corners.data[np.array(numbers), 0]
            grid = values.reshape(*(self._cells * 2**self.level + 1), -1)
            self._splines = self._fit(grid, self.degree), self._fit(grid, max(self.degree - 2, 1))
        return self._splines

    def _fit(self, values: np.ndarray, degree: int) -> _Spline:
        knots = []
        for axis, (low, high) in enumerate(zip(self.lower, self.upper, strict=True)):
            positions = np.linspace(low, high, values.shape[axis])
            spline = make_interp_spline(positions, np.moveaxis(values, axis, 0), k=degree)
            values = np.moveaxis(spline.c, 0, axis)
            knots.append(spline.t)
        return _Spline(knots, values, degree)

    def _keys(self) -> list[list[Key]]:
        """Return the keys of all corners, a list for each index along the first input."""
        first, *index_ranges = (range(count + 1) for count in self._cells * 2**self.level)
        return [
            [(self.level, i, *indices) for indices in itertools.product(*index_ranges)]
            for i in first
        ]

    def _points(self, points: ArrayLike) -> np.ndarray:
        array = np.asarray(points, float)
        if array.ndim != 2 or array.shape[1] != self.dimension:
            raise ValueError(f"points must have shape (m, {self.dimension}). Got: {array.shape}")
        self.counts.queries += len(array)
        return array


class _Spline:
    """Tensor-product spline of up to three inputs, in arrays for the kernels."""

    def __init__(self, knots: list[np.ndarray], coefficients: np.ndarray, degree: int) -> None:
        self.dimension, constant = len(knots), np.array([-np.inf, np.inf])
        missing = 3 - self.dimension
        shape = (*coefficients.shape[:-1], *[1] * missing, coefficients.shape[-1])
        all_knots = [*knots, *[constant] * missing]
        self._arrays = (
            np.ascontiguousarray(coefficients.reshape(shape)),
            np.concatenate(all_knots),
            np.cumsum([0, *map(len, all_knots)]),
            np.array([degree] * self.dimension + [0] * missing),
        )

    def at(self, points: np.ndarray) -> Jet:
        """Evaluate values (m, n) and gradients (m, n, d) at points (m, d)."""
        shape = (len(points), self._arrays[0].shape[3])
        value, gradient = np.empty(shape), np.empty((*shape, 3))
        values_and_gradients(*self._arrays, self._three(points), value, gradient)
        return Jet(value, np.ascontiguousarray(gradient[:, :, : self.dimension]))

    def curvature(self, points: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return second derivatives of outputs times weights (m, n), shape (m, d, d)."""
        total = np.empty((len(points), 3, 3))
        curvatures(*self._arrays, self._three(points), np.ascontiguousarray(weights), total)
        return np.ascontiguousarray(total[:, : self.dimension, : self.dimension])

    def _three(self, points: np.ndarray) -> np.ndarray:
        return np.hstack((points, np.zeros((len(points), 3 - self.dimension))))
