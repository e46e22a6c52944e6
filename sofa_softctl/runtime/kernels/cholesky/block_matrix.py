"""Symmetric sparse matrices of 3x3 blocks.

Only blocks with row >= column are stored; blocks of the diagonal are stored in full.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sparse

from sofa_softctl.base.jit import njit


@dataclass(frozen=True)
class BlockPattern:
    """Sparsity pattern of a symmetric block matrix: its lower triangle by block rows.

    Block k of a value array of shape (n_blocks, 3, 3) is at column `indices[k]` of the row i with
    `indptr[i] <= k < indptr[i + 1]`.
    """

    n_nodes: int
    """Number of nodes; the matrix has 3 n_nodes rows."""
    indptr: np.ndarray
    """First block of each block row, shape (n_nodes + 1,), read-only."""
    indices: np.ndarray
    """Block column of each block, ascending in a row, the diagonal last; (n_blocks,), read-only."""

    @staticmethod
    def build(n_nodes: int, rows: np.ndarray, cols: np.ndarray) -> BlockPattern:
        """Return the pattern that couples these pairs of nodes, and each node with itself.

        Args:
            n_nodes: Number of nodes.
            rows, cols: Node pairs in any order, repeated or not, in either triangle; of one shape.
        """
        rows, cols = _checked_pairs(n_nodes, rows, cols)
        diagonal = np.arange(n_nodes) * (n_nodes + 1)
        keys = np.unique(np.concatenate([_keys(n_nodes, rows, cols).ravel(), diagonal]))
        row, indices = np.divmod(keys, max(n_nodes, 1))
        indptr = np.searchsorted(row, np.arange(n_nodes + 1))
        for array in (indptr, indices):
            array.setflags(write=False)
        return BlockPattern(n_nodes, indptr, indices)

    @property
    def rows(self) -> np.ndarray:
        """Block row of each block, shape (n_blocks,)."""
        return np.repeat(np.arange(self.n_nodes), np.diff(self.indptr))

    def slots(self, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        """Return the index of the block of each node pair.

        Args:
            rows, cols: Node pairs, of one shape.

        Returns:
            Index k into the blocks if row >= col; ~k if row < col: block k then holds the
            transpose, which belongs to the pair (col, row). Same shape as rows.
        """
        rows, cols = _checked_pairs(self.n_nodes, rows, cols)
        keys = _keys(self.n_nodes, self.rows, self.indices)
        queries = _keys(self.n_nodes, rows, cols)
        slots = np.searchsorted(keys, queries)
        is_coupled = slots < keys.size
        is_coupled[is_coupled] = keys[slots[is_coupled]] == queries[is_coupled]
        if not is_coupled.all():
            row, col = rows[~is_coupled][0], cols[~is_coupled][0]
            raise ValueError(
                f"nodes {row} and {col} are not coupled in this pattern ({(~is_coupled).sum()} of "
                f"{is_coupled.size} pairs are missing). Give the pair to BlockPattern.build."
            )
        return np.where(rows >= cols, slots, ~slots)

    def to_csr(self, values: np.ndarray, *, skew: np.ndarray | None = None) -> sparse.csr_array:
        """Return the full matrix, shape (3 n_nodes, 3 n_nodes), with explicit zeros.

        Args:
            values: Blocks, shape (n_blocks, 3, 3).
            skew: Blocks of an antisymmetric matrix that is added, shape (n_blocks, 3, 3).
        """
        rows, cols = self.rows, self.indices
        is_off_diagonal = rows != cols
        block_rows = np.concatenate([rows, cols[is_off_diagonal]])
        block_cols = np.concatenate([cols, rows[is_off_diagonal]])
        lower, upper = (values, values) if skew is None else (values + skew, values - skew)
        blocks = np.concatenate([lower, upper[is_off_diagonal].transpose(0, 2, 1)])
        order = np.lexsort((block_cols, block_rows))
        indptr = np.searchsorted(block_rows[order], np.arange(self.n_nodes + 1))
        size = 3 * self.n_nodes
        bsr = sparse.bsr_array((blocks[order], block_cols[order], indptr), shape=(size, size))
        matrix: sparse.csr_array = bsr.tocsr()
        return matrix


@njit
def constrain(
    values: np.ndarray, indptr: np.ndarray, indices: np.ndarray, fixed: np.ndarray
) -> None:
    """Clear row and column of each fixed unknown and put 1 on its diagonal, in place.

    Args:
        values: Blocks, shape (n_blocks, 3, 3).
        indptr, indices: Arrays of the BlockPattern.
        fixed: True for unknowns with an imposed value, shape (n_nodes, 3).
    """
    is_held = fixed[:, 0] | fixed[:, 1] | fixed[:, 2]
    for row in range(indptr.size - 1):
        for k in range(indptr[row], indptr[row + 1]):
            col = indices[k]
            if is_held[row] or is_held[col]:
                for a in range(3):
                    if fixed[row, a]:
                        values[k, a, :] = 0.0
                    if fixed[col, a]:
                        values[k, :, a] = 0.0
        diagonal = values[indptr[row + 1] - 1]
        for a in range(3):
            if fixed[row, a]:
                diagonal[a, a] = 1.0


@njit
def multiply(
    indptr: np.ndarray, indices: np.ndarray, values: np.ndarray, x: np.ndarray, out: np.ndarray
) -> None:
    """Compute out = A x.

    Args:
        indptr, indices: Arrays of the BlockPattern.
        values: Blocks of A, shape (n_blocks, 3, 3).
        x: Factor, shape (n_nodes, 3).
        out: Output, shape (n_nodes, 3), not the memory of x.
    """
    out[:] = 0.0
    for i in range(indptr.size - 1):
        x0, x1, x2 = x[i, 0], x[i, 1], x[i, 2]
        y0 = y1 = y2 = 0.0
        for k in range(indptr[i], indptr[i + 1]):
            j = indices[k]
            a00, a01, a02 = values[k, 0, 0], values[k, 0, 1], values[k, 0, 2]
            a10, a11, a12 = values[k, 1, 0], values[k, 1, 1], values[k, 1, 2]
            a20, a21, a22 = values[k, 2, 0], values[k, 2, 1], values[k, 2, 2]
            z0, z1, z2 = x[j, 0], x[j, 1], x[j, 2]
            y0 += a00 * z0 + a01 * z1 + a02 * z2
            y1 += a10 * z0 + a11 * z1 + a12 * z2
            y2 += a20 * z0 + a21 * z1 + a22 * z2
            if j < i:
                out[j, 0] += a00 * x0 + a10 * x1 + a20 * x2
                out[j, 1] += a01 * x0 + a11 * x1 + a21 * x2
                out[j, 2] += a02 * x0 + a12 * x1 + a22 * x2
        out[i, 0] += y0
        out[i, 1] += y1
        out[i, 2] += y2


def _keys(n_nodes: int, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
    """Return a number for each unordered pair, ascending by block row, then by block column."""
    return np.maximum(rows, cols) * n_nodes + np.minimum(rows, cols)


def _checked_pairs(
    n_nodes: int, rows: np.ndarray, cols: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the node pairs as int64 arrays; raise a ValueError if they are not valid."""
    rows, cols = np.asarray(rows, dtype=np.int64), np.asarray(cols, dtype=np.int64)
    if rows.shape != cols.shape:
        raise ValueError(f"rows has shape {rows.shape}, but cols has {cols.shape}.")
    for name, nodes in (("rows", rows), ("cols", cols)):
        if nodes.size and (nodes.min() < 0 or nodes.max() >= n_nodes):
            raise ValueError(
                f"{name} has nodes from {nodes.min()} to {nodes.max()}, but there are {n_nodes}."
            )
    return rows, cols


@njit
def add_diagonal(values: np.ndarray, slots: np.ndarray, numbers: np.ndarray, factor: float) -> None:
    """Add factor times a number times the identity to each of some blocks.

    Args:
        values: Blocks, shape (m, 3, 3).
        slots: Index of a block for each number, shape (k,).
        numbers: Numbers, shape (k, 1).
        factor: Scale of all numbers.
    """
    for k in range(slots.shape[0]):
        number = factor * numbers[k, 0]
        for i in range(3):
            values[slots[k], i, i] += number
