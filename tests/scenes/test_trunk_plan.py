"""The trunk's task for planning: it begins where the trunk hangs, and a ball is in its way."""

from pathlib import Path

import numpy as np
import pytest

from sofa_softctl.surrogate.models.robot import PlannedRobot
from sofa_softctl.surrogate.scene.plan_scene import start_outputs
from sofa_softctl.surrogate.scene.scene_task import make_task, read_task

SCENE = Path(__file__).parents[2] / "scenes" / "trunk.py"


@pytest.fixture(scope="module")
def trunk():
    """The robot, its task, and the outputs at rest; one equilibrium."""
    surrogate, make = read_task(SCENE, "round")
    robot = PlannedRobot(SCENE, **surrogate)
    start = start_outputs(robot)
    return (
        robot,
        start,
        lambda **given: make_task(make, robot.dynamics.layout, 100, given, lambda: start),
    )


@pytest.mark.parametrize("given", [{}, {"aside": -25.0}, {"radius": 8.0}, {"over": False}])
def test_a_ball_is_in_the_way_from_where_the_trunk_hangs(trunk, given):
    """The tip hangs 30 mm below its place in the mesh. On the straight way it would be half the
    ball's radius deep; start and goal are clear of the ball and its margin."""
    _, start, task_of = trunk
    task = task_of(**given)
    (path,) = task.outputs
    assert path.goal[0] == pytest.approx(start[list(task.probe.rows)])
    assert path.goal[0, 1] == pytest.approx(-30.3, abs=0.1)
    (ball,) = task.obstacles
    depth = -ball.shape.distance(path.goal)[0]
    assert depth.max() == pytest.approx(0.5 * given.get("radius", 6.0), rel=0.05)
    assert max(depth[0], depth[path.main].max()) < -ball.margin


@pytest.mark.soak
def test_the_trunk_rests_at_the_goal_under_tensions_half_of_the_largest(trunk):
    """Those at the end of the plan, rounded: the tip is within the goal's tolerance."""
    robot, start, task_of = trunk
    task = task_of()
    tensions = [1430.0, 0.0, 1240.0, 2620.0, 730.0, 280.0, 190.0, 650.0]
    found = robot.map(np.array(tensions) / robot.map.scale).value[-3:]
    assert np.linalg.norm(found - task.outputs[0].goal[-1]) < task.outputs[0].tolerance
    assert np.linalg.norm(found - start[list(task.probe.rows)]) > 30.0
