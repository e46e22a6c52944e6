"""Compliance of a body under its loads, for several elements on its mesh."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sparse

from sofa_softctl.runtime.kernels.cholesky.block_matrix import BlockPattern
from sofa_softctl.runtime.kernels.cholesky.cholesky import BlockCholesky
from sofa_softctl.scene.mesh_error.elements import Elements

FREE_STIFFNESS = 1e-11
"""Stiffness to ground of a body that nothing holds, by the stiffness of a node: far below that of
its softest motion, far above rounding [-]."""
NULL_TOLERANCE = 1e-8
"""Displacement of held nodes by that of a rigid motion, below which they do not hold it [-]."""
MODE_ITERATIONS = 12
"""Inverse iterations for the softest motion; its compliance has converged to 1 % after six."""


class Held:
    """Elements, the motions that they can make, and loads on them.

    A load is a density: a field of nodal vectors, linear within elements. On a refined mesh it is
    the same function, so that compliances of meshes are comparable, and the pull of a cable at a
    node is spread over the elements around it: a point load has an infinite compliance on a fine
    mesh.

    Args:
        parts: Elements on the same nodes.
        motion: Derivative of the nodes by what can move, columns of fixed ones zero, (3 n, 3 k).
        support: Stiffness of springs and skins [force/length], shape (3 n, 3 n).
    """

    def __init__(
        self, parts: Sequence[Elements], motion: sparse.csr_array, support: sparse.csr_array
    ) -> None:
        self.parts, self.support = list(parts), support
        self.volumes = sum(part.volume_matrix() for part in self.parts)
        self.motion = self._without_unused(motion)
        self.mass = sparse.csr_array(sparse.kron(self.volumes, np.eye(3)))

    def _without_unused(self, motion: sparse.csr_array) -> sparse.csr_array:
        """Return the motion without that of nodes that belong to no element."""
        is_used = np.repeat(self.volumes.sum(axis=1) > 0.0, 3).astype(float)
        used = sparse.csr_array(sparse.diags_array(is_used) @ motion)
        used.eliminate_zeros()
        return used

    def density(self, force: np.ndarray) -> np.ndarray:
        """Return the density of nodal forces, shape (n, 3)."""
        volumes = self.volumes.sum(axis=1)
        used = volumes > 0.0
        return np.where(used[:, None], force / np.where(used, volumes, 1.0)[:, None], 0.0)

    def free_motions(self) -> np.ndarray:
        """Return rigid motions that nothing holds, shape (3 n, k), k from 0 to 6."""
        x = self.parts[0].x
        x = (x - x.mean(axis=0)) / np.ptp(x, axis=0).max()
        turns = np.stack([np.cross(axis, x) for axis in np.eye(3)], axis=2)
        moves = np.broadcast_to(np.eye(3), (len(x), 3, 3))
        rigid = np.concatenate([moves, turns], axis=2).reshape(-1, 6)
        is_used = np.repeat(self.volumes.sum(axis=1) > 0.0, 3)
        held = self._slaved() & is_used
        rows = self.motion[held]
        columns = np.unique(rows.indices)
        frames = rows[:, columns].toarray()
        blocked = rigid[held]
        if len(columns):
            blocked = blocked - frames @ np.linalg.lstsq(frames, blocked, rcond=None)[0]
        springs = (rigid.T @ (self.support @ rigid)) / self._stiffness_scale()
        gram = blocked.T @ blocked + springs
        values, vectors = np.linalg.eigh(0.5 * (gram + gram.T))
        free: np.ndarray = rigid @ vectors[:, values < NULL_TOLERANCE]
        return free

    def _stiffness_scale(self) -> float:
        young = max(float(part.young.max()) for part in self.parts)
        return young * self.parts[0].edge_length

    def _slaved(self) -> np.ndarray:
        """Return True for coordinates that do not move alone, shape (3 n,)."""
        counts = np.bincount(self.motion.indices, minlength=self.motion.shape[1])
        alone = np.diff(self.motion.indptr) == 1
        first = np.minimum(self.motion.indptr[:-1], max(self.motion.nnz - 1, 0))
        if self.motion.nnz:
            alone &= counts[self.motion.indices[first]] == 1
        return ~alone

    def refined(self, parts: Sequence[Elements], weights: sparse.csr_array) -> Held:
        """Return the same body with refined elements.

        Args:
            parts: Refined elements.
            weights: Weights of the coarse nodes in the fine ones, coarse ones first.
        """
        count, fine = weights.shape[1], weights.shape[0]
        by_coordinate = sparse.csr_array(sparse.kron(weights[count:], np.eye(3)))
        is_slaved = self._slaved()
        free_weight = by_coordinate @ (~is_slaved).astype(float)
        follows = sparse.diags_array((free_weight == 0.0).astype(float)) @ by_coordinate
        own = sparse.diags_array((free_weight > 0.0).astype(float))
        motion = sparse.block_array(
            [[self.motion, None], [follows @ self.motion, own]], format="csr"
        )
        motion.eliminate_zeros()
        support = self.support.copy()
        support.resize((3 * fine, 3 * fine))
        return Held(parts, sparse.csr_array(motion), support)

    def compliances(self, densities: Sequence[np.ndarray], free: np.ndarray) -> np.ndarray | None:
        """Return the compliance f . u of each load, or None if the stiffness is not positive.

        Args:
            densities: Densities of the loads, shapes (n, 3).
            free: Rigid motions that nothing holds, along which no load acts, shape (3 n, k).
        """
        solver = self._solver(free)
        if solver is None:
            return None
        forces = self._balanced(np.stack([d.ravel() for d in densities], axis=1), free)
        return np.einsum("ij,ij->j", forces, solver(forces))

    def softest_motion(self, free: np.ndarray) -> np.ndarray | None:
        """Return the natural mode of the lowest frequency at uniform density, shape (n, 3)."""
        solver = self._solver(free)
        if solver is None:
            return None
        modes = np.random.default_rng(0).normal(size=(self.mass.shape[0], 4))
        for _ in range(MODE_ITERATIONS):
            forces = self._balanced(modes, free)
            moved = solver(forces)
            reduced, inertia = moved.T @ forces, moved.T @ (self.mass @ moved)
            root = np.linalg.inv(np.linalg.cholesky(inertia))
            _, vectors = np.linalg.eigh(root @ reduced @ root.T)
            modes = moved @ (root.T @ vectors)
        softest: np.ndarray = modes[:, 0].reshape(-1, 3)
        return softest

    def _balanced(self, densities: np.ndarray, free: np.ndarray) -> np.ndarray:
        """Return nodal forces, with the inertia that balances them along free motions."""
        forces = self.mass @ densities
        if free.shape[1]:
            inertia = self.mass @ free
            forces = forces - inertia @ np.linalg.solve(free.T @ inertia, free.T @ forces)
        return forces

    def _solver(self, free: np.ndarray):  # type: ignore[no-untyped-def]
        stiffness = sum((part.stiffness() for part in self.parts), start=self.support)
        T = self.motion
        if free.shape[1]:
            ratio = np.median(stiffness.diagonal()) / np.median(self.mass.diagonal())
            stiffness = stiffness + FREE_STIFFNESS * ratio * self.mass
        reduced = sparse.csr_array(T.T @ stiffness @ T)
        is_empty = np.bincount(T.indices, minlength=T.shape[1]) == 0
        active = ~is_empty.reshape(-1, 3).all(axis=1)
        reduced += sparse.diags_array(is_empty.astype(float))
        blocks = sparse.bsr_array(reduced, blocksize=(3, 3))
        blocks.sort_indices()
        rows = np.repeat(np.arange(len(active)), np.diff(blocks.indptr))
        lower = rows >= blocks.indices
        pattern = BlockPattern.build(len(active), rows[lower], blocks.indices[lower])
        values = np.zeros((len(pattern.indices), 3, 3))
        values[pattern.slots(rows[lower], blocks.indices[lower])] = blocks.data[lower]
        factor = BlockCholesky(pattern, active)
        if not factor.factorize(values):
            return None
        return lambda forces: T @ factor.solve(np.ascontiguousarray(T.T @ forces))
