import numpy as np
import pytest
from scipy.linalg import cholesky, solve_triangular

from sofa_softctl.base import machine
from sofa_softctl.runtime.kernels.cholesky import symbolic
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


def test_two_threads_solve_with_the_bits_of_one(elastic_body, dense, monkeypatch):
    """Solution, W and correction of a beam whose halves are solved separately, and of its matrix.

    The rows are on both halves and on the layer between them; rounding.
    """
    monkeypatch.setattr(symbolic, "PARALLEL_FLOPS_MIN", 1e4)
    pattern, values = elastic_body(20, 2, 2)
    random = np.random.default_rng(0)
    b = random.normal(size=3 * pattern.n_nodes)
    results = []
    for count in (1, 2):
        monkeypatch.setattr(machine, "thread_count", lambda count=count: count)
        solver = BlockCholesky(pattern)
        assert solver.factorize(values)
        node = solver._order[np.linspace(0, pattern.n_nodes - 1, 9).astype(int)]
        rows = solver.forward(np.arange(9) // 2, node, np.ones((9, 3)), 5)
        results.append((solver.solve(b), solver.compliance(rows), solver.correction(rows, b[:5])))
    for first, second in zip(*results, strict=True):
        assert first.tobytes() == second.tobytes()
    H = np.zeros((5, pattern.n_nodes, 3))
    H[np.arange(9) // 2, node] = 1.0
    H, A = H.reshape(5, -1), dense(pattern, values)
    x, W, change = results[0]
    np.testing.assert_allclose(A @ x, b, rtol=0, atol=1e-12)
    np.testing.assert_allclose(W, H @ np.linalg.solve(A, H.T), rtol=0, atol=1e-13)
    np.testing.assert_allclose(A @ change, H.T @ b[:5], rtol=0, atol=1e-12)
