"""Devices that fail, and what else stops a robot: real processes, and what reached the wire."""

import math
import os
import re
import signal
import time
from contextlib import suppress

import numpy as np
import pytest
from rig import OVER, STEP, Wire, drive, robot_of, until, wave

from sofa_softctl.bridge.client.client import Stream
from sofa_softctl.bridge.course.checks import check_robot
from sofa_softctl.bridge.course.state import StreamState as S
from sofa_softctl.bridge.device import Feedback
from sofa_softctl.bridge.devices.loopback import LoopbackDevice
from sofa_softctl.bridge.link.log import print_stderr
from sofa_softctl.bridge.stream.fleet import DeviceSet
from sofa_softctl.errors import ConfigError, DeviceError, DeviceFailedError, DeviceTimeoutError

AFTER = 60
"""Writes before a device fails: the robot is in motion."""

DEVICE_FAULTS = {
    "write": (DeviceFailedError, "device 'board0': the plug was pulled"),
    "read": (DeviceFailedError, "device 'board0': the line is gone"),
    "bug": (DeviceFailedError, "device 'board0': write() raised KeyError: 'oops'"),
    "block": (DeviceTimeoutError, "device 'board0': write() did not return within 0.5 s"),
    "deaf": (DeviceTimeoutError, "device 'board0' has acknowledged no command for 0.5"),
    "stopped": (DeviceFailedError, "device 'board0' stopped: its button ? was pressed"),
}


@pytest.mark.real_time(keep=1)
@pytest.mark.parametrize("fault", DEVICE_FAULTS)
def test_a_device_that_fails_stops_all_devices_where_they_are(record, fault):
    kind, said = DEVICE_FAULTS[fault]
    robot = robot_of(record, devices=2, options=[{"fault": fault, "after": AFTER}])
    stream = Stream(robot)
    with pytest.raises(kind, match=re.escape(said)):
        drive(stream, 200)
    until(stream, S.STOPPED)
    assert stream.finish().periods >= AFTER
    wire = Wire(record).assert_safe(robot)
    for device in ("board0", "board1"):
        assert wire.what(device)[-2:] == ["stop", "close"]
        assert wire.values(device)[-1].min() > 1000.0, "it was to stop where it is"
    last = max(wire.times("write", "board0") + wire.times("write", "board1"))
    stopped = max(wire.times("stop", "board0")[0], wire.times("stop", "board1")[0])
    # at once, or when the call that hangs is given up; slack for a busy computer: 0.3 s
    assert stopped - last < (0.8 if fault == "block" else 0.3)


def test_what_no_terminal_takes_is_said_all_the_same(capfd):
    print_stderr("half a character: \ud800")
    assert capfd.readouterr().err == "softctl device process: half a character: ?\n"


def test_no_device_waits_for_another_to_be_stopped(record, capfd):
    """One hangs in `stop`, for good: it is given up, and not closed meanwhile."""
    options = [{"stop_takes": 60.0}, {"fault": "write", "after": AFTER}, {"stop_takes": 0.4}]
    stream = Stream(robot_of(record, devices=4, options=options))
    with pytest.raises(DeviceError, match="the plug was pulled"):
        drive(stream, 200)
    with suppress(DeviceError):  # `stop` that hangs may come later than what was raised
        stream.finish()
    assert "device 'board0': stop() did not return within 0.5 s" in capfd.readouterr().err
    wire = Wire(record)
    stops = [wire.times("stop", f"board{index}")[0] for index in range(4)]
    assert max(stops) - min(stops) < 0.3  # one after another: 0.9 s
    assert [wire.what(f"board{index}")[-1] for index in range(4)] == ["stop"] + 3 * ["close"]


def test_too_great_an_effort_brings_the_robot_to_rest(record):
    robot = robot_of(record, options=[{"fault": "strain", "after": AFTER}])
    stream = Stream(robot)
    with pytest.raises(
        DeviceFailedError, match="the effort of 'cable0' is 9, more than effort_max"
    ):
        drive(stream, 200)
    until(stream, S.RESTED)
    stream.finish()
    assert Wire(record).assert_safe(robot).values()[-1].tolist() == [1000.0, 1000.0]


def test_efforts_that_never_come_are_said(record, capfd):
    """Of 'numb' each effort is NaN, which bounds nothing; board1 measures its efforts."""
    with Stream(robot_of(record, devices=2, options=[{"fault": "numb"}])) as stream:
        drive(stream, 60)
        found = stream.finish().notes
    note = "no effort of cable0, cable1 comes from device 'board0': effort_max has no effect."
    assert [one for one in found if "effort" in one] == [note]
    assert f"device process: {note}" in capfd.readouterr().err


