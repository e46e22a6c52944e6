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
    """Add H^T lam to out.

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


@njit
def position_violation(
    x: np.ndarray,
    x_free: np.ndarray,
    nodes: np.ndarray,
    directions: np.ndarray,
    origin: np.ndarray,
    violation: np.ndarray,
) -> None:
    """Compute the violation of rows along constant directions: d . (x_free - x) + d . (x - origin).

    Args:
        x, x_free: Positions at the start, and of the free motion, shape (n, 3).
        nodes: Node of each row, shape (k,).
        directions, origin: Direction and origin of each row, shape (k, 3).
        violation: Output [length], shape (k,).
    """
    for k in range(nodes.shape[0]):
        n = nodes[k]
        motion = offset = 0.0
        for j in range(3):
            motion += directions[k, j] * (x_free[n, j] - x[n, j])
            offset += directions[k, j] * (x[n, j] - origin[k, j])
        violation[k] = motion + offset


@njit
def expand_directions(
    directions: np.ndarray,
    source: np.ndarray,
    weight: np.ndarray,
    node: np.ndarray,
    fixed: np.ndarray,
    out: np.ndarray,
) -> None:
    """Compute the direction of each entry of a system: weight times source, 0 if it is fixed.

    Args:
        directions: Directions on the states of the constraints, shape (m, 3).
        source, weight: Row of `directions` and factor for each entry, shapes (k,), (k, 1).
        node: Node of each entry, shape (k,).
        fixed: True for fixed scalar degrees of freedom, shape (n, 3).
        out: Output, shape (k, 3).
    """
    for k in range(out.shape[0]):
        for j in range(3):
            is_free = not fixed[node[k], j]
            out[k, j] = weight[k, 0] * directions[source[k], j] if is_free else 0.0


class Entries(NamedTuple):
    """Entries of constraint rows; entries with the same row and node add up."""

    row: np.ndarray
    """Row of each entry, shape (k,)."""
    node: np.ndarray
    """Node of each entry, shape (k,)."""
    direction: np.ndarray
    """Direction of each entry, shape (k, 3); any width if only its product with weights is used."""


def map_entries(
    entries: Entries, starts: np.ndarray, nodes: np.ndarray, weights: np.ndarray
) -> Entries:
    """Return the entries times a matrix of weights between nodes, in CSR form."""
    counts = starts[entries.node + 1] - starts[entries.node]
    index = np.repeat(starts[entries.node], counts) + _index_in_group(counts)
    direction = np.repeat(entries.direction, counts, axis=0) * weights[index, None]
    return Entries(np.repeat(entries.row, counts), nodes[index], direction)


def times(entries: Entries, matrix: sparse.csr_array) -> Entries:
    """Return the entries times a matrix of scalars, three rows and columns a node."""
    scalar = (3 * entries.node[:, None] + np.arange(3)).ravel()  # (3 k,)
    counts = matrix.indptr[scalar + 1] - matrix.indptr[scalar]
    index = np.repeat(matrix.indptr[scalar], counts) + _index_in_group(counts)
    node, axis = np.divmod(matrix.indices[index], 3)
    direction = np.zeros((len(index), 3))
    factor = np.repeat(entries.direction.ravel(), counts)
    direction[np.arange(len(index)), axis] = matrix.data[index] * factor
    return Entries(np.repeat(np.repeat(entries.row, 3), counts), node, direction)


def _index_in_group(counts: np.ndarray) -> np.ndarray:
    """Return 0, 1, ... count - 1 for each group."""
    ends = np.cumsum(counts)
    return np.arange(counts.sum()) - np.repeat(ends - counts, counts)
