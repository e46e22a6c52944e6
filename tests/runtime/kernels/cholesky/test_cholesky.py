import numpy as np
import pytest
import scipy.sparse.linalg
from hypothesis import given, settings
from hypothesis import strategies as st

from sofa_softctl.runtime.kernels.cholesky import substitution, supernodal
from sofa_softctl.runtime.kernels.cholesky.block_matrix import BlockPattern, constrain
from sofa_softctl.runtime.kernels.cholesky.cholesky import BlockCholesky

# Condition numbers here are below 500: rounding may grow to 1e-13, and one digit to spare.
DIGITS = {"rtol": 0, "atol": 1e-12}

BODIES = [(1, 1, 1), (12, 2, 2), (9, 9, 1), (5, 5, 5)]  # one panel, band, scattered, wide panels


def constraint_rows(n_nodes: int, n_rows: int, seed: int = 0, nodes_per_row: int = 4):
    """Entries of random rows, some nodes twice in a row, and the dense H."""
    random = np.random.default_rng(seed)
    row = np.repeat(np.arange(n_rows), nodes_per_row)
    node = random.integers(0, n_nodes, row.size)
    node[1::nodes_per_row] = node[::nodes_per_row]
    vector = random.normal(size=(row.size, 3))
    shuffled = random.permutation(row.size)
    row, node, vector = row[shuffled], node[shuffled], vector[shuffled]
    H = np.zeros((n_rows, n_nodes, 3))
    np.add.at(H, (row, node), vector)
    return (row, node, vector), H.reshape(n_rows, -1)


def relative(error: np.ndarray, reference: np.ndarray) -> np.ndarray:
    return error / np.abs(reference).max()


@pytest.mark.parametrize("cubes", BODIES)
def test_solutions_agree_with_superlu(elastic_body, cubes):
    pattern, values = elastic_body(*cubes)
    solver = BlockCholesky(pattern)
    assert solver.factorize(values)
    b = np.random.default_rng(0).normal(size=(3 * pattern.n_nodes, 5))
    expected = scipy.sparse.linalg.splu(pattern.to_csr(values).tocsc()).solve(b)
    np.testing.assert_allclose(relative(solver.solve(b) - expected, expected), 0, **DIGITS)
    one = solver.solve(b[:, 0])
    assert one.shape == b[:, 0].shape
    np.testing.assert_allclose(relative(one - expected[:, 0], expected), 0, **DIGITS)


@pytest.mark.parametrize("cubes", BODIES)
@pytest.mark.parametrize("n_rows", [1, 7, 40])
def test_compliance_is_H_times_inverse_times_H_transposed(elastic_body, dense, cubes, n_rows):
    pattern, values = elastic_body(*cubes)
    solver = BlockCholesky(pattern)
    assert solver.factorize(values)
    entries, H = constraint_rows(pattern.n_nodes, n_rows)
    W = solver.compliance(solver.forward(*entries, n_rows))
    expected = H @ np.linalg.solve(dense(pattern, values), H.T)
    np.testing.assert_allclose(relative(W - expected, expected), 0, **DIGITS)
    np.testing.assert_array_equal(W, W.T)


@pytest.mark.parametrize("cubes", BODIES)
@pytest.mark.parametrize("n_rows", [1, 7, 40])
def test_correction_is_the_solution_for_H_transposed_lambda(elastic_body, cubes, n_rows):
    pattern, values = elastic_body(*cubes)
    solver = BlockCholesky(pattern)
    assert solver.factorize(values)
    entries, H = constraint_rows(pattern.n_nodes, n_rows)
    lam = np.random.default_rng(1).normal(size=n_rows)
    expected = solver.solve(H.T @ lam)
    rows = solver.forward(*entries, n_rows)
    np.testing.assert_allclose(
        relative(solver.correction(rows, lam) - expected, expected), 0, **DIGITS
    )


def test_rows_outlive_a_solve_and_can_be_used_again(elastic_body):
    """One row: its memory is as large as that of a single solution, yet not the same."""
    pattern, values = elastic_body(3, 2, 2)
    solver = BlockCholesky(pattern)
    assert solver.factorize(values)
    entries, _ = constraint_rows(pattern.n_nodes, 1)
    rows = solver.forward(*entries, 1)
    W, x = solver.compliance(rows), solver.correction(rows, np.ones(1))
    solver.solve(np.ones(3 * pattern.n_nodes))
    np.testing.assert_array_equal(solver.compliance(rows), W)
    np.testing.assert_array_equal(solver.correction(rows, np.ones(1)), x)


