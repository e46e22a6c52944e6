"""Obstacles at the start, at the goal, and on the way: gone round, or named."""

from dataclasses import replace

import numpy as np
import pytest

from sofa_softctl.status import Status
from sofa_softctl.surrogate.costs.costs import Effort, Following, Point, Smoothness
from sofa_softctl.surrogate.costs.line_dynamics import LineDynamics
from sofa_softctl.surrogate.costs.obstacles import Box, HalfSpace, Obstacle, Sphere
from sofa_softctl.surrogate.grid.affine_model import Affine
from sofa_softctl.surrogate.grid.embedding import Layout
from sofa_softctl.surrogate.planning.planner import plan
from sofa_softctl.surrogate.program.transcription import Limits, PlanningProblem

K = 40
START, GOAL = np.array([0.0, 0.0, 0.0]), np.array([20.0, 0.0, 0.0])


@pytest.fixture
def problem():
    """A point that two lines move in a plane, 10 by a unit of a, goes 20 aside; 0.05 a step.

    Goals of small weight lead straight to the last ones.
    """
    x_a = 10.0 * np.eye(3)[:, :2]
    gradient = np.concatenate((x_a, -10.0 * np.eye(2), x_a))
    robot = Affine(np.zeros(2), np.zeros(8), gradient)
    layout = Layout(nodes=1, lines=2, points=("tip",))
    dynamics = LineDynamics(robot, layout, np.full(3, 1e-3), dt=0.05, mass_damping=5.0)
    share = np.clip(np.linspace(0.0, 1.25, K), 0.0, 1.0)[:, None]
    return PlanningProblem(
        dynamics,
        K,
        np.zeros(2),
        Limits(u_max=4.0, u_min=-4.0),
        outputs=(
            Following(
                Point(layout.point("tip")),
                START + share * (GOAL - START),
                np.where(share[:, 0] < 1.0, 1e-3, 1.0),
            ),
        ),
        inputs=(Effort(1e-4), Smoothness(1e-2)),
    )


def tip_of(problem, found):
    return problem.dynamics.embedding.at(found.a).value[:, -3:]


def clearance(problem, found, shape):
    """Least distance of the straight ways between instants, from 50 samples each."""
    p = tip_of(problem, found)
    points = [p[:-1] + s * np.diff(p, axis=0) for s in np.linspace(0.0, 1.0, 51)]
    return min(float(shape.distance(each)[0].min()) for each in points)


def with_shapes(problem, *shapes, weight=10.0, margin=0.5):
    tip = problem.outputs[0].probe
    return replace(problem, obstacles=tuple(Obstacle(tip, s, weight, margin) for s in shapes))


# Before planning ----------------------------------------------------------------------------------


def test_a_start_inside_an_obstacle_is_refused_with_its_depth(problem):
    inside = with_shapes(problem, Box((5, 5, 5), (6, 6, 6)), Sphere((1.0, 0.0, 0.0), 2.0))
    said = r"the start \[0, 0, 0\] is 1 inside obstacle 2 \(Sphere, center \[1, 0, 0\], radius 2\)"
    with pytest.raises(ValueError, match=said):
        plan(inside)


def test_a_start_inside_a_margin_alone_is_planned_from_and_named(problem):
    found = plan(with_shapes(problem, Sphere((-1.0, 0.0, 0.0), 0.8)))
    assert found.status is Status.SOLVED
    assert found.inside == 0.0


