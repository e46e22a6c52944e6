"""f(q) of Jia, Pan, Manocha, eq. (10): the fluid's potential on the skin for unit velocities.

The fluid has no separate state: its potential is f(q) xi, with xi = (twist of link 0 in its
frame, hinge rates). f is solved for densely; its derivative reuses the factors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy.linalg import lu_factor, lu_solve

from softctl_swimmer.body import Swimmer
from softctl_swimmer.flow.ellipsoid import VERTEX_COUNT, ellipsoid_surface
from softctl_swimmer.flow.equation import SelfBlock, equation, points_in, row_ranges, self_block
from softctl_swimmer.flow.layers import layer_gradients
from softctl_swimmer.flow.surface import Surface


@dataclass(frozen=True)
class Solution:
    """The potentials at one pose, with the factors that a derivative needs."""

    angles: np.ndarray
    """Angles of the hinges [rad], shape (n,)."""
    f: np.ndarray
    """Potential at each vertex for unit xi [m] or [m^2], shape (P, 6 + n)."""
    V: np.ndarray
    """Potentials of the links' unit twists, see `equation.Equation`, shape (P, N, 6)."""
    factors: tuple[np.ndarray, np.ndarray] = field(repr=False)
    """LU factors of the operator, as LAPACK's getrf returns them."""


@dataclass(frozen=True)
class Flow:
    """Potential flow around a swimmer with a given mesh. Create it with `Flow.from_swimmer`."""

    swimmer: Swimmer
    """The bodies."""
    skins: tuple[Surface, ...]
    """Mesh of each link, in its frame."""
    blocks: tuple[SelfBlock, ...] = field(repr=False)
    """The pose-independent part of the equation."""

    @classmethod
    def from_swimmer(
        cls,
        swimmer: Swimmer,
        vertex_count: int = VERTEX_COUNT,
        *,
        skins: Sequence[Surface] | None = None,
    ) -> Flow:
        """Mesh the links, or use given meshes, and compute the pose-independent blocks.

        Args:
            swimmer: The bodies.
            vertex_count: Vertices of each link.
            skins: A mesh for each link, in its frame, instead. Contact is checked for the links'
                ellipsoids, scaled until they contain the meshes.

        Raises:
            ValueError: There is not one mesh for each link.
            MeshError: As for `ellipsoid_surface`.
        """
        if skins is None:
            surfaces = {
                axes: ellipsoid_surface(axes, vertex_count)
                for axes in {tuple(link.semi_axes) for link in swimmer.links}
            }
            skins = [surfaces[tuple(link.semi_axes)] for link in swimmer.links]
        if len(skins) != len(swimmer.links):
            raise ValueError(
                f"{len(skins)} meshes for {len(swimmer.links)} links; expected one for each."
            )
        blocks = {id(skin): self_block(skin) for skin in {id(s): s for s in skins}.values()}
        return cls(swimmer, tuple(skins), tuple(blocks[id(skin)] for skin in skins))

    @property
    def vertex_count(self) -> int:
        """Number P of vertices of all links together."""
        return sum(len(skin.vertices) for skin in self.skins)

    @cached_property
    def _growth(self) -> float:
        """Factor by which the links' ellipsoids grow to contain the meshes [-]."""
        pairs = zip(self.skins, self.swimmer.links, strict=True)
        return max(
            1.0,
            *(np.linalg.norm(skin.vertices / k.semi_axes, axis=1).max() for skin, k in pairs),
        )

    def solve(self, angles: np.ndarray) -> Solution:
        """Solve for the potentials f(q), by a dense LU factorisation of the P x P operator.

        Args:
            angles: Angles of the hinges [rad], shape (n,).

        Raises:
            SceneError: Links, or possibly their meshes, touch or overlap there.
            ValueError: The angles are not n finite numbers.
        """
        angles = np.array(angles, dtype=float)
        self.swimmer.check_pose(angles, growth=self._growth)
        system = equation(self.skins, self.blocks, *self.swimmer.poses(angles))
        J, _ = self.swimmer.jacobians(angles)
        factors = lu_factor(system.H, overwrite_a=True, check_finite=False)
        f = lu_solve(factors, -np.einsum("pbt,btc->pc", system.V, J), check_finite=False)
        return Solution(angles, f, system.V, factors)

    def derivative(self, solution: Solution) -> np.ndarray:
        """Return df/dq [m/rad] or [m^2/rad], shape (P, 6 + n, n): exact for the discrete equations.

        From H f = -V J: H df_j = (dK_j f - dS_j J) - V dJ_j, where the layers' gradients are
        taken along the motion of a link's vertices in the other's frame.
        """
        swimmer, f = self.swimmer, solution.f
        R, p = swimmer.poses(solution.angles)
        J, dJ = swimmer.jacobians(solution.angles)
        rows = row_ranges(self.skins)
        right = -np.einsum("pbt,btcj->pcj", solution.V, dJ)  # (P, 6 + n, n)
        for b, source in enumerate(self.skins):
            for a, skin in enumerate(self.skins):
                hinges, speeds = _relative_motion(a, b, skin, R, p, J)
                if not len(hinges):
                    continue
                points = points_in(b, skin.vertices, a, R, p)
                dS, dK = layer_gradients(source.tables, points, source.twist_velocities)
                gradient = dK @ f[rows[b]] - dS @ J[b]  # (P_a, 3, 6 + n)
                right[rows[a], :, hinges] += np.einsum("pic,pij->pcj", gradient, speeds)
        columns = right.reshape(len(f), -1)
        return lu_solve(solution.factors, columns, check_finite=False).reshape(right.shape)


def _relative_motion(a, b, skin, R, p, J):
    """Return hinges between links a and b, and a's vertex velocities in b's frame, (P_a, 3, .)."""
    relative = R[b].T @ R[a]
    points = skin.vertices @ relative.T
    offset = R[b].T @ (p[a] - p[b])
    linear, angular = J[a, :3, 6:], J[a, 3:, 6:]  # of a, in its frame
    spin = relative @ angular - J[b, 3:, 6:]
    slide = relative @ linear - J[b, :3, 6:] - np.cross(J[b, 3:, 6:], offset, axisa=0).T
    hinges = np.flatnonzero(np.abs(spin).max(axis=0) > 0.5) if a != b else np.array([], dtype=int)
    speeds = slide[:, hinges] + np.cross(spin[:, hinges].T, points[:, None]).transpose(0, 2, 1)
    return hinges, speeds
