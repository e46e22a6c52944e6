"""Does a robot fit a scene?"""

import math
import tomllib
from dataclasses import replace

import pytest

from sofa_softctl.bridge.config.file import parse_robot
from sofa_softctl.bridge.config.fit import fit, fit_scene
from sofa_softctl.bridge.config.scene_actuators import SceneActuator, actuators_of
from sofa_softctl.scene.session.session import Session
from sofa_softctl.units import Units
from tests.bridge.config.robots import TEXT

MM, M = Units("mm", "kg", "s"), Units("m", "kg", "s")


def robot(*edits):
    text = TEXT
    for old, new in edits:
        assert old in text
        text = text.replace(old, new)
    return parse_robot(text, "robot.toml")


def scene(*names, **changes):
    """Actuators with limits like those of the file, in mm, kg, s: kPa are kPa."""
    found = {
        "left": SceneActuator("left", "force", "length", (0.0, 1e4), (0.0, 60.0), 0.4),
        "right": SceneActuator("right", "pressure", "volume", (0.0, 50.0), (0.0, 1e3), math.inf),
        "bend": SceneActuator("bend", "torque", "angle", (-9, 9), (-0.1, 0.5), math.inf),
    }
    return [replace(found[name], **changes.get(name, {})) for name in names or found]


def test_a_scene_with_the_same_limits_fits():
    found = fit(robot(), scene(), MM, 0.01)
    assert (found.errors, found.warnings) == ([], [])
    left, right, bend = found.matches
    assert found.unlimited == ["right", "bend"]
    assert (left.source, left.factor, left.index) == ("displacement", 1.0, 0)
    assert (right.source, right.factor) == ("effort", 1.0)
    assert bend.factor == pytest.approx(180.0 / math.pi)
    assert (bend.low, bend.high) == pytest.approx((-0.1 * bend.factor, 0.5 * bend.factor))


def test_limits_in_another_unit_are_asked_about():
    """The robot's 60 mm, and a scene in which 0.5 mm are the most."""
    found = fit(robot(), scene(left={"displacement_limits": (0.0, 0.5)}), MM, 0.01)
    (warning,) = found.warnings
    assert warning.startswith("'left': the robot's limits, 0 to 60 mm, are 120 times those of the ")


def test_a_cable_that_only_pulls_needs_no_least():
    """It yields to the motion, for which the robot's limits leave some slack."""
    limits = {"left": {"displacement_limits": (-math.inf, 60.0)}}
    slack = robot(("position = [0.0, 60.0]", "position = [-2.0, 60.0]"))
    assert fit(slack, scene(**limits), MM, 0.01).warnings == []
    (warning,) = fit(robot(), scene(**limits), MM, 0.01).warnings
    assert "limits are wider than the robot's: up to 60 mm, without a least" in warning


def test_a_name_that_toml_must_quote_is_quoted():
    found = fit(robot(), [*scene(), replace(scene("left")[0], name="arm/j0")], MM, 0.01)
    (error,) = found.errors
    assert error.endswith("Add [actuators.'arm/j0'].")
    table = error.partition("Add ")[2].rstrip(".")
    assert "actuators" in tomllib.loads(table)


def test_units_of_the_scene_are_converted():
    """A scene in m, kg, s has pressures in Pa."""
    changes = {"left": {"displacement_limits": (0.0, 0.06)}, "right": {"effort_limits": (0, 5e4)}}
    found = fit(robot(), scene(**changes), M, 0.01)
    assert [match.factor for match in found.matches[:2]] == pytest.approx([1e3, 1e-3])
    assert found.matches[1].high == pytest.approx(50.0)


def test_the_order_of_the_scene_does_not_matter():
    found = fit(robot(), scene("bend", "left", "right"), MM, 0.01)
    assert [match.index for match in found.matches] == [1, 2, 0]


@pytest.mark.parametrize(
    ("actuators", "units", "dt", "says"),
    [
        (scene("left", "right"), MM, 0.01, "got 'bend'. Rename or remove it."),
        (
            [*scene(), replace(scene()[0], name="up")],
            MM,
            0.01,
            "'up' has no table. Add [actuators.u",
        ),
        ([*scene("right", "bend"), replace(scene()[0], name="lefty")], MM, 0.01, "mean 'lefty'?"),
        (scene(), None, 0.01, 'Add a line such as UNITS = "mm, kg, s"'),
        (scene(left={"displacement": "volume"}), MM, 0.01, "force or volume; got length"),
        (scene(left={"displacement_limits": (70.0, 90.0)}), MM, 0.01, "have nothing in common"),
        (scene(), MM, 0.6, "more than a step of the scene, 0.6 s, got 0.5 s"),
    ],
)
def test_what_does_not_fit_is_an_error(actuators, units, dt, says):
    found = fit(robot(), actuators, units, dt)
    assert any(says in text for text in found.errors)