def test_goals_inside_an_obstacle_are_refused_with_the_depth_of_the_last(problem):
    """The main ones; those of small weight that lead there may be inside, as in other tests."""
    said = r"goals are inside obstacle 1 .*: the last one, \[20, 0, 0\], by 1\. Move the goals"
    with pytest.raises(ValueError, match=said):
        plan(with_shapes(problem, Sphere((19.0, 0.0, 0.0), 2.0)))


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        ({"rate": 0.0}, "rate must be positive. Got: 0.0"),
        ({"rate": np.nan}, "rate must be a number"),
        ({"a_min": 1.0, "a_max": -1.0}, "a_min is above a_max. Got: 1.0 and -1.0"),
        ({"a_min": 0.5}, r"the start a_first = \[0, 0\] is outside .* from \[0.5, 0.5\]"),
        ({"rate": 0.1, "u_min": 1.0}, "by up to 1, and the rate allows a change of 0.005"),
    ],
)
def test_limits_that_leave_no_motion_are_refused(problem, limits, said):
    given = replace(problem, limits=replace(problem.limits, **limits), u_before=np.zeros(2))
    with pytest.raises(ValueError, match=said):
        plan(given)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Sphere((0, 0, 0), -1.0), "positive radius"),
        (lambda: HalfSpace((0, 0, 0), 1.0), "normal that is not 0"),
        (lambda: Box((0, 0, 2), (1, 1, 1)), "lower must not be above upper"),
        (lambda: Obstacle(Point((0, 1, 2)), Sphere((0, 0, 0), 1.0), 0.0), "positive weight"),
        (lambda: Obstacle(Point((0, 1, 2)), Sphere((0, 0, 0), 1.0), 1.0, -1.0), "margin -1.0"),
    ],
)
def test_obstacles_that_cannot_be_are_refused(make, said):
    with pytest.raises(ValueError, match=said):
        make()


# Round obstacles ----------------------------------------------------------------------------------


@pytest.mark.soak(keep=1)
@pytest.mark.parametrize("radius", [1.0, 2.0, 5.0])
def test_a_ball_right_on_the_way_is_gone_round(problem, radius):
    """By symmetry no step from the straight way leads aside: another initial motion does."""
    ball = Sphere((10.0, 0.0, 0.0), radius)
    found = plan(with_shapes(problem, ball))
    assert found.status is Status.SOLVED
    assert tip_of(problem, found)[-1] == pytest.approx(GOAL, abs=0.01)
    assert clearance(problem, found, ball) > 0.0
    assert found.violation < 1e-6
    assert found.iterations < 60


def test_a_wall_is_gone_round_at_its_near_end_and_not_jumped_through(problem):
    """Without ways between instants the point passes 0.4 of wall within a step."""
    wall = Box((8.0, -9.0, -1.0), (8.4, 5.0, 1.0))
    smooth = replace(problem, inputs=(Smoothness(1.0),))
    found = plan(with_shapes(smooth, wall))
    assert found.status is Status.SOLVED
    assert clearance(problem, found, wall) > 0.0
    p = tip_of(problem, found)
    assert p[-1] == pytest.approx(GOAL, abs=0.01)
    assert 5.0 < p[:, 1].max() < 7.0


def test_a_gap_wider_than_both_margins_is_passed(problem):
    low, high = Box((8, -99, -1), (10, -0.6, 1)), Box((8, 0.6, -1), (10, 99, 1))
    found = plan(with_shapes(problem, low, high))
    assert found.status is Status.SOLVED
    assert min(clearance(problem, found, each) for each in (low, high)) >= 0.5 - 1e-6


# No way round -------------------------------------------------------------------------------------


def test_a_gap_narrower_than_both_margins_blocks_the_way_and_is_named(problem):
    low, high = Box((8, -99, -1), (10, -0.3, 1)), Box((8, 0.3, -1), (10, 99, 1))
    found = plan(with_shapes(problem, low, high))
    assert found.status is Status.CLOSEST_FEASIBLE
    assert found.inside == 0.0
    for number in (1, 2):
        assert f"The way is blocked: obstacle {number} (Box," in found.message
    assert "make the margin smaller" in found.message


@pytest.mark.soak
@pytest.mark.parametrize("thickness", [0.05, 0.4, 3.0])
def test_a_wall_without_end_is_never_solved(problem, thickness):
    """It stops in front, or where the weight is too small for that, the jump is named."""
    wall = Box((10.0, -99.0, -1.0), (10.0 + thickness, 99.0, 1.0))
    found = plan(with_shapes(problem, wall))
    assert found.status in (Status.CLOSEST_FEASIBLE, Status.INFEASIBLE)
    assert "obstacle 1 (Box" in found.message
    heavy = plan(with_shapes(problem, wall, weight=1e3))
    assert heavy.status is Status.CLOSEST_FEASIBLE
    assert "The way is blocked" in heavy.message
    assert tip_of(problem, heavy)[-1, 0] == pytest.approx(9.5, abs=0.01)
    assert heavy.iterations < 200


