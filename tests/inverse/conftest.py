import pytest

from sofa_softctl.qp.solvers import qp_solvers, register


@pytest.fixture
def register_solver():
    """`register`, undone after the test."""
    before = dict(qp_solvers)
    yield register
    qp_solvers.clear()
    qp_solvers.update(before)
