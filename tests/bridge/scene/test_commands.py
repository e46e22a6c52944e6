"""softctl run --bridge, and softctl bridge play."""

import json

import numpy as np
import pytest

from sofa_softctl.bridge import play as playing
from sofa_softctl.record.record import read_record
from sofa_softctl.record.writer import RecordWriter
from tests.bridge.scene.helpers import states_of

WORDS = "dry run: no motor moves"
SCENE = """
from sofa_softctl import HardwareBridge, InverseController, add_effector
from sofa_softctl.testing.scene import small_scene

UNITS = "mm, kg, s"
DURATION = 0.1


def createScene(root, bridge=""):
    scene = small_scene(root)
    print("a word of the scene")
    inverse = InverseController(
        name="inverse",
        root=root,
        actuators=scene.cables,
        effectors=[add_effector(scene.tip.getContext())],
        goal=[6.0, 5.0, 39.0],
        effort_min=0.0,
        displacement_max=10.0,
        displacement_min=-5.0,
        motor_speed=100.0,
        goal_tolerance=100.0,
    )
    root.addObject(inverse)
    if bridge:
        root.addObject(HardwareBridge(name="bridge", root=root, config=bridge, source=inverse))
"""


@pytest.fixture
def scene(tmp_path):
    path = tmp_path / "scene.py"
    path.write_text(SCENE)
    return path


@pytest.mark.real_time
def test_a_dry_run_says_so_on_every_line(softctl, scene, robot_file, wire, tmp_path):
    status, out, err = softctl(
        "run", scene, "--bridge", robot_file(device=wire.table), "--dry-run",
        "--record", tmp_path / "run.mcap", "--plot", tmp_path / "run.png",
    )  # fmt: skip
    assert status == 0, err
    lines = [line for line in (out + err).splitlines() if line.strip()]
    assert len(lines) > 20 and all(line.startswith(WORDS) for line in lines), lines
    assert "a word of the scene" in out and "Hardware bridge /bridge: Bar" in out
    assert not wire.path.exists()
    assert (tmp_path / "run.png").exists() and (tmp_path / "run-bridge.png").exists()
    assert "RESTED" in states_of(read_record(tmp_path / "run.mcap"))


def test_a_run_moves_the_robot_and_its_json_has_the_figures(softctl, scene, robot_file, wire):
    config = robot_file(device=wire.table)
    status, out, err = softctl("run", scene, "--bridge", config, "--json")
    assert status == 0, err
    found = json.loads(out)["controllers"]["/bridge"]
    assert found["robot"] == "Bar" and found["state"] == "RESTED" and not found["dry_run"]
    assert found["periods"] == len(wire.values()) and found["steps"] == 10
    assert WORDS not in out + err
    wire.assert_rested()


LEARNT = """
import numpy as np

from sofa_softctl.learning import Action, Limits, Observation, Policy, PolicyController, Task
from sofa_softctl.testing.scene import small_scene

UNITS = "mm, kg, s"
DURATION = 0.1


def createScene(root):
    scene = small_scene(root)
    paths = [cable.getPathName() for cable in scene.cables]
    task = Task(
        observation=[Observation("time", lambda e: e.time, 0.0, 1.0, "time")],
        action=[Action(path, 0.0, 2.0, rate=10.0, drive="displacement") for path in paths],
        reward=lambda episode: 0.0,
        limits=Limits(hold=2),
    )
    from sofa_softctl.learning import Interface, Quantities

    n = len(paths)
    interface = Interface(
        Quantities(("time",), ("s",), np.zeros(1), np.ones(1)),
        Quantities(tuple(paths), ("mm",) * n, np.zeros(n), np.full(n, 2.0)),
        2 * root.dt.value,
    )
    policy = Policy(interface, (np.zeros((n, 1)),), (np.zeros(n),), {})  # half of the range
    root.addObject(PolicyController(root=root, policy=policy, task=task))
"""


def test_a_policy_drives_the_robot_as_any_controller(softctl, robot_file, wire, tmp_path):
    """Its cables go to 1 mm no faster than 10 mm/s: by 0.1 s, to the bridge's own rate."""
    scene = tmp_path / "learnt.py"
    scene.write_text(LEARNT)
    status, _, err = softctl(
        "run", scene, "--bridge", robot_file(device=wire.table), "--dry-run",
        "--record", tmp_path / "run.mcap",
    )  # fmt: skip
    assert status == 0, err
    record = read_record(tmp_path / "run.mcap")
    assert "RESTED" in states_of(record)
    sent = record.channels["bridge.command"]
    asked = record.channels["policy.action"]
    assert asked[-1] == pytest.approx(np.ones(asked.shape[1]))
    assert 0.3 < np.nanmax(sent) <= 1.0 + 1e-9
    assert np.nanmin(np.diff(sent[:, 0])) >= 0.0


