"""The example of a QP solver."""

import pytest

from sofa_softctl import solve_inverse
from sofa_softctl.qp.solvers import find
from sofa_softctl.qpcc.examples.free import one_cable
from sofa_softctl.testing import check_qp_solver

pytest.importorskip("clarabel", reason="the package clarabel is not installed")


def test_the_solver_passes_the_check_of_plugins(load):
    load("clarabel_qp")
    check_qp_solver(find("clarabel"))


def test_inverse_control_takes_it_by_its_name(load):
    load("clarabel_qp")
    solution = solve_inverse(one_cable().problem, solver="clarabel")
    assert solution.solver == "clarabel"
    assert solution.effort == pytest.approx([4.0])