def test_inactive_nodes_do_not_take_part(elastic_body, dense):
    pattern, values = elastic_body(5, 2, 2)
    active = np.random.default_rng(4).random(pattern.n_nodes) < 0.7
    free = np.repeat(active, 3)
    matrix = dense(pattern, values)[np.ix_(free, free)]
    values[~active[pattern.rows] | ~active[pattern.indices]] = np.nan  # must not be read
    solver = BlockCholesky(pattern, active)
    assert solver.factorize(values)

    b = np.random.default_rng(5).normal(size=(free.size, 3))
    for x, right in ((solver.solve(b), b), (solver.solve(b[:, 0]), b[:, 0])):
        np.testing.assert_array_equal(x[~free], right[~free])
        np.testing.assert_allclose(matrix @ x[free], right[free], **DIGITS)

    entries, H = constraint_rows(pattern.n_nodes, 6)
    rows = solver.forward(*entries, 6)
    expected = H[:, free] @ np.linalg.solve(matrix, H[:, free].T)
    np.testing.assert_allclose(relative(solver.compliance(rows) - expected, expected), 0, **DIGITS)
    x = solver.correction(rows, np.ones(6))
    assert (x[~free] == 0.0).all()
    np.testing.assert_allclose(matrix @ x[free], H[:, free].sum(axis=0), **DIGITS)


def test_partly_held_nodes_keep_the_right_hand_side_there(elastic_body, dense):
    """A mask of unknowns through `constrain`, none of the nodes inactive."""
    pattern, values = elastic_body(4, 2, 2)
    fixed = np.random.default_rng(6).random((pattern.n_nodes, 3)) < 0.2
    constrain(values, pattern.indptr, pattern.indices, fixed)
    solver = BlockCholesky(pattern)
    assert solver.factorize(values)
    b = np.random.default_rng(7).normal(size=fixed.size)
    x = solver.solve(b)
    np.testing.assert_array_equal(x[fixed.ravel()], b[fixed.ravel()])
    np.testing.assert_allclose(dense(pattern, values) @ x, b, **DIGITS)


def test_no_state_stays_from_one_factorisation_to_the_next(elastic_body):
    pattern, values = elastic_body(6, 6, 1)
    b = np.ones(3 * pattern.n_nodes)
    solver = BlockCholesky(pattern)
    assert solver.factorize(values)
    x = solver.solve(b)
    assert not solver.factorize(-values)
    assert solver.factorize(2.0 * values)
    assert solver.factorize(values)
    np.testing.assert_array_equal(solver.solve(b), x)


def broken(values: np.ndarray, how: str, pattern: BlockPattern) -> np.ndarray:
    values = values.copy()
    middle = pattern.n_nodes // 2
    diagonal = values[pattern.indptr[middle + 1] - 1]
    beside = values[pattern.indptr[middle]]
    assert pattern.indices[pattern.indptr[middle]] < middle
    if how == "negative":
        diagonal[1, 1] = -1.0
    elif how == "indefinite":
        beside *= 10.0
    elif how == "zero":
        values[:] = 0.0
    elif how == "nan":
        beside[0, 2] = np.nan
    elif how == "infinite":
        beside[2, 0] = np.inf
    elif how == "infinite pivot":
        diagonal[2, 2] = np.inf
    return values


@pytest.mark.parametrize(
    "how", ["negative", "indefinite", "zero", "nan", "infinite", "infinite pivot"]
)
@pytest.mark.parametrize("cubes", [(2, 1, 1), (9, 9, 1)])
def test_a_matrix_that_is_not_positive_definite_is_reported(elastic_body, cubes, how):
    pattern, values = elastic_body(*cubes)
    solver = BlockCholesky(pattern)
    assert solver.factorize(values)
    assert solver.factorize(broken(values, how, pattern)) is False
    assert np.isnan(solver.solve(np.ones(3 * pattern.n_nodes))).all()


def test_a_body_that_floats_without_mass_is_singular(elastic_body):
    """Six rigid motions have no stiffness; their pivots are rounding errors of either sign."""
    for seed in range(20):
        pattern, values = elastic_body(3, 2, 2, seed=seed, mass=0.0)
        assert not BlockCholesky(pattern).factorize(values)


def test_a_spring_between_free_nodes_is_singular_whatever_the_signs_of_rounding_errors():
    """One in twenty of these has positive pivots after rounding and would pass as regular."""
    pattern = BlockPattern.build(2, np.array([0]), np.array([1]))
    solver = BlockCholesky(pattern)
    random = np.random.default_rng(0)
    for _ in range(200):
        root = random.normal(size=(3, 3))
        stiffness = root @ root.T + np.eye(3)
        assert not solver.factorize(np.stack([stiffness, -stiffness, stiffness]))


