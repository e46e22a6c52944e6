"""Options of InverseController that are wrong: a sentence with the scene's line."""

import re
from pathlib import Path

import numpy as np
import pytest

from sofa_softctl.errors import SceneError
from sofa_softctl.scene.backend.backend import find_backend

find_backend("embedded")

import Sofa  # noqa: E402

from sofa_softctl import InverseController, SceneController, add_effector  # noqa: E402
from sofa_softctl.inverse.rows.grasp import Grasp  # noqa: E402

HERE = f"{Path(__file__).name}:"


@pytest.fixture
def made():
    """A scene with a cable and a tip, and a function that makes its controller."""

    class Made:
        root = Sofa.Core.Node("root")
        body = root.addChild("body")
        state = body.addObject("MechanicalObject", name="dofs", position=[[0.0] * 3])
        cable = body.addObject(
            "CableConstraint", name="cable", indices=[0], valueType="force", value=[0.0]
        )
        second = body.addObject(
            "CableConstraint", name="second", indices=[0], valueType="force", value=[0.0]
        )
        effector = add_effector(body)

        def controller(self, **options):
            given = {
                "root": self.root,
                "actuators": [self.cable],
                "effectors": [self.effector],
                "goal": [0.0, 0.0, 1.0],
            } | {
                name: value(self) if getattr(value, "late", False) else value
                for name, value in options.items()
            }
            return InverseController(**given)

    return Made()


def of(function):
    """A value that needs the scene."""
    function.late = True
    return function


def two_arguments(time, more):
    """No function of time alone."""


