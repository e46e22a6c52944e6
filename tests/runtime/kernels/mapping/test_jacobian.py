import numpy as np
import pytest
import scipy.sparse as sparse

from sofa_softctl.runtime.kernels.mapping.jacobian import add_transposed, weighted_sum


def weights(seed=0):
    """J of 7 points on 5 nodes, rows of 0 to 3 entries, as CSR."""
    random = np.random.default_rng(seed)
    counts = np.array([3, 0, 1, 2, 3, 3, 1])
    starts = np.concatenate([[0], np.cumsum(counts)])
    nodes = np.concatenate([random.choice(5, count, replace=False) for count in counts])
    factors = random.uniform(-1.0, 2.0, counts.sum())
    return starts, nodes, factors, sparse.csr_array((factors, nodes, starts), shape=(7, 5))


def test_the_sum_is_the_product_with_the_sparse_matrix():
    """out = J x, whatever stood in out before."""
    starts, nodes, factors, J = weights()
    x, out = np.random.default_rng(1).uniform(-1.0, 1.0, (5, 3)), np.full((7, 3), 9.0)
    weighted_sum(starts, nodes, factors, x, out)
    assert out == pytest.approx(J @ x, abs=1e-15)


def test_the_transpose_adds_to_what_is_there():
    """out += J^T f."""
    starts, nodes, factors, J = weights()
    force, out = np.random.default_rng(2).uniform(-1.0, 1.0, (7, 3)), np.full((5, 3), 9.0)
    add_transposed(starts, nodes, factors, force, out)
    assert out == pytest.approx(9.0 + J.T @ force, abs=1e-14)


@pytest.mark.parametrize("seed", range(5))
def test_power_is_the_same_on_both_sides(seed):
    """f_child . (J v) = (J^T f_child) . v: a mapping neither makes nor takes energy."""
    starts, nodes, factors, _ = weights(seed)
    random = np.random.default_rng(seed)
    v, force = random.uniform(-1.0, 1.0, (5, 3)), random.uniform(-1.0, 1.0, (7, 3))
    child_v, parent_force = np.empty((7, 3)), np.zeros((5, 3))
    weighted_sum(starts, nodes, factors, v, child_v)
    add_transposed(starts, nodes, factors, force, parent_force)
    assert np.vdot(force, child_v) == pytest.approx(np.vdot(parent_force, v), abs=1e-14)
