"""Sparse polynomial in place of an exact map near a motion, for many inputs."""

from __future__ import annotations

from concurrent.futures import Executor
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from typing_extensions import override

from sofa_softctl.base.versions import one_blas_thread
from sofa_softctl.errors import MapError
from sofa_softctl.surrogate.grid.branches import Branches
from sofa_softctl.surrogate.grid.corners import FAILED, Key, lowest
from sofa_softctl.surrogate.grid.embedding import Jet
from sofa_softctl.surrogate.grid.evaluation import CostlyMap
from sofa_softctl.surrogate.grid.sampled import SampledMap
from sofa_softctl.surrogate.grid.store import Store
from sofa_softctl.surrogate.sparse.polynomials import Fit, best_fit
from sofa_softctl.surrogate.sparse.tube import Tube

FINEST = 8
"""Level of the lattice on which samples are."""
CAUTION = 2.0
"""Estimated error over the largest error at a left-out sample [-]: fresh points are many."""
AROUND = 2.0
"""Samples within so many widths of a motion take part in its fit."""
GROWTH = 0.4
"""New samples over old ones where the error is too large [-]."""
FIRST = 3
"""Samples of a first fit, over the number of inputs."""
MOST = 600
"""Samples near one motion at most."""
IDLE = 5
"""Attempts without a new sample, as beside failures, before no more are drawn."""


