"""A bridge in a scene: targets in the robot's units, real time, the record, the way to rest."""

import os
import signal
import time

import numpy as np
import pytest

from sofa_softctl import HardwareBridge, controller
from sofa_softctl.errors import DeviceError, DeviceFailedError, DeviceOpenError
from sofa_softctl.record.record import read_record
from sofa_softctl.scene.copies.rollout import CopiedScene
from sofa_softctl.scene.graph.nodes import keep_devices_closed
from sofa_softctl.scene.graph.recipe import recipe_of
from sofa_softctl.scene.session.run import run
from tests.bridge.scene.helpers import bridge_of, states_of, wave


def recorded(session, path, steps=25):
    """The summary of a run, and its recording, with the way to the rest pose."""
    with session.recording(path):
        summary = run(session, steps, close=True)
    return summary.controllers["/bridge"], read_record(path)


@pytest.fixture
def done(bar, robot, wire, tmp_path):
    """Summary and recording of 25 steps."""
    return recorded(bar(config=robot(device=wire.table)), tmp_path / "run.mcap")


def test_it_is_a_controller_of_this_package():
    assert controller("bridge").__name__ == "HardwareBridge"


def test_targets_are_those_of_the_scene_in_the_robots_units(done):
    """Between the scene's steps they are interpolated linearly."""
    target = done[1].streams["bridge.robot.target"]
    state = done[1].streams["bridge.robot.state"]
    start, end = (state.clock[state.values == name][0] for name in ("STREAMING", "RETURNING"))
    playing = (target.clock > start) & (target.clock < end)
    steps = 0.01 * np.arange(1, 26)
    at = target.time[playing]
    assert at[-1] > 0.18
    for column, (pulled, factor) in enumerate(zip(wave(steps), (0.1, 1.0), strict=True)):
        expected = factor * np.interp(at, steps, pulled)
        assert target.values[playing, column] == pytest.approx(expected, abs=1e-9)


def test_what_was_recorded_is_what_reached_the_device(done, wire):
    commands = done[1].streams["bridge.robot.command"].values
    sent = commands[np.isfinite(commands).all(axis=1)]
    assert wire.values() == pytest.approx(sent * [100.0, 10.0], abs=1e-9)


def test_the_scene_keeps_to_real_time_and_both_clocks_are_recorded(done):
    """The robot's clock never runs faster than the computer's; it stops at the end."""
    command = done[1].streams["bridge.robot.command"]
    assert (np.diff(command.clock) > 0.0).all()
    known = np.isfinite(command.time)
    passed, clock = np.diff(command.time[known]), np.diff(command.clock[known])
    assert (passed >= 0.0).all() and passed.sum() > 0.18
    assert passed.sum() <= clock.sum() + 0.005  # a period


def test_the_way_to_the_rest_pose_is_in_the_record(done, wire):
    summary, record = done
    assert states_of(record) == ["SOFT_START", "STREAMING", "RETURNING", "RESTED"]
    assert summary.state == "RESTED" and summary.faults == ()
    wire.assert_rested()


def test_the_record_says_which_robot_it_was(done, robot_file):
    metadata = done[1].metadata
    assert metadata["bridge.actuators"] == '["cable_0", "cable_1"]'
    assert metadata["bridge.robot"] == "Bar"
    assert "soft_start = 0.05" in metadata["bridge.config_text"]
    streams = done[1].streams
    assert streams["bridge.robot.command"].unit == "cm, mm"
    assert streams["bridge.robot.age"].values.shape[1] == 1


def test_the_summary_counts(done):
    summary, record = done
    commands = record.streams["bridge.robot.command"].values
    assert summary.periods == np.isfinite(commands).all(axis=1).sum()
    assert summary.steps == 25
    assert 0.0 <= summary.jitter.p50 <= summary.jitter.p99 <= summary.jitter.worst
    assert summary.round_trip.worst > 0.0
    report = summary.report({})
    assert "Hardware bridge /bridge: Bar" in report.tables[0].title
    assert "of 25 steps" in report.tables[0].caption
    assert report.lines[-1].level == "good"


@pytest.mark.real_time
def test_a_scene_that_is_slower_than_real_time_slows_the_robot_down(bar, robot, tmp_path):
    def slow(at):
        time.sleep(0.03)
        return wave(at)

    session = bar(config=robot(), pull=slow)
    summary, record = recorded(session, tmp_path / "run.mcap", steps=25)
    assert summary.late > 5 and summary.waited > 0.1
    assert "WAITING" in record.streams["bridge.robot.state"].values
    assert summary.state == "RESTED"


def test_a_target_beyond_the_limits_ends_the_run_and_the_record_is_kept(bar, robot, wire, tmp_path):
    def far(at):
        return 0.0, 8.0 if at < 0.1 else 31.0

    session = bar(config=robot(device=wire.table), pull=far)
    with pytest.raises(DeviceFailedError, match="above the greatest position, 30") as error:
        with session.recording(tmp_path / "run.mcap"), session:
            session.step(100)
    assert "conftest.py:" in str(error.value) and "'cable_1' is 31 mm" in str(error.value)
    record = read_record(tmp_path / "run.mcap")
    assert record.status.startswith("stopped: ") and "31 mm" in record.status
    assert states_of(record)[-3:] == ["HOLDING", "RETURNING", "RESTED"]
    assert wire.values().max() < 300.0
    wire.assert_rested()


def test_a_device_that_fails_ends_the_run_once(bar, robot, wire, caplog):
    table = f'{wire.table}\nfault = "write"\nafter = 20'
    session = bar(config=robot(device=table))
    with pytest.raises(DeviceFailedError, match="the plug was pulled") as error:
        with session:
            session.step(200)
    assert "conftest.py:" in str(error.value)
    assert "cleanup() failed" not in caplog.text
    assert "Bar: Emergency stop: the devices were stopped where the robot was." in caplog.text
    assert len(wire.values()) == 21


