"""What a scene file says for planning, and what it is told where that is wrong."""

import numpy as np
import pytest

from sofa_softctl.errors import ParameterError, SceneError
from sofa_softctl.plugins import user_frames
from sofa_softctl.surrogate.costs.costs import Effort, Following, Point
from sofa_softctl.surrogate.costs.obstacles import HalfSpace, Obstacle
from sofa_softctl.surrogate.grid.embedding import Layout
from sofa_softctl.surrogate.models.robot import PlannedRobot
from sofa_softctl.surrogate.models.task import Task
from sofa_softctl.surrogate.scene.plan_scene import prepare_scene
from sofa_softctl.surrogate.scene.scene_task import at_fault, make_task, read_task

LAYOUT = Layout(nodes=1, lines=1)
SURROGATE = "SURROGATE = {'scale': 1.0}"


@pytest.fixture
def scene(tmp_path):
    def write(*lines):
        file = tmp_path / "robot.py"
        file.write_text("\n".join(("def createScene(root): pass", *lines, "")))
        return file

    return write


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        (["TASKS = {'a': print}"], "has no dictionary SURROGATE, which says how the map"),
        ([SURROGATE], "It has: none"),
        ([SURROGATE, "TASKS = ['a']"], "the dictionaries SURROGATE and TASKS"),
        ([SURROGATE, "TASKS = {'b': print}"], "It has: b"),
        (["SURROGATE = {}", "TASKS = {'a': print}"], "SURROGATE needs 'scale', the tension"),
        (["SURROGATE = {}", "TASKS = None"], "It has: none"),
        (["SURROGATE = 3", "TASKS = {'a': print}"], "has no dictionary SURROGATE"),
        (
            ["SURROGATE = {'scales': 1.0}", "TASKS = {'a': print}"],
            "SURROGATE has no 'scales'. Known: scale, spacing, eta, tolerance, grid, points,",
        ),
    ],
)
def test_a_scene_file_without_what_planning_needs(scene, lines, told):
    with pytest.raises(SceneError, match=told):
        read_task(scene(*lines), "a")


def test_a_number_that_cannot_be_is_told_with_the_file(scene):
    file = scene("SURROGATE = {'scale': 1.0, 'eta': 0.0}", "TASKS = {'a': print}")
    told = "robot.py': SURROGATE: eta must be a number above 0.0001. Got: 0.0"
    with pytest.raises(SceneError, match=told), prepare_scene(file, "a"):
        pass
    with pytest.raises(ValueError, match="scale must be a positive number. Got: 'much'"):
        PlannedRobot(file, scale="much")


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("scale", [1000.0], "a positive number"),
        ("spacing", 1e-9, "a number above 0.0001"),
        ("tolerance", "x", "a positive number, or None"),
        ("points", "/arm/tip", "a list of paths of nodes"),
        ("points", None, "a list of paths of nodes"),
        ("u_max", [1.0, -1.0], "a positive number, or one for each line"),
        ("reach", float("nan"), "a number that is not negative"),
        ("rate", True, "a positive number, or one for each line"),
        ("line_stiffness", "no", "True or False"),
        ("coordinates", 100, "a positive multiple of three"),
        ("grid", "dense", "one of auto, cells, sparse"),
    ],
)
def test_arguments_of_the_wrong_type_or_value_are_named(name, value, expected):
    with pytest.raises(ValueError, match=f"^{name} must be {expected}.* Got: "):
        PlannedRobot("none.py", **{"scale": 1.0, name: value})


def test_a_task_that_is_none_is_told():
    with pytest.raises(ValueError, match="must return a Task. Got: NoneType"):
        make_task(lambda layout, share: None, LAYOUT, 5)


def test_shares_of_the_time_go_from_0_to_1():
    def make(layout, share):
        assert share.tolist() == [0.0, 0.25, 0.5, 0.75, 1.0]
        return Task(probe=Point((0, 1, 2)))

    make_task(make, LAYOUT, 5)


def test_a_task_that_asks_for_its_start_gets_it_and_users_do_not_give_it():
    point = Point((0, 1, 2))

    def make(layout, share, start, by=1.0):
        return Task(probe=point, outputs=(Following(point, start.reshape(1, 3), by),))

    def without(layout, share, start=5.0):
        return Task(probe=point, inputs=(Effort(start),))

    outputs = np.arange(3.0)
    term = make_task(make, LAYOUT, 5, {"by": "2"}, lambda: outputs).outputs[0]
    assert np.array_equal(term.goal[0], outputs) and term.weight == 2.0
    with pytest.raises(ParameterError, match="no parameter 'start'. It takes: by=1.0"):
        make_task(make, LAYOUT, 5, {"start": "2"}, lambda: outputs)
    made = make_task(without, LAYOUT, 5, {"start": "2"}, lambda: outputs)
    assert made.inputs == (Effort(2.0),)


def test_a_term_in_the_wrong_place_is_refused():
    point = Point((0, 1, 2))
    wall = Obstacle(point, HalfSpace((0.0, 0.0, 1.0), 0.0), 1.0)
    with pytest.raises(ValueError, match="outputs must be costs of the robot's outputs.*Obstacle"):
        Task(probe=point, outputs=(wall,))
    with pytest.raises(ValueError, match="obstacles must be obstacles.*Got: Effort"):
        Task(probe=point, obstacles=(Effort(1.0),))
    with pytest.raises(ValueError, match="inputs must be costs of the tensions"):
        Task(probe=point, inputs=(wall,))


def test_a_fault_in_a_task_is_told_with_its_line(scene):
    """No traceback: the message, and the line of the scene file."""
    file = scene(SURROGATE, "def a(layout, share):", "    layout.point('/tip')", "TASKS = {'a': a}")
    _, make = read_task(file, "a")
    with pytest.raises(SceneError, match="task 'a': There is no point '/tip'") as caught:
        with at_fault("task 'a'"):
            make_task(make, LAYOUT, 5)
    told = [frame for frame in user_frames(caught.value) if frame.filename == str(file)]
    assert [frame.lineno for frame in told] == [4]
