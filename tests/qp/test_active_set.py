"""The compiled dual active-set method as a QP solver."""

import numpy as np
import pytest

from sofa_softctl.qp.active_set import (
    FAILED,
    INFEASIBLE,
    SOLVED,
    solve_active_set,
    solve_strictly_convex,
)
from sofa_softctl.qp.problem import QP, kkt_residual
from sofa_softctl.qp.solvers.daqp import solve_daqp


def random_qp(seed, n=6, m=4, rank=6):
    """A unit diagonal, limits of variables and rows around the origin, and an equation."""
    rng = np.random.default_rng(seed)
    B = rng.normal(size=(rank, n))
    B /= np.linalg.norm(B, axis=0)
    A = rng.normal(size=(m, n))
    A /= np.linalg.norm(A, axis=1, keepdims=True)
    lower, upper = -rng.uniform(0.0, 0.5, n + m), rng.uniform(0.0, 0.5, n + m)
    lower[-1] = upper[-1] = 0.1
    return QP(B.T @ B, rng.normal(size=n), A, lower, upper)


def solve(qp):
    return solve_strictly_convex(qp.H, qp.g, qp.A, qp.lower, qp.upper)


@pytest.mark.parametrize("seed", range(20))
def test_strictly_convex_qps_are_solved_to_rounding(seed):
    """1e-9: the rows' tolerance, 1e-10, of a problem of size one; 1e-6: daqp's own accuracy."""
    qp = random_qp(seed)
    outcome, x, y, residual, iterations = solve(qp)
    assert outcome == SOLVED
    assert residual == kkt_residual(qp, x, y) < 1e-9
    assert iterations == 1 + np.count_nonzero(y)
    assert x == pytest.approx(solve_daqp(qp).x, abs=1e-6)


def test_a_semi_definite_hessian_is_left_to_daqp():
    qp = random_qp(0, rank=3)
    assert solve(qp)[0] == FAILED
    result = solve_active_set(qp)
    assert result.outcome == "solved" and kkt_residual(qp, result.x, result.y) < 1e-8


def test_limits_that_contradict_each_other_are_no_solution():
    qp = random_qp(0)
    apart = QP(qp.H, qp.g, np.ones((1, 6)), np.r_[np.zeros(6), 1.0], np.r_[np.full(6, 0.1), 2.0])
    assert solve(apart)[0] == INFEASIBLE
    assert solve_active_set(apart).outcome == "infeasible"