def test_stiffness_may_vary_by_ten_orders_of_magnitude_between_nodes(elastic_body):
    """Pivots are compared with their own diagonal, not with the largest one."""
    pattern, values = elastic_body(4, 2, 2)
    scale = np.logspace(-5, 5, pattern.n_nodes)
    values *= (scale[pattern.rows] * scale[pattern.indices])[:, None, None]
    assert BlockCholesky(pattern).factorize(values)


def test_results_are_nan_before_the_first_factorisation(elastic_body):
    pattern, _ = elastic_body(2, 1, 1)
    solver = BlockCholesky(pattern)
    entries, _ = constraint_rows(pattern.n_nodes, 2)
    assert np.isnan(solver.solve(np.ones(3 * pattern.n_nodes))).all()
    assert np.isnan(solver.solve(np.ones((3 * pattern.n_nodes, 2)))).all()
    assert np.isnan(solver.compliance(solver.forward(*entries, 2))).all()


def test_a_single_node_is_a_three_by_three_system():
    pattern = BlockPattern.build(1, np.array([0]), np.array([0]))
    block = np.array([[4.0, 1, 0], [1, 3, 1], [0, 1, 2]])
    solver = BlockCholesky(pattern)
    assert solver.factorize(block[None])
    assert (solver.nnz, solver.flops) == (6, 1 + 4 + 9)
    b = np.array([1.0, 2, 3])
    np.testing.assert_allclose(solver.solve(b), np.linalg.solve(block, b), rtol=1e-14)


@pytest.mark.parametrize("n_nodes", [0, 3])
def test_without_active_nodes_the_matrix_is_the_identity(n_nodes):
    none = np.empty(0, np.int64)
    pattern = BlockPattern.build(n_nodes, none, none)
    solver = BlockCholesky(pattern, np.zeros(n_nodes, bool))
    assert solver.factorize(np.full((n_nodes, 3, 3), np.nan))
    b = np.arange(6.0 * n_nodes).reshape(-1, 2)
    np.testing.assert_array_equal(solver.solve(b), b)
    np.testing.assert_array_equal(solver.solve(b[:, 0]), b[:, 0])
    rows = solver.forward(none, none, np.empty((0, 3)), 2)
    np.testing.assert_array_equal(solver.compliance(rows), np.zeros((2, 2)))


def test_without_constraint_rows_everything_is_empty_or_zero(elastic_body):
    pattern, values = elastic_body(2, 1, 1)
    solver = BlockCholesky(pattern)
    assert solver.factorize(values)
    none = np.empty(0, np.int64)
    rows = solver.forward(none, none, np.empty((0, 3)), 0)
    assert solver.compliance(rows).shape == (0, 0)
    assert (solver.correction(rows, np.empty(0)) == 0.0).all()
    assert solver.solve(np.empty((3 * pattern.n_nodes, 0))).shape == (3 * pattern.n_nodes, 0)


@st.composite
def systems(draw):
    """A random pattern, connected or not, a positive definite matrix in it, and active nodes."""
    n = draw(st.integers(1, 12))
    node = st.integers(0, n - 1)
    pairs = draw(st.lists(st.tuples(node, node), max_size=30))
    rows, cols = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    pattern = BlockPattern.build(n, rows, cols)
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    values = random.uniform(-1, 1, (pattern.indices.size, 3, 3))
    diagonal = pattern.indptr[1:] - 1
    values[diagonal] += values[diagonal].transpose(0, 2, 1) + 6 * n * np.eye(3)  # dominant
    active = np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    return pattern, values, active


@settings(deadline=None)  # the first example compiles
@given(systems())
def test_any_positive_definite_matrix_is_solved(dense, system):
    """Rounding is 1e-15 in these diagonally dominant systems."""
    pattern, values, active = system
    solver = BlockCholesky(pattern, active)
    assert solver.factorize(values)
    free = np.repeat(active, 3)
    matrix = np.eye(free.size)
    matrix[np.ix_(free, free)] = dense(pattern, values)[np.ix_(free, free)]
    entries, H = constraint_rows(pattern.n_nodes, 5)
    H[:, ~free] = 0.0
    b = H.T + 1.0
    np.testing.assert_allclose(solver.solve(b), np.linalg.solve(matrix, b), rtol=0, atol=1e-13)
    rows = solver.forward(*entries, 5)
    W = H @ np.linalg.solve(matrix, H.T)
    np.testing.assert_allclose(solver.compliance(rows), W, rtol=0, atol=1e-13)
    correction = np.linalg.solve(matrix, H.sum(axis=0))
    np.testing.assert_allclose(solver.correction(rows, np.ones(5)), correction, rtol=0, atol=1e-13)


