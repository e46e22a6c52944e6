"""Products with matrices in a list of 3x3 blocks."""

from __future__ import annotations

import numpy as np

from sofa_softctl.base.jit import njit


@njit
def add_block_products(
    rows: np.ndarray,
    columns: np.ndarray,
    blocks: np.ndarray,
    one_sided: bool,
    factor: float,
    v: np.ndarray,
    out: np.ndarray,
) -> None:
    """Add to out[row] factor times each block times v[column].

    Unless `one_sided`, a block off the diagonal also stands for its transpose at (column, row).

    Args:
        rows, columns: Row and column of each block, shape (k,).
        blocks: Blocks, shape (k, 3, 3).
        one_sided: Blocks count only at (row, column).
        factor: Scale of the product [-].
        v: Vectors of the nodes, shape (n, 3).
        out: Output, shape (n, 3).
    """
    for k in range(rows.shape[0]):
        row, column = rows[k], columns[k]
        for i in range(3):
            total = 0.0
            for j in range(3):
                total += blocks[k, i, j] * v[column, j]
            out[row, i] += factor * total
        if row != column and not one_sided:
            for i in range(3):
                total = 0.0
                for j in range(3):
                    total += blocks[k, j, i] * v[row, j]
                out[column, i] += factor * total
