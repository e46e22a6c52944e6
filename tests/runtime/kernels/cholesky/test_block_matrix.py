import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sofa_softctl.runtime.kernels.cholesky.block_matrix import BlockPattern, constrain, multiply


@st.composite
def node_pairs(draw):
    n = draw(st.integers(1, 7))
    node = st.integers(0, n - 1)
    pairs = draw(st.lists(st.tuples(node, node), max_size=20))
    rows, cols = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    return n, rows, cols


def random_values(pattern: BlockPattern) -> np.ndarray:
    """Blocks of a symmetric matrix."""
    values = np.random.default_rng(0).normal(size=(pattern.indices.size, 3, 3))
    diagonal = pattern.indptr[1:] - 1
    values[diagonal] += values[diagonal].transpose(0, 2, 1)
    return values


@given(node_pairs())
def test_a_pattern_holds_each_pair_and_each_node_once_in_the_lower_triangle(pairs):
    n, rows, cols = pairs
    pattern = BlockPattern.build(n, rows, cols)
    expected = {(max(i, j), min(i, j)) for i, j in zip(rows, cols, strict=True)}
    expected |= {(i, i) for i in range(n)}
    assert list(zip(pattern.rows, pattern.indices, strict=True)) == sorted(expected)
    assert pattern.indptr.tolist() == np.searchsorted(pattern.rows, np.arange(n + 1)).tolist()


@given(node_pairs())
def test_the_slot_of_a_pair_is_its_block_and_its_complement_above_the_diagonal(pairs):
    n, rows, cols = pairs
    pattern = BlockPattern.build(n, rows, cols)
    for row, col, slot in zip(rows, cols, pattern.slots(rows, cols), strict=True):
        assert (slot >= 0) == (row >= col)
        block = slot if slot >= 0 else ~slot
        assert (pattern.rows[block], pattern.indices[block]) == (max(row, col), min(row, col))


@pytest.mark.soak
@settings(deadline=None)  # the first example compiles
@given(node_pairs())
def test_the_whole_matrix_and_its_product_agree_with_the_dense_one(dense, pairs):
    pattern = BlockPattern.build(*pairs)
    values = random_values(pattern)
    matrix = dense(pattern, values)
    np.testing.assert_array_equal(pattern.to_csr(values).toarray(), matrix)
    x = np.random.default_rng(1).normal(size=(pattern.n_nodes, 3))
    product = np.full_like(x, np.nan)
    multiply(pattern.indptr, pattern.indices, values, x, product)
    np.testing.assert_allclose(product.ravel(), matrix @ x.ravel(), rtol=0, atol=1e-13)  # rounding


@settings(deadline=None)
@given(node_pairs(), st.data())
def test_constrained_unknowns_have_rows_and_columns_of_the_identity(dense, pairs, data):
    pattern = BlockPattern.build(*pairs)
    n = pattern.n_nodes
    fixed = np.array(data.draw(st.lists(st.booleans(), min_size=3 * n, max_size=3 * n)))
    values = random_values(pattern)
    expected = dense(pattern, values)
    expected[fixed] = 0.0
    expected[:, fixed] = 0.0
    expected[fixed, fixed] = 1.0
    constrain(values, pattern.indptr, pattern.indices, fixed.reshape(n, 3))
    np.testing.assert_array_equal(dense(pattern, values), expected)


def test_explicit_zeros_stay_in_the_whole_matrix():
    pattern = BlockPattern.build(3, np.array([0, 2]), np.array([1, 1]))
    matrix = pattern.to_csr(np.zeros((5, 3, 3)))
    assert matrix.nnz == 9 * (3 + 2 * 2)


def test_a_pattern_of_no_nodes_is_an_empty_matrix():
    none = np.empty(0, np.int64)
    pattern = BlockPattern.build(0, none, none)
    assert pattern.to_csr(np.zeros((0, 3, 3))).shape == (0, 0)
    assert pattern.slots(none, none).size == 0


def test_slots_keep_the_shape_of_the_pairs():
    rows, cols = np.array([[0, 1], [1, 2]]), np.array([[1, 1], [0, 1]])
    assert BlockPattern.build(3, rows, cols).slots(rows, cols).tolist() == [[~1, 2], [1, 3]]


def test_a_pattern_cannot_be_changed():
    pattern = BlockPattern.build(2, np.array([0]), np.array([1]))
    with pytest.raises(ValueError, match="read-only"):
        pattern.indices[0] = 1


def test_the_slot_of_a_pair_that_is_not_coupled_is_an_error():
    pattern = BlockPattern.build(4, np.array([0, 1]), np.array([1, 2]))
    with pytest.raises(
        ValueError,
        match=r"nodes 0 and 3 are not coupled in this pattern \(2 of 3 pairs are missing\)",
    ):
        pattern.slots(np.array([1, 0, 2]), np.array([0, 3, 0]))


def test_nodes_that_do_not_exist_are_an_error():
    with pytest.raises(ValueError, match=r"cols has nodes from 1 to 4, but there are 4"):
        BlockPattern.build(4, np.array([0, 1]), np.array([1, 4]))
    with pytest.raises(ValueError, match=r"rows has nodes from -1 to 0, but there are 4"):
        BlockPattern.build(4, np.array([0, -1]), np.array([1, 2]))


def test_pairs_of_different_lengths_are_an_error():
    with pytest.raises(ValueError, match=r"rows has shape \(2,\), but cols has \(1,\)"):
        BlockPattern.build(4, np.array([0, 1]), np.array([1]))
