"""Surfaces of several cavities at once: volumes, constraint rows and the rows' derivatives."""

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

    A cavity's row H is the area of each point along its normal, as in SoftRobots: dV/dx where the
    surface is closed and of triangles. d(H^T lam)/dx is symmetric only then. `measure` sets them at
    a position.

    Args:
        system: That of the states on which the cavities act.
        cavities: They may hang on mapped states of constant weights.

    Raises:
        SceneError: a cavity hangs on a body that turns, or on another system.
    """

    def __init__(self, system: MechanicalSystem, cavities: Sequence[Cavity]) -> None:
        self.system, self.cavities = system, list(cavities)
        surfaces = [_Surface(one) for one in self.cavities]
        empty = sparse.csr_array((0, system.size))
        carried = [
            carried_points(one, system)[surface.points]
            for one, surface in zip(self.cavities, surfaces, strict=True)
        ]
        self.B = sparse.csr_array(sparse.vstack([empty, *carried], format="csr"))
        self.BT = self.B.T.tocsr()
        starts = np.cumsum([0, *(len(one.points) for one in surfaces)])
        count = len(surfaces)
        self.owner = np.repeat(np.arange(count), np.diff(starts))
        joined = partial(_joined, surfaces, starts)
        patches, receivers = joined("patches", 3), joined("receivers", 4)
        weights = np.concatenate([np.empty(0), *(one.weights for one in surfaces)])
        self._faces = (patches, receivers, weights)
        self._triangles = joined("triangles", 3)
        self._triangle_owner = self.owner[self._triangles[:, 0]]
        self.initial = np.array([one.initialCavityVolume.get() for one in self.cavities])
        """Volume of each cavity from which its growth counts [length^3], shape (k,)."""

    def measure(self, x: np.ndarray) -> None:
        """Take the cavities' geometry at x, shape (n, 3)."""
        self.s = self.B @ x
        self.areas, self.slopes = np.zeros((2, *self.s.shape))
        volumes = np.zeros(len(self.cavities))
        kernel.add_areas(self.s, *self._faces, self.areas)
        kernel.add_volumes(self.s, self._triangles, self._triangle_owner, volumes, self.slopes)
        self.volumes = np.abs(volumes)
        self.slopes *= np.sign(volumes)[self.owner, None]

    def push(self, lam: np.ndarray) -> np.ndarray:
        """H^T lam, 0 where nodes are held, shape (n, 3)."""
        return self._carried(lam[self.owner, None] * self.areas)

    def rows(self, v: np.ndarray) -> np.ndarray:
        """H v, shape (k,); v must be 0 where nodes are held."""
        return self._summed(self.areas, self.B @ v)

    def grown(self, dx: np.ndarray) -> np.ndarray:
        """dV/dx dx, shape (k,): H dx where surfaces are closed and of triangles."""
        return self._summed(self.slopes, self.B @ dx)

    def grown_transposed(self, mu: np.ndarray) -> np.ndarray:
        """(dV/dx)^T mu, 0 where nodes are held, shape (n, 3)."""
        return self._carried(mu[self.owner, None] * self.slopes)

    def turned(self, lam: np.ndarray, dx: np.ndarray) -> np.ndarray:
        """d(H^T lam) when the positions change by dx, both of shape (n, 3)."""
        return self._carried(lam[self.owner, None] * self._areas_change(dx))

    def turned_transposed(self, lam: np.ndarray, y: np.ndarray) -> np.ndarray:
        """d(y . H^T lam)/dx, both of shape (n, 3)."""
        out = np.zeros_like(self.s)
        along = lam[self.owner, None] * (self.B @ y)
        kernel.add_areas_transposed(self.s, along, *self._faces, out)
        return self._carried(out)

    def rows_turned(self, dx: np.ndarray, w: np.ndarray) -> np.ndarray:
        """dH w when the positions change by dx, both of shape (n, 3); shape (k,)."""
        return self._summed(self._areas_change(dx), self.B @ w)

    def _areas_change(self, dx: np.ndarray) -> np.ndarray:
        out = np.zeros_like(self.s)
        kernel.add_areas_change(self.s, self.B @ dx, *self._faces, out)
        return out

    def _summed(self, one: np.ndarray, other: np.ndarray) -> np.ndarray:
        """one . other over the points of each cavity, shape (k,)."""
        along = np.einsum("si,si->s", one, other)
        return np.bincount(self.owner, along, minlength=len(self.cavities))

    def _carried(self, force: np.ndarray) -> np.ndarray:
        """Forces on the nodes from those on the points, 0 where nodes are held, shape (n, 3)."""
        found: np.ndarray = self.BT @ force
        self.system.project(found)
        return found


class _Surface:
    """Patches and triangles of one cavity, by its own points; see kernels/volume_derivative."""

    def __init__(self, cavity: Cavity) -> None:
        triangles, quads = cavity.triangles.get(), cavity.quads.get()
        every = np.concatenate([triangles.ravel(), quads.ravel()])
        self.points, places = np.unique(every, return_inverse=True)
        t = places[: triangles.size].reshape(-1, 3)
        q = places[triangles.size :].reshape(-1, 4)
        none = np.full((len(t), 1), -1)
        self.patches = np.concatenate([t, q[:, [0, 1, 3]], q[:, [2, 3, 1]]])
        self.receivers = np.concatenate([np.hstack([t, none]), q, q])
        self.triangles = np.concatenate([t, q[:, [0, 1, 2]], q[:, [0, 2, 3]]])
        sign = -1.0 if cavity.flipNormal.get() else 1.0
        self.weights = sign * np.repeat([1.0 / 6.0, 1.0 / 8.0], [len(t), 2 * len(q)])


def _joined(surfaces: Sequence[_Surface], starts: np.ndarray, name: str, width: int) -> np.ndarray:
    """Entries of all surfaces by points of all of them; -1 stays."""
    parts = [np.empty((0, width), dtype=np.int64)]
    for surface, start in zip(surfaces, starts, strict=False):
        own = getattr(surface, name)
        parts.append(np.where(own < 0, own, own + start))
    return np.concatenate(parts)
