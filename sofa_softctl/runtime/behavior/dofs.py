"""Types of degrees of freedom: layout, integration, transformation."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from typing_extensions import override

from sofa_softctl.runtime.mesh.rotation import quaternion_zyx, rotation_zyx


class DofType:
    """Points: three coordinates for each node."""

    name: ClassVar[str] = "Vec3"
    coord_size: ClassVar[int] = 3
    """Number of scalars of a position."""
    deriv_size: ClassVar[int] = 3
    """Number of scalars of a velocity."""
    identity: ClassVar[tuple[float, ...]] = (0.0, 0.0, 0.0)
    """Default position of a node."""

    @cached_property
    def _rotations(self) -> Any:
        """Kernels of rotations, which scenes of points do not load."""
        from sofa_softctl.runtime.kernels.mapping import rigid

        return rigid

    def advance(self, x: np.ndarray, v: np.ndarray, h: float, out: np.ndarray) -> None:
        """Move x by h v to out, which may be x."""
        np.add(x, h * v, out=out)

    def difference(self, x: np.ndarray, start: np.ndarray) -> np.ndarray:
        """Return the motion from `start` to x for `advance`, shape (n, deriv_size)."""
        return x - start

    def entries(
        self, row: np.ndarray, node: np.ndarray, direction: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Convert directions on nodes to the rows of three scalars of a system's vectors.

        Args:
            row, node: Row and node of each direction, shape (k,).
            direction: Directions, shape (k, deriv_size).

        Returns:
            row, node (see `mechanics`), direction (m, 3).
        """
        return row, node, direction

    def at_points(self, points: np.ndarray) -> np.ndarray:
        """Return positions at points (n, 3), shape (n, coord_size)."""
        x = np.tile(self.identity, (len(points), 1))
        width = min(3, self.coord_size)
        x[:, :width] = points[:, :width]
        return x

    def transformed(
        self, x: np.ndarray, scale: np.ndarray, angles: np.ndarray, shift: np.ndarray
    ) -> np.ndarray:
        """Return positions scaled, then rotated about x, y and z in degrees, then shifted."""
        return self._rotations.rotate_vectors(quaternion_zyx(angles), x * scale) + shift

    def linear(self, vector: np.ndarray) -> np.ndarray:
        """Return a velocity or force along a vector of space (3,), shape (deriv_size,)."""
        return vector


class RigidDofs(DofType):
    """Rigid bodies: centre and quaternion x y z w; velocities linear and angular, world's axes."""

    name = "Rigid3"
    coord_size = 7
    deriv_size = 6
    identity = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)

    @override
    def advance(self, x: np.ndarray, v: np.ndarray, h: float, out: np.ndarray) -> None:
        self._rotations.advance(x, v, h, out)

    def difference(self, x: np.ndarray, start: np.ndarray) -> np.ndarray:
        """Return translation, and rotation as axis times angle of at most pi."""
        rotation = self._rotations.product(x[:, 3:], self._rotations.conjugate(start[:, 3:]))
        return np.hstack([x[:, :3] - start[:, :3], self._rotations.rotation_vector(rotation)])

    @override
    def entries(
        self, row: np.ndarray, node: np.ndarray, direction: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        halves = np.concatenate([direction[:, :3], direction[:, 3:]])
        node = np.concatenate([2 * node, 2 * node + 1])
        is_nonzero = halves.any(axis=1)
        return np.tile(row, 2)[is_nonzero], node[is_nonzero], halves[is_nonzero]

    @override
    def transformed(
        self, x: np.ndarray, scale: np.ndarray, angles: np.ndarray, shift: np.ndarray
    ) -> np.ndarray:
        centre = super().transformed(x[:, :3], scale, angles, shift)
        return np.hstack([centre, self._rotations.product(quaternion_zyx(angles), x[:, 3:])])

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
"""Types by the names of templates; points for an empty template."""
