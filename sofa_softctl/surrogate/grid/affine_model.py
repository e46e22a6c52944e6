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
    """An `Embedding` without curvature, for a first plan.

    It neglects the rotation of lines with the robot and the stiffening of bodies. A plan on it
    takes milliseconds and is near the same corners of a grid.
    """

    center: np.ndarray
    """c [-], shape (d,)."""
    value: np.ndarray
    """y(c) [length], shape (n,)."""
    gradient: np.ndarray
    """dy/da at c [length / unit of a], shape (n, d)."""

    @property
    def dimension(self) -> int:
        """Number of inputs."""
        return self.gradient.shape[1]

    @property
    def size(self) -> int:
        """Number of outputs."""
        return len(self.value)

    def at(self, points: np.ndarray) -> Jet:
        """Outputs and gradients at the points, shape (m, d)."""
        value = self.value + (points - self.center) @ self.gradient.T
        return Jet(value, np.broadcast_to(self.gradient, (len(points), *self.gradient.shape)))

    def curvature(self, points: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """See `Embedding`: none."""
        return np.zeros((len(points), self.dimension, self.dimension))


def affine_near(
    compressed: ReducedBasisGrid, point: np.ndarray, *, level: int = 0
) -> Affine | None:
    """Affine map of the corner nearest to a point on a level; None if it has none.

    A plan from there needs the corner of the coarsest level anyway. Positions become d coordinates
    z = R (a - c) with the same inertia, x_a^T M x_a = R^T R; the others are 0.

    Args:
        compressed: Gives the layout of outputs.
        point: Shape (d,).
        level: Level of the corner.
    """
    corners, layout = compressed.grid.corners, compressed.layout
    nearest = np.round((point - corners.origin) / corners.spacing * 2.0**level).astype(int)
    key = (level, *nearest.tolist())
    corners.want([key])
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