def test_of_a_robot_whose_device_process_is_gone_no_state_is_said(bar, robot, wire, caplog):
    session = bar(config=robot(device=wire.table))
    with pytest.raises(DeviceFailedError, match="was killed by SIGKILL while the robot was"):
        with session:
            session.step(20)
            os.kill(bridge_of(session).stream._process.pid, signal.SIGKILL)
            session.step(200)
    assert "Bar: " not in caplog.text, "such as: Commands are sent at the fixed rate"


def test_a_device_that_cannot_be_opened_is_said_with_the_line_before_anything_moved(
    bar, robot, wire
):
    session = bar(config=robot(device=f'{wire.table}\nfault = "open"'))
    with pytest.raises(DeviceOpenError, match=r"conftest\.py:\d+: .*the port is busy"):
        session.step()
    assert session.time == 0.0
    assert "write" not in wire.calls()


@pytest.mark.real_time
def test_a_reset_brings_the_robot_to_rest_and_the_next_step_begins_anew(bar, robot, wire):
    session = bar(config=robot(device=wire.table))
    session.step(20)
    session.reset()
    assert wire.values()[-1].tolist() == [0.0, 0.0]
    assert wire.calls() == ["open", "write", "stop", "close"]
    assert np.isnan(bridge_of(session).outputs["measured"].value).all()
    session.step(20)
    session.close()
    assert wire.calls() == ["open", "write", "stop", "close"] * 2


@pytest.mark.parametrize("again", ["step", "reset", "restore"])
def test_a_stop_is_final_whatever_the_session_does(bar, robot, wire, again):
    session = bar(config=robot(device=wire.table))
    session.step(5)
    before = session.snapshot()
    session.step(5)
    bridge_of(session).stop_now()
    with pytest.raises(DeviceError, match="emergency stop"):
        session.step(50)
    sent = len(wire.values())
    if again != "step":
        session.reset() if again == "reset" else session.restore(before)
    for _ in range(3):
        with pytest.raises(DeviceError, match="emergency stop: .*final: make a new session"):
            session.step()
    session.close()
    assert len(wire.values()) == sent and wire.calls()[-1] == "close"


def test_a_device_that_did_not_open_lets_no_later_step_pass(bar, robot, wire):
    session = bar(config=robot(device=f'{wire.table}\nfault = "open"'))
    for _ in range(3):
        with pytest.raises(DeviceError, match="the port is busy"):
            session.step()
    assert "write" not in wire.calls()


@pytest.mark.real_time
def test_a_snapshot_that_goes_back_in_time_begins_anew_too(bar, robot, wire):
    session = bar(config=robot(device=wire.table))
    session.step(5)
    before = session.snapshot()
    session.step(15)
    session.restore(before)
    session.step(5)
    session.close()
    assert wire.calls() == ["open", "write", "stop", "close"] * 2


@pytest.mark.real_time
def test_two_robots_of_a_scene_go_to_rest_at_the_same_time(bar, robot, wire):
    """Each is held for 1 s at its rest pose; silence of 0.5 s would be a fault of the other one."""
    safety = {"hold": 1.0, "command_timeout": 0.5}

    def other(scene):
        table = wire.table.replace("wire.txt", "other.txt")
        config = robot(device=table, safety=safety)
        scene.root.addObject(HardwareBridge(name="other", root=scene.root, config=config))

    session = bar(other, config=robot(device=wire.table, safety=safety))
    session.step(20)
    session.close()
    stopped = []
    for name in ("wire.txt", "other.txt"):
        wire.path = wire.path.with_name(name)
        wire.assert_rested()
        stopped += [float(line[2]) for line in wire.lines() if line[1] == "stop"]
    assert abs(stopped[0] - stopped[1]) < 0.5  # one after the other: 1 s


def test_copies_and_benchmarks_open_no_device(bar, robot, wire):
    session = bar(config=robot(device=wire.table))
    copied = CopiedScene(recipe_of(session.root))
    for _ in range(3):
        copied.step()
    keep_devices_closed(session.root)
    session.step(3)
    assert not wire.path.exists()


def test_a_dry_run_opens_no_device_and_says_so(bar, robot, wire, tmp_path):
    session = bar(config=robot(device=wire.table), dry_run=True)
    summary, record = recorded(session, tmp_path / "run.mcap", steps=10)
    assert not wire.path.exists()
    assert "dry run: no motor moves" in summary.report({}).tables[0].title
    assert summary.dry_run and record.metadata["bridge.dry_run"] == "true"


def test_what_waits_for_no_recording_is_bounded(bar, robot, monkeypatch):
    session = bar(config=robot())
    session.step(3)
    bridge = bridge_of(session)
    bridge.keep(samples=type(bridge.samples)(bridge.samples, maxlen=10))
    session.step(20)
    assert len(bridge.samples) == 10


def test_units_of_time_are_converted(bar, robot, tmp_path):
    """In a scene in milliseconds, 10 of its units of time are 10 ms, not 10 s."""

    def in_ms(scene):
        scene.root.dt = 10.0

    def pull(at):
        return 0.0, 0.01 * at

    began = time.monotonic()
    session = bar(in_ms, pull, config=robot(), units="mm, g, ms")
    summary, record = recorded(session, tmp_path / "run.mcap", steps=15)
    assert time.monotonic() - began < 30.0
    assert record.time[-1] == pytest.approx(150.0)
    assert np.nanmax(record.streams["bridge.robot.target"].time) > 100.0
    assert summary.state == "RESTED"
