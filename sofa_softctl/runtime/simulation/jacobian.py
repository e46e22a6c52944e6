"""Jacobians of mapped states by the independent nodes of their system, in 3x3 blocks."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sparse

from sofa_softctl.runtime.behavior.mapping import Mapping, NodeBlocks
from sofa_softctl.runtime.behavior.solvers import MechanicalSystem
from sofa_softctl.runtime.behavior.state import MechanicalState
from sofa_softctl.runtime.kernels.mapping import jacobian as kernel


@dataclass(frozen=True)
class NodeJacobian:
    """Pattern of J of a state by the system's nodes; its blocks are those of `SystemJacobians`."""

    first: int
    """Index of its first block."""
    starts: np.ndarray
    """First entry of each row of the state, counted from `first`, shape (n_rows + 1,)."""
    nodes: np.ndarray
    """Node of the system of each entry, ascending in a row, shape (k,)."""
    copied: np.ndarray
    """Node of the system whose only copy in the state each row is, or -1, shape (n_rows,)."""


@dataclass(frozen=True)
class _Composition:
    """Products of a mapping's blocks and its drivers' that are those of its follower."""

    mapping: Mapping
    target: np.ndarray
    left: np.ndarray
    right: np.ndarray


class SystemJacobians:
    """Jacobians of the states of a system, which are composed along the mappings above them.

    The patterns are found once. `update` computes the blocks that change with the positions, for
    all states that were asked for.
    """

    def __init__(self, system: MechanicalSystem) -> None:
        self.system = system
        self.blocks = np.empty((0, 3, 3))
        """Blocks of all states, shape (z, 3, 3)."""
        self.is_weight = np.empty(0, bool)
        """True for blocks that are a constant weight times the identity, shape (z,)."""
        self._by_state: dict[int, NodeJacobian] = {}
        self._changing: list[_Composition] = []

    def of(self, state: MechanicalState) -> NodeJacobian:
        """Return the Jacobian of a state; one that nothing moves has no entries."""
        if id(state) not in self._by_state:
            start = self.system.offset.get(id(state))
            mapping = self.system.mapping_of.get(id(state))
            if start is None and mapping is not None:
                jacobian = self._compose(state, mapping)
            else:
                count = 0 if start is None else state.block_count
                starts = np.minimum(np.arange(state.block_count + 1), count)
                blocks = np.tile(np.eye(3), (count, 1, 1))
                nodes = np.arange(count) + (start or 0)
                jacobian = self._append(starts, nodes, blocks, np.ones(count, bool))
            self._by_state[id(state)] = jacobian
        return self._by_state[id(state)]

    def update(self) -> None:
        """Compute the blocks that change, at the present positions."""
        for composition in self._changing:
            self._multiply(composition, _driver_blocks(composition.mapping))

    def to_csr(self, state: MechanicalState) -> sparse.csr_array:
        """Return the Jacobian at the last `update` by scalars, shape (3 n_rows, 3 n)."""
        jacobian = self.of(state)
        blocks = self.blocks[jacobian.first : jacobian.first + len(jacobian.nodes)]
        shape = (3 * (len(jacobian.starts) - 1), 3 * self.system.size)
        by_nodes = sparse.bsr_array((blocks, jacobian.nodes, jacobian.starts), shape=shape)
        return sparse.csr_array(by_nodes.tocsr())

    def _compose(self, state: MechanicalState, mapping: Mapping) -> NodeJacobian:
        above, factors = [self.of(driver) for driver in mapping.drivers], _driver_blocks(mapping)
        parts = []
        begin = 0
        for driver, (starts, nodes, blocks) in zip(above, factors, strict=True):
            row = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
            left, entry = expand(driver.starts, nodes)
            key = row[left] * self.system.size + driver.nodes[entry]
            parts.append((key, left + begin, entry + driver.first))
            begin += len(blocks)
        key, left, right = (np.concatenate(part) for part in zip(*parts, strict=True))
        key, target = np.unique(key, return_inverse=True)
        row, nodes = np.divmod(key, max(self.system.size, 1))
        is_weight = np.ones(len(key), bool)
        np.logical_and.at(is_weight, target, mapping.has_constant_weights & self.is_weight[right])
        starts = np.searchsorted(row, np.arange(state.block_count + 1))
        jacobian = self._append(starts, nodes, np.zeros((len(key), 3, 3)), is_weight)
        products = _Composition(mapping, target + jacobian.first, left, right)
        self._multiply(products, factors)
        changes = ~is_weight[target]
        if changes.any():
            arrays = (array[changes] for array in (products.target, left, right))
            self._changing.append(_Composition(mapping, *arrays))
        return replace(jacobian, copied=self._copied_nodes(jacobian))

    def _append(
        self, starts: np.ndarray, nodes: np.ndarray, blocks: np.ndarray, is_weight: np.ndarray
    ) -> NodeJacobian:
        jacobian = NodeJacobian(len(self.blocks), starts, nodes, np.empty(0, np.int64))
        self.blocks = np.concatenate([self.blocks, blocks])
        self.is_weight = np.concatenate([self.is_weight, is_weight])
        return replace(jacobian, copied=self._copied_nodes(jacobian))

    def _copied_nodes(self, jacobian: NodeJacobian) -> np.ndarray:
        copied = np.full(len(jacobian.starts) - 1, -1)
        row = np.flatnonzero(np.diff(jacobian.starts) == 1)
        entry = jacobian.starts[row]
        index = jacobian.first + entry
        is_copy = self.is_weight[index] & (self.blocks[index, 0, 0] == 1.0)
        row, node = row[is_copy], jacobian.nodes[entry[is_copy]]
        is_only = np.bincount(node, minlength=self.system.size)[node] == 1
        copied[row[is_only]] = node[is_only]
        return copied

    def _multiply(self, products: _Composition, factors: list[NodeBlocks]) -> None:
        blocks = [part[2] for part in factors]
        first = blocks[0] if len(blocks) == 1 else np.concatenate(blocks)
        kernel.compose(products.target, products.left, products.right, first, self.blocks)


def _driver_blocks(mapping: Mapping) -> list[NodeBlocks]:
    return [mapping.jacobian_blocks(number) for number in range(len(mapping.drivers))]


def expand(starts: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return all entries of some rows of a CSR pattern.

    Args:
        starts: First entry of each row, shape (n + 1,).
        rows: Rows, shape (k,).

    Returns:
        Index into `rows`, and entry, of each of their entries.
    """
    counts = starts[rows + 1] - starts[rows]
    ends = np.cumsum(counts)
    within = np.arange(counts.sum()) - np.repeat(ends - counts, counts)
    return np.repeat(np.arange(len(rows)), counts), np.repeat(starts[rows], counts) + within


def mappings_above(state: MechanicalState, system: MechanicalSystem) -> list[Mapping]:
    """Return the mappings between a mapped state and independent states, from the state on."""
    mapping = system.mapping_of.get(id(state))
    if mapping is None:
        return []
    above = [m for driver in mapping.drivers for m in mappings_above(driver, system)]
    return [mapping, *above]


def total_jacobian(state: MechanicalState, system: MechanicalSystem) -> sparse.csr_array:
    """Return the Jacobian of a state by all independent states, shape (3 n_child, 3 n)."""
    return SystemJacobians(system).to_csr(state)
