"""Products with blocks that are given one by one."""

import numpy as np
import pytest

from sofa_softctl.runtime.kernels.elasticity.blocks import add_block_products


@pytest.mark.parametrize("one_sided", [False, True])
def test_products_are_those_of_the_dense_matrix(one_sided):
    """Blocks on the diagonal, twice at one place, and between nodes both ways round."""
    rng = np.random.default_rng(3)
    rows = np.array([0, 1, 1, 2, 3, 3])
    columns = np.array([0, 2, 2, 1, 1, 3])
    blocks, v, out = rng.normal(size=(6, 3, 3)), rng.normal(size=(4, 3)), rng.normal(size=(4, 3))
    dense = np.zeros((4, 3, 4, 3))
    for row, column, block in zip(rows, columns, blocks, strict=True):
        dense[row, :, column] += block
        if row != column and not one_sided:
            dense[column, :, row] += block.T
    expected = out + 0.7 * np.einsum("iajb,jb->ia", dense, v)
    add_block_products(rows, columns, blocks, one_sided, 0.7, v, out)
    assert out == pytest.approx(expected, abs=1e-14)