def test_a_bridge_of_the_scene_can_be_made_a_dry_run(softctl, scene, robot_file, wire):
    config = robot_file(device=wire.table)
    status, out, _ = softctl("run", scene, "--set", f"bridge={config}", "--dry-run")
    assert status == 0 and f"Bar ({WORDS})" in out
    assert not wire.path.exists()


def test_options_that_contradict_the_scene(softctl, scene, robot_file):
    status, _, err = softctl("run", scene, "--dry-run")
    assert status == 2 and "has no hardware bridge. Give --bridge CONFIG" in err
    config = robot_file()
    status, _, err = softctl("run", scene, "--set", f"bridge={config}", "--bridge", config)
    assert status == 2 and "the scene has a bridge of its own, '/bridge'" in err


def test_a_robot_that_does_not_fit_is_refused_before_anything_moves(
    softctl, scene, robot_file, wire
):
    config = robot_file(device=wire.table, **{"actuators.cable_1": "actuators.cabel_1"})
    status, _, err = softctl("run", scene, "--bridge", config)
    assert status == 1 and "Did you mean 'cable_1'?" in err and "click" not in err
    assert not wire.path.exists()


# -- bridge play ---------------------------------------------------------------------------------


@pytest.fixture
def motion(tmp_path):
    """motion(values, channel=..., **metadata) -> path of a recording of 20 Hz."""

    def make(values, channel="inverse.displacement", unit="mm", **metadata):
        path = tmp_path / "motion.mcap"
        known = {"units": "mm, kg, s", "inverse.actuators": '["cable_1", "cable_0"]'} | metadata
        with RecordWriter(path, {key: text for key, text in known.items() if text}) as writer:
            values = np.asarray(values, dtype=float)
            writer.add_channel(channel, unit=unit, shape=values.shape[1:])
            for number, row in enumerate(values, 1):
                writer.write(0.05 * number, {channel: row})
        return path

    return make


RAMP = np.column_stack([np.linspace(0.0, 5.0, 8), np.linspace(0.0, 8.0, 8)])
"""Of cable_1 and cable_0, slow enough [mm]."""


def play(softctl, record, config, *options):
    return softctl("bridge", "play", record, "--config", config, *options)


def test_a_recorded_motion_moves_the_robot_by_the_names_of_its_actuators(
    softctl, motion, robot_file, wire, tmp_path
):
    config = robot_file(device=wire.table)
    options = ("--record", tmp_path / "played.mcap")
    status, out, err = play(softctl, motion(RAMP), config, *options)
    assert status == 0, err
    assert "Hardware bridge play: Bar" in out and WORDS not in out
    # the limit on acceleration rounds the end of the ramp off
    assert wire.values().max(axis=0) == pytest.approx([80.0, 50.0], abs=0.5)
    wire.assert_rested()
    record = read_record(tmp_path / "played.mcap")
    assert states_of(record) == ["SOFT_START", "STREAMING", "RETURNING", "RESTED"]
    assert np.nanmax(record.streams["bridge.robot.command"].values) == pytest.approx(5.0, abs=0.05)
    assert record.metadata["played"].endswith("motion.mcap")


def test_a_motion_that_is_interrupted_is_recorded_as_such(
    softctl, motion, robot_file, tmp_path, monkeypatch
):
    def interrupted(stream, motion):
        yield 1, stream.poll()
        raise KeyboardInterrupt

    monkeypatch.setattr(playing, "play", interrupted)
    to = tmp_path / "played.mcap"
    status, _, _ = play(softctl, motion(RAMP), robot_file(), "--dry-run", "--record", to)
    assert status == 130
    assert read_record(to).status == "interrupted"


def test_a_dry_run_of_it_says_so_on_every_line(softctl, motion, robot_file, wire):
    config = robot_file(device=wire.table)
    status, out, err = play(softctl, motion(RAMP), config, "--dry-run", "--speed", "2")
    assert status == 0, err
    lines = [line for line in (out + err).splitlines() if line.strip()]
    assert len(lines) > 5 and all(line.startswith(WORDS) for line in lines)
    assert not wire.path.exists()


