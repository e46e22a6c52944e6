import numpy as np
import pytest

from sofa_softctl.runtime.kernels.cholesky.symbolic import analyse

BODIES = [(12, 1, 1), (4, 4, 4), (9, 9, 1)]


def panels(analysis):
    """Columns and rows of each panel."""
    tree = analysis.supernodes
    for s in range(tree.first.size - 1):
        rows = tree.rows[tree.row_start[s] : tree.row_start[s + 1]]
        yield np.arange(tree.first[s], tree.first[s + 1]), rows


@pytest.mark.parametrize("cubes", BODIES)
def test_each_number_of_the_factor_has_its_place_in_a_panel(elastic_body, dense, cubes):
    """Against a dense factor without cancellation: a matrix of ones, strongly diagonal."""
    pattern, values = elastic_body(*cubes)
    analysis = analyse(pattern, np.ones(pattern.n_nodes, bool))
    graph = dense(pattern, np.ones_like(values))[::3, ::3]
    graph = -graph[np.ix_(analysis.order, analysis.order)] + 1000 * np.eye(pattern.n_nodes)
    filled = np.abs(np.linalg.cholesky(graph)) > 0
    covered = np.zeros_like(filled)
    for columns, rows in panels(analysis):
        np.testing.assert_array_equal(rows[: columns.size], columns)
        assert (np.diff(rows) > 0).all()
        covered[np.ix_(rows, columns)] = True
    assert not (filled & ~covered).any()
    # Relaxed panels may hold zeros, but no more than their rule lets them: narrow ones do.
    assert np.tril(covered).sum() < 1.5 * filled.sum()


@pytest.mark.parametrize("cubes", BODIES)
def test_every_block_goes_to_the_place_of_its_pair(elastic_body, dense, cubes):
    """The panels are read back into a dense matrix, which is the permuted one; numbers differ."""
    pattern, values = elastic_body(*cubes)
    values = np.arange(values.size, dtype=float).reshape(values.shape)
    active = np.random.default_rng(0).random(pattern.n_nodes) < 0.8
    analysis = analyse(pattern, active)
    tree, blocks = analysis.supernodes, analysis.blocks
    n = active.sum()
    matrix = np.zeros((3 * n, 3 * n))
    numbers = np.zeros(tree.panel_start[-1])
    for s, (columns, rows) in enumerate(panels(analysis)):
        for k in range(blocks.start[s], blocks.start[s + 1]):
            block = values[blocks.source[k]]
            block = block.T if blocks.transposed[k] else block
            places = blocks.target[k] + np.arange(3)[:, None] + 3 * rows.size * np.arange(3)
            numbers[places] = block
        panel = numbers[tree.panel_start[s] : tree.panel_start[s + 1]]
        unknowns = [(3 * nodes[:, None] + np.arange(3)).ravel() for nodes in (rows, columns)]
        matrix[np.ix_(*unknowns)] = panel.reshape(3 * columns.size, 3 * rows.size).T
    order = (3 * analysis.order[:, None] + np.arange(3)).ravel()
    # The upper triangle of the panels' own part is not filled: compare the lower one by blocks.
    by_blocks = np.kron(np.tril(np.ones((n, n))), np.ones((3, 3))) > 0
    expected = np.where(by_blocks, dense(pattern, values)[np.ix_(order, order)], 0.0)
    np.testing.assert_array_equal(matrix, expected)


def test_inactive_nodes_have_no_place(elastic_body):
    pattern, _ = elastic_body(3, 2, 2)
    active = np.arange(pattern.n_nodes) % 3 > 0
    assert sorted(analyse(pattern, active).order) == np.flatnonzero(active).tolist()


def test_sizes_of_one_dense_panel_are_those_of_a_triangle(elastic_body):
    """2 x 2 x 2 nodes of a cube, all but two pairs coupled: n (n + 1) / 2 numbers, sum k^2."""
    pattern, _ = elastic_body(1, 1, 1)
    analysis = analyse(pattern, np.ones(8, bool))
    assert analysis.nnz == 24 * 25 // 2
    assert analysis.flops == sum(k**2 for k in range(1, 25))


def test_a_beam_is_eliminated_as_a_band_and_a_plate_is_not(elastic_body):
    """A panel of a band reaches over two or three layers, here of 21 nodes; with minimum degree
    the separators of the plate are eliminated last, whatever they separate. By operations alone
    the beam would have minimum degree too, 9 million against 11."""
    reach = []
    for cubes in ((24, 6, 2), (20, 20, 1)):
        pattern, _ = elastic_body(*cubes)
        analysis = analyse(pattern, np.ones(pattern.n_nodes, bool))
        reach.append(max(rows[-1] - columns[0] for columns, rows in panels(analysis)))
    assert reach[0] < 3 * 21
    assert reach[1] > 400


def test_scattered_updates_fit_into_their_memory(elastic_body):
    pattern, _ = elastic_body(9, 9, 1)
    analysis = analyse(pattern, np.ones(pattern.n_nodes, bool))
    tree = analysis.supernodes
    largest = 0
    for columns, rows in panels(analysis):
        below = rows[columns.size :]
        for owner in np.unique(tree.of_node[below]):
            taken = tree.of_node[below] == owner
            rest = below[np.argmax(taken) :]
            target = tree.rows[tree.row_start[owner] : tree.row_start[owner + 1]]
            if (np.diff(np.searchsorted(target, rest)) > 1).any():
                largest = max(largest, 9 * taken.sum() * rest.size)
    assert 0 < largest <= analysis.update_size