BAD = {
    "misspelt option": (
        {"effort_rates": 1.0},
        "no option 'effort_rates'. Did you mean 'effort_rate'",
    ),
    "misspelt motor speed": (
        {"motor_sped": 1.0},
        "Did you mean 'motor_speed'? It has: root, actuat",
    ),
    "option of nobody": (
        {"colour": "red"},
        "InverseController has no option 'colour'. It has: root",
    ),
    "SOFA's name of a limit": ({"maxForce": 1.0}, "has no option 'maxForce'"),
    "root": ({"root": "root"}, "root must be the root node of the scene, got 'root'."),
    "one actuator": (
        {"actuators": of(lambda s: s.cable)},
        "actuators must be a list of components, got the CableConstraint '/body/cable'. Write "
        "actuators=[cable].",
    ),
    "a node as actuator": (
        {"actuators": of(lambda s: [s.body])},
        "got the node '/body'. Give the component in the node, as addObject returned it.",
    ),
    "a text as actuator": ({"actuators": ["cable"]}, "a list of components, got 'cable'."),
    "actuators None": ({"actuators": None}, "actuators must be a list of components, got None."),
    "no actuator": ({"actuators": []}, "InverseController needs at least one actuator."),
    "a state as actuator": (
        {"actuators": of(lambda s: [s.state])},
        "cannot drive /body/dofs, a MechanicalObject: it drives CableConstraint",
    ),
    "one effector": (
        {"effectors": of(lambda s: s.effector)},
        "effectors must be a list of effectors, each what add_effector(node) returned, got a list "
        "of 3 that begins with the PositionConstraint '/body/effector_x'. Write "
        "effectors=[effector], with effector = add_effector(node).",
    ),
    "a node as effector": (
        {"effectors": of(lambda s: [s.body])},
        "got the node '/body'. Write effectors=[effector]",
    ),
    "a state as effector": (
        {"effectors": of(lambda s: [s.state])},
        "got the MechanicalObject '/body/dofs'.",
    ),
    "half an effector": (
        {"effectors": of(lambda s: [s.effector[:2]])},
        "got a list of 2 that begins with",
    ),
    "cables as effector": (
        {"effectors": of(lambda s: [[s.cable] * 3])},
        "a list of 3 that begins with the CableConstraint",
    ),
    "no effector": ({"effectors": []}, "each what add_effector(node) returned, got []."),
    "goal of two numbers": (
        {"goal": [1.0, 2.0]},
        "goal must be a point of shape (3,), or a function of time that returns one, got [1.0, ",
    ),
    "goals of two effectors": ({"goal": np.ones((2, 3))}, "got [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]"),
    "goal of text": ({"goal": "tip"}, "that returns one, got 'tip'."),
    "ragged goal": ({"goal": [1.0, [2.0, 3.0]]}, "goal must be a point of shape (3,)"),
    "goal None": ({"goal": None}, "goal must be a point of shape (3,)"),
    "goal NaN": ({"goal": [0.0, np.nan, 0.0]}, "goal must be a point of shape (3,)"),
    "a state as goal": (
        {"goal": of(lambda s: s.state)},
        "got the MechanicalObject '/body/dofs'. Give its position, such as state.position.value[0]",
    ),
    "goal of two arguments": (
        {"goal": two_arguments},
        "It does not take the arguments of goal(time): missing a required argument: 'more'.",
    ),
    "weight of the wrong shape": (
        {"weight": [1.0, 1.0, 0.0]},
        "weight must be finite numbers >= 0: one, or shape (1,) by effector, or (1, 3) by effector "
        "and axis, got [1.0, 1.0, 0.0].",
    ),
    "weight of text": ({"weight": "high"}, "weight must be finite numbers >= 0"),
    "negative weight": ({"weight": -1.0}, "weight must be finite numbers >= 0"),
    "energy of text": (
        {"energy": "low"},
        "InverseController: energy must be a number that is finite and >= 0, got 'low'.",
    ),
    "energy as array": ({"energy": [1e-3, 1e-3]}, "energy must be a number that is finite"),
    "negative energy": (
        {"energy": -1.0},
        "energy must be a number that is finite and >= 0, got -1.0",
    ),
    "energy NaN": ({"energy": np.nan}, "energy must be a number that is finite and >= 0, got nan"),
    "goal_distance 0": ({"goal_distance": 0.0}, "goal_distance must be a number > 0, got 0.0."),
    "effort_rate of three": (
        {"effort_rate": [1.0, 2.0, 3.0]},
        "effort_rate must be a number >= 0, one for all or one for the only actuator, got [1.0, ",
    ),
    "negative effort_rate": ({"effort_rate": -1.0}, "effort_rate must be a number >= 0"),
    "motor_speed 0": ({"motor_speed": 0.0}, "motor_speed must be a number > 0"),
    "effort_max of two": (
        {"effort_max": [1.0, 2.0]},
        "effort_max must be a number, one for all or",
    ),
    "effort_min NaN": ({"effort_min": np.nan}, "effort_min must be a number"),
    "displacement_max None": ({"displacement_max": None}, "displacement_max must be a number"),
    "solver None": ({"solver": None}, "solver must be a text, got None."),
    "solver that is none": ({"solver": "daqpp"}, "There is no QP solver 'daqpp'"),
    "contacts": (
        {"contacts": "coulom"},
        "contacts must be one of 'coulomb', 'sticking', 'forward', got 'coulom'. Did you mean",
    ),
    "contacts as bool": ({"contacts": False}, "contacts must be one of 'coulomb'"),
    "search": ({"search": "exact"}, "search must be a SearchOptions, got 'exact'."),
    "one grasp": (
        {"grasps": Grasp("/cup")},
        "grasps must be a list of Grasp objects, got Grasp(body='/cup'",
    ),
    "grasps of texts": ({"grasps": ["/cup"]}, "grasps must be a list of Grasp objects, got '/cup'"),
    "look_ahead": ({"look_ahead": True}, "look_ahead must be a LookAhead, got True."),
    "names of another number": (
        {"names": ["left", "right"]},
        "names must be a list of texts, one for each of the 1 actuators, got ['left', 'right']",
    ),
    "the same name twice": (
        {"actuators": of(lambda s: [s.cable, s.second]), "names": ["a", "a"]},
        "one for each of the 2 actuators, all different, got ['a', 'a']",
    ),
    "an empty name": ({"names": [""]}, "names must be a list of texts"),
    "an actuator twice": (
        {"actuators": of(lambda s: [s.cable, s.cable])},
        "InverseController drives '/body/cable' twice. Name it once.",
    ),
    "an effector twice": (
        {"effectors": of(lambda s: [s.effector, s.effector]), "goal": np.zeros((2, 3))},
        "each once, got '/body/effector_x twice'",
    ),
    "axes of an effector in another order": (
        {"effectors": of(lambda s: [s.effector[::-1]])},
        "got a list of 3 that begins with the PositionConstraint '/body/effector_z'",
    ),
    "one axis three times": (
        {"effectors": of(lambda s: [[s.effector[0]] * 3])},
        "each what add_effector(node) returned",
    ),
    "a Data of texts": (
        {"energy": of(lambda s: s.cable.valueType)},
        "got the Data 'valueType' with the value 'force'.",
    ),
    "names as text": ({"names": "l"}, "names must be a list of texts"),
    "names of numbers": ({"names": [1]}, "names must be a list of texts"),
    "goal_tolerance": (
        {"goal_tolerance": "1 mm"},
        "goal_tolerance must be a number > 0, one for all or one for the only effector, got ",
    ),
}


def test_the_options_themselves_are_good(made):
    made.controller()


@pytest.mark.parametrize("name", BAD)
def test_a_bad_option_is_refused_with_the_line(made, name):
    options, fragment = BAD[name]
    with pytest.raises(SceneError, match=re.escape(fragment)) as caught:
        made.controller(**options)
    if name not in ("no actuator", "a state as actuator", "an actuator twice"):
        assert HERE in str(caught.value)