def test_arrays_of_any_layout_and_type_are_taken_without_compiling_again(elastic_body):
    kernels = [
        supernodal.factorize,
        substitution.solve_vector,
        substitution.solve_columns,
        substitution.first_places,
        substitution.forward_rows,
    ]
    pattern, values = elastic_body(2, 1, 1)
    solver = BlockCholesky(pattern)
    b = np.random.default_rng(8).normal(size=(3 * pattern.n_nodes, 4))
    (row, node, vector), _ = constraint_rows(pattern.n_nodes, 3)
    assert solver.factorize(values)
    x = solver.solve(b)
    solver.solve(b[:, 0].copy())
    W = solver.compliance(solver.forward(row, node, vector, 3))
    compiled = [len(kernel.signatures) for kernel in kernels]
    for array in (values, b, row, node, vector):
        array.setflags(write=False)
    assert solver.factorize(np.asfortranarray(values))
    assert solver.factorize(values)
    np.testing.assert_array_equal(solver.solve(np.asfortranarray(b)), x)
    np.testing.assert_array_equal(solver.solve(b), x)
    np.testing.assert_array_equal(solver.solve(b[:, 0]), solver.solve(b[:, 0].copy()))
    rows = solver.forward(row.astype(np.int32), node, np.asfortranarray(vector), 3)
    np.testing.assert_array_equal(solver.compliance(rows), W)
    assert [len(kernel.signatures) for kernel in kernels] == compiled


def test_arguments_of_wrong_shape_are_errors(elastic_body):
    pattern, values = elastic_body(1, 1, 1)
    with pytest.raises(ValueError, match=r"active must be bool of shape \(8,\).*got int64"):
        BlockCholesky(pattern, np.ones(8, np.int64))
    solver = BlockCholesky(pattern)
    with pytest.raises(ValueError, match=rf"values must have shape \({len(values)}, 3, 3\)"):
        solver.factorize(values[1:])
    with pytest.raises(ValueError, match=r"b must have shape \(24,\) or \(24, m\); got \(8, 3\)"):
        solver.solve(np.zeros((8, 3)))
    one = np.zeros(1, np.int64)
    with pytest.raises(ValueError, match=r"got \(1,\), \(1,\) and \(3,\)"):
        solver.forward(one, one, np.zeros(3), 1)
    rows = solver.forward(one, one, np.zeros((1, 3)), 1)
    with pytest.raises(ValueError, match=r"lam must have shape \(1,\), one per.*got \(2,\)"):
        solver.correction(rows, np.zeros(2))


@pytest.mark.parametrize("row, node", [(2, 0), (-1, 0), (0, 8), (0, -1)])
def test_rows_and_nodes_that_do_not_exist_are_errors(elastic_body, row, node):
    pattern, _ = elastic_body(1, 1, 1)
    solver = BlockCholesky(pattern)
    with pytest.raises(ValueError, match=r"rows must be in 0\.\.1 and nodes in 0\.\.7; got"):
        solver.forward(np.array([1, row]), np.array([7, node]), np.zeros((2, 3)), 2)


def test_constraint_rows_that_are_out_of_date_are_errors(elastic_body):
    pattern, values = elastic_body(1, 1, 1)
    solver = BlockCholesky(pattern)
    one = np.zeros(1, np.int64)

    def forward():
        return solver.forward(one, one, np.ones((1, 3)), 1)

    for overwrite in (
        forward,
        lambda: solver.factorize(values),
        lambda: solver.solve(np.ones((24, 2))),
    ):
        rows = forward()
        overwrite()
        with pytest.raises(ValueError, match="out of date"):
            solver.compliance(rows)
        with pytest.raises(ValueError, match="out of date"):
            solver.correction(rows, np.ones(1))


def test_matrices_of_one_pattern_share_their_analysis(elastic_body):
    """While one of them exists; other patterns or active nodes have another one."""
    pattern, values = elastic_body(5, 5, 5)
    same, _ = elastic_body(5, 5, 5)
    active = np.ones(pattern.n_nodes, bool)
    solvers = [BlockCholesky(pattern), BlockCholesky(same, active)]
    assert solvers[0].analysis is solvers[1].analysis
    active[3] = False
    assert BlockCholesky(pattern, active).analysis is not solvers[0].analysis
    b = np.random.default_rng(0).normal(size=3 * pattern.n_nodes)
    solutions = []
    for k, solver in enumerate(solvers):
        assert solver.factorize((3 * k + 1) * values)
        solutions.append(solver.solve(b))
    assert np.array_equal(solutions[0], 4.0 * solutions[1])  # a power of four: exactly
