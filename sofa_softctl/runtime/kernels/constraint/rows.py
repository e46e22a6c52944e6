"""Constraint rows as triplets (row, node, direction)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sparse

from sofa_softctl.base.jit import njit


@njit
def add_rows_transposed(
    row: np.ndarray, node: np.ndarray, direction: np.ndarray, lam: np.ndarray, out: np.ndarray
) -> None:
    """out += H^T lam.

    Args:
        row: Row of each entry, shape (k,).
        node: Node of each entry, shape (k,).
        direction: Direction of each entry, shape (k, 3).
        lam: Multiplier of each row, shape (n_rows,).
        out: Output, shape (n_nodes, 3).
    """
    for k in range(row.shape[0]):
        factor = lam[row[k]]
        n = node[k]
        out[n, 0] += direction[k, 0] * factor
        out[n, 1] += direction[k, 1] * factor
        out[n, 2] += direction[k, 2] * factor


class Entries(NamedTuple):
    """Entries of constraint rows; those of one row and node add up."""

    row: np.ndarray
    """Row of each entry, shape (k,)."""
    node: np.ndarray
    """Node of each entry, shape (k,)."""
    direction: np.ndarray
    """Direction of each entry, shape (k, 3); of any width where only weights are wanted."""


def weighed(
    entries: Entries, starts: np.ndarray, nodes: np.ndarray, weights: np.ndarray
) -> Entries:
    """The entries times a matrix of weights between nodes, given as in CSR."""
    counts = starts[entries.node + 1] - starts[entries.node]
    at = np.repeat(starts[entries.node], counts) + _numbers_in_groups(counts)
    direction = np.repeat(entries.direction, counts, axis=0) * weights[at, None]
    return Entries(np.repeat(entries.row, counts), nodes[at], direction)


def times(entries: Entries, matrix: sparse.csr_array) -> Entries:
    """The entries times a matrix of scalars, three rows and columns a node."""
    scalar = (3 * entries.node[:, None] + np.arange(3)).ravel()  # (3 k,)
    counts = matrix.indptr[scalar + 1] - matrix.indptr[scalar]
    at = np.repeat(matrix.indptr[scalar], counts) + _numbers_in_groups(counts)
    node, axis = np.divmod(matrix.indices[at], 3)
    direction = np.zeros((len(at), 3))
    factor = np.repeat(entries.direction.ravel(), counts)
    direction[np.arange(len(at)), axis] = matrix.data[at] * factor
    return Entries(np.repeat(np.repeat(entries.row, 3), counts), node, direction)


def _numbers_in_groups(counts: np.ndarray) -> np.ndarray:
    """0, 1, ... in each group of that many."""
    ends = np.cumsum(counts)
    return np.arange(counts.sum()) - np.repeat(ends - counts, counts)
