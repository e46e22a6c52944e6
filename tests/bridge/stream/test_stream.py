"""Streams of real device processes, when nothing goes wrong but the targets."""

import math
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from rig import STEP, Wire, drive, robot_of, until, wave

from sofa_softctl.base.user_module import import_file
from sofa_softctl.bridge import registry
from sofa_softctl.bridge.client.client import Stream
from sofa_softctl.bridge.config.maps import LinearMap
from sofa_softctl.bridge.course.state import StreamState as S
from sofa_softctl.bridge.devices.loopback import LoopbackDevice
from sofa_softctl.errors import ConfigError, DeviceError, DeviceFailedError, DeviceOpenError


def test_a_robot_with_many_numbers(record):
    """70,000 in each sample: more than the kernel takes in a packet."""
    robot = robot_of(record, stream={"rate": 50.0})
    many = replace(robot.sensors[0], size=70_000)
    with Stream(replace(robot, sensors=(many,))) as stream:
        drive(stream, 20)
        stream.finish()
        samples = stream.poll()
    assert {len(sample.sensors) for sample in samples} == {70_000}
    last = samples[-1]
    np.testing.assert_allclose(last.measured, 0.0, atol=1e-6)
    assert np.isfinite(last.sensors[0]) and np.isnan(last.sensors[1:]).all()


def test_a_robot_with_many_actuators():
    robot = robot_of("", kind="loopback", stream={"rate": 5.0}, actuator={"rate": 4.0})
    one, count = robot.actuators[0], 9000
    actuators = (replace(one, name=f"cable{i}", channel=i) for i in range(count))
    with Stream(replace(robot, actuators=tuple(actuators), sensors=())) as stream:
        for index in range(3):
            stream.send(float(index), np.full(count, 0.01 * index))
        sample = until(stream, S.SOFT_START, S.STREAMING)[-1]
        stream.stop("enough")
        until(stream, S.STOPPED)
    assert sample.command.shape == (count,)


def test_targets_arrive_interpolated_in_real_time_and_the_robot_returns_to_rest(record):
    robot = robot_of(record)
    with Stream(robot) as stream:
        assert stream.state is S.READY and stream.capabilities["board0"].description
        assert any("no watchdog" in note for note in stream.notes)
        begin = time.monotonic()
        drive(stream, 40)
        took = time.monotonic() - begin
        samples = stream.poll()
        statistics = stream.finish()
        assert stream.finish() is statistics
        samples += stream.poll()
    assert took > 0.9 * 37 * STEP, "the scene was not kept in real time"
    assert stream.state is S.RESTED and stream.reason == ""
    values = Wire(record).assert_safe(robot).values()
    np.testing.assert_allclose(values[-1], 1000.0, atol=1e-6)

    states = [sample.state for sample in samples]
    assert S.SOFT_START in states and states[-2:] == [S.RETURNING, S.RESTED]
    sent = [sample for sample in samples if np.isfinite(sample.command).all()]
    np.testing.assert_allclose([1000.0 + 100.0 * s.command for s in sent], values, atol=1e-6)
    played = [sample for sample in sent if sample.state is S.STREAMING]
    assert len(played) > 50
    time_played = np.array([sample.time for sample in played])
    # a line between values of a smooth wave: 1/8 of its greatest second difference
    np.testing.assert_allclose(
        [sample.target[0] for sample in played],
        [wave(t / STEP)[0] for t in time_played],
        atol=15.0 * (math.pi / 50.0) ** 2 / 8.0,
    )
    behind = np.abs([sample.command - sample.target for sample in played])
    assert np.median(behind) < 1e-9, "without lag, but where a busy computer made the clock wait"
    last = played[-1]
    np.testing.assert_allclose(last.measured, last.command, atol=3.0)
    assert last.effort.tolist() == [1.0, 1.0] and 0.0 <= last.age[0] < 0.5
    assert last.sensors[0] == pytest.approx(1000.0 + 100.0 * last.measured[0])
    assert np.isnan(last.sensors[1:]).all()
    assert statistics.periods == len(values)
    assert np.isfinite([*statistics.jitter, *statistics.latency, *statistics.round_trip]).all()
    assert statistics.jitter_histogram[0].sum() == statistics.periods


