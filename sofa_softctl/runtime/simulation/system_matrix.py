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
    """Assembles the masses and stiffnesses of a system into 3x3 blocks, lower triangle."""

    def __init__(self, system: MechanicalSystem) -> None:
        self.system = system
        self.direct: list[tuple[Contribution, np.ndarray]] = []
        self.projected: list[tuple[Projection, np.ndarray]] = []
        pairs: list[tuple[np.ndarray, np.ndarray]] = []
        contributions: list[Contribution] = [*system.masses, *system.force_fields]
        for entry in contributions:
            start = system.offset.get(id(entry.state))
            if start is None:
                projection = Projection(entry, system)
                self.projected.append((projection, np.empty(0, np.int64)))
                pairs.append(projection.pairs)
            else:
                rows, cols = entry.pairs()
                self.direct.append((entry, np.empty(0, np.int64)))
                pairs.append((rows + start, cols + start))
        rows = np.concatenate([np.empty(0, np.int64), *(entry[0] for entry in pairs)])
        cols = np.concatenate([np.empty(0, np.int64), *(entry[1] for entry in pairs)])
        self.pattern = BlockPattern.build(system.size, rows, cols)
        self.values = np.zeros((len(self.pattern.indices), 3, 3))
        ends = np.cumsum([len(entry[0]) for entry in pairs])
        slots = np.split(self.pattern.slots(rows, cols), ends[:-1]) if len(ends) else []
        by_entry = dict(zip(map(id, contributions), slots, strict=True))
        self.direct = [(entry, by_entry[id(entry)]) for entry, _ in self.direct]
        self.projected = [(entry, by_entry[id(entry.contribution)]) for entry, _ in self.projected]

    def assemble(self, m: float, k: float, h: float) -> np.ndarray:
        """values = m M + k K, with identity rows for what is held; h: own Rayleigh damping."""
        values = self.values
        values[:] = 0.0
        for entry, slots in self.direct:
            entry.add_matrix(values, slots, factor_of(entry, m, k, h))
        for projection, slots in self.projected:
            projection.add(values, slots, factor_of(projection.contribution, m, k, h))
        if self.system.identity.any():
            constrain(values, self.pattern.indptr, self.pattern.indices, self.system.identity)
        return values

    def assemble_skew(self) -> np.ndarray:
        """Antisymmetric part of -df/dx at the last `assemble`, 0 in rows of what is held.

        Of forces on independent states, shape as `values`.
        """
        skew = np.zeros_like(self.values)
        for entry, slots in self.direct:
            if isinstance(entry, ForceField) and entry.skew:
                entry.add_skew_matrix(skew, slots)
        free, pattern = ~self.system.identity, self.pattern
        skew *= free[pattern.rows][:, :, None] & free[pattern.indices][:, None, :]
        return skew


