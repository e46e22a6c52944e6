"""Sparse polynomial in place of an exact map near a trajectory, for many inputs."""

from __future__ import annotations

from concurrent.futures import Executor
from dataclasses import dataclass
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


@dataclass(frozen=True)
class SparseSettings:
    """Numbers of the sampling of a sparse grid."""

    level: int = 8
    """Level of the lattice of samples."""
    error_safety_factor: float = 2.0
    """Estimated error over the largest error at a left-out sample, since new points are many
    [-]."""
    fit_widths: float = 2.0
    """Samples within this number of tube widths take part in a fit."""
    sample_growth: float = 0.4
    """New samples over old ones if the error is too large [-]."""
    samples_per_input_min: int = 3
    """Number of samples of a first fit, over the number of inputs."""
    samples_max: int = 600
    """Maximum number of samples in a tube."""
    fruitless_draws_max: int = 5
    """Number of draws without a new sample, as near failures, after which sampling ends."""


SETTINGS = SparseSettings()


class SparseGrid(SampledMap):
    """Sparse polynomials fitted to samples in a tube around a trajectory.

    A cell of a grid has 2^d corners; this map needs about ten samples per input near the
    trajectory. The value is smooth, and its gradient is exact. A point is usable if each coordinate
    is within the tube's width of the trajectory, and if it is nearer to a sample than to a failure,
    a point without a solution or with one on another branch. The error is estimated in the tube.
    `cover` moves the tube; samples are kept.

    Args:
        exact, spacing, origin, store, executor: As for `SampledMap`; samples are on level
            `SparseSettings.level`.
        lower, upper: Bounds of samples [input].
        seed: Seed of the random samples.

    Source: Gerstner & Griebel 2003 (sets of terms); Peng, Hampton, Doostan 2016 (least squares with
        gradients). The tube and the estimate by left-out samples are additions.
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
        self.lower, self.upper = (np.broadcast_to(bound, h.shape) for bound in (lower, upper))
        self.tube: Tube | None = None
        """Region of usable points."""
        self.error = np.nan
        """Estimated largest error of the value in the tube [output]."""
        self._rng = np.random.default_rng(seed)
        self._branches = Branches(self.corners)
        self._rows: dict[Key, int] = {}
        self._failures: dict[Key, str] = {}
        self._points_in_store: np.ndarray | None = None
        self._fit: Fit | None = None
        self._fitted = np.empty(0, np.int64)
        self._coefficients: tuple[np.ndarray, np.ndarray] | None = None
        self._whole: np.ndarray | None = None

    @property
    def terms(self) -> int:
        """Number of terms of the polynomials."""
        return 0 if self._fit is None else len(self._fit.basis.terms)

    @property
    def failure_count(self) -> int:
        """Number of points without a solution on the branch of their neighbours."""
        return len(self._failures)

    def cover(
        self, motion: ArrayLike, width: float, tolerance: float, *, most: int = SETTINGS.samples_max
    ) -> float:
        """Move the tube to a trajectory, and add samples until the estimated error is tolerated.

        At least a tenth of the samples, and at least d, are new in each tube, so that the estimate
        belongs to this tube.

        Args:
            motion: Points of the trajectory, in order [input], shape (K, d).
            width: Width of the tube [input].
            tolerance: Allowed error of the value in the tube [output].
            most: Maximum number of samples in the tube.

        Returns:
            Estimated error, above the tolerance if `most` samples do not suffice.

        Raises:
            MapError: Too few samples have a solution on the branch of the first point.
            WorkerError: A worker process was killed; completed samples are kept.
        """
        tube = Tube(self._points(motion), width)
        if tube.is_same(self.tube) and self.error <= tolerance:
            return self.error
        count = max(self.dimension, len(self.rows_near(tube)) // 10)
        if (
            len(self.rows_near(tube, SETTINGS.fit_widths))
            < SETTINGS.samples_per_input_min * self.dimension
        ):
            count = SETTINGS.samples_per_input_min * self.dimension
        idle = 0
        while True:
            before = len(self._rows)
            self._draw(tube, count)
            self._refit(tube)
            sample_count, idle = (
                len(self.rows_near(tube)),
                0 if len(self._rows) > before else idle + 1,
            )
            if (
                self.error <= tolerance
                or sample_count >= most
                or idle == SETTINGS.fruitless_draws_max
            ):
                return self.error
            count = min(
                max(int(SETTINGS.sample_growth * sample_count), self.dimension), most - sample_count
            )

    def cover_point(self, point: np.ndarray, width: float) -> None:
        """Move the tube to a point, shape (d,), unless the point is within half its width."""
        tube = self.tube
        if tube is None or len(tube.motion) > 1 or tube.distance(point[None])[0] > 0.5 * width:
            self.cover(point[None], width, np.inf)

    def places(self, points: ArrayLike) -> tuple[np.ndarray, tuple[np.ndarray, ...]]:
        """Return a mask of points in the tube that are not near failures, and these, (k, d)."""
        points = self._points(points)
        self.counts.queries += len(points)
        reach = np.sqrt(self.dimension)  # corners of the boxes that rounds of a plan keep to
        inside = self._is_in_tube(points, reach)
        if self._failures and inside.any():
            inside[inside] = ~self._is_nearer_to_failure(points[inside])
        return inside, (points[inside],)

    @override
    def interpolate(
        self, places: tuple[np.ndarray, ...], data: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        return self._evaluate(places[0], self._coefficients_of(data))

    @override
    def second_derivative_product(
        self, places: tuple[np.ndarray, ...], data: np.ndarray, w: np.ndarray
    ) -> np.ndarray:
        basis, C = self._fit_now().basis, self._coefficients_of(data)
        return basis.curvature(places[0], w @ C.T)

    def at(self, points: ArrayLike, *, rows: Any = None, gradient: bool = True) -> Jet:
        """Evaluate values and gradients at points (m, d); NaN at unusable points."""
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
        """Estimate the largest error of the value at each point, shape (m,) [output].

        It is one number for the tube, `error_safety_factor` times the largest error at a left-out
        sample; NaN elsewhere.
        """
        inside, _ = self.places(points)
        return np.where(inside & self._is_in_tube(self._points(points), 1.0), self.error, np.nan)

    def _is_in_tube(self, points: np.ndarray, factor: float) -> np.ndarray:
        is_inside = np.zeros(len(points), bool)
        return is_inside if self.tube is None else self.tube.covers(points, factor)

    def _evaluate(self, points: np.ndarray, C: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Evaluate values (m, n) and gradients (m, n, d) with coefficients C (p, n)."""
        basis = self._fit_now().basis
        with one_blas_thread():
            gradient = np.matmul(basis.gradients(points), C)  # (m, d, n)
            return basis.values(points) @ C, gradient.transpose(0, 2, 1)

    def _coefficients_of(self, data: np.ndarray) -> np.ndarray:
        """Return the coefficients for data of all samples, cached for the last array."""
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
        rows = self.rows_near(tube, SETTINGS.fit_widths)
        if len(rows) < 2 + self.dimension // 2:
            reasons = list(self._failures.values())[-1:]
            raise MapError(
                f"Of {len(rows) + len(self._failures)} samples near the motion only {len(rows)} "
                "are in one stable shape: the robot buckles, folds, or snaps there. Lower u_max, "
                f"move the goals, or refine the mesh. {' '.join(reasons)}".strip()
            )
        points, data = self.corners.points[rows], self.corners.data[rows]
        inside = tube.covers(points)
        with one_blas_thread():
            self._fit = best_fit(points, data, counts=inside)
            right = self._fit.right_sides(data)
            left_out = np.abs(self._fit.left_out(right))[inside]
        self.tube, self._fitted = tube, rows
        self._coefficients = self._whole = None
        self.error = SETTINGS.error_safety_factor * float(left_out.max())

    def rows_near(self, tube: Tube, factor: float = 1.0) -> np.ndarray:
        """Return the rows of usable samples within `factor` widths."""
        rows = np.array(sorted(self._rows.values()), np.int64)
        return rows[tube.covers(self.corners.points[rows], factor)] if len(rows) else rows

    def _draw(self, tube: Tube, count: int) -> None:
        """Add random samples of the tube, or stored ones nearby, away from failures."""
        points = np.clip(tube.draw(count, self._rng), self.lower, self.upper)
        if self._failures:
            points = points[~self._is_nearer_to_failure(points)]
        keys = [self._find_stored_sample(tube, self._key(point)) for point in points]
        keys = [
            key
            for key in dict.fromkeys(keys)
            if key not in self._rows and key not in self._failures
        ]
        self.corners.evaluate_missing(keys)
        start = tube.motion[0]
        for key in sorted(keys, key=lambda key: np.linalg.norm(self.corners.place(key) - start)):
            self._judge(key)

    def _find_stored_sample(self, tube: Tube, key: Key) -> Key:
        """Return the key of a stored sample in the tube within half a width, or the key itself."""
        stored = self._stored_points()
        if self.corners.number(key) is not None or not len(stored):
            return key
        distances = np.abs(stored - self.corners.place(key)).max(axis=1)
        for k in np.argsort(distances):
            if distances[k] > 0.5 * tube.width:
                break
            stored_key = self._key(stored[k])
            if stored_key not in self._rows and tube.covers(stored[k : k + 1])[0]:
                return stored_key
        return key

    def _stored_points(self) -> np.ndarray:
        """Return the points of the store that are on the lattice, shape (m, d); read once."""
        if self._points_in_store is None:
            store = self.corners.store
            points = np.empty((0, self.dimension)) if store is None else store.points()
            places = np.array([self.corners.place(self._key(point)) for point in points])
            on = np.abs(places - points).max(axis=1) < 1e-12 if len(points) else slice(0)
            self._points_in_store = points[on].reshape(-1, self.dimension)
        return self._points_in_store

    def _key(self, point: np.ndarray) -> Key:
        index = np.round((point - self.corners.origin) / self.spacing * 2**SETTINGS.level).astype(
            int
        )
        return lowest((SETTINGS.level, *index.tolist()))

    def _judge(self, key: Key) -> None:
        """Add a sample if it is on the branch of its neighbour, see `Branches`."""
        row, place = self.corners.number(key), self.corners.place(key)
        if row is None or row == FAILED:
            self._failures[key] = self.corners.failures.get(key, "")
            return
        if self._rows:
            rows = np.array(list(self._rows.values()))
            distances = np.linalg.norm(self.corners.points[rows] - place, axis=1)
            nearest = int(rows[distances.argmin()])
            if not self._branches.is_same_branch(nearest, [row])[0]:
                row = self.corners.continue_from(key, nearest)
                if row is None or not self._branches.is_same_branch(nearest, [row])[0]:
                    self._failures[key] = f"At u = {np.round(place, 6).tolist()} the robot snaps."
                    return
        self._rows[key] = row

    def _is_nearer_to_failure(self, points: np.ndarray) -> np.ndarray:
        """Return a mask of points (m, d) that are nearer to a failure than to a sample."""
        failed_points = np.array([self.corners.place(key) for key in self._failures])
        sample_points = self.corners.points[list(self._rows.values())]
        distances = [np.full(len(points), np.inf), np.full(len(points), np.inf)]
        for k, points_known in enumerate((failed_points, sample_points)):
            for place in points_known:
                distances[k] = np.minimum(distances[k], np.linalg.norm(points - place, axis=1))
        is_nearer_to_failure: np.ndarray = distances[0] < distances[1]
        return is_nearer_to_failure
