"""First-order model about one equilibrium: y(c) + y_a(c) (a - c)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sofa_softctl.base.versions import one_blas_thread
from sofa_softctl.surrogate.grid.corners import FAILED
from sofa_softctl.surrogate.grid.embedding import Jet
from sofa_softctl.surrogate.grid.reduced_basis import ReducedBasisGrid


@dataclass(frozen=True, eq=False)
class Affine:
    """`Embedding` without curvature, for a first plan.

    It neglects the rotation of cables with the robot and the stiffening of bodies. A plan on it
    takes milliseconds and needs nearly the corners that the plan on the grid needs.
    """

    center: np.ndarray
    """Point c [-], shape (d,)."""
    value: np.ndarray
    """Outputs y(c), in the units of the layout, shape (n,)."""
    gradient: np.ndarray
    """Gradient dy/da at c, shape (n, d)."""

    @property
    def dimension(self) -> int:
        """Number of inputs."""
        return self.gradient.shape[1]

    @property
    def size(self) -> int:
        """Number of outputs."""
        return len(self.value)

    def at(self, points: np.ndarray) -> Jet:
        """Evaluate outputs and gradients at the points, shape (m, d)."""
        value = self.value + (points - self.center) @ self.gradient.T
        return Jet(value, np.broadcast_to(self.gradient, (len(points), *self.gradient.shape)))

    def curvature(self, points: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return zeros: an affine map has no curvature."""
        return np.zeros((len(points), self.dimension, self.dimension))


def affine_near(
    compressed: ReducedBasisGrid, point: np.ndarray, *, level: int = 0
) -> Affine | None:
    """Return the affine map of a level's corner nearest to a point, or None if it has no value.

    At level 0 this costs nothing: the plan evaluates that corner anyway. Positions become d
    coordinates z = R (a - c) with the same inertia, x_a^T M x_a = R^T R; the other coordinates are
    0.

    Args:
        compressed: Grid with the layout of the outputs.
        point: Point on the map [-], shape (d,).
        level: Level of the corner.
    """
    corners, layout = compressed.grid.corners, compressed.layout
    nearest = np.round((point - corners.origin) / corners.spacing * 2.0**level).astype(int)
    key = (level, *nearest.tolist())
    corners.evaluate_missing([key])
    number = corners.number(key)
    if number is None or number == FAILED:
        return None
    data, x = corners.data[number], compressed.full.position
    gradient = np.zeros((layout.size, compressed.dimension))
    motion = (data[1:, x] * compressed.root_mass).T  # (3 N, d)
    with one_blas_thread():
        gradient[: compressed.dimension] = np.linalg.qr(motion, mode="r")
    gradient[layout.length.start :] = data[1:, x.stop :].T
    value = np.concatenate((np.zeros(layout.length.start), data[0, x.stop :]))
    return Affine(corners.place(key), value, gradient)
