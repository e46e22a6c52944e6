"""Types of degrees of freedom: layout, integration, transformation."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from typing_extensions import override

from sofa_softctl.runtime.kernels.mapping import rigid
from sofa_softctl.runtime.mesh.rotation import quaternion_zyx, rotation_zyx


class DofType:
    """Points: three coordinates a node."""

    name: ClassVar[str] = "Vec3"
    coord_size: ClassVar[int] = 3
    """Numbers that make a position."""
    deriv_size: ClassVar[int] = 3
    """Numbers that make a velocity."""
    identity: ClassVar[tuple[float, ...]] = (0.0, 0.0, 0.0)
    """Where a node is of which nothing is said."""

    def advance(self, x: np.ndarray, v: np.ndarray, h: float, out: np.ndarray) -> None:
        """out = x moved by h v; out may be x."""
        np.add(x, h * v, out=out)

    def difference(self, x: np.ndarray, start: np.ndarray) -> np.ndarray:
        """The motion from `start` to x, shape (n, deriv_size): `advance` with it leads there."""
        return x - start

    def entries(
        self, row: np.ndarray, node: np.ndarray, direction: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Directions on nodes as directions on the rows of three scalars of a system's vectors.

        Args:
            row, node: Of each direction, shape (k,).
            direction: Shape (k, deriv_size).

        Returns:
            row, node (see the top of `roles`), direction (m, 3).
        """
        return row, node, direction

    def at_points(self, points: np.ndarray) -> np.ndarray:
        """Positions at points (n, 3), shape (n, coord_size)."""
        found = np.tile(self.identity, (len(points), 1))
        width = min(3, self.coord_size)
        found[:, :width] = points[:, :width]
        return found

    def transformed(
        self, x: np.ndarray, scale: np.ndarray, angles: np.ndarray, shift: np.ndarray
    ) -> np.ndarray:
        """Positions scaled, then turned about x, y and z in degrees, then shifted."""
        return rigid.rotate_vectors(quaternion_zyx(angles), x * scale) + shift

    def linear(self, vector: np.ndarray) -> np.ndarray:
        """A velocity or force along a vector of space (3,), shape (deriv_size,)."""
        return vector


class RigidDofs(DofType):
    """Rigid bodies: centre and quaternion x y z w; velocities linear and angular, world's axes."""

    name = "Rigid3"
    coord_size = 7
    deriv_size = 6
    identity = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)

    @override
    def advance(self, x: np.ndarray, v: np.ndarray, h: float, out: np.ndarray) -> None:
        rigid.advance(x, v, h, out)

    def difference(self, x: np.ndarray, start: np.ndarray) -> np.ndarray:
        """See Kind; the turn is axis times angle, the angle at most pi."""
        turn = rigid.product(x[:, 3:], rigid.conjugate(start[:, 3:]))
        return np.hstack([x[:, :3] - start[:, :3], rigid.rotation_vector(turn)])

    @override
    def entries(
        self, row: np.ndarray, node: np.ndarray, direction: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        halves = np.concatenate([direction[:, :3], direction[:, 3:]])
        node = np.concatenate([2 * node, 2 * node + 1])
        kept = halves.any(axis=1)
        return np.tile(row, 2)[kept], node[kept], halves[kept]

    @override
    def transformed(
        self, x: np.ndarray, scale: np.ndarray, angles: np.ndarray, shift: np.ndarray
    ) -> np.ndarray:
        centre = super().transformed(x[:, :3], scale, angles, shift)
        return np.hstack([centre, rigid.product(quaternion_zyx(angles), x[:, 3:])])

    @override
    def linear(self, vector: np.ndarray) -> np.ndarray:
        return np.concatenate([vector, np.zeros(3)])


class JointDofs(DofType):
    """Single coordinates, such as joint angles; in space they lie on the x axis, as in SOFA."""

    name = "Vec1"
    coord_size = 1
    deriv_size = 1
    identity = (0.0,)

    @override
    def entries(
        self, row: np.ndarray, node: np.ndarray, direction: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        node, axis = np.divmod(node, 3)
        return row, node, direction * np.eye(3)[axis]

    @override
    def transformed(
        self, x: np.ndarray, scale: np.ndarray, angles: np.ndarray, shift: np.ndarray
    ) -> np.ndarray:
        return rotation_zyx(angles)[:1, :1] * (x * scale[0]) + shift[0]

    @override
    def linear(self, vector: np.ndarray) -> np.ndarray:
        return vector[:1]


_KINDS = (DofType(), RigidDofs(), JointDofs())

KINDS: dict[str, DofType] = {
    "": _KINDS[0],
    **{f"{kind.name}{suffix}": kind for kind in _KINDS for suffix in ("", "d", "f")},
    "Rigid": _KINDS[1],
}
"""By the names that a template can have; points when it has none."""
