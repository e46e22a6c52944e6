import numpy as np
import pytest
import scipy.sparse as sparse

from sofa_softctl.runtime.kernels.cholesky.ordering import (
    burn_at_both_ends,
    candidate_eliminations,
    eliminate_in,
    nested_dissection,
)


def grid(*sides: int) -> sparse.csr_array:
    """Neighbours in a grid, along the axes and the diagonals of its cells."""
    nodes = np.stack(np.meshgrid(*map(np.arange, sides), indexing="ij"), -1).reshape(-1, len(sides))
    distance = np.abs(nodes[:, None] - nodes[None]).max(axis=2)
    number = np.random.default_rng(1).permutation(len(nodes))
    return sparse.csr_array((distance == 1)[np.ix_(number, number)].astype(float))


def fill(graph: sparse.csr_array, order: np.ndarray) -> np.ndarray:
    """Pattern of L by elimination: the later neighbours of a node become each other's, bool."""
    pattern = graph.toarray()[np.ix_(order, order)] != 0
    for k in range(len(order)):
        later = np.flatnonzero(pattern[k]) > k
        later = np.flatnonzero(pattern[k])[later]
        pattern[np.ix_(later, later)] = True
    return np.tril(pattern, -1)


@pytest.mark.parametrize("graph", [grid(12, 2), grid(6, 6), grid(3, 4, 4)])
def test_parents_and_counts_are_those_of_elimination(graph):
    for elimination in candidate_eliminations(graph):
        below = fill(graph, elimination.order)
        first = [np.flatnonzero(column) for column in below.T]
        assert elimination.parent.tolist() == [rows[0] if rows.size else -1 for rows in first]
        assert elimination.counts.tolist() == below.sum(axis=0).tolist()


def test_the_permuted_graph_is_the_graph_in_the_new_order():
    graph = grid(5, 4)
    order = np.random.default_rng(2).permutation(20)
    elimination = eliminate_in(graph, order)
    permuted = sparse.csr_array(
        (np.ones(graph.nnz), elimination.indices, elimination.indptr), shape=graph.shape
    )
    np.testing.assert_array_equal(permuted.toarray(), graph.toarray()[np.ix_(order, order)])


@pytest.mark.parametrize("graph", [grid(12, 2), sparse.csr_array(sparse.block_diag([grid(9)] * 3))])
def test_each_subtree_is_one_run_of_places(graph):
    for elimination in candidate_eliminations(graph):
        size = np.ones(len(elimination.parent), int)
        smallest = np.arange(len(size))
        for node, parent in enumerate(elimination.parent):
            if parent >= 0:
                size[parent] += size[node]
                smallest[parent] = min(smallest[parent], smallest[node])
        np.testing.assert_array_equal(smallest + size - 1, np.arange(len(size)))


def test_both_orders_fill_in_less_than_a_random_one():
    graph = grid(10, 10)
    random = eliminate_in(graph, np.random.default_rng(3).permutation(100))
    minimum_degree, band = candidate_eliminations(graph)
    assert minimum_degree.counts.sum() < band.counts.sum() < 0.7 * random.counts.sum()


@pytest.mark.parametrize("n", [0, 1, 4])
def test_nodes_without_neighbours_keep_their_order(n):
    (elimination,) = candidate_eliminations(sparse.csr_array((n, n)))
    assert elimination.order.tolist() == list(range(n))
    assert elimination.parent.tolist() == [-1] * n


def band(length: int) -> tuple[sparse.csr_array, np.ndarray]:
    """A grid of 2 x 3 nodes across, and the order layer by layer."""
    nodes = np.stack(np.meshgrid(*map(np.arange, (length, 2, 3)), indexing="ij"), -1).reshape(-1, 3)
    distance = np.abs(nodes[:, None] - nodes[None]).max(axis=2)
    return sparse.csr_array((distance == 1).astype(float)), np.arange(len(nodes))


def test_a_band_burns_at_both_ends_with_the_same_fill():
    """Two independent halves, and a layer of six nodes between them; 1.1 for that layer."""
    graph, order = band(20)
    both_ends = burn_at_both_ends(graph, order)
    assert np.sort(both_ends).tolist() == order.tolist()
    assert fill(graph, both_ends).sum() < 1.1 * fill(graph, order).sum()
    first, second, layer = np.split(both_ends, [60, len(order) - 6])
    assert graph[first][:, second].nnz == 0
    assert graph[first][:, layer].nnz > 0
    assert graph[second][:, layer].nnz > 0


def test_nested_dissection_has_little_fill_in_a_plate():
    """Of 20 x 20 nodes: the fill is that of n log n, where a band has 20 n."""
    nodes = np.stack(np.meshgrid(np.arange(20.0), np.arange(20.0), indexing="ij"), -1)
    positions = np.concatenate([nodes.reshape(-1, 2), np.zeros((400, 1))], axis=1)
    distance = np.abs(positions[:, None] - positions[None]).max(axis=2)
    graph = sparse.csr_array((distance == 1.0).astype(float))
    order = nested_dissection(graph, positions)
    assert np.sort(order).tolist() == list(range(400))
    assert fill(graph, order).sum() < 0.75 * fill(graph, np.arange(400)).sum()
    last = np.sort(order[-20:]).tolist()
    assert last in ([*range(200, 220)], [*range(10, 400, 20)])  # the first cut


def test_nested_dissection_ends_where_no_cut_separates():
    """All nodes in one place, or nowhere."""
    for position in (1.0, np.nan):
        order = nested_dissection(grid(6, 6), np.full((36, 3), position))
        assert np.sort(order).tolist() == list(range(36))