@pytest.mark.parametrize("interpolation", ["linear", "hold"])
def test_whatever_the_targets_nothing_outside_the_limits_reaches_the_wire(record, interpolation):
    """Random targets as wild as the checks let pass, twice as fast as the actuators can go."""
    robot = robot_of(
        record, devices=2, stream={"interpolation": interpolation}, actuator={"rate": 100.0}
    )
    random = np.random.default_rng(7)
    at = np.zeros(4)
    with Stream(robot) as stream:
        for index in range(40):
            stream.send(index * STEP, at)
            stream.pace()
            at = np.clip(at + random.uniform(-19.9, 19.9, 4), 0.0, 60.0)
        stream.finish()
    wire = Wire(record).assert_safe(robot)
    assert np.ptp(wire.values("board1"), axis=0).min() > 1000.0, "hardly anything moved"


GARBAGE = {
    "is nan": [math.nan, 0.0],
    "above the greatest position, 60": [1e9, 0.0],
    "by more than jump = 20": [0.0, 59.0],
    "has 1 values; expected 2": [0.0],
}


@pytest.mark.real_time(keep=1)
@pytest.mark.parametrize("said", GARBAGE)
def test_garbage_is_never_sent_and_the_scene_gets_to_know(record, said):
    robot = robot_of(record)
    stream = Stream(robot)
    drive(stream, 15)
    with pytest.raises(DeviceFailedError, match=f"Test: .*target.*{said}"):
        stream.send(15 * STEP, np.array(GARBAGE[said]))
        until(stream, S.RESTED)
        stream.send(16 * STEP, wave(16))
    with pytest.raises(DeviceFailedError, match=said):
        stream.pace()
    statistics = stream.finish()  # it is over already: nothing is raised again
    assert statistics.periods and said in stream.reason
    values = Wire(record).assert_safe(robot).values()
    np.testing.assert_allclose(values[-1], 1000.0, atol=1e-6)


def test_a_fault_leaves_a_with_block_as_the_error_that_was_raised(record):
    with pytest.raises(DeviceError, match="is nan"), Stream(robot_of(record)) as stream:
        drive(stream, 200, lambda index, count: wave(index) * (math.nan if index == 9 else 1.0))
    assert stream.state is S.RESTED and stream.statistics is not None


def test_a_dry_run_moves_nothing_and_needs_no_device(record):
    robot = robot_of(record, kind="not registered")
    with Stream(robot, dry_run=True) as stream:
        assert stream.notes[0].startswith("dry run: nothing moves")
        assert not stream.capabilities["board0"].moves
        drive(stream, 8)
        assert stream.finish().notes[0] == stream.notes[0]
    assert not record.exists()


def test_loopback_devices_without_actuators_are_read_only(record):
    """A robot of sensors alone: nothing to send, nothing to finish."""
    robot = replace(robot_of(record, kind="loopback"), actuators=(), sensors=())
    with Stream(robot) as stream:
        drive(stream, 10)
        samples = until(stream, S.STREAMING)
    assert samples[-1].command.shape == (0,)


def test_opening_fails_with_the_error_of_the_device(record):
    with pytest.raises(DeviceOpenError, match="device 'board1': the port is busy"):
        Stream(robot_of(record, devices=2, options=[{}, {"fault": "open"}]))
    assert Wire(record).what("board0") == ["open", "close"]


WRONG = [
    ({"options": [{"rate_max": 100.0}]}, "takes at most 100 commands a second, but rate = 200"),
    ({"options": [{"watchdog": 0.008}]}, "stops by itself after 0.008 s without a command"),
    ({"options": [{"speed": 3}]}, "line 3: device 'board0'.*unexpected keyword argument 'speed'"),
    ({"actuator": {"map": LinearMap(1e5)}}, "takes -1e[+]06 to 1e[+]06 count; actuator 'cable0'"),
    ({"actuator": {"rest": 70.0}}, "rest = 70.0 is outside position"),
    ({"actuator": {"acceleration": math.nan}}, "acceleration must be a number above 0, got nan"),
    ({"actuator": {"rate": 0.0}}, "rate must be a number above 0, got 0.0"),
    ({"actuator": {"position_max": math.inf}}, "position must be"),
    ({"stream": {"interpolation": "cubic"}}, "interpolation is linear or hold, got 'cubic'"),
    ({"kind": "wired"}, "there is no device 'wired'. Did you mean 'wire'"),
]


@pytest.mark.parametrize(("options", "said"), WRONG)
def test_what_does_not_fit_is_found_before_anything_moves(record, options, said):
    with pytest.raises(ConfigError, match=said):
        Stream(robot_of(record, **options))
    assert not record.exists() or set(Wire(record).what()) <= {"open", "close"}


