import daqp
import numpy as np
import pytest

from benchmarks.contact_search.interior_point import INFEASIBLE, SOLVED, interior_point


def solve_qp(H, g, A, b, G, h, soft=None, cutoff=1e6):
    x, y, z = np.zeros(len(g)), np.zeros(len(b)), np.zeros(len(h))
    soft = np.zeros(len(b)) if soft is None else soft
    status, bound = interior_point(H, g, A, b, soft, G, h, x, y, z, cutoff)
    return status, bound, x


@pytest.mark.parametrize("seed", range(20))
def test_answers_are_those_of_an_active_set_solver(seed):
    """Strictly convex with equalities and inequalities; both are exact to about 1e-8."""
    rng = np.random.default_rng(seed)
    n, k, m = 8, int(rng.integers(0, 4)), 15
    F = rng.normal(size=(n, n))
    H, g = F @ F.T + 0.1 * np.eye(n), rng.normal(size=n)
    inside = rng.normal(size=n)
    A, G = rng.normal(size=(k, n)), rng.normal(size=(m, n))
    b, h = A @ inside, G @ inside + rng.uniform(0.0, 1.0, m)
    status, bound, x = solve_qp(H, g, A, b, G, h)
    high, low = np.concatenate((h, b)), np.concatenate((np.full(m, -1e30), b))
    sense = np.concatenate((np.zeros(m), np.full(k, 5))).astype(np.int32)
    exact, value, flag, _ = daqp.solve(H, g, np.concatenate((G, A)), high, low, sense)
    assert flag > 0 and status == SOLVED
    assert x == pytest.approx(exact, abs=1e-6)
    assert bound <= value + 1e-9
    assert bound == pytest.approx(value, abs=1e-6)


def test_a_contradiction_is_found():
    """x <= -1 and x >= 1e-3, with a Hessian that does not see x."""
    G, h = np.array([[1.0, 0.0], [-1.0, 0.0]]), np.array([-1.0, -1e-3])
    H = np.diag([0.0, 1.0])
    status, bound, _ = solve_qp(H, np.zeros(2), np.empty((0, 2)), np.empty(0), G, h)
    assert (status, bound) == (INFEASIBLE, np.inf)


def test_dependent_equations_do_no_harm():
    """The same equation twice: the nearest point of x + y = 1 to zero is (1/2, 1/2)."""
    A, b = np.ones((2, 2)), np.ones(2)
    status, bound, x = solve_qp(np.eye(2), np.zeros(2), A, b, np.empty((0, 2)), np.empty(0))
    assert status == SOLVED
    assert x == pytest.approx([0.5, 0.5], abs=1e-8)
    assert bound == pytest.approx(0.25, abs=1e-8)


def test_a_soft_equation_weighs_against_the_objective():
    """1/2 x^2 + (x - 1)^2 / (2 * 1/4) has its minimum at x = 4/5."""
    A, b = np.ones((1, 1)), np.ones(1)
    _, _, x = solve_qp(
        np.eye(1), np.zeros(1), A, b, np.empty((0, 1)), np.empty(0), soft=np.array([0.25])
    )
    assert x == pytest.approx([0.8], abs=1e-8)
