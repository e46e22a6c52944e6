"""What drives a robot: controllers, lists, whole scenes; and what does not fit."""

import contextlib

import numpy as np
import pytest

from sofa_softctl import HardwareBridge, InverseController, Playback, add_effector
from sofa_softctl.errors import ConfigError, SceneError, SoftctlError
from sofa_softctl.record.record import read_record
from sofa_softctl.runtime.helper.message import warnings_as_errors
from sofa_softctl.scene.control.controller import SceneController
from sofa_softctl.scene.session.session import Session
from sofa_softctl.testing.scene import small_scene
from tests.bridge.scene.helpers import bridge_of

UNITS = "mm, kg, s"
FORCE = {'quantity = "length"\nunit = "cm"': 'quantity = "force"\nunit = "N"'}


@pytest.fixture
def driven():
    """driven(add) -> session of the bar; `add(scene)` adds controllers."""
    sessions = []

    def make(add):
        def createScene(root):
            add(small_scene(root))

        sessions.append(Session(createScene, backend="embedded"))
        return sessions[-1]

    yield make
    for session in sessions:
        session.close()


def inverse_of(scene, **options):
    effector = add_effector(scene.tip.getContext())
    return scene.root.addObject(
        InverseController(
            name="inverse",
            root=scene.root,
            actuators=scene.cables,
            effectors=[effector],
            goal=[6.0, 5.0, 39.0],
            effort_min=0.0,
            **options,
        )
    )


def bridge_to(scene, config, **options):
    return scene.root.addObject(
        HardwareBridge(name="bridge", root=scene.root, config=config, dry_run=True, **options)
    )


def targets_after(session, steps=3):
    """Targets that the bridge would send after some steps [the robot's units]."""
    bridge = bridge_of(session)
    session.step(steps)
    return bridge.targets.read()


def test_displacements_of_an_inverse_controller_are_those_of_the_same_step(driven, robot):
    made = {}

    def add(scene):
        made["inverse"] = inverse_of(scene)
        bridge_to(scene, robot(), source=made["inverse"])

    target = targets_after(driven(add))
    displacement = made["inverse"].outputs["displacement"].value
    assert np.abs(displacement).min() > 0.01
    assert target == pytest.approx(displacement * [0.1, 1.0])


def test_efforts_of_an_inverse_controller_are_forces(driven, robot):
    made = {}

    def add(scene):
        made["inverse"] = inverse_of(scene)
        bridge_to(scene, robot(**FORCE))

    target = targets_after(driven(add))
    assert made["inverse"].outputs["effort"].value.max() > 1.0
    assert target[0] == pytest.approx(1e-3 * made["inverse"].outputs["effort"].value[0])
    assert target[1] == pytest.approx(made["inverse"].outputs["displacement"].value[1])


def test_names_of_the_inverse_controller_are_those_of_the_robot(driven, robot_file):
    path = robot_file(
        **{"actuators.cable_0": "actuators.left", "actuators.cable_1": "actuators.up"}
    )

    def add(scene):
        inverse_of(scene, names=["up", "left"])
        bridge_to(scene, path)

    session = driven(add)
    bridge = bridge_of(session)
    assert bridge.names == ("up", "left")
    target = targets_after(session)
    displacement = bridge.controller.outputs["displacement"].value
    assert target == pytest.approx(displacement[::-1] * [0.1, 1.0])


def test_multipliers_of_force_driven_cables_become_forces(driven, robot):
    """SOFA's value is dt times the force: 3 mN are 0.03."""

    class Strangers(SceneController):
        def __init__(self, *, cables, **options):
            super().__init__(**options)
            self.lines = cables

        def onAnimateBeginEvent(self, event):
            self.lines[0].value.value = [0.03]

    def add(scene):
        scene.root.addObject(Strangers(root=scene.root, cables=list(scene.cables)))
        bridge_to(scene, robot(**FORCE))

    session = driven(add)
    assert targets_after(session)[0] == pytest.approx(0.003)
    assert bridge_of(session).components[0].force.value == pytest.approx(0.03)