def test_a_device_of_the_running_script_cannot_be_used(record, monkeypatch):
    class Local(LoopbackDevice):
        pass

    monkeypatch.setitem(registry.DEVICES._added, "local", Local)
    with pytest.raises(ConfigError, match="Move it to a separate file"):
        Stream(robot_of(record, kind="local"))


def test_a_device_whose_module_cannot_be_imported_without_a_scene(record, monkeypatch, tmp_path):
    path = tmp_path / "needy.py"
    lines = (
        "import sys",
        "from sofa_softctl.bridge.devices.loopback import LoopbackDevice",
        "if 'pytest' not in sys.modules: raise RuntimeError('no scene here')",
        "class Needy(LoopbackDevice): pass",
    )
    path.write_text("\n".join(lines))
    monkeypatch.setitem(registry.DEVICES._added, "needy", import_file(path, "softctl_plugin").Needy)
    with pytest.raises(ConfigError, match="needy.*RuntimeError: no scene here"):
        Stream(robot_of(record, kind="needy"))


def test_a_slow_scene_is_waited_for_and_counted(record):
    robot = robot_of(record, stream={"lookahead": 3})
    with Stream(robot) as stream:
        for index in range(24):
            stream.send(index * STEP, wave(index))
            time.sleep(3.0 * STEP)
        assert stream.state in (S.WAITING, S.STREAMING)
        assert S.WAITING in {sample.state for sample in stream.poll()}
        statistics = stream.finish()
    assert statistics.waited > 5 * STEP and stream.reason == ""
    Wire(record).assert_safe(robot)


@pytest.mark.real_time
@pytest.mark.parametrize(
    ("options", "silent"), [({"fault": "blind", "after": 60}, True), ({}, False)]
)
def test_a_sensor_that_has_died_is_in_the_closing_lines(record, options, silent):
    with Stream(robot_of(record, options=[options])) as stream:
        for index in range(150):
            stream.send(index * STEP, wave(index))
            stream.pace()
        notes = [note for note in stream.finish().notes if note.startswith("sensor 'tip'")]
    assert len(notes) == silent
    assert all("no message for 1." in note and "s at the end" in note for note in notes)


@pytest.mark.real_time
def test_an_actuator_that_its_rate_holds_back_is_in_the_closing_lines(record):
    robot = robot_of(record)
    slow = replace(robot.actuators[0], rate=0.05 * robot.actuators[0].rate)
    robot = replace(robot, actuators=(slow, *robot.actuators[1:]))
    with Stream(robot) as stream:
        for index in range(60):
            stream.send(index * STEP, wave(index))
            stream.pace()
        notes = [note for note in stream.finish().notes if "could not follow" in note]
    assert len(notes) == 1 and notes[0].startswith("'cable0' could not follow the scene within its")


def test_an_actuator_that_says_not_where_it_is_is_named_in_the_singular(record):
    robot = robot_of(record)
    robot = replace(robot, actuators=robot.actuators[:1])
    with Stream(robot) as stream:
        for index in range(10):
            stream.send(index * STEP, wave(index, 1))
            stream.pace()
        notes = stream.finish().notes
    assert any("cable0 did not say where it was: the soft start" in note for note in notes)


def test_a_slow_scene_is_refused_before_anything_moves_where_that_is_chosen(record):
    stream = Stream(robot_of(record, stream={"lookahead": 3, "slow_scene": "refuse"}))
    with pytest.raises(DeviceFailedError, match="of real time.*nothing was moved"):
        for index in range(20):
            stream.send(index * STEP, wave(index))
            time.sleep(2.0 * STEP)
    stream.finish()
    assert Wire(record).what() == ["open", "stop", "close"]


def test_the_process_needs_no_more_than_numpy(record):
    """Memory and start: neither scene nor compiler is loaded."""
    robot = robot_of(record, kind="loopback")
    with Stream(robot) as stream:
        maps = Path(f"/proc/{stream._process.pid}/maps").read_text()
        threads = len(list(Path(f"/proc/{stream._process.pid}/task").iterdir()))
    assert "/numpy/" in maps and "/scipy/" not in maps and "/llvmlite/" not in maps
    assert threads == 1


def test_send_and_poll_after_the_end(record):
    stream = Stream(robot_of(record))
    stream.finish()
    with pytest.raises(DeviceFailedError, match="the stream is finished"):
        stream.send(0.0, wave(0))
    stream.poll()
    assert stream.poll() == []
    stream.stop("too late")
    assert stream.finish() is stream.statistics