def test_an_effort_that_is_no_number_lifts_no_bound():
    port = DeviceSet(robot_of("wire.txt"), {"board0": LoopbackDevice("board0")}).ports[0]
    port._store_feedback(Feedback(0.0, efforts={0: 9.0, 1: 1.0}))
    port._store_feedback(Feedback(0.0, efforts={0: math.nan, 1: math.nan}))
    assert port.efforts.tolist() == [9.0, 1.0]


@pytest.mark.real_time
def test_a_device_that_measures_no_effort_is_said_before_anything_moves():
    with Stream(robot_of("", kind="loopback")) as stream:
        assert "no effort of cable0, cable1 comes from device 'board0'" in "".join(stream.notes)
        drive(stream, 60)
        notes = stream.finish().notes
    assert sum("effort" in note for note in notes) == 1
    with Stream(robot_of("", kind="loopback", actuator={"effort_max": math.inf})) as stream:
        assert "effort" not in "".join(stream.notes)
    with Stream(robot_of("", kind="loopback"), dry_run=True) as stream:
        assert "effort" not in "".join(stream.notes)


def test_a_slow_device_is_named_and_its_periods_are_left_out_not_hurried(record):
    """7 ms for each write, with a period of 5 ms: every other deadline is left out."""
    robot = robot_of(record, options=[{"fault": "slow"}], stream={"realtime": False})
    with Stream(robot) as stream:
        drive(stream, 12)
        statistics = stream.finish()
    assert any("device 'board0' is slow" in note for note in statistics.notes)
    assert statistics.missed > 0.5 * statistics.periods
    times = Wire(record).assert_safe(robot).times("write")
    assert min(np.diff(times)) > 0.4 * 0.005


@pytest.mark.real_time
def test_a_scene_that_falls_silent_is_held_and_brought_to_rest(record):
    robot = robot_of(record, safety={"command_timeout": 0.3})
    stream = Stream(robot)
    drive(stream, 25)
    time.sleep(0.6)  # neither sends nor polls: it hangs
    with pytest.raises(DeviceFailedError, match="nothing came from the scene for 0.3 s"):
        stream.send(25 * STEP, wave(25))
    samples = until(stream, S.RESTED)
    stream.finish()
    states = [sample.state for sample in samples]
    assert {S.WAITING, S.HOLDING, S.RETURNING} <= set(states)
    assert states.index(S.HOLDING) < states.index(S.RETURNING)
    assert Wire(record).assert_safe(robot).values()[-1].tolist() == [1000.0, 1000.0]


@pytest.mark.real_time
def test_a_scene_that_polls_but_sends_nothing_is_a_fault_too(record):
    stream = Stream(robot_of(record, safety={"command_timeout": 0.6}))
    drive(stream, 25)
    until(stream, S.RESTED)
    assert "no target came from the scene for 0.6 s" in stream.reason
    with pytest.raises(DeviceFailedError, match="no target came"):  # nothing has raised it yet
        stream.finish()


@pytest.mark.real_time
def test_a_long_soft_start_does_not_count_as_silence(record):
    robot = robot_of(record, actuator={"soft_start": 0.9}, safety={"command_timeout": 0.5})
    with Stream(robot) as stream:
        drive(stream, 10)
        assert stream.state is S.STREAMING and stream.reason == ""


def test_a_stop_file_stops_at_once(record, tmp_path):
    path = tmp_path / "stop"
    robot = robot_of(record, safety={"stop_file": str(path)})
    stream = Stream(robot)
    drive(stream, 25)
    path.touch()
    with pytest.raises(DeviceFailedError, match="emergency stop: the file '.*stop' exists"):
        drive(stream, 100, first=25)
    assert stream.state is S.STOPPED
    stream.finish()
    path.unlink()
    assert Wire(record).assert_safe(robot).values()[-1].min() > 1000.0


@pytest.mark.parametrize("key", ["stop_file", "dead_man_file"])
def test_a_file_that_can_never_be_there_is_refused(tmp_path, key):
    (tmp_path / "file").touch()
    (tmp_path / "dangling").symlink_to(tmp_path / "none" / "stop")
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    (tmp_path / "made by touch").symlink_to(tmp_path / "stop")
    for name, why in (
        ("none/stop", "there is no folder '.*none'"),
        ("dangling", "there is no folder '.*none'"),
        ("file/stop", "Not a directory"),
        ("circle", "Too many levels of symbolic links"),
    ):
        with pytest.raises(ConfigError, match=f"{key} = '.*{name}' cannot be created: {why}"):
            check_robot(robot_of("", safety={key: str(tmp_path / name)}))
    for name in ("stop", "made by touch"):
        check_robot(robot_of("", safety={key: str(tmp_path / name)}))