def test_an_output_that_becomes_empty_is_named(driven, robot):
    class Forgets(SceneController):
        def __init__(self, *, cables, **options):
            super().__init__(**options)
            self.lines = cables
            self.add_output("displacement", np.zeros(2), "Of each cable.")

        def onAnimateEndEvent(self, event):
            if self.time.value > 0.025:
                self.outputs["displacement"].value = np.empty(0)

    def add(scene):
        scene.root.addObject(Forgets(name="forgets", root=scene.root, cables=list(scene.cables)))
        bridge_to(scene, robot())

    session = driven(add)
    session.step(2)
    with pytest.raises(SceneError, match="forgets.displacement: expected 1 numbers or more.*got 0"):
        session.step(3)


VALUES = {
    "NaN": [np.nan, 0.0],
    "infinite": [np.inf, -np.inf],
    "huge": [1e300, 0.0],
    "negative": [-1e3, 0.0],
    "too few": [1.0],
    "none": [],
    "too many": [1.0, 2.0, 3.0],
    "nested": [[1.0], [2.0]],
    "a text": "left",
    "an empty text": "",
    "None": None,
    "an object": object(),
    "complex": [1j, 0.0],
    "a bool": True,
}


@pytest.mark.parametrize("name", ["displacement", "value"])
@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
def test_whatever_a_scene_computes_is_no_error_of_python(driven, robot, value, name):
    """It is sent, refused by the device process, or an error of the scene."""

    class Confused(SceneController):
        def __init__(self, *, cables, **options):
            super().__init__(**options)
            self.lines = cables
            self.add_output("displacement", np.zeros(2), "Of each cable.")

        def onAnimateEndEvent(self, event):
            if self.time.value > 0.025:
                if name == "displacement":
                    self.outputs["displacement"].value = value
                else:
                    self.lines[0].value.value = value

    def add(scene):
        for cable in scene.cables:
            cable.valueType = "displacement"
        added = Confused(name="confused", root=scene.root, cables=list(scene.cables))
        scene.root.addObject(added)
        bridge_to(scene, robot())

    session = driven(add)
    session.step(2)
    with contextlib.suppress(SoftctlError), warnings_as_errors(False):
        session.step(5)


def test_lengths_of_force_driven_cables_are_what_sofa_measured(driven, robot):
    def add(scene):
        scene.cables[1].value.value = [1.0]
        bridge_to(scene, robot(), source=list(scene.cables))

    session = driven(add)
    target = targets_after(session, 5)
    measured = [float(cable.displacement.value) for cable in bridge_of(session).components]
    assert abs(measured[1]) > 1e-3
    assert target == pytest.approx(np.array(measured) * [0.1, 1.0])


def test_a_playback_drives_it(driven, bar, robot, tmp_path):
    session = bar()
    with session.recording(tmp_path / "run.mcap"):
        session.step(5)
    record = read_record(tmp_path / "run.mcap")

    def add(scene):
        cable = scene.cables[1]
        cable.valueType.value = "displacement"
        scene.root.addObject(
            Playback(
                root=scene.root,
                actuators=scene.cables,
                commands=_both(record, tmp_path),
                channel="both",
            )
        )
        scene.cables[0].valueType.value = "displacement"
        bridge_to(scene, robot())

    assert targets_after(driven(add), 5)[1] == pytest.approx(1.0)


def _both(record, folder):
    """A recording with a column for each cable."""
    from sofa_softctl.record.writer import RecordWriter

    with RecordWriter(folder / "both.mcap", {}) as writer:
        writer.add_channel("both", shape=(2,))
        for at in record.time:
            writer.write(at, {"both": np.array([0.0, 20.0 * at])})
    return folder / "both.mcap"


