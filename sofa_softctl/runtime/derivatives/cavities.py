"""Surfaces of several cavities: volumes, constraint rows and the rows' derivatives."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import scipy.sparse as sparse

from sofa_softctl.runtime.behavior.roles import Cavity
from sofa_softctl.runtime.behavior.solvers import MechanicalSystem
from sofa_softctl.runtime.derivatives.carried import carried_points
from sofa_softctl.runtime.kernels.constraint import volume_derivative as kernel


class Cavities:
    """Cavities whose surfaces have points s = B x, B constant, by nodes of the system.

    A cavity's row H is the area of each point along its normal, as in SoftRobots: dV/dx for closed
    surfaces of triangles. Only then d(H^T lam)/dx is symmetric. `measure` sets them at a position.

    Args:
        system: System of the states on which the cavities act.
        cavities: Cavities on states or mapped states of constant weights.

    Raises:
        SceneError: A cavity acts on a body that rotates, or on another system.
    """

    def __init__(self, system: MechanicalSystem, cavities: Sequence[Cavity]) -> None:
        self.system, self.cavities = system, list(cavities)
        surfaces = [_Surface(cavity) for cavity in self.cavities]
        empty = sparse.csr_array((0, system.size))
        carried = [
            carried_points(cavity, system)[surface.points]
            for cavity, surface in zip(self.cavities, surfaces, strict=True)
        ]
        self.B = sparse.csr_array(sparse.vstack([empty, *carried], format="csr"))
        self.BT = self.B.T.tocsr()
        starts = np.cumsum([0, *(len(s.points) for s in surfaces)])
        count = len(surfaces)
        self.owner = np.repeat(np.arange(count), np.diff(starts))
        concatenate = partial(_concatenate, surfaces, starts)
        patches, receivers = concatenate("patches", 3), concatenate("receivers", 4)
        weights = np.concatenate([np.empty(0), *(s.weights for s in surfaces)])
        self._faces = (patches, receivers, weights)
        self._triangles = concatenate("triangles", 3)
        self._triangle_owner = self.owner[self._triangles[:, 0]]
        self.initial = np.array([c.initialCavityVolume.get() for c in self.cavities])
        """Volume of each cavity from which its growth counts [length^3], shape (k,)."""

    def measure(self, x: np.ndarray) -> None:
        """Compute the cavities' geometry at x, shape (n, 3)."""
        self.s = self.B @ x
        self.areas, self.slopes = np.zeros((2, *self.s.shape))
        volumes = np.zeros(len(self.cavities))
        kernel.add_areas(self.s, *self._faces, self.areas)
        kernel.add_volumes(self.s, self._triangles, self._triangle_owner, volumes, self.slopes)
        self.volumes = np.abs(volumes)
        self.slopes *= np.sign(volumes)[self.owner, None]

    def push(self, lam: np.ndarray) -> np.ndarray:
        """Return H^T lam, 0 at fixed nodes, shape (n, 3)."""
        return self._to_nodes(lam[self.owner, None] * self.areas)

    def rows(self, v: np.ndarray) -> np.ndarray:
        """Return H v, shape (k,); v must be 0 at fixed nodes."""
        return self._dot_by_cavity(self.areas, self.B @ v)

    def volume_change(self, dx: np.ndarray) -> np.ndarray:
        """Return dV/dx dx, shape (k,): H dx for closed surfaces of triangles."""
        return self._dot_by_cavity(self.slopes, self.B @ dx)

    def volume_change_transposed(self, mu: np.ndarray) -> np.ndarray:
        """Return (dV/dx)^T mu, 0 at fixed nodes, shape (n, 3)."""
        return self._to_nodes(mu[self.owner, None] * self.slopes)

    def push_change(self, lam: np.ndarray, dx: np.ndarray) -> np.ndarray:
        """Return d(H^T lam) for changes dx of positions, shapes (n, 3)."""
        return self._to_nodes(lam[self.owner, None] * self._areas_change(dx))

    def push_change_transposed(self, lam: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return d(y . H^T lam)/dx, shapes (n, 3)."""
        out = np.zeros_like(self.s)
        along = lam[self.owner, None] * (self.B @ y)
        kernel.add_areas_transposed(self.s, along, *self._faces, out)
        return self._to_nodes(out)

    def rows_change(self, dx: np.ndarray, w: np.ndarray) -> np.ndarray:
        """Return dH w for changes dx of positions, shapes (n, 3) and (k,)."""
        return self._dot_by_cavity(self._areas_change(dx), self.B @ w)

    def _areas_change(self, dx: np.ndarray) -> np.ndarray:
        out = np.zeros_like(self.s)
        kernel.add_areas_change(self.s, self.B @ dx, *self._faces, out)
        return out

    def _dot_by_cavity(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Return a . b, summed over the points of each cavity, shape (k,)."""
        along = np.einsum("si,si->s", a, b)
        return np.bincount(self.owner, along, minlength=len(self.cavities))

    def _to_nodes(self, force: np.ndarray) -> np.ndarray:
        """Return forces on nodes from forces on points, 0 at fixed nodes, shape (n, 3)."""
        node_force: np.ndarray = self.BT @ force
        self.system.project(node_force)
        return node_force


class _Surface:
    """Patches and triangles of a cavity, by its points; see kernels/volume_derivative."""

    def __init__(self, cavity: Cavity) -> None:
        triangles, quads = cavity.triangles.get(), cavity.quads.get()
        vertices = np.concatenate([triangles.ravel(), quads.ravel()])
        self.points, indices = np.unique(vertices, return_inverse=True)
        t = indices[: triangles.size].reshape(-1, 3)
        q = indices[triangles.size :].reshape(-1, 4)
        no_receiver = np.full((len(t), 1), -1)
        self.patches = np.concatenate([t, q[:, [0, 1, 3]], q[:, [2, 3, 1]]])
        self.receivers = np.concatenate([np.hstack([t, no_receiver]), q, q])
        self.triangles = np.concatenate([t, q[:, [0, 1, 2]], q[:, [0, 2, 3]]])
        sign = -1.0 if cavity.flipNormal.get() else 1.0
        self.weights = sign * np.repeat([1.0 / 6.0, 1.0 / 8.0], [len(t), 2 * len(q)])


def _concatenate(
    surfaces: Sequence[_Surface], starts: np.ndarray, name: str, width: int
) -> np.ndarray:
    """Concatenate an array of indices of all surfaces, with offsets; -1 stays."""
    parts = [np.empty((0, width), dtype=np.int64)]
    for surface, start in zip(surfaces, starts, strict=False):
        indices = getattr(surface, name)
        parts.append(np.where(indices < 0, indices, indices + start))
    return np.concatenate(parts)
