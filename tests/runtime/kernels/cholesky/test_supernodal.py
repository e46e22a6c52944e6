import numpy as np
import pytest

from sofa_softctl.base import machine
from sofa_softctl.runtime.kernels.cholesky import symbolic
from sofa_softctl.runtime.kernels.cholesky.blas import TRIANGLE
from sofa_softctl.runtime.kernels.cholesky.block_matrix import BlockPattern
from sofa_softctl.runtime.kernels.cholesky.supernodal import (
    FULL_PRODUCT_WIDTH,
    Factorization,
)
from sofa_softctl.runtime.kernels.cholesky.symbolic import Analysis, analyse


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
    assert Factorization(analysis).compute(values, factor)
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
    assert not Factorization(analysis).compute(values, factor)
    assert np.isnan(factor).all()


@pytest.fixture
def in_two_parts(monkeypatch, elastic_body):
    """A beam small enough for a test, whose factorisation is divided all the same."""
    monkeypatch.setattr(symbolic, "PARALLEL_FLOPS_MIN", 1e4)
    pattern, values = elastic_body(20, 2, 2)
    analysis = analyse(pattern, np.ones(pattern.n_nodes, bool))
    assert len(analysis.groups.subtrees) == 2
    return pattern, values, analysis


def test_a_body_in_two_parts_has_the_factor_of_its_matrix(in_two_parts, dense):
    pattern, values, analysis = in_two_parts
    check(pattern, values, dense(pattern, values))
    first, second = analysis.groups.subtrees
    panels = np.concatenate([first, second, analysis.groups.rest])
    assert np.sort(panels).tolist() == list(range(analysis.supernodes.first.size - 1))
    assert 0.8 < len(first) / len(second) < 1.25


def test_two_threads_give_the_bits_of_one(in_two_parts, monkeypatch):
    """Also of a matrix that becomes indefinite in the other thread's part: nothing but NaN."""
    pattern, values, analysis = in_two_parts
    factors = []
    for count in (1, 2):
        monkeypatch.setattr(machine, "thread_count", lambda count=count: count)
        factors.append(np.full(analysis.supernodes.panel_start[-1], np.nan))
        assert Factorization(analysis).compute(values, factors[-1])
    assert factors[0].tobytes() == factors[1].tobytes()
    panel = analysis.groups.subtrees[1][-1]
    node = analysis.order[analysis.supernodes.first[panel]]
    values[pattern.indptr[node + 1] - 1] *= -1.0
    assert not Factorization(analysis).compute(values, factors[1])
    assert np.isnan(factors[1]).all()