def test_a_stop_file_that_is_there_at_the_start_lets_nothing_move(record, tmp_path):
    path = tmp_path / "stop"
    path.touch()
    stream = Stream(robot_of(record, safety={"stop_file": str(path)}))
    until(stream, S.STOPPED)
    with pytest.raises(DeviceFailedError, match="emergency stop"):
        stream.send(0.0, wave(0))
    stream.finish()
    assert Wire(record).what() == ["open", "stop", "close"]


@pytest.mark.real_time
def test_a_dead_man_file_has_to_be_touched_all_the_time(record, tmp_path):
    path = tmp_path / "held"
    robot = robot_of(record, safety={"dead_man_file": str(path), "command_timeout": 0.5})

    def held(index, count):
        path.write_text(str(index))
        return wave(index, count)

    stream = Stream(robot)
    drive(stream, 30, held)
    with pytest.raises(DeviceFailedError, match="the dead-man file '.*held' was not touched for"):
        drive(stream, 100, first=30)
    samples = until(stream, S.STOPPED)
    stream.finish()
    assert S.RETURNING not in {sample.state for sample in samples}
    wire = Wire(record).assert_safe(robot)
    assert wire.values()[-1].min() > 1000.0, "without the switch it must not go to rest"


def test_without_the_dead_man_file_nothing_begins(record, tmp_path):
    stream = Stream(robot_of(record, safety={"dead_man_file": str(tmp_path / "held")}))
    with pytest.raises(DeviceFailedError, match="dead-man"):
        drive(stream, 10)
    stream.finish()
    assert Wire(record).what() == ["open", "stop", "close"]


def test_an_emergency_stop_of_the_scene_stops_at_once(record):
    robot = robot_of(record)
    stream = Stream(robot)
    drive(stream, 25)
    stream.stop("the user pressed the key")
    until(stream, S.STOPPED)
    with pytest.raises(DeviceFailedError, match="emergency stop: the user pressed the key"):
        stream.send(25 * STEP, wave(25))
    stream.finish()
    assert Wire(record).assert_safe(robot).values()[-1].min() > 1000.0


@pytest.mark.real_time
def test_a_rate_of_a_few_hertz_does_not_delay_an_emergency_stop(record):
    """Periods of 0.5 s: on the average it would come 0.25 s late, and now at once."""
    robot = robot_of(record, stream={"rate": 2.0, "lookahead": 1}, safety={"command_timeout": 5.0})
    stream = Stream(robot)
    for index in range(3):
        stream.send(index * STEP, wave(index))
    until(stream, S.SOFT_START, S.STREAMING)
    begin = time.monotonic()
    stream.stop("pressed")
    stream.finish()
    assert Wire(record).times("stop")[0] - begin < 0.25


SIGNALS = {
    signal.SIGUSR1: (S.STOPPED, "emergency stop: signal SIGUSR1"),
    signal.SIGTERM: (S.RESTED, "the device process got SIGTERM"),
    signal.SIGHUP: (S.RESTED, "the device process got SIGHUP"),
}


@pytest.mark.real_time(keep=1)
@pytest.mark.parametrize("number", SIGNALS)
def test_signals_of_the_device_process(record, number):
    state, said = SIGNALS[number]
    robot = robot_of(record)
    stream = Stream(robot)
    drive(stream, 25)
    os.kill(stream._process.pid, number)
    with pytest.raises(DeviceFailedError, match=said):
        drive(stream, 100, first=25)
    until(stream, *OVER)
    assert stream.state is state
    assert stream.finish().periods > 0
    last = Wire(record).assert_safe(robot).values()[-1].min()
    assert last == 1000.0 if state is S.RESTED else last > 1000.0


def test_keys_of_the_terminal_do_not_reach_the_device_process(record):
    with Stream(robot_of(record)) as stream:
        drive(stream, 10)
        for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP):
            os.kill(stream._process.pid, number)
        drive(stream, 10, first=10)
        assert os.getsid(stream._process.pid) != os.getsid(0)
        assert stream.reason == ""


@pytest.mark.real_time
def test_a_device_process_that_was_paused_does_not_move_on(record):
    """As after the computer slept: what stood still for longer than clock_jump stays so."""
    robot = robot_of(record)
    stream = Stream(robot)
    drive(stream, 25)
    os.kill(stream._process.pid, signal.SIGSTOP)
    time.sleep(0.7)
    os.kill(stream._process.pid, signal.SIGCONT)
    until(stream, S.STOPPED)
    with pytest.raises(DeviceFailedError, match="a period took 0.[7-9].* s .clock_jump = 0.5 s.: "):
        stream.finish()
    wire = Wire(record).assert_safe(robot)
    assert wire.values()[-1].min() > 1000.0
    gaps = np.diff(wire.times("write"))
    assert gaps.max() < 0.5, "something was written after the pause"


