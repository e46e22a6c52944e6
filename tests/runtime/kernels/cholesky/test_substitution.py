import numpy as np
import pytest
from scipy.linalg import cholesky, solve_triangular

from sofa_softctl.runtime.kernels.cholesky.cholesky import BlockCholesky


def local_rows(solver: BlockCholesky, dense_matrix: np.ndarray):
    """Rows at both ends of the elimination and in its middle, one without entries, one with two.

    Returns:
        ForwardRows of the solver, and Y = L^-1 P H^T by dense algebra with the columns sorted so.
    """
    n = solver._order.size
    place = np.array([n - 1, 0, n // 2, 1, n // 3, n - 2])
    row = np.array([0, 1, 2, 4, 5, 5])
    node = solver._order[place]
    rows = solver.forward(row, node, np.ones((6, 3)), 6)
    H = np.zeros((6, n, 3))
    H[row, node] = 1.0
    order = (3 * solver._order[:, None] + np.arange(3)).ravel()
    L = cholesky(dense_matrix[np.ix_(order, order)], lower=True)
    Y = solve_triangular(L, H.reshape(6, -1)[:, order].T, lower=True)
    return rows, Y[:, rows.order]


@pytest.mark.parametrize("cubes", [(20, 1, 1), (9, 9, 1)])
def test_forward_rows_are_right_in_their_range_and_zero_in_theory_beyond(
    elastic_body, dense, cubes
):
    """Y is at most 1; 14 digits are right, as the condition of L is below 100."""
    pattern, values = elastic_body(*cubes)
    solver = BlockCholesky(pattern)
    assert solver.factorize(values)
    solver.solve(np.full((3 * pattern.n_nodes, 6), np.pi))  # leaves its numbers in the memory
    rows, expected = local_rows(solver, dense(pattern, values))
    first = solver._tree.first
    skipped = 0
    for s in range(first.size - 1):
        own = slice(3 * first[s], 3 * first[s + 1])
        inside = np.zeros(6, bool)
        inside[solver._low[s] : solver._high[s]] = True
        np.testing.assert_allclose(
            rows.Y[own][:, inside], expected[own][:, inside], rtol=0, atol=1e-13
        )
        assert (expected[own][:, ~inside] == 0.0).all()
        skipped += (~inside).sum()
    assert skipped > 0.3 * 6 * (first.size - 1)


def test_columns_are_sorted_by_where_their_rows_begin(elastic_body, dense):
    pattern, values = elastic_body(9, 9, 1)
    solver = BlockCholesky(pattern)
    assert solver.factorize(values)
    rows, _ = local_rows(solver, dense(pattern, values))
    assert rows.order.tolist() == [1, 4, 5, 2, 0, 3]