def test_a_missing_option_is_named(made):
    with pytest.raises(SceneError, match=r"InverseController needs the option effectors, goal\.$"):
        InverseController(root=made.root, actuators=[made.cable])


class Stranger(SceneController):
    """A controller of somebody else, which hands on what it does not know."""

    def __init__(self, *args, gain=1.0, **kwargs):
        self_speed = kwargs.pop("speed", 1.0)
        super().__init__(*args, **kwargs)
        self.gain, self.speed = gain, self_speed


def test_a_strangers_controller_refuses_unknown_options_too(made):
    kept = Stranger(root=made.root, name="kept", gain=2.0, speed=3.0, listening=True)
    assert (kept.gain, kept.speed, kept.name.value) == (2.0, 3.0, "kept")
    with pytest.raises(
        SceneError, match=f"{HERE}.*: Stranger has no option 'gian'. Did you mean 'ga"
    ):
        Stranger(root=made.root, gian=2.0)
    with pytest.raises(
        SceneError, match="Stranger: root must be the root node of the scene, got N"
    ):
        Stranger(gain=2.0)


@pytest.mark.parametrize(
    "name",
    [
        "surrogate.scene.controller:SurrogateController",
        "library.playing.controller:LibraryController",
        "identification.online.controller:IdentificationController",
        "scene.control.playback:Playback",
        "scene.control.contacts:FrictionWithoutCreep",
    ],
)
def test_every_controller_of_the_package_refuses_unknown_options(made, name):
    from pkgutil import resolve_name

    kind = resolve_name(f"sofa_softctl.{name}")
    with pytest.raises(SceneError, match=rf"{HERE}.*: {kind.__name__} has no option 'rooot'. Did"):
        kind(root=made.root, rooot=1)


OTHERS = {
    "playback of one cable": (
        "scene.control.playback:Playback",
        {"actuators": of(lambda s: s.cable), "commands": "x.mcap"},
        "Playback: actuators must be a list of components, got the CableConstraint '/body/cable'. "
        "Write actuators=cables.",
    ),
    "plan on a node": (
        "surrogate.scene.controller:SurrogateController",
        {"lines": of(lambda s: [s.body]), "plan": "x.mcap"},
        "SurrogateController: lines must be a list of components, got the node '/body'. Give the ",
    ),
    "library on a text": (
        "library.playing.controller:LibraryController",
        {"lines": "cables", "library": "x.library", "task": lambda time: None},
        "LibraryController: lines must be a list of components, got 'cables'.",
    ),
    "no task": (
        "library.playing.controller:LibraryController",
        {"lines": of(lambda s: [s.cable]), "library": "x.library", "task": [1.0]},
        "LibraryController: task must be a function: task(time), got [1.0].",
    ),
    "task without time": (
        "library.playing.controller:LibraryController",
        {"lines": of(lambda s: [s.cable]), "library": "x.library", "task": lambda: None},
        "It does not take the arguments of task(time): too many positional arguments.",
    ),
    "negative budget": (
        "library.playing.controller:LibraryController",
        {
            "lines": of(lambda s: [s.cable]),
            "library": "x.library",
            "task": lambda time: None,
            "budget": -1.0,
        },
        "LibraryController: budget must be a number >= 0, got -1.0.",
    ),
}


@pytest.mark.parametrize("name", OTHERS)
def test_options_of_other_controllers_are_checked_too(made, name):
    from pkgutil import resolve_name

    home, options, fragment = OTHERS[name]
    given = {
        key: value(made) if getattr(value, "late", False) else value
        for key, value in options.items()
    }
    with pytest.raises(SceneError, match=re.escape(fragment)) as caught:
        resolve_name(f"sofa_softctl.{home}")(root=made.root, **given)
    assert HERE in str(caught.value)


def test_a_data_of_numbers_is_taken_as_an_option(made):
    assert made.controller(energy=made.root.dt).energy == made.root.dt.value


def test_nodes_of_one_name_give_actuators_of_different_names(made):
    cables = []
    for name in ("left", "right"):
        node = made.root.addChild(name).addChild("cable")
        node.addObject("MechanicalObject", position=[[0.0] * 3])
        cables.append(
            node.addObject(
                "CableConstraint", name="pull", indices=[0], valueType="force", value=[0.0]
            )
        )
    assert made.controller(actuators=cables).names == ("left/cable/pull", "right/cable/pull")


def test_an_output_may_be_a_number(made):
    one = SceneController(root=made.root, name="one")
    one.add_output("gain", 0.5, "A number.")
    assert one.gain.value == [0.5]