def test_a_pressure_and_a_volume(Sofa, robot_file):
    from sofa_softctl.bridge.config.fit import Match
    from sofa_softctl.bridge.targets import Targets

    root = Sofa.Core.Node("root", dt=0.01)
    root.addObject("EulerImplicitSolver", firstOrder=False)
    points = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]
    node = root.addChild("cavity")
    node.addObject(
        "MeshTopology", position=points, triangles=[[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]
    )
    node.addObject("MechanicalObject", position=points)
    cavity = node.addObject("SurfacePressureConstraint", value=[0.5], valueType="pressure")
    cavity.volumeGrowth.set(7.0)
    matches = [
        Match(None, 0, source, 2.0, -np.inf, np.inf) for source in ("effort", "displacement")
    ]
    assert Targets(root, None, [cavity], matches).read().tolist() == [100.0, 14.0]
    cavity.valueType.value, cavity.value.value = "volumeGrowth", [3.0]
    cavity.pressure.set(0.25)
    assert Targets(root, None, [cavity], matches).read().tolist() == [50.0, 6.0]


# -- what does not fit ---------------------------------------------------------------------------


def refused(driven, config, match, kind=ConfigError, **options):
    with pytest.raises(kind, match=match) as error:
        driven(lambda scene: (inverse_of(scene), bridge_to(scene, config, **options)))
    assert "test_source.py:" in str(error.value)


def test_a_name_that_the_scene_does_not_have_is_said_with_both_lines(driven, robot_file):
    path = robot_file(**{"actuators.cable_1": "actuators.cabel_1"})
    refused(driven, path, r"bar\.toml:\d+: \[actuators\.cabel_1\].* Did you mean 'cable_1'\?")


def test_a_quantity_that_a_cable_does_not_have(driven, robot_file):
    change = {'quantity = "length"\nunit = "cm"': 'quantity = "pressure"\nunit = "kPa"'}
    refused(driven, robot_file(**change), "force or length; got pressure")


def test_a_file_that_is_wrong_or_missing(driven, robot_file, tmp_path):
    refused(driven, robot_file(**{"jump = 1.0": "jmp = 1.0"}), "Did you mean 'jump'")
    refused(driven, tmp_path / "none.toml", "none.toml")


def test_a_scene_without_units(driven, robot, monkeypatch):
    monkeypatch.delitem(globals(), "UNITS")
    refused(driven, robot(), "the scene declares no units")
    session = driven(lambda s: (inverse_of(s), bridge_to(s, robot(), units="mm, kg, s")))
    assert bridge_of(session).units.length == "mm"


def test_units_of_the_scene_are_those_of_its_file(driven, robot, monkeypatch):
    monkeypatch.setitem(globals(), "UNITS", "m, kg, s")
    session = driven(lambda scene: (inverse_of(scene), bridge_to(scene, robot())))
    assert [match.factor for match in bridge_of(session).fit.matches] == pytest.approx([100, 1000])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"source": 3.0}, "source must be a controller with a list `actuators`"),
        ({"source": []}, "source must be a controller with a list `actuators`"),
        ({"config": 3.0}, "config must be the path of a robot's TOML file"),
        ({"confg": "x"}, "has no option 'confg'. Did you mean 'config'"),
        ({"units": "mm"}, "UNITS must be a length"),
    ],
)
def test_options_that_are_wrong(driven, robot, options, message):
    def add(scene):
        inverse_of(scene)
        given = {"config": robot()} | options
        scene.root.addObject(HardwareBridge(root=scene.root, **given))

    with pytest.raises(SceneError, match=message):
        driven(add)


def test_several_controllers_must_be_chosen_from(driven, robot):
    def add(scene):
        inverse_of(scene)
        other = SceneController(name="other", root=scene.root)
        other.actuators = list(scene.cables)
        scene.root.addObject(other)
        bridge_to(scene, robot())

    with pytest.raises(SceneError, match="These drive: '/inverse', '/other'"):
        driven(add)


def test_a_scene_without_actuators(robot):
    def createScene(root):
        root.addObject("DefaultAnimationLoop")
        root.addObject(HardwareBridge(root=root, config=robot()))

    with pytest.raises(SceneError, match="as the scene has none so far.* Make the bridge after"):
        Session(createScene, backend="embedded")


def test_a_step_longer_than_the_watchdog_of_commands(driven, robot):
    refused(driven, robot(safety={"command_timeout": 0.005}), "more than a step of the scene")
