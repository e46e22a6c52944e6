"""Sparse QPs: every solver on the same problems, and nothing believed unchecked."""

import sys

import numpy as np
import pytest
import scipy.sparse

from sofa_softctl.errors import PluginError, ProblemError
from sofa_softctl.qp.problem import QP, QPResult, SparseQP, kkt_residual
from sofa_softctl.qp.solvers import SPARSE, find, register
from sofa_softctl.qp.verified import solve_checked


def solve_sparse(qp, solvers=("piqp", "osqp")):
    return solve_checked(qp, solvers=solvers, tolerance=1e-6)


def random_qp(seed, n=30, m=20):
    """Feasible at a random point; equalities, ranges, one-sided rows, fixed and free variables."""
    rng = np.random.default_rng(seed)
    root = scipy.sparse.random_array((n, n), density=0.1, rng=rng)
    A = scipy.sparse.random_array((m, n), density=0.2, rng=rng, format="csc")
    x = rng.normal(size=n)
    v = np.concatenate((x, A @ x))
    lower, upper = v - rng.uniform(0.0, 0.5, n + m), v + rng.uniform(0.0, 0.5, n + m)
    lower[n : n + 5] = upper[n : n + 5] = v[n : n + 5]
    lower[:2] = upper[:2] = v[:2]
    lower[2:6], upper[4:9], upper[n + 10 :] = -np.inf, np.inf, np.inf
    H = scipy.sparse.csc_array(root @ root.T + 1e-3 * scipy.sparse.eye_array(n))
    return SparseQP(H, rng.normal(size=n), scipy.sparse.csc_array(A), lower, upper)


@pytest.mark.parametrize("name", sorted(SPARSE.names()))
def test_every_solver_passes_the_check(name):
    pytest.importorskip(name)
    for seed in range(5):
        qp = random_qp(seed)
        answer = solve_sparse(qp, solvers=(name,))
        assert answer.solver == name
        assert answer.residual <= 1e-6
        x = answer.result.x
        assert (qp.lower[:30] <= x).all() and (x <= qp.upper[:30]).all()


def test_the_cost_is_that_of_a_dense_solver():
    for seed in range(5):
        qp = random_qp(seed)
        dense = QP(qp.H.toarray(), qp.g, qp.A.toarray(), qp.lower, qp.upper)
        reference = solve_checked(dense, solvers=("daqp", "proxqp"), tolerance=1e-6).result.x
        x = solve_sparse(qp).result.x
        costs = [0.5 * z @ (qp.H @ z) + qp.g @ z for z in (x, reference)]
        assert costs[0] == pytest.approx(costs[1], rel=1e-6, abs=1e-6)


def test_a_wrong_answer_is_rejected_and_another_solver_is_asked(register_solver):
    qp = random_qp(1)

    def liar(qp, warm):
        return QPResult(np.zeros(30), np.zeros(50), "solved", 3, "it says all is well")

    register_solver("liar", liar, sparse=True)
    answer = solve_sparse(qp, solvers=("liar", "piqp"))
    assert answer.solver == "piqp"
    assert "liar: answer rejected (it says all is well), KKT residual" in answer.notes[0]
    alone = solve_sparse(qp, solvers=("liar",))
    assert alone.result is None
    assert alone.residual > 1e-6


@pytest.mark.parametrize(("off", "taken"), [(0.9e-6, True), (1.1e-6, False)])
def test_an_answer_from_a_start_is_held_to_the_same_tolerance(register_solver, off, taken):
    """min 1/2 x^2 - x: the residual of x near 1 is the distance from it."""
    qp = QP(np.eye(1), -np.ones(1), np.zeros((0, 1)), np.full(1, -np.inf), np.full(1, np.inf))
    given = []

    def hasty(qp, start):
        given.append(start)
        x = np.ones(1) if start is None else np.array([1.0 - off])
        return QPResult(x, np.zeros(1), "solved")

    register_solver("hasty", hasty)
    start = QPResult(np.zeros(1), np.zeros(1), "solved")
    answer = solve_checked(qp, solvers=("hasty",), tolerance=1e-6, warm=start)
    assert given == ([start] if taken else [start, None])
    assert answer.result.x == (1.0 - off if taken else 1.0)
    assert answer.residual <= 1e-6


def test_a_solver_that_is_not_installed_is_passed_over_and_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "osqp", None)  # as if it were not
    answer = solve_sparse(random_qp(2), solvers=("osqp", "piqp"))
    assert answer.solver == "piqp"
    assert "osqp: answer rejected (not installed: pip install osqp)" in answer.notes[0]


def test_an_unknown_solver_is_refused_with_the_known_ones_of_its_kind():
    with pytest.raises(ProblemError, match="no sparse QP solver 'daqp'. .*Known: osqp, piqp.$"):
        solve_sparse(random_qp(0), solvers=("daqp",))
    with pytest.raises(ProblemError, match="no sparse QP solver 'qpsolvers:osqp'"):
        find("qpsolvers:osqp", sparse=True)
    with pytest.raises(
        ProblemError, match="no QP solver 'piqp'. .*Known: active-set, daqp, proxqp, and"
    ):
        find("piqp")


def test_a_name_that_is_taken_is_an_error():
    with pytest.raises(PluginError, match="already a sparse QP solver 'piqp', from sofa_softctl"):
        register("piqp", solve_sparse, sparse=True)


def test_contradicting_limits_have_no_answer():
    qp = random_qp(3)
    A = scipy.sparse.vstack((qp.A, qp.A[[0]]), format="csc")
    far = qp.upper[30] + 1.0
    qp = SparseQP(qp.H, qp.g, A, np.append(qp.lower, far), np.append(qp.upper, far))
    assert solve_sparse(qp, solvers=("piqp",)).result is None


def test_the_check_sees_each_condition():
    """min 1/2 x^2 - x with x <= 1/2: x = 1/2, y = 1/2."""
    qp = SparseQP(
        scipy.sparse.csc_array([[1.0]]),
        np.array([-1.0]),
        scipy.sparse.csc_array((0, 1)),
        np.array([-np.inf]),
        np.array([0.5]),
    )
    one = np.ones(1)
    assert kkt_residual(qp, 0.5 * one, 0.5 * one) == 0.0
    assert kkt_residual(qp, 1.0 * one, 0.0 * one) == 0.5  # over the limit
    assert kkt_residual(qp, 0.0 * one, 1.0 * one) == 0.5  # a multiplier, and no limit reached
    assert kkt_residual(qp, 0.5 * one, 0.0 * one) == 0.5  # not stationary
    assert kkt_residual(qp, np.nan * one, 0.0 * one) == np.inf