@pytest.mark.parametrize(
    ("changes", "dt", "says"),
    [
        (
            {"displacement_limits": (0.0, 70.0)},
            0.01,
            "robot's: 0 to 70 mm; the robot has 0 to 60 mm",
        ),
        ({"displacement_limits": (-math.inf, 60.0)}, 0.01, "up to 60 mm, without a least"),
        ({"displacement_limits": (0.0, math.inf)}, 0.01, "from 0 mm, without a greatest"),
        ({"displacement_step": 0.5}, 0.01, "ask for 50 mm/s, the robot moves at most 40"),
        (
            {"displacement_step": 12.0},
            1.0 / 3.0,
            "12 mm in a step, which is more than 'jump', 10 mm",
        ),
        ({"displacement_step": 0.2}, 0.005, "makes 200 steps a second, the robot takes 100"),
    ],
)
def test_what_users_should_know_is_a_warning(changes, dt, says):
    found = fit(robot(("lookahead = 2", "lookahead = 4")), scene(left=changes), MM, dt)
    assert found.errors == []
    assert len(found.warnings) == 1 and says in found.warnings[0]


@pytest.mark.parametrize(("lookahead", "dt", "write"), [(2, 0.005, 4), (1, 0.01, 2), (2, 0.003, 7)])
def test_a_reserve_of_less_than_two_periods_is_a_warning(lookahead, dt, write):
    """At 100 Hz; what it says to write is enough."""

    def warnings(steps):
        found = fit(robot(("lookahead = 2", f"lookahead = {steps}")), scene(), MM, dt)
        return [text for text in found.warnings if "less than two periods" in text]

    assert len(warnings(lookahead)) == 1
    assert warnings(lookahead)[0].endswith(f"Write lookahead = {write}.")
    assert warnings(write) == [] and len(warnings(write - 1)) == 1


def test_actuators_with_the_same_warning_share_it():
    found = fit(robot(), scene(left={}, right={}), MM, 0.01)
    for name in ("left", "right"):
        found.warn(name, "one thing.")
        found.warn(name, f"another, of {name}.")
    assert found.warnings == [
        "'left', 'right': one thing.",
        "'left': another, of left.",
        "'right': another, of right.",
    ]


def cables(root, beam):
    """A scene with two cables under inverse control, whose names are those of their nodes."""
    import numpy as np

    from sofa_softctl import InverseController, add_effector

    node = beam(root, cables=2)
    for i in range(2):
        limits = node.getChild(f"cable_{i}").cable
        limits.maxPositiveDisp.value = 30.0
        limits.minForce.value = 0.0
    tip = node.addChild("tip")
    tip.addObject("MechanicalObject", position=[[10.0, 10.0, 90.0]])
    effector = add_effector(tip)
    tip.addObject("BarycentricMapping")
    actuators = [node.getChild(f"cable_{i}").cable for i in range(2)]
    root.addObject(
        InverseController(
            root=root,
            actuators=actuators,
            effectors=[effector],
            goal=np.array([10.0, 10.0, 88.0]),
            effort_max=[500.0, np.inf],
        )
    )


def test_limits_are_read_from_a_scene(beam):
    with Session(lambda root: cables(root, beam), backend="embedded") as session:
        one, two = actuators_of(session.root)
    assert (one.name, one.quantities) == ("cable_0", ("force", "length"))
    assert one.displacement_limits == (-math.inf, 30.0)
    assert one.effort_limits == (0.0, 500.0) and two.effort_limits == (0.0, math.inf)


def test_a_scene_without_a_controller_is_known_by_its_components(beam):
    with Session(lambda root: beam(root, cables=2) and None, backend="embedded") as session:
        assert [each.name for each in actuators_of(session.root)] == ["cable_0", "cable_1"]


@pytest.mark.parametrize("slow", ["refuse", "wait"])
def test_a_scene_slower_than_real_time(slow, tmp_path):
    """One step of 1 us takes longer than that on any computer."""
    file = tmp_path / "scene.py"
    file.write_text(
        "UNITS = 'mm, kg, s'\n"
        "def createScene(root):\n"
        "    root.dt = 1e-6\n"
        "    node = root.addChild('left')\n"
        "    node.addObject('MechanicalObject', position=[[0, 0, 0], [0, 0, 9]])\n"
        "    node.addObject('CableConstraint', indices=[0, 1], pullPoint=[0, 0, 0])\n"
    )
    text = TEXT[: TEXT.index("[actuators.right]")].replace('"wait"', f'"{slow}"')
    with Session(file, backend="embedded") as session:
        found, speed = fit_scene(parse_robot(text, "robot.toml"), session, steps=3)
    assert 0.0 < speed < 1.0
    assert "it may move to 60 mm, and the scene is 9 mm long: is that" in str(found.warnings)
    said = found.errors if slow == "refuse" else found.warnings
    assert any("slower than real time here" in each for each in said)
    assert bool(found.errors) == (slow == "refuse")
