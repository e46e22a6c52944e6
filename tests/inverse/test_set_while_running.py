"""Options of an InverseController that are set while the scene runs: goals, limits, weights."""

import numpy as np
import pytest

from sofa_softctl.errors import SceneError
from sofa_softctl.scene.backend.backend import find_backend
from sofa_softctl.scene.copies.rollout import copy_of
from sofa_softctl.scene.session.session import Session
from sofa_softctl.testing.scene import small_scene

find_backend("embedded")

from sofa_softctl.inverse.controller import InverseController  # noqa: E402
from sofa_softctl.inverse.rows.effectors import add_effector  # noqa: E402
from sofa_softctl.scene.control.controller import SceneController  # noqa: E402

START, ASIDE = [5.0, 5.0, 40.0], [5.4, 5.0, 40.0]


def scene(root, goal=None, **options):
    small = small_scene(root)
    target = root.addChild("target")
    target.addObject("MechanicalObject", name="dofs", template="Vec3", position=[START])
    root.addObject(
        InverseController(
            name="inverse",
            root=root,
            actuators=small.cables,
            effectors=[add_effector(small.tip.getContext())],
            goal=START if goal is None else goal,
            weight=[[1.0, 0.0, 0.0]],
            **options,
        )
    )


def sideways(session):
    """How far the tip is from x = 5.4, to which the goal moves."""
    return abs(float(session.root.inverse.tip.value[0, 0]) - ASIDE[0])


def by_data(session):
    session.root.inverse.goal.value = [ASIDE]


def by_attribute(session):
    session.root.inverse.goal = [ASIDE]


def by_function(session):
    session.root.inverse.goal = lambda time: np.array(ASIDE)


def by_link(session):
    session.root.inverse.goal = "@/target/dofs.position"
    session.root.target.dofs.position.value = [ASIDE]


@pytest.mark.parametrize("set_goal", [by_data, by_attribute, by_function, by_link])
def test_a_goal_that_is_set_is_taken_from_then_on(set_goal):
    session = Session(scene)
    session.step(3)
    assert sideways(session) > 0.3
    set_goal(session)
    session.step(40)
    assert sideways(session) < 0.01


@pytest.mark.parametrize("path", ["@/target/dofs.position", "@target/dofs.position"])
def test_a_goal_follows_a_data(path):
    session = Session(scene, parameters={"goal": path})
    session.step(3)
    assert sideways(session) > 0.3
    session.root.target.dofs.position.value = [ASIDE]
    session.step(40)
    assert sideways(session) < 0.01


def test_a_link_that_leads_nowhere_is_named():
    session = Session(scene, parameters={"goal": "@/target/dof.position"})
    with pytest.raises(SceneError, match="goal='@/target/dof.position' leads to no Data"):
        session.step()


def test_a_goal_of_another_shape_is_an_error():
    session = Session(scene)
    session.step()
    session.root.inverse.goal.value = [ASIDE, ASIDE]
    with pytest.raises(SceneError, match=r"goal must be a point of shape \(3,\)"):
        session.step()


def test_a_goal_that_was_set_stays_after_a_reset_and_comes_back_with_a_snapshot():
    session = Session(scene)
    session.step(2)
    before = session.snapshot()
    by_data(session)
    session.step(2)
    after = session.snapshot()
    session.restore(before)
    session.step()
    assert session.root.inverse.goal.value[0, 0] == START[0]
    session.restore(after)
    session.step()
    assert session.root.inverse.goal.value[0, 0] == ASIDE[0]
    session.reset()
    session.step()
    assert session.root.inverse.goal.value[0, 0] == ASIDE[0]


def test_a_copy_of_the_scene_has_the_goal_that_was_set():
    session = Session(scene)
    session.step()
    by_data(session)
    session.step()
    copied = copy_of(session.root)
    copied.set_state(copied.state())
    copied.step()
    assert copied.twin("/inverse").goal.value[0, 0] == ASIDE[0]


def test_options_that_are_set_take_effect_as_from_the_start():
    """The robot stands, so that the next step is that of a scene that had them from the start."""
    given = {"effort_max": 30.0, "effort_rate": 20.0, "energy": 0.1, "goal_distance": 0.1}
    first = Session(scene, parameters={"goal": ASIDE, **given})
    later = Session(scene, parameters={"goal": ASIDE})
    for name, value in given.items():
        setattr(later.root.inverse, name, value)
    for session in (first, later):
        session.step(5)
    assert np.ptp(first.root.inverse.effort.value) > 0.0
    assert later.root.inverse.effort.value.tobytes() == first.root.inverse.effort.value.tobytes()


def test_options_that_are_set_are_checked():
    inverse = Session(scene).root.inverse
    with pytest.raises(SceneError, match="energy must be a number that is finite and >= 0"):
        inverse.energy = -1.0
    with pytest.raises(SceneError, match="weight must be finite numbers"):
        inverse.weight = [1.0, 2.0]
    with pytest.raises(SceneError, match="actuators must be set when the controller is made"):
        inverse.actuators = []


def test_an_option_that_nothing_reads_later_is_an_error():
    """A controller that keeps something else of it than an attribute of its name."""

    class Pull(SceneController):
        def __init__(self, *, root, name, slope):
            super().__init__(root=root, name=name)
            self.slopes = [slope] * 3

    root = Session(lambda root: root.addObject(Pull(root=root, name="pull", slope=1.0))).root
    with pytest.raises(SceneError, match="slope must be set when the controller is made: nothing"):
        root.pull.slope = 2.0
    root.pull.gain = 2.0  # an attribute of its own
