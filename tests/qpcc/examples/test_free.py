import numpy as np
import pytest

from sofa_softctl.qpcc.examples.free import all_problems
from sofa_softctl.qpcc.solve.solve import solve

PROBLEMS = all_problems()


@pytest.mark.parametrize(
    "solver", ["active-set", "daqp", "proxqp", "qpsolvers:daqp", "qpsolvers:proxqp"]
)
@pytest.mark.parametrize("named", PROBLEMS, ids=[named.name for named in PROBLEMS])
def test_every_solver_finds_the_known_answer_by_itself(named, solver):
    """1e-7 of the largest effort: 10 times the tolerance of the check, as none is ill-conditioned.
    A closest answer may exceed its limits by 3e-9 more than needed (`closest.SLACK`)."""
    solution = solve(named.problem, solver=solver, fallback=solver)
    assert solution.status is named.status, solution.message
    assert solution.solver == solver
    known = np.isfinite(named.effort)
    scale = max(1e-6, np.abs(named.effort[known]).max(initial=0.0))
    if named.name == "unlike units":
        assert solution.effort == pytest.approx(named.effort, rel=1e-7)
    else:
        assert solution.effort[known] == pytest.approx(
            named.effort[known], rel=1e-7, abs=max(1e-7 * scale, 3e-8)
        )


def test_every_problem_has_its_own_name():
    assert len({named.name for named in PROBLEMS}) == len(PROBLEMS)


def test_redundant_cables_still_reach_their_goal():
    """The efforts are not known, their effect is: an error of 0, to the tolerance of the check."""
    named = next(named for named in PROBLEMS if np.isnan(named.effort).any())
    solution = solve(named.problem)
    assert solution.effector_error == pytest.approx([0.0], abs=4e-8)
