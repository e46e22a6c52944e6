import math

import numpy as np
import pytest

from sofa_softctl.errors import ProblemError
from sofa_softctl.qpcc.problem.problem import InverseProblem

CABLES = ("cable L0", "cable L1")


def problem(**changes):
    """Two cables, one effector row."""
    fields = {
        "W_ea": [[1.0, 2.0]],
        "W_aa": [[2.0, 0.5], [0.5, 1.0]],
        "delta_e_free": [-1.0],
        "delta_a_free": [0.0, 0.0],
        "names": CABLES,
    }
    return InverseProblem(**(fields | changes))


def message_of(**changes):
    with pytest.raises(ProblemError) as caught:
        problem(**changes)
    return str(caught.value)


def test_the_first_four_fields_are_enough():
    p = InverseProblem(
        W_ea=np.ones((3, 2)), W_aa=np.eye(2), delta_e_free=np.ones(3), delta_a_free=np.zeros(2)
    )
    assert (p.n_e, p.n_a) == (3, 2)
    assert p.effector_weight.tolist() == [1.0, 1.0, 1.0]
    assert p.effort_min.tolist() == [-math.inf, -math.inf]
    assert p.displacement_rate.tolist() == [math.inf, math.inf]
    assert np.isnan(p.effort_fixed).all()
    assert p.names == ("actuator 0", "actuator 1")


def test_a_number_stands_for_every_row():
    assert problem(effort_max=3.0).effort_max.tolist() == [3.0, 3.0]
    assert problem(effort_max=3).effort_max.tolist() == [3.0, 3.0]


def test_arrays_are_read_only_copies():
    given = np.array([0.0, 0.0])
    p = problem(effort_min=given)
    given[:] = 7.0
    assert p.effort_min.tolist() == [0.0, 0.0]
    for array in (p.W_ea, p.W_aa, p.effort_min, p.effort_max, p.displacement_fixed):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 1.0


def test_only_limits_that_were_given_are_there():
    p = problem(effort_min=0.0, displacement_rate=[1.0, 2.0])
    assert p.has("effort_min") and p.has("displacement_rate")
    assert not p.has("effort_max") and not p.has("displacement_fixed")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"W_ea": [1.0, 2.0]},
            "W_ea must have the shape (n_e, n_a): a row for each effector direction, a column for "
            "each actuator, at least one actuator. Got the shape (2,).",
        ),
        (
            {"W_ea": np.zeros((3, 0))},
            "W_ea must have the shape (n_e, n_a): a row for each effector direction, a column for "
            "each actuator, at least one actuator. Got the shape (3, 0).",
        ),
        (
            {"W_aa": np.eye(3)},
            "W_aa must have the shape (2, 2), as W_ea has a row for each effector direction and a "
            "column for each actuator. Got the shape (3, 3).",
        ),
        (
            {"effort_min": [0.0]},
            "effort_min must have the shape (2,), as W_ea has a row for each effector direction "
            "and a column for each actuator. Got the shape (1,).",
        ),
        (
            {"W_ea": [[1.0, math.nan]]},
            "W_ea[0, 1] is nan, not a finite number. The simulation has probably diverged: look "
            "at the step before, try a smaller dt.",
        ),
        (
            {"delta_a_free": [0.0, -math.inf]},
            "delta_a_free[1] is -inf, not a finite number. The simulation has probably diverged: "
            "look at the step before, try a smaller dt.",
        ),
        (
            {"W_aa": [[2.0, 0.5], [0.4, 1.0]]},
            "W_aa must be symmetric to 1e-8: W_aa[0, 1] is 0.5, W_aa[1, 0] is 0.4. Are its rows "
            "and columns in the same order, and solved accurately enough?",
        ),
        (
            {"W_aa": [[2.0, 0.5], [0.5, -1.0]]},
            "W_aa[1, 1] is -1.0: cable L1 would move against its own effort. Check the sign of "
            "its rows in W.",
        ),
        (
            {"effort_min": 2.0, "effort_max": [5.0, 1.0]},
            "cable L1: effort_min is 2.0 and effort_max is 1.0. Give numbers with effort_min <= "
            "effort_max, and -inf or inf where there is no limit.",
        ),
        (
            {"displacement_min": [math.nan, 0.0]},
            "cable L0: displacement_min is nan and displacement_max is inf. Give numbers with "
            "displacement_min <= displacement_max, and -inf or inf where there is no limit.",
        ),
        (
            {"effort_min": [math.inf, 0.0]},
            "cable L0: effort_min is inf and effort_max is inf. Give numbers with effort_min <= "
            "effort_max, and -inf or inf where there is no limit.",
        ),
        (
            {"effort_rate": [1.0, -0.5]},
            "cable L1: effort_rate is -0.5. Give the largest change in one step as a number >= 0, "
            "and inf where there is no limit.",
        ),
        (
            {"displacement_fixed": [math.nan, math.inf]},
            "cable L1: displacement_fixed is inf. Give the imposed value, and NaN where there is "
            "none.",
        ),
        ({"energy": -1e-3}, "energy must be a number >= 0, got -0.001."),
        ({"energy": math.nan}, "energy must be a number >= 0, got nan."),
        (
            {"names": ("left",)},
            "names must give one name for each of the 2 actuators, got ('left',).",
        ),
        ({"names": "ab"}, "names must give one name for each of the 2 actuators, got 'ab'."),
    ],
)
def test_a_malformed_problem_says_what_where_and_what_to_do(changes, message):
    assert message_of(**changes) == message


def test_rounding_in_W_is_no_asymmetry():
    """The W of a factorisation is symmetric to about 1e-12; what we refuse starts at 1e-8."""
    problem(W_aa=[[2.0, 0.5], [0.5 * (1.0 + 1e-12), 1.0]])
    problem(W_aa=[[1.0, 0.0], [0.0, -1e-12]])


def test_huge_but_finite_numbers_are_accepted():
    """The square of 1e200 overflows, which must not be taken for an infinite entry."""
    assert problem(delta_e_free=[1e200]).delta_e_free.tolist() == [1e200]


def test_a_number_of_numpy_stands_for_every_row():
    assert problem(effort_max=np.float32(3.0)).effort_max.tolist() == [3.0, 3.0]
