"""Linear problem of a body at rest: compliances under loads, for any elements on its mesh."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sparse

from sofa_softctl.runtime.kernels.cholesky.block_matrix import BlockPattern
from sofa_softctl.runtime.kernels.cholesky.cholesky import BlockCholesky
from sofa_softctl.scene.mesh_error.elements import Elements

FREE_STIFFNESS = 1e-11
"""Stiffness to ground of a body that nothing holds, by the stiffness of a node: far below that of
its softest motion, far above rounding [-]."""
HELD_TOLERANCE = 1e-8
"""Squared displacement of held nodes by that of a rigid motion, or springs' stiffness by that of an
element, below which they do not hold it [-]."""
MODE_COUNT = 4
"""Motions that are iterated for the softest one."""
MODE_ITERATIONS = 12
"""Inverse iterations for the softest motion; its compliance has converged to 1 % after six."""


class BodyModel:
    """Small displacements of a body: its elements, the motions that it can make, its support.

    A load is a density: a field of nodal vectors, linear within elements. On a refined mesh it is
    the same function, so that compliances of meshes are comparable, and the pull of a cable at a
    node is spread over the elements around it: a point load has an infinite compliance on a fine
    mesh. A body that can move as a whole is balanced by its inertia.

    Args:
        parts: Elements on the same nodes.
        motion: Derivative of the nodes by what can move, columns of fixed ones zero, (3 n, 3 k).
        support: Stiffness of springs and skins [force/length], shape (3 n, 3 n).
        free: Rigid motions that nothing holds, shape (3 n, k), k from 0 to 6; sought if None.
    """

    def __init__(
        self,
        parts: Sequence[Elements],
        motion: sparse.csr_array,
        support: sparse.csr_array,
        free: np.ndarray | None = None,
    ) -> None:
        self.parts, self.support = list(parts), support
        matrices = [part.volume_matrix() for part in self.parts]
        volumes = sparse.csr_array(sum(matrices[1:], start=matrices[0]))
        self.volumes: np.ndarray = volumes.sum(axis=1)
        """Volume of each node [length^3], shape (n,)."""
        self.inertia = sparse.csr_array(sparse.kron(volumes, np.eye(3)))
        is_used = np.repeat(self.volumes > 0.0, 3)  # other nodes have no stiffness
        self.motion = sparse.csr_array(sparse.diags_array(is_used.astype(float)) @ motion)
        self.motion.eliminate_zeros()
        self.free = self._free_motions() if free is None else free

    def density(self, force: np.ndarray) -> np.ndarray:
        """Return the density of forces on nodes, shape (n, 3)."""
        volumes = self.volumes[:, None]
        density: np.ndarray = np.divide(force, volumes, np.zeros_like(force), where=volumes > 0.0)
        return density

    def with_elements(self, parts: Sequence[Elements]) -> BodyModel:
        """Return the same body with other elements of the same cells."""
        return BodyModel(parts, self.motion, self.support, self.free)

    def with_refinement(self, parts: Sequence[Elements], weights: sparse.csr_array) -> BodyModel:
        """Return the same body with refined elements.

        Args:
            parts: Refined elements.
            weights: Weights of the coarse nodes in the fine ones, coarse ones first.
        """
        fine, count = weights.shape
        by_coordinate = sparse.csr_array(sparse.kron(weights[count:], np.eye(3)))
        moves_alone = by_coordinate @ (~self._is_slaved()).astype(float) > 0.0
        follows = sparse.diags_array((~moves_alone).astype(float)) @ by_coordinate
        moving = sparse.diags_array(moves_alone.astype(float))
        motion = sparse.block_array([[self.motion, None], [follows @ self.motion, moving]])
        motion = sparse.csr_array(motion)
        motion.eliminate_zeros()
        support = self.support.copy()
        support.resize((3 * fine, 3 * fine))
        free = sparse.kron(weights, np.eye(3)) @ self.free
        return BodyModel(parts, motion, support, free)

    def compliances(self, densities: Sequence[np.ndarray]) -> np.ndarray | None:
        """Return the compliance f . u of each load, or None if the stiffness is not positive.

        Args:
            densities: Densities of the loads, shapes (n, 3).
        """
        solve = self._factorise()
        if solve is None or not densities:
            return None
        forces = self._forces(np.stack([d.ravel() for d in densities], axis=1))
        work: np.ndarray = np.einsum("ij,ij->j", forces, solve(forces))
        return work if (work > 0.0).all() else None

    def softest_motion(self) -> np.ndarray | None:
        """Return the natural mode of the lowest frequency at uniform density, shape (n, 3)."""
        solve = self._factorise()
        if solve is None:
            return None
        modes = np.random.default_rng(0).normal(size=(self.inertia.shape[0], MODE_COUNT))
        for _ in range(MODE_ITERATIONS):
            forces = self._forces(modes)
            moved = solve(forces)
            root = np.linalg.inv(np.linalg.cholesky(moved.T @ (self.inertia @ moved)))
            _, vectors = np.linalg.eigh(root @ (moved.T @ forces) @ root.T)
            modes = moved @ (root.T @ vectors)
        softest: np.ndarray = modes[:, 0].reshape(-1, 3)
        return softest

    def _forces(self, densities: np.ndarray) -> np.ndarray:
        """Return forces on nodes, balanced by inertia along free motions, shape (3 n, p)."""
        forces: np.ndarray = self.inertia @ densities
        if self.free.shape[1]:
            inertia = self.inertia @ self.free
            forces -= inertia @ np.linalg.solve(self.free.T @ inertia, self.free.T @ forces)
        return forces

    def _free_motions(self) -> np.ndarray:
        x = self.parts[0].x
        x = (x - x.mean(axis=0)) / np.ptp(x, axis=0).max()
        turns = np.stack([np.cross(axis, x) for axis in np.eye(3)], axis=2)
        moves = np.broadcast_to(np.eye(3), (len(x), 3, 3))
        rigid = np.concatenate([moves, turns], axis=2).reshape(-1, 6)
        held = self._is_slaved() & np.repeat(self.volumes > 0.0, 3)
        rows = self.motion[held]
        frames = rows[:, np.unique(rows.indices)].toarray()
        blocked = rigid[held]
        if frames.shape[1]:
            blocked = blocked - frames @ np.linalg.lstsq(frames, blocked, rcond=None)[0]
        stiffness = max(float(part.young.max()) for part in self.parts) * self.parts[0].edge_length
        gram = blocked.T @ blocked + rigid.T @ (self.support @ rigid) / stiffness
        values, vectors = np.linalg.eigh(0.5 * (gram + gram.T))
        free: np.ndarray = rigid @ vectors[:, values < HELD_TOLERANCE]
        return free

    def _is_slaved(self) -> np.ndarray:
        """Return True for coordinates that are fixed, or follow others, shape (3 n,)."""
        starts, columns = self.motion.indptr, self.motion.indices
        count = np.bincount(columns, minlength=self.motion.shape[1])
        is_slaved: np.ndarray = np.diff(starts) != 1
        single = np.flatnonzero(~is_slaved)
        is_slaved[single] = count[columns[starts[single]]] > 1
        return is_slaved

    def _factorise(self) -> Callable[[np.ndarray], np.ndarray] | None:
        """Return the function of forces that solves for displacements, shapes (3 n, p)."""
        stiffness: Any = sum((part.stiffness() for part in self.parts), start=self.support)
        if self.free.shape[1]:
            ratio = np.median(stiffness.diagonal()) / np.median(self.inertia.diagonal())
            stiffness = stiffness + FREE_STIFFNESS * ratio * self.inertia
        motion = self.motion
        is_empty = np.bincount(motion.indices, minlength=motion.shape[1]) == 0
        reduced = motion.T @ stiffness @ motion + sparse.diags_array(is_empty.astype(float))
        blocks = sparse.bsr_array(sparse.csr_array(reduced), blocksize=(3, 3))
        active = ~is_empty.reshape(-1, 3).all(axis=1)
        rows = np.repeat(np.arange(len(active)), np.diff(blocks.indptr))
        lower = rows >= blocks.indices
        rows, columns = rows[lower], blocks.indices[lower]
        pattern = BlockPattern.build(len(active), rows, columns)
        values = np.zeros((len(pattern.indices), 3, 3))
        values[pattern.slots(rows, columns)] = blocks.data[lower]
        factor = BlockCholesky(pattern, active)
        if not factor.factorize(values):
            return None
        transposed = motion.T.tocsr()
        return lambda forces: motion @ factor.solve(transposed @ forces)
