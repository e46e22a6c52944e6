"""First-order model about one equilibrium: y(c) + y_a(c) (a - c)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sofa_softctl._internal.blas_threads import one_blas_thread
from sofa_softctl.surrogate.grid.corners import FAILED, Corners, Key
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
        """See `Embedding`."""
        value = self.value + (points - self.center) @ self.gradient.T
        return Jet(value, np.broadcast_to(self.gradient, (len(points), *self.gradient.shape)))

    def curvature(self, points: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """See `Embedding`: none."""
        return np.zeros((len(points), self.dimension, self.dimension))


def affine_near(compressed: ReducedBasisGrid, point: np.ndarray) -> Affine | None:
    """Affine map of the corner nearest to a point on the coarsest level; None if it has none.

    A plan from there needs this corner anyway. Positions become d coordinates z = R (a - c) with
    the same inertia, x_a^T M x_a = R^T R; the others are 0.

    Args:
        compressed: Gives the layout of outputs.
        point: Shape (d,).
    """
    corners, layout = compressed.grid.corners, compressed.layout
    key = _key_of(corners, point)
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


def affine_error(compressed: ReducedBasisGrid, affine: Affine, a: np.ndarray, level: int) -> float:
    """How far a plan on the affine map may be off, in coordinates [-]; infinite if unknown.

    Measured at one equilibrium: the corner, on a level of the grid, nearest to the point of the
    plan that is farthest from the map's own. A plan near it needs that corner anyway.

    Args:
        compressed: Gives the grid.
        affine: Of `affine_near`.
        a: The plan's coordinates, shape (K, d).
        level: Level of the corner.
    """
    corners, x = compressed.grid.corners, compressed.full.position
    far = a[np.abs(a - affine.center).max(axis=1).argmax()]
    index = np.round((far - corners.origin) / corners.spacing * 2.0**level).astype(int)
    keys = [(level, *index.tolist()), _key_of(corners, affine.center)]
    corners.want(keys)
    rows = [corners.number(key) for key in keys]
    known = [row for row in rows if row is not None and row != FAILED]
    if len(known) < len(rows):
        return np.inf
    there, here = corners.data[known]
    moved = here[0, x] + (corners.place(keys[0]) - affine.center) @ here[1:, x]
    slopes, missing = here[1:, x] * compressed.root_mass, there[0, x] - moved
    with one_blas_thread():
        off = np.linalg.lstsq(slopes.T, missing * compressed.root_mass, rcond=None)[0]
    return float(np.abs(off).max())


def _key_of(corners: Corners, point: np.ndarray) -> Key:
    """Key of the corner of the coarsest level nearest to a point."""
    return (0, *np.round((point - corners.origin) / corners.spacing).astype(int).tolist())
