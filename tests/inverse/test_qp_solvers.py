import importlib.util
import subprocess
import sys

import numpy as np
import pytest

from sofa_softctl.errors import PluginError, ProblemError
from sofa_softctl.qp.problem import QP, QPResult
from sofa_softctl.qp.solvers import DENSE, find, register
from sofa_softctl.testing import check_qp_solver
from sofa_softctl.testing.known_qps import random_qp

BUILT_IN = ["active-set", "daqp", "proxqp", "qpsolvers:daqp", "qpsolvers:proxqp"]


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_solver_passes_the_check_of_plugins(name):
    """1e-8, the tolerance of the check that every answer has to pass."""
    check_qp_solver(find(name), tolerance=1e-8)


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


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("daqp", "already a QP solver 'daqp', from sofa_softctl"),
        ("qpsolvers:osqp", "names that begin with 'qpsolvers:' are reserved"),
    ],
)
def test_a_name_that_is_not_free_is_an_error_that_names_both(name, message):
    with pytest.raises(PluginError, match=message) as e:
        register(name, zero)
    assert zero.__module__ in str(e.value)
    assert DENSE.find("daqp") is not zero


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(
        ProblemError, match="no QP solver 'daqb'. .*Known: active-set, daqp, proxqp.*qps"
    ):
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
        "import sys, sofa_softctl.qpcc.solve.solve;"
        "print([name for name in ('qpsolvers', 'proxsuite') if name in sys.modules])"
    )
    output = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert output.stdout.strip() == "[]"