@pytest.mark.real_time
def test_what_exceeds_limits_is_listed_with_times_before_anything_moves(
    softctl, motion, robot_file, wire
):
    values = np.zeros((20, 2))
    values[5:, 0] = 31.0  # above 30 mm, by a jump of 31 mm, at 620 mm/s
    values[10:, 1] = 9.0  # 0.9 cm within a step: 18 cm/s, below its 20
    values[15, 1] = np.nan
    status, _, err = play(softctl, motion(values), robot_file(device=wire.table))
    assert status == 1
    assert "'cable_1' is at 31 mm at t = 0.25 s, in 15 rows from t = 0.25 to 0.95 s" in err
    assert "'cable_1' jumps by 31 mm at t = 0.25 s; allowed: 10 mm" in err
    assert "'cable_1' moves at 620 mm/s at t = 0.25 s; allowed: 200" in err
    assert "'cable_0' is nan at t = 0.75 s" in err
    assert "Choose a --channel that has a number in every row" in err
    assert "'cable_0' jumps" not in err and "'cable_0' moves" not in err
    assert "nothing was moved" in err and not wire.path.exists()


@pytest.mark.real_time
def test_what_the_check_tolerates_moves_the_robot(softctl, motion, robot_file, wire):
    """Rounding of what was recorded: 1e-6 of a range, and of a jump; none is sent."""
    values = np.zeros((20, 2))
    values[5:, 0] = 10.0 * (1.0 + 9e-7)  # jumps by 10 mm
    values[10:, 0] = np.minimum(10.0 + 4.0 * np.arange(10), 30.0 + 9e-7 * 40.0)
    status, _, err = play(softctl, motion(values), robot_file(device=wire.table))
    assert status == 0, err
    assert wire.values().max() == 300.0
    wire.assert_rested()


def test_speed_counts(softctl, motion, robot_file):
    values = np.zeros((20, 2))
    values[10:, 1] = 9.0
    status, _, err = play(softctl, motion(values), robot_file(), "--speed", "2", "--dry-run")
    assert status == 1 and "'cable_0' moves at 36 cm/s" in err
    assert "Dry run: no motor moves." in err


@pytest.mark.real_time
def test_accelerations_are_warned_of(softctl, motion, robot_file):
    config = robot_file(**{"acceleration = 4000.0": "acceleration = 100.0"})
    values = np.zeros((4, 2))
    values[2:, 0] = 2.0
    status, out, _ = play(softctl, motion(values), config, "--dry-run")
    assert status == 0 and "'cable_1' accelerates by 800 mm/s2" in " ".join(out.split())


@pytest.mark.parametrize(
    ("record", "options", "message"),
    [
        ({"channel": "x"}, (), "no channel 'inverse.displacement'"),
        ({"unit": "lambda"}, (), "multipliers, which are not efforts"),
        ({"unit": "mN"}, (), "is in mN, but 'cable_0' of the robot is commanded in length"),
        ({"units": ""}, (), "--units 'mm, kg, s'"),
        ({"inverse.actuators": '["a", "cable_0"]'}, (), "The recording has no actuator 'cable_1'"),
        ({}, ("--channel", "inverse.displacment"), "Did you mean 'inverse.displacement'"),
        ({}, ("--units", "mm"), "UNITS must be a length"),
    ],
)
def test_recordings_that_do_not_fit(softctl, motion, robot_file, record, options, message):
    status, _, err = play(softctl, motion(RAMP, **record), robot_file(), *options)
    assert status == 1 and message in " ".join(err.split())


@pytest.mark.real_time
def test_columns_without_names_are_not_guessed(softctl, motion, robot_file, wire):
    path, config = motion(RAMP, **{"inverse.actuators": ""}), robot_file(device=wire.table)
    status, _, err = play(softctl, path, config)
    assert status == 1 and "has 2 columns, and none of their names are known" in err
    status, _, err = play(softctl, path, config, "--columns", "cable_1")
    assert status == 1 and "has 2 columns, and 1 names are known" in err
    assert not wire.path.exists()
    status, _, err = play(softctl, path, config, "--columns", "cable_1, cable_0")
    assert status == 0, err
    # the ramp to 5 mm is that of cable_1, at 10 device units a mm
    assert wire.values().max(axis=0) == pytest.approx([80.0, 50.0], abs=0.5)


@pytest.mark.real_time
def test_columns_of_a_controller_have_the_names_of_the_bridge_that_followed_it(
    softctl, motion, robot_file
):
    about = {"bridge.source": "inverse", "bridge.actuators": '["cable_1", "cable_0"]'}
    path = motion(RAMP, **{"inverse.actuators": ""}, **about)
    status, _, err = play(softctl, path, robot_file(), "--dry-run", "--speed", "2")
    assert status == 0, err
    about["bridge.actuators"] = '["cable_1", "other"]'
    path = motion(RAMP, **{"inverse.actuators": ""}, **about)
    status, _, err = play(softctl, path, robot_file(), "--dry-run", "--speed", "2")
    assert status == 1 and "no actuator 'cable_0'" in err
