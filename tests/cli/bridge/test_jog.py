"""Motion by hand: by numbers, and by keys of a terminal."""

import os
import pty
import select
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from tests.cli.bridge.conftest import PLUGIN


def test_a_move_goes_there_slowly_and_back_to_rest(robot, bridge):
    status, out, err = bridge(
        "jog", robot.path, "left", "--by", "2", "--speed", "20", "--hold", "0"
    )
    assert (status, err) == (0, "")
    assert "left: 2 mm, device 1200" in out and "At rest." in out
    times, values = robot.sent()
    assert values[0] == values[-1] == pytest.approx(1000.0)
    assert max(values) == pytest.approx(1200.0)
    step = 0.2 * 400.0 * 100.0 / 100.0  # a fifth of 400 mm/s, 100 steps a mm, 100 commands a second
    assert np.abs(np.diff(values)).max() <= step * (1.0 + 1e-9)


def test_a_position_beyond_the_limits_is_refused_before_anything_moves(robot, bridge):
    status, _, err = bridge("jog", robot.path, "left", "--to", "21")
    assert status == 2 and "'left' may go from 0 to 20 mm, not to 21" in err
    assert not robot.log.exists()
    status, _, err = bridge("jog", robot.path, "left", "--by", "-0.5")
    assert status == 2 and "not to -0.5" in err
    assert [words for _, words in robot.words()] == [["open"], ["stop"]]
    assert bridge("jog", robot.path, "left", "--by", "1", "--to", "1")[0] == 2


def test_an_unknown_actuator_is_named(robot, bridge):
    status, _, err = bridge("jog", robot.path, "lift")
    assert status == 1 and "Did you mean 'left'? Known: left." in err


def test_keys_move_by_steps(robot, bridge):
    """1 % of 20 mm is 0.2 mm; doubled twice, 0.8 mm; then back by an arrow, and by 0 to rest."""
    status, out, _ = bridge("jog", robot.path, "left", answers="+]]+\x1b[B-0x")
    assert status == 0
    for said in ("to 0.2 mm", "step 0.8 mm", "to 1 mm", "to 0.2 mm", "to 0 mm"):
        assert said in out
    assert out.count("to 0 mm") == 2  # below the limit it stays at the limit


@pytest.mark.parametrize("key", ["\x1b[C", "\x1b[D", "\x1bOC", "\x1b[20~", "\x1b[1;5A", "x"])
def test_other_keys_do_nothing(robot, bridge, key):
    """Right, left, F9, Ctrl-up: none of the characters that a terminal sends for them is a key."""
    status, out, _ = bridge("jog", robot.path, "left", answers=f"{key}q")
    assert status == 0
    assert "to " not in out.partition("Step:")[2] and "step" not in out.partition("Step:")[2]
    assert set(robot.sent()[1]) == {1000.0}


def test_space_stops_at_once(robot, bridge):
    status, _, err = bridge("jog", robot.path, "left", "--speed", "100", answers="]]]]]++ ++")
    assert status == 130 and "Stopped: all motors stay where they are." in err
    assert robot.words()[-1][1] == ["stop"]


def started(robot, *words):
    """The command in a process of its own, on a terminal; and the terminal's other end."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "sofa_softctl.cli", "bridge", *words, "--plugin", PLUGIN]
    process = subprocess.Popen(
        [*map(str, command)], stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
    )
    os.close(theirs)
    return process, ours


def read_until(ours, text):
    said = ""
    while text not in said and select.select([ours], [], [], 30.0)[0]:
        said += os.read(ours, 4096).decode()
    assert text in said, said


@pytest.mark.real_time
def test_a_terminal_gives_keys_at_once_and_its_end_ends_the_motion(robot):
    process, ours = started(robot, "jog", robot.path, "left")
    try:
        read_until(ours, "q ends.")
        os.write(ours, b"\x1b")  # an arrow in two parts; no end of a line
        time.sleep(0.1)
        os.write(ours, b"[A")
        read_until(ours, "to 0.2 mm")
        os.close(ours)
        assert process.wait(30) is not None
    finally:
        process.kill()
        process.wait()
    end = time.monotonic() + 30.0
    while robot.words()[-1][1] != ["stop"] and time.monotonic() < end:
        time.sleep(0.05)
    assert robot.words()[-1][1] == ["stop"]


JOG = ("jog", "left", "--by", "4", "--speed", "1", "--hold", "0")
CALIBRATE = ("calibrate", "--speed", "1")


@pytest.mark.real_time
@pytest.mark.parametrize(
    ("words", "answers", "key"),
    [(JOG, b"", b"\x03"), (CALIBRATE, b"y\n4\nok\nn\n", b" ")],
    ids=["jog, Ctrl-C", "calibrate, space"],
)
def test_space_and_ctrl_c_stop_all_motors_on_the_way_to_rest(robot, words, answers, key):
    """At 4 mm/s, 4 mm from there: 1.5 s; `calibrate` shows a small move first."""
    command = [sys.executable, "-m", "sofa_softctl.cli", "bridge", words[0], robot.path, *words[1:]]
    pid, ours = pty.fork()  # a session of its own, of which it is the foreground
    if pid == 0:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.execv(sys.executable, [*map(str, command), "--plugin", str(PLUGIN)])
    try:
        os.write(ours, answers)
        end = time.monotonic() + 30.0
        while not goes_back(robot, 1380.0):
            assert time.monotonic() < end and os.waitpid(pid, os.WNOHANG) == (0, 0)
            time.sleep(0.02)
        os.write(ours, key)
        said = ""
        while "topped" not in said:
            said += os.read(ours, 4096).decode()
        _, status = os.waitpid(pid, 0)
    finally:
        os.close(ours)
    assert os.waitstatus_to_exitcode(status) == 130, said
    assert robot.words()[-1][1] == ["stop"]
    assert 1100.0 < robot.sent()[1][-1] < 1400.0, "where it was"


def goes_back(robot, there):
    values = robot.sent()[1] if robot.log.exists() else []
    return bool(values) and max(values) > there and values[-1] < there


@pytest.mark.real_time
def test_ctrl_c_stops_all_motors(robot):
    process, ours = started(robot, "jog", robot.path, "left", "--to", "20", "--speed", "2")
    try:
        end = time.monotonic() + 60.0
        while not (robot.log.exists() and len(robot.words()) > 20) and time.monotonic() < end:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        read_until(ours, "All motors were stopped where they were.")
        assert process.wait(20) == 130
    finally:
        process.kill()
        process.wait()
        os.close(ours)
    words = [words for _, words in robot.words()]
    assert words[-1] == ["stop"]
    assert float(words[-2][0]) < 3000.0  # on its way
