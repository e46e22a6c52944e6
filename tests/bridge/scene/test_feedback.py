"""What a robot measured, as Data in the scene's units."""

from dataclasses import replace

import numpy as np
import pytest

from sofa_softctl import HardwareBridge, InverseController, add_effector
from sofa_softctl.bridge.config.actuator_tables import RESERVED_NAMES
from sofa_softctl.bridge.course.state import Sample, StreamState
from sofa_softctl.errors import ConfigError
from sofa_softctl.record.record import read_record
from sofa_softctl.scene.control.controller import SceneController
from sofa_softctl.scene.session.run import run
from sofa_softctl.scene.session.session import Session
from sofa_softctl.testing.scene import small_scene
from tests.bridge.scene.helpers import bridge_of

SENSOR = """
[sensors.tip_length]
device = "board"
signal = "tip"
quantity = "length"
unit = "cm"
size = 1
"""


def test_measured_positions_are_data_with_their_age(bar, robot, wire, tmp_path):
    session = bar(config=robot(device=wire.table))
    outputs = bridge_of(session).outputs
    for name in ("command", "measured", "age", "robot_time"):
        assert np.isnan(outputs[name].value).all(), name
    with session.recording(tmp_path / "run.mcap"):
        session.step(25)
    measured, command = outputs["measured"].value.copy(), outputs["command"].value.copy()
    assert measured[1] == pytest.approx(20.0 * outputs["robot_time"].value[0], abs=0.4)
    assert np.abs(measured - command).max() < 0.5  # one period behind
    assert (outputs["age"].value >= 0.0).all() and (outputs["age"].value < 0.25).all()
    assert outputs["state"].value in ("STREAMING", "WAITING")
    record = read_record(tmp_path / "run.mcap")
    assert record.channels["bridge.measured"][-1] == pytest.approx(measured)
    assert record.units["bridge.age"] == "s"
    assert record.channels["bridge.state"][-1] == outputs["state"].value


def test_a_sensor_is_a_data_in_the_scenes_units(bar, robot, wire):
    """The device gives twice what it was sent first; its tip is in cm, the scene in mm."""
    session = bar(config=robot(device=wire.table, more=SENSOR))
    outputs = bridge_of(session).outputs
    assert np.isnan(outputs["tip_length"].value).all() and len(outputs["sensor_age"].value) == 1
    session.step(25)
    # a device value of 100 is 1 cm of cable; the sensor's own unit is the signal's: 10 mm
    signal = 2.0 * outputs["measured"].value[0] / 10.0 * 100.0
    assert outputs["tip_length"].value[0] == pytest.approx(10.0 * signal, rel=1e-6)
    assert outputs["sensor_age"].value[0] < 0.25


@pytest.mark.real_time
def test_each_sensor_has_an_age_of_its_own(bar, robot, wire, tmp_path):
    """The device goes on to speak, but not of 'tip', and never of 'nose'."""
    nose = SENSOR.replace("tip_length", "nose_length").replace('"tip"', '"nose"')
    blind = f'{wire.table}\nfault = "blind"\nafter = 30'
    session = bar(config=robot(device=blind, more=SENSOR + nose))
    outputs = bridge_of(session).outputs
    with session, session.recording(tmp_path / "run.mcap"):
        session.step(60)
        assert (outputs["age"].value < 0.2).all() and outputs["sensor_age"].value[0] > 0.2
        assert np.isnan(outputs["sensor_age"].value[1])
    record = read_record(tmp_path / "run.mcap")
    assert record.streams["bridge.robot.sensor_age"].values.shape[1] == 2
    notes = bridge_of(session).ended.notes
    assert (
        "sensor 'nose_length': no message came with the signal 'nose' of device 'board'." in notes
    )


def test_names_that_the_bridge_has_are_known_when_the_file_is_read(bar, robot, tmp_path):
    session = bar(config=robot(more=SENSOR))
    bridge = bridge_of(session)
    with session, session.recording(tmp_path / "run.mcap"):
        session.step(30)
    streams = (name.rpartition(".")[2] for name in read_record(tmp_path / "run.mcap").streams)
    assert {*bridge.outputs, *streams} - {"tip_length"} <= set(RESERVED_NAMES)
    with pytest.raises(ConfigError, match="expected a name of its own, got 'effort'"):
        robot(more=SENSOR.replace("tip_length", "effort"))


def test_a_sensor_with_the_name_of_a_data_is_refused(bar, robot, wire):
    with pytest.raises(ConfigError, match="the sensor 'listening' has the name of a Data"):
        bar(config=robot(device=wire.table, more=SENSOR.replace("tip_length", "listening")))


def test_what_is_too_old_is_nan(bar, robot):
    bridge = bridge_of(bar(config=robot(safety={"feedback_timeout": 0.25})))
    for waited, known in ((0.0, True), (0.1, True), (0.2, False)):
        numbers = np.array([1.0, 10.0])  # cm and mm
        sample = Sample(
            time=0.5,
            clock=100.0,
            state=StreamState.STREAMING,
            target=numbers,
            command=numbers,
            measured=numbers,
            effort=numbers,
            sensors=np.empty(0),
            age=np.array([0.1]),
            sensor_age=np.empty(0),
        )
        bridge.feedback.write(sample, 100.0 + waited)
        expected = [10.0, 10.0] if known else [np.nan, np.nan]
        assert bridge.outputs["measured"].value == pytest.approx(expected, nan_ok=True)
        assert bridge.outputs["age"].value == pytest.approx([0.1 + waited] * 2)
        assert bridge.outputs["command"].value == pytest.approx([10.0, 10.0])


def test_a_controller_of_the_scene_reads_it(bar, robot, wire):
    class Reader(SceneController):
        def __init__(self, *, root, **options):
            super().__init__(root=root, **options)
            self.seen = []

        def onAnimateBeginEvent(self, event):
            bridge = self.root.getObject("bridge")
            self.seen.append(float(bridge.measured.value[1]))

    session = bar(
        lambda scene: scene.root.addObject(Reader(name="reader", root=scene.root)),
        config=robot(device=wire.table),
    )
    session.step(20)
    reader = next(one for one in session.controllers if one.getName() == "reader")
    assert np.isfinite(reader.seen[-3:]).all() and reader.seen[-1] > 0.0


@pytest.mark.real_time
def test_an_inverse_controller_does_not_run_ahead_of_the_robot(robot):
    """A robot that may move at 3 mm/s, of a scene that would move it faster."""
    slow = robot()
    slow = replace(
        slow,
        actuators=tuple(
            replace(each, rate=each.rate / 60.0, jump=each.jump * 10.0) for each in slow.actuators
        ),
    )

    def ahead(**options):
        made = {}

        def createScene(root):
            scene = small_scene(root)
            made["inverse"] = root.addObject(
                InverseController(
                    name="inverse",
                    root=root,
                    actuators=scene.cables,
                    effectors=[add_effector(scene.tip.getContext())],
                    goal=lambda time: [5.0 + min(40.0 * time, 6.0), 5.0, 38.0],
                    effort_min=0.0,
                    **options,
                )
            )
            root.addObject(HardwareBridge(name="bridge", root=root, config=slow, units="mm, kg, s"))

        with Session(createScene, backend="embedded") as session:
            histories = run(session, 40).histories
        found = {one.getName(): history for one, history in histories}
        model, real = found["inverse"]["displacement"], found["bridge"]["measured"]
        return np.nanmax(np.abs(model[1:] - real[:-1]))

    assert ahead() > 0.8
    assert ahead(measured="@bridge.measured", lead=0.3) < 0.4
