"""System matrix A = m M + k K, in a fixed sparsity pattern."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sparse

from sofa_softctl.runtime.behavior.mapping import Mapping
from sofa_softctl.runtime.behavior.mechanics import Contribution, ForceField, Mass
from sofa_softctl.runtime.behavior.solvers import MechanicalSystem
from sofa_softctl.runtime.behavior.state import MechanicalState
from sofa_softctl.runtime.kernels.cholesky.block_matrix import BlockPattern, constrain


class SystemMatrix:
    """Masses and stiffnesses of a system in 3x3 blocks, lower triangle."""

    def __init__(self, system: MechanicalSystem) -> None:
        self.system = system
        self.direct: list[tuple[Contribution, np.ndarray]] = []
        self.projected: list[tuple[Projection, np.ndarray]] = []
        pairs: list[tuple[np.ndarray, np.ndarray]] = []
        contributions: list[Contribution] = [*system.masses, *system.force_fields]
        for contribution in contributions:
            start = system.offset.get(id(contribution.state))
            if start is None:
                projection = Projection(contribution, system)
                self.projected.append((projection, np.empty(0, np.int64)))
                pairs.append(projection.pairs)
            else:
                rows, cols = contribution.pairs()
                self.direct.append((contribution, np.empty(0, np.int64)))
                pairs.append((rows + start, cols + start))
        rows = np.concatenate([np.empty(0, np.int64), *(pair[0] for pair in pairs)])
        cols = np.concatenate([np.empty(0, np.int64), *(pair[1] for pair in pairs)])
        self.pattern = BlockPattern.build(system.size, rows, cols)
        self.values = np.zeros((len(self.pattern.indices), 3, 3))
        ends = np.cumsum([len(pair[0]) for pair in pairs])
        slots = np.split(self.pattern.slots(rows, cols), ends[:-1]) if len(ends) else []
        slots_of = dict(zip(map(id, contributions), slots, strict=True))
        self.direct = [(c, slots_of[id(c)]) for c, _ in self.direct]
        self.projected = [(p, slots_of[id(p.contribution)]) for p, _ in self.projected]

    def assemble(self, m: float, k: float, h: float) -> np.ndarray:
        """Compute values = m M + k K, identity in fixed rows; h weighs Rayleigh damping."""
        values = self.values
        values[:] = 0.0
        for contribution, slots in self.direct:
            contribution.add_matrix(values, slots, factor_of(contribution, m, k, h))
        for projection, slots in self.projected:
            projection.add(values, slots, factor_of(projection.contribution, m, k, h))
        if self.system.identity.any():
            constrain(values, self.pattern.indptr, self.pattern.indices, self.system.identity)
        return values

    def assemble_skew(self) -> np.ndarray:
        """Return the antisymmetric part of -df/dx at the last `assemble`, 0 in fixed rows.

        Only forces on independent states have it. Shape as `values`.
        """
        skew = np.zeros_like(self.values)
        for field, slots in self.direct:
            if isinstance(field, ForceField) and field.skew:
                field.add_skew_matrix(skew, slots)
        free, pattern = ~self.system.identity, self.pattern
        skew *= free[pattern.rows][:, :, None] & free[pattern.indices][:, None, :]
        return skew


def factor_of(contribution: Contribution, m: float, k: float, h: float) -> float:
    """Return m or k, with the component's Rayleigh damping (SOFA's semantics, section 2)."""
    if isinstance(contribution, Mass):
        return m + h * contribution.rayleighMass.get()
    assert isinstance(contribution, ForceField)
    if contribution.damps:
        return h
    return k + h * contribution.rayleighStiffness.get()


class Projection:
    """J^T K J of a mass or force field on a mapped state."""

    def __init__(self, contribution: Contribution, system: MechanicalSystem) -> None:
        self.contribution = contribution
        state = contribution.state
        self.state, self.system = state, system
        rows, cols = contribution.pairs()
        count = state.block_count
        self.local = BlockPattern.build(count, rows, cols)
        self.local_slots = self.local.slots(rows, cols)
        self.values = np.zeros((len(self.local.indices), 3, 3))
        ones = np.ones(len(rows))
        graph = sparse.coo_array((ones, (rows, cols)), shape=(count, count)).tocsr()
        self._jacobian = total_jacobian(state, system)
        self._constant = all(m.has_constant_weights for m in mappings_above(state, system))
        dependence = node_dependence(state, system)
        coupled = (dependence.T @ (graph + graph.T) @ dependence).tocoo()
        lower = coupled.row >= coupled.col
        self.pairs = (coupled.row[lower].astype(np.int64), coupled.col[lower].astype(np.int64))
        if self._constant:
            self._straight, self._transposed = self._weights()

    def _weights(self) -> tuple[sparse.csr_array, sparse.csr_array]:
        """Return the weight of each local block, and of its transpose, in each block of `pairs`."""
        W = sparse.csr_array(self._jacobian[::3, ::3])  # J by nodes
        nodes = np.split(W.indices, W.indptr[1:-1])
        weights = np.split(W.data, W.indptr[1:-1])
        size = self.system.size
        slot_of = {
            int(r) * size + int(c): k for k, (r, c) in enumerate(zip(*self.pairs, strict=True))
        }
        straight: list[tuple[int, int, float]] = []  # block of `pairs`, local block, weight
        transposed: list[tuple[int, int, float]] = []
        for k, (p, q) in enumerate(zip(self.local.rows, self.local.indices, strict=True)):
            for a, b, triplets in [(p, q, straight), (q, p, transposed)][: 1 if p == q else 2]:
                for r, w_r in zip(nodes[a], weights[a], strict=True):
                    for c, w_c in zip(nodes[b], weights[b], strict=True):
                        if r >= c and (slot := slot_of.get(int(r) * size + int(c))) is not None:
                            triplets.append((slot, k, w_r * w_c))
        shape = (len(self.pairs[0]), len(self.values))
        return _from_triplets(straight, shape), _from_triplets(transposed, shape)

    def add(self, values: np.ndarray, slots: np.ndarray, factor: float) -> None:
        """Add factor J^T K J to values[slots]."""
        if not len(slots):  # no stiffness: SciPy returns a matrix for empty indices
            return
        self.values[:] = 0.0
        self.contribution.add_matrix(self.values, self.local_slots, factor)
        if self._constant:
            count = len(self.values)
            blocks = self._straight @ self.values.reshape(count, 9)
            blocks += self._transposed @ self.values.transpose(0, 2, 1).reshape(count, 9)
            values[slots] += blocks.reshape(-1, 3, 3)
            return
        self._jacobian = total_jacobian(self.state, self.system)
        product = self._jacobian.T @ self.local.to_csr(self.values) @ self._jacobian
        rows, cols = self.pairs
        blocks = np.empty((len(rows), 3, 3))
        for i in range(3):
            for j in range(3):
                blocks[:, i, j] = product[3 * rows + i, 3 * cols + j]
        values[slots] += blocks


def _from_triplets(
    triplets: list[tuple[int, int, float]], shape: tuple[int, int]
) -> sparse.csr_array:
    rows, cols, values = np.array(triplets, dtype=float).reshape(-1, 3).T
    return sparse.coo_array((values, (rows.astype(int), cols.astype(int))), shape=shape).tocsr()


def mappings_above(state: MechanicalState, system: MechanicalSystem) -> list[Mapping]:
    """Return the mappings between a mapped state and independent states, from the state on."""
    mapping = system.mapping_of.get(id(state))
    if mapping is None:
        return []
    above = [m for driver in mapping.drivers for m in mappings_above(driver, system)]
    return [mapping, *above]


def total_jacobian(state: MechanicalState, system: MechanicalSystem) -> sparse.csr_array:
    """Return the Jacobian of a state by all independent states, shape (3 n_child, 3 n)."""
    start = system.offset.get(id(state))
    if start is not None:
        return sparse.eye_array(3 * state.block_count, 3 * system.size, k=3 * start, format="csr")
    mapping = system.mapping_of.get(id(state))
    if mapping is None:  # nothing moves it
        return sparse.csr_array((3 * state.block_count, 3 * system.size))
    parts = [
        mapping.jacobian(number) @ total_jacobian(driver, system)
        for number, driver in enumerate(mapping.drivers)
    ]
    return sparse.csr_array(sum(parts[1:], start=parts[0]))


def node_dependence(state: MechanicalState, system: MechanicalSystem) -> sparse.csr_array:
    """Return nonzeros where a node of a state may depend on a node of the system (n_child, n)."""
    start = system.offset.get(id(state))
    if start is not None:
        return sparse.eye_array(state.block_count, system.size, k=start, format="csr")
    mapping = system.mapping_of.get(id(state))
    if mapping is None:
        return sparse.csr_array((state.block_count, system.size))
    parts = [
        _by_nodes(mapping.jacobian(number)) @ node_dependence(driver, system)
        for number, driver in enumerate(mapping.drivers)
    ]
    return sparse.csr_array(sum(parts[1:], start=parts[0]))


def _by_nodes(jacobian: sparse.csr_array) -> sparse.csr_array:
    """Return the sparsity by nodes of a scalar matrix, explicit zeros included."""
    entries = jacobian.tocoo()
    shape = (jacobian.shape[0] // 3, jacobian.shape[1] // 3)
    places = (entries.row // 3, entries.col // 3)
    return sparse.coo_array((np.ones(entries.nnz), places), shape=shape).tocsr()
