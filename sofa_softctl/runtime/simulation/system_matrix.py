"""System matrix A = m M + k K, in a fixed sparsity pattern."""

from __future__ import annotations

import numpy as np

from sofa_softctl.runtime.behavior.mechanics import Contribution, ForceField, Mass, Pairs
from sofa_softctl.runtime.behavior.solvers import MechanicalSystem
from sofa_softctl.runtime.behavior.state import MechanicalState
from sofa_softctl.runtime.kernels.cholesky.block_matrix import BlockPattern, constrain
from sofa_softctl.runtime.kernels.mapping import jacobian as kernel
from sofa_softctl.runtime.simulation.jacobian import SystemJacobians, expand


class SystemMatrix:
    """Masses and stiffnesses of a system in 3x3 blocks, lower triangle.

    Contributions write their blocks directly, also those on nodes that copy a node of the system.
    On other mapped nodes they write to blocks behind these, K, of which J^T K J is added.
    """

    def __init__(self, system: MechanicalSystem) -> None:
        self.system = system
        self._jacobians = SystemJacobians(system)
        contributions: list[Contribution] = [*system.masses, *system.force_fields]
        couplings = [c.pairs() for c in contributions]
        copied = [self._jacobians.of(c.state).copied for c in contributions]
        direct = []
        local_pairs: dict[int, list[Pairs]] = {}
        for contribution, nodes, (rows, cols) in zip(contributions, copied, couplings, strict=True):
            is_direct = (nodes[rows] >= 0) & (nodes[cols] >= 0)
            direct.append((is_direct, nodes[rows[is_direct]], nodes[cols[is_direct]]))
            if not is_direct.all():
                pairs = rows[~is_direct], cols[~is_direct]
                local_pairs.setdefault(id(contribution.state), []).append(pairs)
        states = {id(c.state): c.state for c in contributions}
        self._projections = {
            key: Projection(self._jacobians, states[key], *_concatenate(pairs))
            for key, pairs in local_pairs.items()
        }
        coupled = [part[1:] for part in direct] + [p.pairs for p in self._projections.values()]
        self.pattern = BlockPattern.build(system.size, *_concatenate(coupled))
        end = len(self.pattern.indices)
        for projection in self._projections.values():
            end = projection.place(self.pattern, end)
        self._storage = np.zeros((end, 3, 3))
        self.values = self._storage[: len(self.pattern.indices)]
        self._slots: list[tuple[Contribution, np.ndarray]] = []
        for contribution, (is_direct, *ends), (rows, cols) in zip(
            contributions, direct, couplings, strict=True
        ):
            slots = np.empty(len(rows), np.int64)
            slots[is_direct] = self.pattern.slots(*ends)
            if not is_direct.all():
                local = self._projections[id(contribution.state)]
                slots[~is_direct] = local.slots(rows[~is_direct], cols[~is_direct])
            self._slots.append((contribution, slots))

    def assemble(self, m: float, k: float, h: float) -> np.ndarray:
        """Compute values = m M + k K, identity in fixed rows; h weighs Rayleigh damping."""
        values = self.values
        self._storage[:] = 0.0
        for contribution, slots in self._slots:
            contribution.add_matrix(self._storage, slots, factor_of(contribution, m, k, h))
        if self._projections:
            self._jacobians.update()
            for projection in self._projections.values():
                projection.add(self._storage)
        if self.system.identity.any():
            constrain(values, self.pattern.indptr, self.pattern.indices, self.system.identity)
        return values

    def assemble_skew(self) -> np.ndarray:
        """Return the antisymmetric part of -df/dx at the last `assemble`, 0 in fixed rows.

        Only forces on independent states have it. Shape as `values`.
        """
        skew = np.zeros_like(self.values)
        for field, slots in self._slots:
            is_independent = id(field.state) in self.system.offset
            if is_independent and isinstance(field, ForceField) and field.skew:
                field.add_skew_matrix(skew, slots)
        free, pattern = ~self.system.identity, self.pattern
        skew *= free[pattern.rows][:, :, None] & free[pattern.indices][:, None, :]
        return skew


def _concatenate(pairs: list[Pairs]) -> Pairs:
    empty = np.empty(0, np.int64)
    return np.concatenate([empty, *(p[0] for p in pairs)]), np.concatenate(
        [empty, *(p[1] for p in pairs)]
    )


def factor_of(contribution: Contribution, m: float, k: float, h: float) -> float:
    """Return m or k, with the component's Rayleigh damping (SOFA's semantics, section 2)."""
    if isinstance(contribution, Mass):
        return m + h * contribution.rayleighMass.get()
    assert isinstance(contribution, ForceField)
    if contribution.damps:
        return h
    return k + h * contribution.rayleighStiffness.get()


class Projection:
    """J^T K J of the masses and force fields on nodes of a mapped state."""

    def __init__(
        self,
        jacobians: SystemJacobians,
        state: MechanicalState,
        rows: np.ndarray,
        cols: np.ndarray,
    ) -> None:
        self._jacobians, self._jacobian = jacobians, jacobians.of(state)
        self._local = local = BlockPattern.build(state.block_count, rows, cols)
        starts, nodes = self._jacobian.starts, self._jacobian.nodes
        self._rows = local.rows
        block, left = expand(starts, self._rows)
        product, right = expand(starts, local.indices[block])
        first, second = nodes[left[product]], nodes[right]
        self.pairs = (first, second)
        """Nodes of the system that each product J_a^T K_pq J_b couples, shapes (k,)."""

    def place(self, pattern: BlockPattern, begin: int) -> int:
        """Set the targets of the products, and the first block of K; return the end of K."""
        self._targets = pattern.slots(*self.pairs)
        self._begin = begin
        return begin + len(self._local.indices)

    def slots(self, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        """Return the block of K of each pair of mapped nodes, ~block for a transpose."""
        slots = self._local.slots(rows, cols)
        return np.where(slots >= 0, slots + self._begin, slots - self._begin)

    def add(self, storage: np.ndarray) -> None:
        """Add J^T K J of the blocks K in the storage to the system's blocks."""
        jacobian, local = self._jacobian, self._local
        end = jacobian.first + len(jacobian.nodes)
        kernel.add_projected(
            self._rows,
            local.indices,
            storage[self._begin : self._begin + len(local.indices)],
            jacobian.starts,
            jacobian.nodes,
            self._jacobians.blocks[jacobian.first : end],
            self._jacobians.is_weight[jacobian.first : end],
            self._targets,
            storage,
        )