class SparseGrid(SampledMap):
    """Least squares of sparse polynomials to samples in a tube around a motion.

    A grid of cells has 2^d corners a cell; this one has as many samples as the motion's
    neighbourhood requires, some ten a line. The value is smooth, its gradient is its derivative.
    There are answers where each coordinate is within the tube's width of the motion, but none
    nearer to a point without a solution, or with one on another branch, than to a sample. Their
    error is estimated in the tube itself. `cover` moves the tube; samples stay.

    Args:
        exact, spacing, origin, store, executor: As for `SampledMap`; samples are on level `FINEST`.
        lower, upper: Bounds of samples [input].
        seed: Of the samples' places.

    Source: Gerstner & Griebel 2003 (sets of terms); Peng, Hampton, Doostan 2016 (least squares
        with gradients). The tube and the estimate by left-out samples are of this package.
    """

    def __init__(
        self,
        exact: CostlyMap,
        spacing: ArrayLike,
        *,
        origin: ArrayLike = 0.0,
        lower: ArrayLike = -np.inf,
        upper: ArrayLike = np.inf,
        store: Store | None = None,
        executor: Executor | None = None,
        seed: int = 0,
    ) -> None:
        h = np.atleast_1d(np.asarray(spacing, float))
        start = np.broadcast_to(np.asarray(origin, float), h.shape).copy()
        super().__init__(exact, h, start, store=store, executor=executor)
        self.lower, self.upper = (np.broadcast_to(each, h.shape) for each in (lower, upper))
        self.tube: Tube | None = None
        """Region where it has answers."""
        self.error = np.nan
        """Estimated largest error of the value in the tube [output]."""
        self._rng = np.random.default_rng(seed)
        self._branches = Branches(self.corners)
        self._rows: dict[Key, int] = {}
        self._bad: dict[Key, str] = {}
        self._known: np.ndarray | None = None
        self._fit: Fit | None = None
        self._fitted = np.empty(0, np.int64)
        self._coefficients: tuple[np.ndarray, np.ndarray] | None = None
        self._whole: np.ndarray | None = None

    @property
    def terms(self) -> int:
        """Number of terms of the polynomials."""
        return 0 if self._fit is None else len(self._fit.basis.terms)

    @property
    def refused(self) -> int:
        """Number of points without a solution on the branch of their neighbours."""
        return len(self._bad)

    def cover(
        self, motion: ArrayLike, width: float, tolerance: float, *, most: int = MOST
    ) -> float:
        """Move the tube to a motion, and add samples until the estimated error is tolerated.

        A tenth of the samples, at least d, are new in each tube, so that the estimate is not of
        another one.

        Args:
            motion: Points of the motion, in order [input], shape (K, d).
            width: Of the tube [input].
            tolerance: Error of the value in the tube [output].
            most: Samples in the tube at most.

        Returns:
            The estimated error, which is above the tolerance where `most` does not suffice.

        Raises:
            MapError: There are too few samples with a solution on the branch of the first point.
            WorkerError: A worker process was killed; completed samples are kept.
        """
        tube = Tube(self._points(motion), width)
        if tube.same(self.tube) and self.error <= tolerance:
            return self.error
        count = max(self.dimension, len(self.rows_near(tube)) // 10)
        if len(self.rows_near(tube, AROUND)) < FIRST * self.dimension:
            count = FIRST * self.dimension
        idle = 0
        while True:
            before = len(self._rows)
            self._draw(tube, count)
            self._refit(tube)
            known, idle = len(self.rows_near(tube)), 0 if len(self._rows) > before else idle + 1
            if self.error <= tolerance or known >= most or idle == IDLE:
                return self.error
            count = min(max(int(GROWTH * known), self.dimension), most - known)

    def cover_point(self, point: np.ndarray, width: float) -> None:
        """Move the tube to one point, shape (d,), unless it is within half a width of it."""
        tube = self.tube
        if tube is None or len(tube.motion) > 1 or tube.distance(point[None])[0] > 0.5 * width:
            self.cover(point[None], width, np.inf)

    def places(self, points: ArrayLike) -> tuple[np.ndarray, tuple[np.ndarray, ...]]:
        """Which points are in the tube and not beside a failure, (m,); and those, (k, d)."""
        points = self._points(points)
        self.counts.queries += len(points)
        reach = np.sqrt(self.dimension)  # corners of the boxes that rounds of a plan keep to
        inside = self._within(points, reach)
        if self._bad and inside.any():
            inside[inside] = ~self._beside_failures(points[inside])
        return inside, (points[inside],)

    @override
    def interpolate(
        self, places: tuple[np.ndarray, ...], data: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        return self._evaluate(places[0], self._coefficients_of(data))

    @override
    def bend(self, places: tuple[np.ndarray, ...], data: np.ndarray, w: np.ndarray) -> np.ndarray:
        basis, C = self._fit_now().basis, self._coefficients_of(data)
        return basis.curvature(places[0], w @ C.T)

    def at(self, points: ArrayLike, *, rows: Any = None, gradient: bool = True) -> Jet:
        """Values and gradients at points (m, d); NaN where there is no answer."""
        del gradient  # costs little
        inside, (usable,) = self.places(points)
        if self._whole is None:
            self._whole = self._coefficients_for(self.corners.data)
        C = self._whole if rows is None else self._whole[:, rows]
        value = np.full((len(inside), C.shape[1]), np.nan)
        slope = np.full((*value.shape, self.dimension), np.nan)
        value[inside], slope[inside] = self._evaluate(usable, C)
        return Jet(value, slope)

    def error_estimate(self, points: ArrayLike) -> np.ndarray:
        """Estimated largest error of the value at each point, shape (m,) [output].

        One number for the tube, `CAUTION` times the largest error at a sample in it that is left
        out of the fit; NaN elsewhere.
        """
        inside, _ = self.places(points)
        return np.where(inside & self._within(self._points(points), 1.0), self.error, np.nan)

    def _within(self, points: np.ndarray, factor: float) -> np.ndarray:
        none = np.zeros(len(points), bool)
        return none if self.tube is None else self.tube.covers(points, factor)

    def _evaluate(self, points: np.ndarray, C: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Values (m, n) and gradients (m, n, d) of polynomials of coefficients C (p, n)."""
        basis = self._fit_now().basis
        with one_blas_thread():
            gradient = np.matmul(basis.gradients(points), C)  # (m, d, n)
            return basis.values(points) @ C, gradient.transpose(0, 2, 1)

    def _coefficients_of(self, data: np.ndarray) -> np.ndarray:
        """Those for data of all samples; kept for the array that was last."""
        if self._coefficients is None or self._coefficients[0] is not data:
            self._coefficients = (data, self._coefficients_for(data))
        return self._coefficients[1]

    def _coefficients_for(self, data: np.ndarray) -> np.ndarray:
        with one_blas_thread():
            return self._fit_now().coefficients(data[self._fitted])

    def _fit_now(self) -> Fit:
        if self._fit is None:
            raise MapError("The sparse grid covers no motion yet: see SparseGrid.cover.")
        return self._fit

    def _refit(self, tube: Tube) -> None:
        near = self.rows_near(tube, AROUND)
        if len(near) < 2 + self.dimension // 2:
            reasons = list(self._bad.values())[-1:]
            raise MapError(
                f"Of {len(near) + len(self._bad)} samples near the motion only {len(near)} are in "
                "one stable shape: the robot buckles, folds, or snaps there. Lower u_max, move "
                f"the goals, or refine the mesh. {' '.join(reasons)}".strip()
            )
        points, data = self.corners.points[near], self.corners.data[near]
        inside = tube.covers(points)
        with one_blas_thread():
            self._fit = best_fit(points, data, counts=inside)
            right = self._fit.right_sides(data)
            left_out = np.abs(self._fit.left_out(right))[inside]
        self.tube, self._fitted = tube, near
        self._coefficients = self._whole = None
        self.error = CAUTION * float(left_out.max())

    def rows_near(self, tube: Tube, factor: float = 1.0) -> np.ndarray:
        """Rows of usable samples within `factor` widths."""
        rows = np.array(sorted(self._rows.values()), np.int64)
        return rows[tube.covers(self.corners.points[rows], factor)] if len(rows) else rows

    def _draw(self, tube: Tube, count: int) -> None:
        """Add samples at random points of the tube, away from failures; known ones nearby serve."""
        points = np.clip(tube.draw(count, self._rng), self.lower, self.upper)
        if self._bad:
            points = points[~self._beside_failures(points)]
        keys = [self._serving(tube, self._key(point)) for point in points]
        keys = [
            key for key in dict.fromkeys(keys) if key not in self._rows and key not in self._bad
        ]
        self.corners.want(keys)
        start = tube.motion[0]
        for key in sorted(keys, key=lambda key: np.linalg.norm(self.corners.place(key) - start)):
            self._judge(key)

    def _serving(self, tube: Tube, key: Key) -> Key:
        """A stored sample in the tube, within half a width of a point, in place of it."""
        stored = self._stored()
        if self.corners.number(key) is not None or not len(stored):
            return key
        apart = np.abs(stored - self.corners.place(key)).max(axis=1)
        for k in np.argsort(apart):
            if apart[k] > 0.5 * tube.width:
                break
            other = self._key(stored[k])
            if other not in self._rows and tube.covers(stored[k : k + 1])[0]:
                return other
        return key

    def _stored(self) -> np.ndarray:
        """Points of the store that are on the lattice, shape (m, d); read once."""
        if self._known is None:
            store = self.corners.store
            points = np.empty((0, self.dimension)) if store is None else store.points()
            places = np.array([self.corners.place(self._key(point)) for point in points])
            on = np.abs(places - points).max(axis=1) < 1e-12 if len(points) else slice(0)
            self._known = points[on].reshape(-1, self.dimension)
        return self._known

    def _key(self, point: np.ndarray) -> Key:
        index = np.round((point - self.corners.origin) / self.spacing * 2**FINEST).astype(int)
        return lowest((FINEST, *index.tolist()))

    def _judge(self, key: Key) -> None:
        """Keep a sample on the branch of its neighbour; see `Branches`."""
        row, place = self.corners.number(key), self.corners.place(key)
        if row is None or row == FAILED:
            self._bad[key] = self.corners.failures.get(key, "")
            return
        if self._rows:
            rows = np.array(list(self._rows.values()))
            apart = np.linalg.norm(self.corners.points[rows] - place, axis=1)
            near = int(rows[apart.argmin()])
            if not self._branches.agree(near, [row])[0]:
                row = self.corners.ask_again(key, near)
                if row is None or not self._branches.agree(near, [row])[0]:
                    self._bad[key] = f"At u = {np.round(place, 6).tolist()} the robot snaps."
                    return
        self._rows[key] = row

    def _beside_failures(self, points: np.ndarray) -> np.ndarray:
        """Whether points (m, d) are nearer to a failure than to a sample."""
        bad = np.array([self.corners.place(key) for key in self._bad])
        good = self.corners.points[list(self._rows.values())]
        near = [np.full(len(points), np.inf), np.full(len(points), np.inf)]
        for k, known in enumerate((bad, good)):
            for place in known:
                near[k] = np.minimum(near[k], np.linalg.norm(points - place, axis=1))
        beside: np.ndarray = near[0] < near[1]
        return beside