@pytest.mark.soak
def test_an_obstacle_of_too_small_a_weight_gives_no_plan_to_execute(problem):
    found = plan(with_shapes(problem, Sphere((10.0, 0.0, 0.0), 5.0), weight=1e-4))
    assert found.status is Status.INFEASIBLE
    assert found.inside == pytest.approx(5.0, abs=0.1)
    assert "obstacle 1 (Sphere, center [10, 0, 0], radius 5) at time" in found.message
    assert "between instants" in found.message and "Do not execute it" in found.message
    assert "a larger weight than 0.0001" in found.message


@pytest.mark.soak
def test_a_plan_inside_a_margin_alone_is_solved_and_says_so(problem):
    """Two balls leave 1 between them, and ask for 1.5 on either side, at little weight."""
    balls = Sphere((10.0, -4.5, 0.0), 4.0), Sphere((10.0, 4.5, 0.0), 4.0)
    found = plan(with_shapes(problem, *balls, weight=0.01, margin=1.0))
    assert found.status is Status.SOLVED
    assert found.inside == 0.0
    assert 0.4 < found.violation < 1.0
    assert "inside an obstacle's margin of 1, not in the obstacle itself" in found.message
    assert "gap between obstacles 1 and 2 may be narrower" in found.message


# Limits -------------------------------------------------------------------------------------------


def test_goals_beyond_the_limits_name_the_limit(problem):
    """u = 1 pulls the point 10 aside, and the goal is 20; a rate of 0.5 leaves 0.975 in 1.95."""
    near = replace(problem, outputs=(replace(problem.outputs[0], tolerance=1.0),))
    slow = Limits(u_max=4.0, u_min=-4.0, rate=0.5)
    found = plan(replace(near, limits=slow, u_before=np.zeros(2)))
    assert found.status is Status.CLOSEST_FEASIBLE
    assert "rate = 0.5 (line 1, in 38 of 38 steps)" in found.message
    assert "which allows a change of 0.975 in the 1.95 of the plan" in found.message
    found = plan(replace(near, limits=Limits(u_max=4.0, u_min=-4.0, a_max=1.0)))
    assert found.status is Status.CLOSEST_FEASIBLE
    assert "a_max = 1 (line 1, in" in found.message
    assert found.miss == pytest.approx(10.0, abs=1e-3)


@pytest.mark.parametrize("aside", [0.0, 0.1])
def test_a_ball_smaller_than_a_step_is_gone_round_and_not_jumped_over(problem, aside):
    """The initial motion has an instant before it and the next one behind it."""
    free = plan(problem)
    p = tip_of(problem, free)
    middle = 0.5 * (p[K // 2] + p[K // 2 + 1])
    ball = Sphere((float(middle[0]), float(middle[1]) + aside, 0.0), 0.2)
    assert ball.distance(p)[0].min() > 0.0 > clearance(problem, free, ball)
    walled = with_shapes(problem, ball, weight=1e3, margin=0.0)
    found = plan(walled, free.u, free.a)
    assert found.status is Status.SOLVED
    assert clearance(problem, found, ball) > -1e-3  # half of 1e-4 of the way of 20
    assert p[-1] == pytest.approx(GOAL, abs=0.01)


@pytest.mark.soak
def test_an_initial_motion_that_jumps_through_a_wall_is_given_up(problem):
    """Straight through 0.3 of wall in a step of 0.65, both sides of its margin: no way back."""
    wall = Box((10.0, -99.0, -1.0), (10.3, 99.0, 1.0))
    free = plan(problem)
    found = plan(with_shapes(problem, wall, weight=1e3, margin=0.1), free.u, free.a)
    assert found.status is Status.CLOSEST_FEASIBLE
    assert "The way is blocked" in found.message
    assert clearance(problem, found, wall) > 0.0
