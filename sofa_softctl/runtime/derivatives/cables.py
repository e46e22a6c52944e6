"""Geometry of several cables at once: lengths, constraint rows and the rows' derivatives."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import scipy.sparse as sparse

from sofa_softctl.runtime.behavior.roles import Cable
from sofa_softctl.runtime.behavior.solvers import MechanicalSystem
from sofa_softctl.runtime.derivatives.carried import carried_points


class Lines:
    """Cables as segments s = B x + s0 between their points, B constant, by nodes of the system.

    With l the lengths of the segments and u = s / l, a cable's row is H = -dL/dx = -sum u B, and
    d(H^T lam) = -B^T lam (I - u u^T) / l B dx. `measure` sets them at a position.

    Args:
        system: That of the states on which the cables act.
        cables: They may have pull points, and hang on mapped states of constant weights.

    Raises:
        SceneError: a cable hangs on a body that turns, or on another system.
    """

    def __init__(self, system: MechanicalSystem, cables: Sequence[Cable]) -> None:
        self.system, self.cables = system, list(cables)
        blocks, fixed, owner = [], [], []
        for number, cable in enumerate(self.cables):
            found, start = _segments(system, cable)
            blocks.append(found)
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
        """Take the cables' geometry at x, shape (n, 3)."""
        s = self.B @ x + self.s0
        self.size = np.linalg.norm(s, axis=1)
        there = np.where(self.size > 0.0, self.size, np.inf)  # points at one place: no direction
        self.u = s / there[:, None]
        self.per_size = 1.0 / there
        self.lengths = np.bincount(self.owner, self.size, minlength=len(self.cables))

    def push(self, lam: np.ndarray) -> np.ndarray:
        """H^T lam, 0 where nodes are held, shape (n, 3)."""
        force: np.ndarray = self.BT @ (-lam[self.owner, None] * self.u)
        self.system.project(force)
        return force

    def rows(self, v: np.ndarray) -> np.ndarray:
        """H v, shape (k,); v must be 0 where nodes are held."""
        along = np.einsum("si,si->s", self.u, self.B @ v)
        return -np.bincount(self.owner, along, minlength=len(self.cables))

    def turned(self, lam: np.ndarray, dx: np.ndarray) -> np.ndarray:
        """d(H^T lam) when the positions change by dx, both of shape (n, 3); symmetric in dx."""
        apart = self.B @ dx
        apart -= self.u * np.einsum("si,si->s", self.u, apart)[:, None]
        force: np.ndarray = self.BT @ (-(lam[self.owner] * self.per_size)[:, None] * apart)
        self.system.project(force)
        return force

    def curved(self, lam: np.ndarray, w: np.ndarray, weight: float) -> np.ndarray:
        """Blocks C of d(H^T lam + weight d(H^T lam)/dx w) = B^T C B dx, symmetric, (s, 3, 3).

        Args:
            lam: Multipliers, shape (k,).
            w: Velocities, shape (n, 3).
            weight: That of the second term [time].
        """
        moved = self.B @ w
        along = np.einsum("si,si->s", self.u, moved)[:, None, None]
        mixed = self.u[:, :, None] * (moved - self.u * along[:, 0])[:, None, :]
        across = np.eye(3) - self.u[:, :, None] * self.u[:, None, :]
        per = self.per_size[:, None, None]
        turns = -across + weight * per * (along * across + mixed + mixed.transpose(0, 2, 1))
        found: np.ndarray = lam[self.owner, None, None] * per * turns
        return found

    def add_curved(self, blocks: np.ndarray, dx: np.ndarray, out: np.ndarray) -> None:
        """out += B^T C B dx, both of shape (p, n, 3); see `curved`."""
        touched, B = self._touched
        moved = np.tensordot(B, dx[:, touched], axes=(1, 1))  # (s, p, 3)
        pulled = np.matmul(moved, blocks)  # (s, p, 3), blocks are symmetric
        out[:, touched] += np.tensordot(B, pulled, axes=(0, 0)).transpose(1, 0, 2)

    @cached_property
    def _touched(self) -> tuple[np.ndarray, np.ndarray]:
        """Nodes that carry the cables, and B by them, dense."""
        touched = np.unique(self.B.indices)
        return touched, self.B[:, touched].toarray()

    def rows_turned(self, dx: np.ndarray, w: np.ndarray) -> np.ndarray:
        """dH w when the positions change by dx, both of shape (n, 3); shape (k,)."""
        apart, moved = self.B @ dx, self.B @ w
        apart -= self.u * np.einsum("si,si->s", self.u, apart)[:, None]
        along = self.per_size * np.einsum("si,si->s", apart, moved)
        return -np.bincount(self.owner, along, minlength=len(self.cables))


def _segments(system: MechanicalSystem, cable: Cable) -> tuple[sparse.csr_array, np.ndarray]:
    """B and s0 of one cable: each segment from a point to the one before it."""
    points = cable.indices.get()
    carried = carried_points(cable, system)[points]
    step = sparse.csr_array(sparse.eye_array(len(points)) - sparse.eye_array(len(points), k=-1))
    start = np.zeros((len(points), 3))
    start[0] = cable.pullPoint.get()
    first = 0 if cable.hasPullPoint.get() else 1
    return sparse.csr_array(-(step @ carried))[first:], start[first:]
