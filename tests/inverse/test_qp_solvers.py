import importlib.util
import subprocess
import sys

import numpy as np
import pytest

from sofa_softctl.errors import PluginError, ProblemError
from sofa_softctl.qp.problem import QP, QPResult, kkt_residual
from sofa_softctl.qp.solvers import find, qp_solvers, register

INF = np.inf
BUILT_IN = ["daqp", "proxqp", "qpsolvers:daqp", "qpsolvers:proxqp"]


def random_qp(seed, *, rank=None, equalities=0):
    """A feasible QP of 6 variables and 5 rows with limits on every side."""
    rng = np.random.default_rng(seed)
    n, m = 6, 5
    B = rng.normal(size=(rank or 2 * n, n))
    A = rng.normal(size=(m, n))
    A /= np.linalg.norm(A, axis=1, keepdims=True)
    inside = np.concatenate((x := rng.normal(size=n), A @ x))
    lower, upper = inside - rng.exponential(0.3, n + m), inside + rng.exponential(0.3, n + m)
    lower[rng.random(n + m) < 0.3] = -INF
    upper[rng.random(n + m) < 0.3] = INF
    equal = n + np.arange(equalities)
    lower[equal] = upper[equal] = inside[equal]
    # the gradient is in the range of H, as in tracking: the cost is bounded below
    return QP(B.T @ B / n, B.T @ rng.normal(size=len(B)), A, lower, upper)


@pytest.mark.parametrize("name", BUILT_IN)
@pytest.mark.parametrize("options", [{}, {"rank": 2}, {"equalities": 2}])
@pytest.mark.parametrize("seed", range(8))
def test_every_solver_solves_random_problems(name, options, seed):
    """1e-8 is the tolerance of the check that every answer has to pass."""
    qp = random_qp(seed, **options)
    result = find(name)(qp, None)
    assert result.outcome == "solved"
    assert kkt_residual(qp, result.x, result.y) <= 1e-8


@pytest.mark.parametrize("name", BUILT_IN)
def test_multipliers_are_the_price_of_the_limits(name):
    """d cost / d upper = -y: 1/2 (x - 2)^2 with x <= 1 costs (u - 2)^2 / 2, so y = 2 - u = 1.

    Likewise a row with a lower limit: 1/2 z^2 with z >= 1 has y = -1. 1e-9: the solvers' tolerance.
    """
    qp = QP(
        np.eye(2), np.array([-2.0, 0.0]), np.array([[0.0, 1.0]]),
        np.array([-INF, -INF, 1.0]), np.array([1.0, INF, INF]),
    )  # fmt: skip
    result = find(name)(qp, None)
    assert result.y == pytest.approx([1.0, 0.0, -1.0], abs=1e-9)


@pytest.mark.parametrize("name", BUILT_IN)
def test_contradicting_limits_are_never_called_solved(name):
    qp = QP(
        np.eye(2), np.ones(2), np.array([[1.0, 1.0]]),
        np.array([0.0, 0.0, -5.0]), np.array([1.0, 1.0, -3.0]),
    )  # fmt: skip
    assert find(name)(qp, None).outcome != "solved"


@pytest.mark.parametrize("name", ["daqp", "proxqp"])
def test_native_solvers_say_that_limits_contradict_each_other_or_that_they_failed(name):
    """daqp says so; proxqp runs into its iteration limit, which must be a short one."""
    qp = QP(
        np.eye(2), np.ones(2), np.array([[1.0, 1.0]]),
        np.array([0.0, 0.0, -5.0]), np.array([1.0, 1.0, -3.0]),
    )  # fmt: skip
    result = find(name)(qp, None)
    assert result.outcome in ("infeasible", "failed")
    assert result.message
    assert result.iterations <= 200 * 100


@pytest.mark.parametrize("name", BUILT_IN)
def test_solvers_leave_the_problem_as_it_is(name):
    qp = random_qp(3, equalities=1)
    before = [array.copy() for array in (qp.H, qp.g, qp.A, qp.lower, qp.upper)]
    for array in (qp.H, qp.g, qp.A, qp.lower, qp.upper):
        array.setflags(write=False)
    find(name)(qp, None)
    after = (qp.H, qp.g, qp.A, qp.lower, qp.upper)
    assert all(np.array_equal(a, b) for a, b in zip(before, after, strict=True))


@pytest.mark.parametrize("name", BUILT_IN)
def test_a_warm_start_gives_the_same_answer(name):
    """1e-7: the KKT residual of 1e-8 times a condition number of about 10."""
    qp, other = random_qp(5), random_qp(5)
    other.g[:] += 0.1
    cold = find(name)(qp, None)
    warm = find(name)(qp, find(name)(other, None))
    assert warm.outcome == "solved"
    assert warm.x == pytest.approx(cold.x, abs=1e-7)


def test_daqp_starts_from_the_earlier_working_set():
    qp = random_qp(5)
    cold = find("daqp")(qp, None)
    assert find("daqp")(qp, cold).iterations < cold.iterations


def zero(qp, warm):
    del warm
    return QPResult(np.zeros_like(qp.g), np.zeros_like(qp.lower), "solved")


def test_a_registered_solver_is_found_by_name(register_solver):
    register_solver("zero", zero)
    assert find("zero") is zero


@pytest.mark.parametrize("name", ["daqp", "qpsolvers:osqp"])
def test_a_name_that_is_taken_is_an_error_that_names_both(name):
    with pytest.raises(PluginError, match=f"already a QP solver '{name}', from sofa_softctl") as e:
        register(name, zero)
    assert zero.__module__ in str(e.value)
    assert qp_solvers["daqp"] is not zero


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(ProblemError, match="no QP solver 'daqb'. Known: daqp, proxqp.*qpsolvers:"):
        find("daqb")


def test_a_solver_that_qpsolvers_does_not_know_is_said_to_be_unknown():
    with pytest.raises(ProblemError, match="qpsolvers knows no solver 'daqb'. Installed: .*daqp"):
        find("qpsolvers:daqb")


def test_a_missing_package_comes_with_the_command_that_installs_it():
    import qpsolvers

    known = ("copt", "gurobi", "mosek", "cvxopt")
    missing = next(name for name in known if name not in qpsolvers.available_solvers)
    assert importlib.util.find_spec(f"qpsolvers.solvers.{missing}_")
    with pytest.raises(PluginError, match=rf"pip install 'qpsolvers\[{missing}\]'"):
        find(f"qpsolvers:{missing}")


def test_heavy_packages_are_imported_only_when_used():
    """qpsolvers takes 0.6 s to import, as much as a small simulation."""
    code = (
        "import sys, sofa_softctl.qpcc.solve;"
        "print([name for name in ('qpsolvers', 'proxsuite') if name in sys.modules])"
    )
    output = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert output.stdout.strip() == "[]"
