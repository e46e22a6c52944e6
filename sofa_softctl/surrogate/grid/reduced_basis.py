"""Grid in a reduced basis of positions: faster dynamics with the same inertia."""

from __future__ import annotations

import numpy as np

from sofa_softctl.base.versions import one_blas_thread
from sofa_softctl.surrogate.grid.embedding import Jet, Layout
from sofa_softctl.surrogate.grid.sampled import SampledMap

MOTION_TOLERANCE = 1e-7
"""Fraction of the corners' motion below which no coordinates are added [-]."""
LOST_MAX = 1e-3
"""Largest fraction of a corner's motion outside the basis [-]; its square, 1e-6, is lost
inertia."""


class ReducedBasisGrid:
    """Interpolant of a grid with x = x_0 + M^-1/2 Q z: coordinates z in place of positions x.

    Q is an orthonormal basis of M^1/2 (x - x_0) of all corners and their gradients, so that z has
    unit mass and keeps the inertia of x, up to `MOTION_TOLERANCE`. Splines act on outputs one by
    one, so interpolating z is interpolating x. A hundred coordinates replace 1,575 positions.

    Args:
        grid: Grid; lengths of cables and further points are unchanged.
        layout: Layout of the grid's outputs.
        mass: Mass of each coordinate [mass], shape (3 N,).
        coordinates: Fixed number of coordinates z, a multiple of three; unused ones are 0. See
            `lost`.
    """

    def __init__(
        self, grid: SampledMap, layout: Layout, mass: np.ndarray, *, coordinates: int = 150
    ) -> None:
        if coordinates % 3 or coordinates <= 0:
            raise ValueError(
                f"coordinates must be a positive multiple of three. Got: {coordinates}"
            )
        self.grid, self.full, self.coordinates = grid, layout, coordinates
        self.lost = 0.0
        """Largest fraction of a corner's motion outside the basis [-], too large above
        `LOST_MAX`."""
        self.refused = np.empty((0, self.dimension))
        """Points without a value in the last call that had any, shape (m, d)."""
        self.root_mass = np.sqrt(mass)
        self._origin = np.empty(0)
        self._basis = np.empty((len(mass), 0))
        self._data = np.empty((0, 1 + self.dimension, self.size))

    @property
    def dimension(self) -> int:
        """Number of inputs."""
        return len(self.grid.spacing)

    @property
    def used_coordinates(self) -> int:
        """Number of coordinates that are not 0."""
        return self._basis.shape[1]

    @property
    def size(self) -> int:
        """Number of outputs."""
        return self.layout.size

    @property
    def layout(self) -> Layout:
        """Layout of the outputs, with three coordinates as a node."""
        nodes = self.coordinates // 3
        return Layout(nodes, self.full.lines, self.full.points, reduced=True)

    @property
    def mass(self) -> np.ndarray:
        """Mass of each coordinate, which is 1, shape (3 nodes,)."""
        return np.ones(self.coordinates)

    def at(self, points: np.ndarray) -> Jet:
        """Evaluate outputs and gradients; NaN at `refused` points."""
        inside, places = self._places(points)
        value = np.full((len(points), self.size), np.nan)
        gradient = np.full((*value.shape, self.dimension), np.nan)
        value[inside], gradient[inside] = self.grid.interpolate(places, self._data)
        return Jet(value, gradient)

    def curvature(self, points: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return the weighted second derivatives; NaN as in `at`."""
        inside, places = self._places(points)
        hessians = np.full((len(points), self.dimension, self.dimension), np.nan)
        hessians[inside] = self.grid.second_derivative_product(places, self._data, weights[inside])
        return hessians

    def coordinates_of(self, x: np.ndarray) -> np.ndarray:
        """Project positions x (N, 3) [length] on the basis, and return their coordinates z."""
        z = np.zeros(self.coordinates)
        z[: self.used_coordinates] = ((x.ravel() - self._origin) * self.root_mass) @ self._basis
        return z

    def positions(self, points: np.ndarray) -> np.ndarray:
        """Return the positions of all nodes [length], shape (m, N, 3), from the full outputs."""
        x = self.grid.at(points, gradient=False).value[:, self.full.position]
        return x.reshape(len(points), -1, 3)

    def _places(self, points: np.ndarray) -> tuple[np.ndarray, tuple[np.ndarray, ...]]:
        """Return the places of the grid, after extending the basis to its new corners."""
        inside, places = self.grid.places(points)
        if not inside.all():
            self.refused = np.asarray(points, float)[~inside]
        self._extend_to_known()
        return inside, places

    def _extend_to_known(self) -> None:
        """Extend the basis to the known corners."""
        data = self.grid.corners.data
        if len(data) == len(self._data):
            return
        x = self.full.position
        if not len(self._origin):
            self._origin = data[0, 0, x].copy()
        known_count = len(self._data)
        new = data[known_count:, :, x] * self.root_mass
        new[:, 0] -= self._origin * self.root_mass
        extended = np.zeros((len(data), 1 + self.dimension, self.size))
        extended[:known_count] = self._data
        with one_blas_thread():  # with two on shared cores it takes a hundredfold
            self._extend(new.reshape(-1, new.shape[2]).T)
            extended[known_count:, :, : self.used_coordinates] = new @ self._basis
        extended[known_count:, :, self.coordinates :] = data[known_count:, :, x.stop :]
        self._data = extended

    def _extend(self, columns: np.ndarray) -> None:
        """Extend the basis by further columns (3 N, c), up to its size.

        Source: the randomised range finder of Halko, Martinsson, Tropp 2011, Algorithm 4.1.
        """
        largest = float(np.linalg.norm(columns, axis=0).max(initial=0.0))
        room = self.coordinates - self.used_coordinates
        residual = _without(self._basis, columns)
        if room and residual.size:
            rng = np.random.default_rng(0)
            sketch = residual @ rng.normal(
                size=(residual.shape[1], min(room + 10, residual.shape[1]))
            )
            Q, _ = np.linalg.qr(_without(self._basis, sketch))
            U, size, _ = np.linalg.svd(Q.T @ residual, full_matrices=False)
            U = U[:, :room][:, size[:room] > MOTION_TOLERANCE * largest]
            self._basis = np.hstack((self._basis, _without(self._basis, Q @ U)))
            residual = _without(self._basis, residual)
        missing = float(np.linalg.norm(residual, axis=0).max(initial=0.0))
        self.lost = max(self.lost, missing / largest if largest else 0.0)


def _without(basis: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Subtract from columns (3 N, c) their projection on an orthonormal basis (3 N, k)."""
    return columns - basis @ (basis.T @ columns)
