import math

import numpy as np

from sofa_softctl.qpcc.problem.kernels import limit_ranges, reached_ends
from sofa_softctl.qpcc.problem.limits import (
    active_limits,
    effort_box,
    exceeded_limits,
    intersect,
    limits_of,
)
from sofa_softctl.qpcc.problem.problem import InverseProblem

NAN, INF = math.nan, math.inf
NAMES = ("cable L0", "cable L1")


def problem(**limits):
    return InverseProblem(
        W_ea=[[1.0, 1.0]], W_aa=np.eye(2), delta_e_free=[0.0], delta_a_free=[0.0, 0.0],
        names=NAMES, **limits,
    )  # fmt: skip


MARGIN = np.full(2, 1e-6)


def active(p, effort=(0.0, 0.0), displacement=(0.0, 0.0)):
    values = np.array(effort), np.array(displacement)
    return active_limits(p.names, reached_ends(p.arrays[-1], *values, MARGIN, MARGIN))


def exceeded(p, effort=(0.0, 0.0), displacement=(0.0, 0.0)):
    values = {"effort": np.array(effort), "displacement": np.array(displacement)}
    return exceeded_limits(
        p.names, limits_of(p), values, {"effort": MARGIN, "displacement": MARGIN}
    )


def test_a_problem_without_limits_has_none():
    assert limits_of(problem()) == []


def test_ranges_are_the_intersection_of_bounds_rates_and_imposed_values():
    p = problem(
        effort_min=0.0,
        effort_max=[10.0, 2.0],
        effort_previous=[3.0, 1.0],
        effort_rate=[2.0, 5.0],
        displacement_max=[4.0, 4.0],
        displacement_previous=[1.0, 1.0],
        displacement_rate=[1.0, INF],
        displacement_fixed=[NAN, 3.0],
    )
    for ranges in (intersect(p, limits_of(p)), limit_ranges(p.arrays[-1])):
        assert ranges.tolist() == [[1.0, 0.0], [5.0, 2.0], [0.0, 3.0], [2.0, 3.0]]


def test_contradicting_limits_leave_an_empty_range():
    p = problem(displacement_max=2.0, displacement_previous=[5.0, 0.0], displacement_rate=1.0)
    for ranges in (intersect(p, limits_of(p)), limit_ranges(p.arrays[-1])):
        assert ranges[2:].tolist() == [[4.0, -1.0], [2.0, 1.0]]


def test_an_imposed_effort_never_leaves_the_bounds():
    lower, upper = effort_box(problem(effort_min=0.0, effort_max=5.0, effort_fixed=[7.0, NAN]))
    assert lower.tolist() == [5.0, 0.0]
    assert upper.tolist() == [5.0, 5.0]


def test_reached_limits_are_told_by_name():
    p = problem(
        effort_min=0.0, effort_max=9.0, displacement_max=4.0,
        displacement_previous=[1.0, 1.0], displacement_rate=0.5,
    )  # fmt: skip
    assert active(p, (0.0, 9.0), (1.0, 1.0)) == (
        "cable L0: effort at its minimum",
        "cable L1: effort at its maximum",
    )
    assert active(p, (1.0, 1.0), (1.5, 0.5)) == (
        "cable L1: displacement rate at its maximum",
        "cable L0: displacement rate at its maximum",
    )
    assert active(p, (1.0, 1.0), (4.0, 3.9)) == ("cable L0: displacement at its maximum",)


def test_a_cable_that_may_not_move_is_told_once():
    p = problem(displacement_rate=[0.0, INF])
    assert active(p) == ("cable L0: displacement rate at its maximum",)


def test_imposed_values_are_no_news():
    p = problem(effort_fixed=[1.0, NAN], displacement_fixed=[NAN, 2.0])
    assert active(p, (1.0, 0.0), (0.0, 2.0)) == ()
    assert exceeded(p, (1.0, 0.0), (0.0, 2.0)) == ()


def test_exceeded_limits_are_told_by_name_and_amount():
    p = problem(
        displacement_min=-1.0,
        displacement_max=4.0,
        displacement_previous=[0.0, 4.0],
        displacement_rate=[INF, 1.0],
        displacement_fixed=[NAN, 3.5],
        effort_previous=[1.0, 0.0],
        effort_rate=[0.5, INF],
        effort_fixed=[NAN, 2.0],
    )
    assert exceeded(p, (2.0, 1.0), (-1.25, 6.0)) == (
        "cable L0: effort rate 0.5 above its maximum",
        "cable L1: effort 1 below its imposed value",
        "cable L0: displacement 0.25 below its minimum",
        "cable L1: displacement 2 above its maximum",
        "cable L1: displacement rate 1 above its maximum",
        "cable L1: displacement 2.5 above its imposed value",
    )


def test_what_lies_within_the_margin_is_reached_but_not_exceeded():
    p = problem(displacement_max=4.0)
    beyond = (4.0 + 0.9e-6, 0.0)
    assert active(p, displacement=beyond) == ("cable L0: displacement at its maximum",)
    assert exceeded(p, displacement=beyond) == ()
