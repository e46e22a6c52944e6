"""Products with matrices of 3x3 blocks that are given one by one."""

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

    Unless `one_sided`, a block of another row than column stands for its transpose at (column, row)
    too.

    Args:
        rows: Of each block, shape (k,).
        columns: Likewise.
        blocks: Shape (k, 3, 3).
        one_sided: Whether blocks count at their own place alone.
        factor: Of the whole product.
        v: Shape (n, 3).
        out: Shape (n, 3).
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
