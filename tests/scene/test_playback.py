"""Recorded commands reach the actuators; recordings that do not fit are refused."""

import json
from pathlib import Path

import numpy as np
import pytest

from sofa_softctl import Playback, Session
from sofa_softctl.errors import RecordError
from sofa_softctl.record.writer import RecordWriter

SCENE = Path(__file__).parents[2] / "scenes" / "trunk_cup.py"
PULLED = 2
"""The long inner cable."""


def record_of_a_pull(path, *, channel="inverse.displacement", count=8, steps=20):
    """A recording in which one cable is pulled by 0.1 mm a step, all others let out."""
    with RecordWriter(path, {}) as writer:
        writer.add_channel(channel, shape=(count,), unit="mm")
        for step in range(1, steps + 1):
            commands = np.full(count, -20.0)
            commands[PULLED] = 0.1 * step
            writer.write(0.01 * step, {channel: commands})
    return path


@pytest.mark.soak
def test_a_cable_is_pulled_as_recorded_and_then_held(tmp_path):
    commands = str(record_of_a_pull(tmp_path / "pull.mcap"))
    session = Session(SCENE, parameters={"commands": commands})
    cable = session.root.trunk.long_in.cable
    for step in range(1, 31):
        session.step()
        assert cable.value.value[0] == pytest.approx(0.1 * min(step, 20), abs=1e-9)
    # A step reports the displacement at its start; Gauss-Seidel stops at 1e-6 mm a row.
    assert cable.displacement.value == pytest.approx(2.0, abs=1e-3)
    assert cable.force.value > 0.0
    assert session.root.trunk.long_out.cable.force.value == 0.0


def test_a_recording_without_the_channel_is_refused(tmp_path):
    commands = str(record_of_a_pull(tmp_path / "other.mcap", channel="motor"))
    with pytest.raises(RecordError, match=r"no channel 'inverse.displacement'. It has: motor"):
        Session(SCENE, parameters={"commands": commands})


def test_a_recording_of_another_robot_is_refused(tmp_path):
    commands = str(record_of_a_pull(tmp_path / "four.mcap", count=4))
    with pytest.raises(RecordError, match=r"shape \(20, 4\), expected .* 8 actuators"):
        Session(SCENE, parameters={"commands": commands})


def test_actuators_in_another_order_than_the_recordings_are_named(tmp_path, beam, caplog):
    """The recording's `inverse` drove cable_0, then cable_1."""
    path, names = tmp_path / "run.mcap", ["cable_0", "cable_1"]
    with RecordWriter(path, {"inverse.actuators": json.dumps(names)}) as writer:
        writer.add_channel("inverse.effort", shape=(2,), unit="")
        writer.write(0.01, {"inverse.effort": np.zeros(2)})

    def create(root, reverse=False):
        beam(root, cables=2)
        cables = [root.beam.getChild(name).cable for name in names]
        cables = cables[::-1] if reverse else cables
        channel = "inverse.effort"
        root.addObject(Playback(root=root, actuators=cables, commands=path, channel=channel))

    Session(create, backend="embedded")
    assert not caplog.records
    Session(create, backend="embedded", parameters={"reverse": True})
    assert "columns of cable_0, cable_1, and 'actuators' are cable_1, cable_0" in caplog.text


@pytest.mark.parametrize("names", [("a", "b"), ("b", "a")])
def test_actuators_where_others_were_in_the_recording_are_named(tmp_path, beam, names, caplog):
    """Of a scene with other names, by the places of the cables."""
    scene, path = tmp_path / "scene.py", tmp_path / "run.mcap"
    scene.write_text(
        "from tests.conftest import add_beam\n"
        "from sofa_softctl import Playback\n"
        "UNITS = 'mm, kg, s'\n"
        "def createScene(root):\n"
        "    body = add_beam(root, cables=2)\n"
        "    cables = [body.cable_0.cable, body.cable_1.cable]\n"
        f"    options = {{'commands': {str(path)!r}, 'channel': 'inverse.effort'}}\n"
        "    root.addObject(Playback(root=root, actuators=cables, **options))\n"
    )
    about = {"inverse.actuators": json.dumps(names), "units": "mm, kg, s"}
    with Session(lambda root: beam(root, cables=2) and None, backend="embedded") as session:
        nodes = [session.root.beam.cable_0, session.root.beam.cable_1]
        places = {
            f"x/{n}/dofs.position": node.dofs.position.value
            for n, node in zip("ab", nodes, strict=True)
        }
    with RecordWriter(path, about) as writer:
        writer.add_channel("inverse.effort", shape=(2,), unit="mN")
        for name, x in places.items():
            writer.add_channel(name, shape=x.shape, unit="mm")
        writer.write(0.01, {"inverse.effort": np.zeros(2)} | places)
    Session(scene, backend="embedded").close()
    text = "column 0 is of 'b', which was where '/beam/cable_1' is, and moves '/beam/cable_0'"
    assert (text in caplog.text) == (names == ("b", "a"))


@pytest.mark.parametrize("shift", [0.0, 8.0])
def test_an_actuator_that_is_nowhere_in_the_recording_is_named(tmp_path, beam, shift, caplog):
    """The recorded channel is that of one component, without a column for it."""
    scene, path = tmp_path / "scene.py", tmp_path / "run.mcap"
    scene.write_text(
        "from tests.conftest import add_beam\n"
        "from sofa_softctl import Playback\n"
        "UNITS = 'mm, kg, s'\n"
        "def createScene(root):\n"
        "    cable = add_beam(root, cables=1).cable_0.cable\n"
        f"    options = {{'commands': {str(path)!r}, 'channel': 'inverse.effort'}}\n"
        "    root.addObject(Playback(root=root, actuators=[cable], **options))\n"
    )
    with Session(lambda root: beam(root, cables=1) and None, backend="embedded") as session:
        places = {
            "beam/dofs.position": np.array(session.root.beam.dofs.position.value),
            "beam/cable_0/dofs.position": session.root.beam.cable_0.dofs.position.value + shift,
        }
    about = {"inverse.actuators": json.dumps(["cable_0"]), "units": "mm, kg, s"}
    with RecordWriter(path, about) as writer:
        writer.add_channel("inverse.effort", shape=(), unit="mN")
        for name, x in places.items():
            writer.add_channel(name, shape=x.shape, unit="mm")
        writer.write(0.01, {"inverse.effort": np.zeros(())} | places)
    Session(scene, backend="embedded").close()
    text = "column 0 is of 'cable_0', whose points were up to 8 away from those of '/beam/cable_0'"
    assert (text in caplog.text) == (shift > 0.0)
