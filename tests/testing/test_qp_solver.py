from dataclasses import replace

import numpy as np
import pytest

from sofa_softctl.qp import kkt_residual
from sofa_softctl.qp.solvers import DENSE, find
from sofa_softctl.testing import check_qp_solver
from sofa_softctl.testing.known_qps import known_qps

solve_daqp = find("daqp")
KNOWN = [known for known in known_qps() if known.x is not None and known.y is not None]


@pytest.mark.parametrize("known", KNOWN, ids=lambda known: known.name)
def test_known_answers_are_optimal(known):
    """By the check itself, without a solver: to rounding."""
    assert kkt_residual(known.qp, known.x, known.y) < 1e-12


def test_a_solver_is_forgotten_afterwards():
    before = DENSE.names()
    check_qp_solver(solve_daqp)
    assert DENSE.names() == before


def a_little_off(qp, warm):
    found = solve_daqp(qp, warm)
    return found._replace(x=found.x + 1e-6)


def signs_the_other_way(qp, warm):
    found = solve_daqp(qp, warm)
    return found._replace(y=-found.y)


def gives_up(qp, warm):
    found = solve_daqp(qp, warm)
    return found._replace(outcome="failed", message="")


def without_equalities(qp, warm):
    found = solve_daqp(qp, warm)
    if (qp.lower == qp.upper).any():
        return found._replace(x=np.full_like(found.x, np.nan), message="no equalities")
    return found


def changes_the_problem(qp, warm):
    found = solve_daqp(qp, warm)
    if len(qp.g) == 6:
        qp.g[:] = 0.0
    return found


def remembers(qp, warm):
    return solve_daqp(qp, warm) if warm is None else warm


def raises_at_equalities(qp, warm):
    if (qp.lower == qp.upper).any():
        raise RuntimeError("no equalities")
    return solve_daqp(qp, warm)


def says_nothing(qp, warm):
    found = solve_daqp(qp, warm)
    return found if found.outcome == "solved" else found._replace(message="")


@pytest.mark.parametrize(
    ("solve", "message"),
    [
        (a_little_off, "no limits: expected an answer with a KKT residual of at most 1e-08, got"),
        (signs_the_other_way, "an upper bound: expected an answer with a KKT residual"),
        (gives_up, "no limits: expected the outcome 'solved', got 'failed'"),
        (without_equalities, "a fixed variable: expected an answer .*rejected .no equalities"),
        (changes_the_problem, "random problem 0: expected the solver to leave g as it is"),
        (remembers, "random problem 0, from the answer of another one: .* got the other one again"),
        (raises_at_equalities, "a fixed variable: .* the solver raised RuntimeError: no equal"),
        (lambda qp, warm: None, "no limits: expected a QPResult, got None"),
        (says_nothing, "contradicting limits: expected a message with the outcome 'infeasible'"),
    ],
)
def test_what_is_wrong_with_a_solver_is_told(solve, message):
    with pytest.raises(AssertionError, match=message):
        check_qp_solver(solve)
    assert not DENSE.has("the checked solver")


def fails_from_a_start(qp, warm):
    found = solve_daqp(qp, None)
    return found if warm is None else found._replace(x=np.full_like(found.x, np.nan))


def test_a_start_that_spoils_the_answer_does_no_harm():
    """The checked answer is asked for again without it, as in inverse control."""
    check_qp_solver(fails_from_a_start)


def test_the_error_of_a_solver_is_the_cause():
    with pytest.raises(AssertionError) as caught:
        check_qp_solver(raises_at_equalities)
    assert isinstance(caught.value.__cause__, RuntimeError)


@pytest.mark.processes
@pytest.mark.parametrize("name", ["piqp", "osqp"])
def test_the_sparse_solvers_pass(name):
    check_qp_solver(find(name, sparse=True), sparse=True)


def test_a_sparse_solver_that_forgets_rows_is_found():
    def forgetful(qp, warm):
        return find("piqp", sparse=True)(replace(qp, A=0.0 * qp.A), warm)

    with pytest.raises(AssertionError, match="expected an answer with a KKT residual"):
        check_qp_solver(forgetful, sparse=True)
