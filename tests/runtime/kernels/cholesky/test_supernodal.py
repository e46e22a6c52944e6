import numpy as np

from sofa_softctl.runtime.kernels.cholesky.blas import TRIANGLE
from sofa_softctl.runtime.kernels.cholesky.block_matrix import BlockPattern
from sofa_softctl.runtime.kernels.cholesky.supernodal import (
    FULL_PRODUCT_WIDTH,
    Workspace,
    factorize,
)
from sofa_softctl.runtime.kernels.cholesky.symbolic import Analysis, analyse


def workspace(analysis) -> Workspace:
    n, n_super = analysis.order.size, analysis.supernodes.first.size - 1
    integers = [np.empty(n_super, np.int64) for _ in range(3)]
    update = np.empty(analysis.update_size)
    return Workspace(update, np.empty(n, np.int64), np.empty(3 * n), *integers)


def lower_triangle(analysis, factor: np.ndarray) -> np.ndarray:
    """L as a dense matrix."""
    tree = analysis.supernodes
    L = np.zeros((3 * analysis.order.size,) * 2)
    for s in range(tree.first.size - 1):
        rows = tree.rows[tree.row_start[s] : tree.row_start[s + 1]]
        unknowns = (3 * rows[:, None] + np.arange(3)).ravel()
        columns = np.arange(3 * tree.first[s], 3 * tree.first[s + 1])
        panel = factor[tree.panel_start[s] : tree.panel_start[s + 1]]
        L[np.ix_(unknowns, columns)] = panel.reshape(columns.size, unknowns.size).T
    return np.tril(L)


def check(pattern: BlockPattern, values: np.ndarray, matrix: np.ndarray) -> Analysis:
    """Factorise and compare L L^T with the matrix.

    Backward stable: the error is a few roundings of the largest entry, here between 3 and 20.
    """
    analysis = analyse(pattern, np.ones(pattern.n_nodes, bool))
    factor = np.full(analysis.supernodes.panel_start[-1], np.nan)
    work = workspace(analysis)
    assert factorize(analysis.supernodes, analysis.blocks, values, factor, work)
    L = lower_triangle(analysis, factor)
    order = (3 * analysis.order[:, None] + np.arange(3)).ravel()
    np.testing.assert_allclose(L @ L.T, matrix[np.ix_(order, order)], rtol=0, atol=1e-13)
    assert (np.diag(L) > 0).all()
    return analysis


def test_the_factor_of_a_band_times_its_transpose_is_the_matrix(elastic_body, dense):
    pattern, values = elastic_body(12, 2, 2)
    check(pattern, values, dense(pattern, values))


def test_so_it_is_when_updates_are_scattered(elastic_body, dense):
    pattern, values = elastic_body(9, 9, 1)
    assert check(pattern, values, dense(pattern, values)).update_size > 1000


def test_so_it_is_when_panels_are_too_wide_for_one_product(dense):
    """Two full blocks that share 5 nodes: a wide panel with rows below it, and a wide root."""
    n = TRIANGLE + FULL_PRODUCT_WIDTH
    rows, cols = np.tril_indices(n)
    apart = (rows < n // 2 - 5) | (cols >= n // 2) | ((n // 2 - 5 <= rows) & (rows < n // 2))
    apart |= (n // 2 - 5 <= cols) & (cols < n // 2)
    pattern = BlockPattern.build(n, rows[apart], cols[apart])
    values = np.random.default_rng(0).uniform(-0.05, 0.05, (pattern.indices.size, 3, 3))
    diagonal = pattern.indptr[1:] - 1
    values[diagonal] += values[diagonal].transpose(0, 2, 1) + 20.0 * np.eye(3)
    first = check(pattern, values, dense(pattern, values)).supernodes.first
    assert 3 * np.diff(first).max() > TRIANGLE + FULL_PRODUCT_WIDTH


def test_a_failed_factorisation_leaves_nothing_but_nan(elastic_body):
    pattern, values = elastic_body(3, 2, 2)
    analysis = analyse(pattern, np.ones(pattern.n_nodes, bool))
    factor = np.zeros(analysis.supernodes.panel_start[-1])
    last = pattern.indptr[analysis.order[-1] + 1] - 1
    values[last] *= -1.0  # seen only at the end of the factorisation
    assert not factorize(analysis.supernodes, analysis.blocks, values, factor, workspace(analysis))
    assert np.isnan(factor).all()
