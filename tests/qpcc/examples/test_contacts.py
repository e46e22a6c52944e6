import numpy as np
import pytest

from sofa_softctl.qpcc.examples.contacts import contact_problems
from sofa_softctl.qpcc.problem.modes import SearchOptions
from sofa_softctl.qpcc.solve.solve import solve

PROBLEMS = contact_problems()


@pytest.mark.parametrize("strategy", ["pivoting", "exact"])
@pytest.mark.parametrize("known", PROBLEMS, ids=lambda known: known.name)
def test_known_answers_are_found(known, strategy):
    """1e-6: of the sliding directions and of the planes around a cone."""
    answer = solve(known.problem, search=SearchOptions(strategy))
    assert answer.status is known.status, answer
    assert answer.effort == pytest.approx(known.effort, abs=1e-6)
    told = ~np.isnan(known.force)
    assert answer.contact_force[told] == pytest.approx(known.force[told], abs=1e-6)
    assert answer.modes == known.modes or np.isnan(known.force).all()
    assert answer.law_error < 1e-7
    assert answer.strategy == strategy


def test_contacts_that_depend_on_each_other_share_one_force():
    """The shares are open, their sum of 1 is not; each is at least 0, to the QP's tolerance."""
    known = next(known for known in PROBLEMS if np.isnan(known.force).all())
    answer = solve(known.problem)
    assert answer.contact_force.sum() == pytest.approx(1.0, abs=1e-7)
    assert answer.contact_force.min() >= -1e-7
