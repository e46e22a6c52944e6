"""The static test of reach: it refuses what no shape reaches, and nothing else."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sofa_softctl.errors import ReachError, TimeLimitError
from sofa_softctl.status import Status
from sofa_softctl.surrogate.costs.costs import Following
from sofa_softctl.surrogate.models.reach import check_reach
from sofa_softctl.surrogate.scene.plan_scene import plan_scene, prepare_scene

SCENES = Path(__file__).parents[2] / "scenes"
SCENE = SCENES / "planar_arm.py"
K = 30


@pytest.fixture(scope="module")
def ready():
    with prepare_scene(SCENE, "reach", instants=K) as prepared:
        yield prepared


def goal(ready, position, **changes):
    """The planning problem with one goal at the end, 0.5 allowed."""
    weight = np.where(np.arange(K) == K - 1, 1.0, 1e-3)
    term = Following(ready.task.probe, np.tile(position, (K, 1)), weight, tolerance=0.5, **changes)
    return replace(ready.robot.problem(ready.task, K), outputs=(term,))


@pytest.mark.parametrize("tension", [0.2, 0.5, 0.9])
def test_where_the_robot_rests_is_within_reach(ready, tension):
    """Shapes at rest, from the exact map, from a start without a guess."""
    robot = ready.robot
    u = np.zeros(robot.map.dimension)
    u[0] = tension
    rows = list(ready.task.probe.rows)
    first = robot.map.layout.length.start - robot.dynamics.layout.length.start
    position = robot.map(u).value[[row + first for row in rows]]
    check_reach(robot, goal(ready, position))


def test_what_no_shape_reaches_is_refused_with_the_nearest_place(ready):
    """The tip of an arm cannot be farther from its base than the arm is long; with that axis free
    it can be above any place."""
    position = np.array(ready.task.outputs[0].goal[0])
    along = position / np.linalg.norm(position)
    far = position + 100.0 * along
    with pytest.raises(ReachError, match=r"of instant 30 is out of reach.*0.5 is allowed") as told:
        check_reach(ready.robot, goal(ready, far))
    assert "the robot comes no nearer than" in str(told.value)
    free = tuple(np.where(np.abs(along) > 0.9, 0.0, 1.0))
    check_reach(ready.robot, goal(ready, far, axes=free))
    check_reach(ready.robot, replace(goal(ready, far), outputs=()))


def test_a_scenes_task_out_of_reach_is_refused_unless_it_is_wanted():
    """The goal goes a quarter round the joint, farther than the finger bends."""
    arguments = (SCENES / "finger.py", "bend")
    options = {"instants": K, "task_parameters": {"bend": 31.0}}
    with pytest.raises(ReachError, match="task 'bend': the goal .* --closest or closest=True"):
        plan_scene(*arguments, **options)
    with prepare_scene(*arguments, closest=True, **options) as ready:
        assert ready.plan().status is Status.CLOSEST_FEASIBLE


def test_without_time_there_is_no_plan():
    with pytest.raises(TimeLimitError):
        plan_scene(SCENE, "reach", instants=K, timeout=1e-9)