def test_a_scene_that_was_paused_itself_reads_before_it_calls_the_device_process_silent(record):
    """Stopped between reading and looking at the clock, it finds messages when it goes on."""
    stream = Stream(robot_of(record))
    drive(stream, 25)
    time.sleep(0.05)  # several periods: something was said
    stream._heard -= 10.0  # as if so much time had passed since it read
    stream._check()
    stream.finish()


@pytest.mark.real_time
def test_a_device_process_that_does_not_answer_is_found_and_killed(record):
    stream = Stream(robot_of(record))
    drive(stream, 25)
    os.kill(stream._process.pid, signal.SIGSTOP)
    with pytest.raises(DeviceTimeoutError, match="the device process has said nothing for 1"):
        for index in range(25, 1000):
            stream.send(index * STEP, wave(index))
            time.sleep(STEP)
    stream._silence_max = lambda: 0.1  # not to wait for what cannot come
    said = r"said nothing for 0\.[1-9] s: it was asked for an emergency stop, and was killed"
    with pytest.raises(DeviceTimeoutError, match=said):
        stream.finish()
    assert stream._process.returncode == -signal.SIGKILL


@pytest.mark.real_time
def test_a_slow_device_process_gets_the_time_that_it_needs_to_go_to_rest(record):
    """A return of 0.12 s, in which each period of 5 ms takes 200 ms: 4.8 s."""
    robot = robot_of(
        record,
        options=[{"slow_takes": 0.2, "after": AFTER}],
        actuator={"rate": 5.0, "position_max": 0.4, "soft_start": 0.0},
        stream={"realtime": False},
        safety={"hold": 0.0, "command_timeout": 20.0},
    )
    stream = Stream(robot)
    drive(stream, 32, lambda index, count: np.full(count, min(0.02 * index, 0.4)))
    begin = time.monotonic()
    stream.finish()
    assert time.monotonic() - begin > 4.0 and stream.state is S.RESTED
    assert Wire(record).assert_safe(robot).values()[-1].tolist() == [1000.0, 1000.0]


def test_a_device_process_that_takes_far_more_periods_is_asked_for_a_stop(record):
    stream = Stream(robot_of(record, actuator={"rate": 20.0, "jump": 5.0}))
    drive(stream, 60, lambda index, count: 0.25 * wave(index))
    stream._periods_to_end_max = lambda: 10.0  # as if the rest pose were nearer
    with pytest.raises(DeviceTimeoutError, match="does not come to an end: .* stopped the devices"):
        stream.finish()
    assert stream.state is S.STOPPED and stream._process.returncode == 0
    wire = Wire(record)
    assert wire.what()[-2:] == ["stop", "close"] and wire.values()[-1].min() > 1000.0


def test_a_robot_that_would_take_years_to_its_rest_pose_is_waited_for(record):
    """Its whole range takes 3 years; it is nearer to its rest pose."""
    stream = Stream(robot_of(record, actuator={"rate": 1e-6}))
    drive(stream, 20, lambda index, count: np.full(count, 1e-9 * index))
    assert stream._periods_to_end_max() > 2.0**31
    assert stream.finish().periods > 0 and stream.state is S.RESTED


def test_what_is_done_meanwhile_may_fail(record):
    """The devices are stopped, and nothing is left behind."""
    stream = Stream(robot_of(record))
    drive(stream, 25)
    with pytest.raises(ZeroDivisionError):
        stream.finish(meanwhile=lambda: 1 // 0)
    assert stream._process.returncode is not None
    assert Wire(record).what()[-2:] == ["stop", "close"]


def test_a_device_process_that_is_killed_says_so_at_the_next_target(record):
    stream = Stream(robot_of(record, devices=2, options=[{}, {"watchdog": 0.1}]))
    drive(stream, 25)
    os.kill(stream._process.pid, signal.SIGKILL)
    said = (
        "was killed by SIGKILL while the robot was STREAMING. The watchdog of board1 stops it "
        "0.1 s after the last command. Without a watchdog, board0 may keep the last command: "
        "switch off."
    )
    with pytest.raises(DeviceFailedError, match=said):
        drive(stream, 100, first=25)
    for _ in range(2):
        with pytest.raises(DeviceFailedError, match="was killed by SIGKILL"):
            stream.finish()


def test_a_fault_on_the_way_to_rest_is_raised_by_finish(record):
    robot = robot_of(record, options=[{"fault": "write", "after": 90}])
    stream = Stream(robot)
    drive(stream, 30)
    with pytest.raises(DeviceFailedError, match="the plug was pulled"):
        stream.finish()
    assert stream.statistics is not None and stream.state is S.STOPPED
