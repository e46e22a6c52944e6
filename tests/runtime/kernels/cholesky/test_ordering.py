import numpy as np
import pytest
import scipy.sparse as sparse

from sofa_softctl.runtime.kernels.cholesky.ordering import candidate_eliminations, eliminate_in


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