def factor_of(entry: Contribution, m: float, k: float, h: float) -> float:
    """m or k, with the component's own Rayleigh damping (SOFA's semantics, section 2)."""
    if isinstance(entry, Mass):
        return m + h * entry.rayleighMass.get()
    assert isinstance(entry, ForceField)
    if entry.damps:
        return h
    return k + h * entry.rayleighStiffness.get()


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
        self._constant = all(mapping.weighted for mapping in mappings_above(state, system))
        reach = total_reach(state, system)
        coupled = (reach.T @ (graph + graph.T) @ reach).tocoo()
        lower = coupled.row >= coupled.col
        self.pairs = (coupled.row[lower].astype(np.int64), coupled.col[lower].astype(np.int64))
        if self._constant:
            self._straight, self._turned = self._weights()

    def _weights(self) -> tuple[sparse.csr_array, sparse.csr_array]:
        """Weight of each local block, and of its transpose, in each block of `pairs`."""
        W = sparse.csr_array(self._jacobian[::3, ::3])  # J by nodes
        nodes = np.split(W.indices, W.indptr[1:-1])
        weights = np.split(W.data, W.indptr[1:-1])
        size = self.system.size
        place = {
            int(r) * size + int(c): k for k, (r, c) in enumerate(zip(*self.pairs, strict=True))
        }
        found: tuple[list, list] = ([], [])  # triplets: block of `pairs`, local block, weight
        for k, (p, q) in enumerate(zip(self.local.rows, self.local.indices, strict=True)):
            ways = [(p, q, found[0])] if p == q else [(p, q, found[0]), (q, p, found[1])]
            for a, b, triplets in ways:
                for r, w_r in zip(nodes[a], weights[a], strict=True):
                    for c, w_c in zip(nodes[b], weights[b], strict=True):
                        if r >= c and (slot := place.get(int(r) * size + int(c))) is not None:
                            triplets.append((slot, k, w_r * w_c))
        shape = (len(self.pairs[0]), len(self.values))
        one, other = (_from_triplets(triplets, shape) for triplets in found)
        return one, other

    def add(self, values: np.ndarray, slots: np.ndarray, factor: float) -> None:
        """values[slots] += factor J^T K J."""
        if not len(slots):  # a force without stiffness: SciPy answers no indices with a matrix
            return
        self.values[:] = 0.0
        self.contribution.add_matrix(self.values, self.local_slots, factor)
        if self._constant:
            count = len(self.values)
            blocks = self._straight @ self.values.reshape(count, 9)
            blocks += self._turned @ self.values.transpose(0, 2, 1).reshape(count, 9)
            values[slots] += blocks.reshape(-1, 3, 3)
            return
        self._jacobian = total_jacobian(self.state, self.system)
        whole = self._jacobian.T @ self.local.to_csr(self.values) @ self._jacobian
        rows, cols = self.pairs
        blocks = np.empty((len(rows), 3, 3))
        for i in range(3):
            for j in range(3):
                blocks[:, i, j] = whole[3 * rows + i, 3 * cols + j]
        values[slots] += blocks


def _from_triplets(
    triplets: list[tuple[int, int, float]], shape: tuple[int, int]
) -> sparse.csr_array:
    rows, cols, values = np.array(triplets, dtype=float).reshape(-1, 3).T
    return sparse.coo_array((values, (rows.astype(int), cols.astype(int))), shape=shape).tocsr()


def mappings_above(state: MechanicalState, system: MechanicalSystem) -> list[Mapping]:
    """The mappings between a mapped state and independent ones, from the state on."""
    mapping = system.mapping_of.get(id(state))
    if mapping is None:
        return []
    above = [entry for driver in mapping.drivers for entry in mappings_above(driver, system)]
    return [mapping, *above]


def total_jacobian(state: MechanicalState, system: MechanicalSystem) -> sparse.csr_array:
    """Jacobian of a state by all independent ones, shape (3 n_child, 3 n)."""
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


def total_reach(state: MechanicalState, system: MechanicalSystem) -> sparse.csr_array:
    """On which nodes of the system those of a state can ever depend: not zero; (n_child, n)."""
    start = system.offset.get(id(state))
    if start is not None:
        return sparse.eye_array(state.block_count, system.size, k=start, format="csr")
    mapping = system.mapping_of.get(id(state))
    if mapping is None:
        return sparse.csr_array((state.block_count, system.size))
    parts = [
        _by_nodes(mapping.jacobian(number)) @ total_reach(driver, system)
        for number, driver in enumerate(mapping.drivers)
    ]
    return sparse.csr_array(sum(parts[1:], start=parts[0]))


def _by_nodes(jacobian: sparse.csr_array) -> sparse.csr_array:
    """Sparsity by nodes of a scalar matrix, explicit zeros included."""
    entries = jacobian.tocoo()
    shape = (jacobian.shape[0] // 3, jacobian.shape[1] // 3)
    places = (entries.row // 3, entries.col // 3)
    return sparse.coo_array((np.ones(entries.nnz), places), shape=shape).tocsr()
