"""Geometry of several cables: lengths, constraint rows and the rows' derivatives."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import scipy.sparse as sparse

from sofa_softctl.runtime.behavior.roles import Cable
from sofa_softctl.runtime.behavior.solvers import MechanicalSystem
from sofa_softctl.runtime.derivatives.carried import carried_points


class CableSegments:
    """Cables as segments s = B x + s0 between their points, B constant, by nodes of the system.

    With l the lengths of the segments and u = s / l, a cable's row is H = -dL/dx = -sum u B, and
    d(H^T lam) = -B^T lam (I - u u^T) / l B dx. `measure` sets them at a position.

    Args:
        system: System of the states on which the cables act.
        cables: Cables, with or without pull points, on states or mapped states of constant weights.

    Raises:
        SceneError: A cable acts on a body that rotates, or on another system.
    """

    def __init__(self, system: MechanicalSystem, cables: Sequence[Cable]) -> None:
        self.system, self.cables = system, list(cables)
        blocks, fixed, owner = [], [], []
        for number, cable in enumerate(self.cables):
            block, start = _segments(system, cable)
            blocks.append(block)
            fixed.append(start)
            owner += [number] * len(start)
        empty = sparse.csr_array((0, system.size))
        self.B = sparse.csr_array(sparse.vstack([empty, *blocks], format="csr"))
        self.BT = self.B.T.tocsr()
        self.s0 = np.concatenate([np.empty((0, 3)), *fixed])
        self.owner = np.array(owner, dtype=int)
        self.initial = np.array([cable.cableInitialLength.get() for cable in self.cables])
        """Length of each cable from which displacements count [length], shape (k,)."""

    def measure(self, x: np.ndarray) -> None:
        """Compute the cables' geometry at x, shape (n, 3)."""
        s = self.B @ x + self.s0
        self.size = np.linalg.norm(s, axis=1)
        size = np.where(self.size > 0.0, self.size, np.inf)  # coincident points: no direction
        self.u = s / size[:, None]
        self.per_size = 1.0 / size
        self.lengths = np.bincount(self.owner, self.size, minlength=len(self.cables))

    def push(self, lam: np.ndarray) -> np.ndarray:
        """Return H^T lam, 0 at fixed nodes, shape (n, 3)."""
        force: np.ndarray = self.BT @ (-lam[self.owner, None] * self.u)
        self.system.project(force)
        return force

    def rows(self, v: np.ndarray) -> np.ndarray:
        """Return H v, shape (k,); v must be 0 at fixed nodes."""
        along = np.einsum("si,si->s", self.u, self.B @ v)
        return -np.bincount(self.owner, along, minlength=len(self.cables))

    def push_change(self, lam: np.ndarray, dx: np.ndarray) -> np.ndarray:
        """Return d(H^T lam) for changes dx of positions, shapes (n, 3); symmetric in dx."""
        across = self.B @ dx
        across -= self.u * np.einsum("si,si->s", self.u, across)[:, None]
        force: np.ndarray = self.BT @ (-(lam[self.owner] * self.per_size)[:, None] * across)
        self.system.project(force)
        return force

    def geometric_blocks(self, lam: np.ndarray, w: np.ndarray, weight: float) -> np.ndarray:
        """Return symmetric blocks C (s, 3, 3) of d(H^T lam + weight d(H^T lam)/dx w) = B^T C B dx.

        Args:
            lam: Multipliers, shape (k,).
            w: Velocities, shape (n, 3).
            weight: Weight of the second term [time].
        """
        change = self.B @ w
        along = np.einsum("si,si->s", self.u, change)[:, None, None]
        mixed = self.u[:, :, None] * (change - self.u * along[:, 0])[:, None, :]
        across = np.eye(3) - self.u[:, :, None] * self.u[:, None, :]
        per = self.per_size[:, None, None]
        turns = -across + weight * per * (along * across + mixed + mixed.transpose(0, 2, 1))
        return np.asarray(lam[self.owner, None, None] * per * turns)

    def add_blocks(self, blocks: np.ndarray, dx: np.ndarray, out: np.ndarray) -> None:
        """Add B^T C B dx to out, both of shape (p, n, 3); see `geometric_blocks`."""
        nodes, B = self._dense_B
        change = np.tensordot(B, dx[:, nodes], axes=(1, 1))  # (s, p, 3)
        pulled = np.matmul(change, blocks)  # (s, p, 3), blocks are symmetric
        out[:, nodes] += np.tensordot(B, pulled, axes=(0, 0)).transpose(1, 0, 2)

    @cached_property
    def _dense_B(self) -> tuple[np.ndarray, np.ndarray]:
        """Nodes that determine the cables, and dense B for these nodes."""
        nodes = np.unique(self.B.indices)
        return nodes, self.B[:, nodes].toarray()

    def rows_change(self, dx: np.ndarray, w: np.ndarray) -> np.ndarray:
        """Return dH w for changes dx of positions, shapes (n, 3) and (k,)."""
        across, change = self.B @ dx, self.B @ w
        across -= self.u * np.einsum("si,si->s", self.u, across)[:, None]
        along = self.per_size * np.einsum("si,si->s", across, change)
        return -np.bincount(self.owner, along, minlength=len(self.cables))


def _segments(system: MechanicalSystem, cable: Cable) -> tuple[sparse.csr_array, np.ndarray]:
    """Return B and s0 of a cable: each segment goes from a point to the point before it."""
    points = cable.indices.get()
    carried = carried_points(cable, system)[points]
    step = sparse.csr_array(sparse.eye_array(len(points)) - sparse.eye_array(len(points), k=-1))
    start = np.zeros((len(points), 3))
    start[0] = cable.pullPoint.get()
    first = 0 if cable.hasPullPoint.get() else 1
    return sparse.csr_array(-(step @ carried))[first:], start[first:]
