"""Calibration by answers from a pipe; the device writes down what it is sent."""

import os

import numpy as np
import pytest

from sofa_softctl.bridge.config.file import parse_robot

pytest.importorskip("tomlkit")
SPEED = 0.05 * 400.0 * 100.0
"""5 % of the rate [steps/s]."""


def test_sign_and_zero_are_found_and_written(robot, bridge):
    """The motor turns the wrong way, and rest is 1.5 mm further by the truth: 1000 - 150 steps."""
    before = robot.path.read_text()
    status, out, err = bridge("calibrate", robot.path, answers="n\n1\n0.5\nok\ny\n")
    assert (status, err) == (0, "")
    assert "left: sign 1 -> -1, zero 1000 -> 850" in out
    expected = before.replace("zero = 1000   # a guess", "zero = 850.0   # a guess")
    after = robot.path.read_text()
    assert after.replace("sign = -1\n", "") == expected
    assert robot.path.with_name("robot.toml.1").read_text() == before
    (left,) = parse_robot(after, "r").actuators
    assert left.map.to_device(np.array([0.0, 20.0])).tolist() == [850.0, -1150.0]
    assert robot.sent()[1][-1] == pytest.approx(850.0)  # it stays at the rest pose that was found


@pytest.mark.real_time
def test_motors_never_move_faster_than_the_speed_allows(robot, bridge):
    bridge("calibrate", robot.path, "--speed", "5", answers="y\n-1\n4\n-5\nok\ny\n")
    times, values = robot.sent()
    assert min(values) == pytest.approx(800.0)  # -2 mm: a tenth of the range beyond it
    assert max(values) <= 1000.0 + 100.0 * 4.0
    assert np.abs(np.diff(values)).max() <= SPEED / 100.0 * (1.0 + 1e-9)  # 100 commands a second
    moved = np.abs(np.subtract(values, values[0]))
    assert moved[:3].max() <= 3.0 * SPEED / 100.0  # it starts where it rests


@pytest.mark.parametrize("answers", ["", "y\n1\nok\n", "y\nq\n"])
def test_input_that_ends_writes_nothing_and_stops_the_motors(robot, bridge, answers):
    before = robot.path.read_text()
    status, _, err = bridge("calibrate", robot.path, answers=answers)
    assert status == 130
    assert "All motors are stopped, nothing was written." in err
    assert robot.path.read_text() == before and len(os.listdir(robot.path.parent)) == 2
    assert robot.words()[-1][1] == ["stop"]


def test_a_no_at_the_end_writes_nothing(robot, bridge):
    status, out, _ = bridge("calibrate", robot.path, answers="n\nok\nn\n")
    assert status == 0 and "Nothing was written." in out
    assert len(os.listdir(robot.path.parent)) == 2
    _, values = robot.sent()
    assert values[-1] == pytest.approx(1000.0)  # it went to rest


@pytest.mark.real_time
def test_nonsense_is_asked_for_again_and_an_actuator_can_be_skipped(robot, bridge):
    answers = "what\n17\nr\ny\nfast\nnan\nok\n"
    status, out, _ = bridge("calibrate", robot.path, answers=answers)
    assert status == 0
    for said in ("got 'what'", "got '17'", "Expected a number or ok, got 'fast'", "got 'nan'"):
        assert said in out
    assert out.count("It moved and came back.") == 4
    assert "Directions and zeros are as they were." in out
    status, out, _ = bridge("calibrate", robot.path, "--only", "left", answers="s\n")
    assert status == 0 and "as they were" in out


def test_values_that_do_not_fit_are_not_taken(robot, bridge):
    """A servo has no pulses beyond its own: mounted so, it cannot do what the limits ask."""
    servo = 'map = { type = "servo", pulse = [900, 3100], radius = 11.0 }'
    robot.edit('map = { type = "linear", factor = 100.0 }', servo)
    status, out, _ = bridge("calibrate", robot.path, answers="n\nok\nr\ny\nok\n")
    assert status == 0
    assert "This does not fit" in out and "the servo's pulses, 900 to 3100 us" in out


def test_a_move_beyond_the_widened_limits_is_refused_and_not_counted(robot, bridge):
    status, out, _ = bridge("calibrate", robot.path, answers="y\n-1\n-9\n-0.5\nok\ny\n")
    assert status == 0
    assert "Until its zero is known it may go from -2 to 22 mm." in out
    assert "It may go from -2 to 22 mm, not to -10: it stays at -1." in out
    assert min(robot.sent()[1]) == pytest.approx(850.0)
    assert "zero 1000 -> 850" in out


@pytest.mark.real_time
@pytest.mark.parametrize(("low", "least"), [(1000.0, 0.0), (930.0, -0.7)])
def test_limits_are_widened_as_far_as_the_device_takes_the_values(robot, bridge, low, least):
    """A board refuses to be opened with limits beyond its own, as this device does."""
    robot.edit("at = [1000.0]", f"low = {low}\nstrict = true")
    status, out, _ = bridge("calibrate", robot.path, answers="y\n-1\nok\n")
    assert status == 0
    assert f"it may go from {least:g} to 22 mm." in out
    assert f"It may go from {least:g} to 22 mm, not to -1: it stays at 0." in out
    assert min(robot.sent()[1]) == 1000.0


def test_it_shows_the_direction_within_the_limits_of_the_file(robot, bridge):
    robot.edit("rest = 0.0", "rest = 20.0")
    robot.edit("at = [1000.0]", "at = [3000.0]")
    assert bridge("calibrate", robot.path, answers="n\nok\nn\n")[0] == 0
    values = robot.sent()[1]
    assert max(values) == pytest.approx(3000.0) and min(values) == pytest.approx(2900.0)


@pytest.mark.real_time
def test_a_motor_that_measures_nonsense_may_be_at_rest_now(robot, bridge):
    """60 000 steps are 590 mm by the zero of the file: nothing moves before the user says so."""
    robot.edit("at = [1000.0]", "at = [60000.0]")
    status, out, _ = bridge("calibrate", robot.path, answers="n\n")
    assert status == 130 and "Move it there by hand" in out
    assert [words for _, words in robot.words()] == [["open"], ["stop"]]
    status, out, _ = bridge("calibrate", robot.path, answers="y\ny\nok\ny\n")
    assert status == 0
    assert "'left' measures 590 mm, outside its limits" in out
    assert "zero 1000 -> 60000" in out
    assert min(robot.sent()[1]) == 60000.0


def test_a_file_that_changes_meanwhile_is_not_overwritten(robot, bridge, monkeypatch):
    from sofa_softctl.bridge.config import write

    keep = write.changed_text

    def changed_text(*arguments):
        robot.path.write_text(robot.path.read_text() + "# edited\n")
        return keep(*arguments)

    monkeypatch.setattr(write, "changed_text", changed_text)
    status, _, err = bridge("calibrate", robot.path, answers="n\nok\ny\n")
    assert status == 1 and "has changed since it was read, nothing was written" in err
    assert "zero = 1000" in robot.path.read_text()


@pytest.mark.real_time
def test_a_dry_run_opens_no_device(robot, bridge):
    status, out, _ = bridge("calibrate", robot.path, "--dry-run", answers="y\nok\n")
    assert status == 0 and "dry run, nothing moves" in out
    assert not robot.log.exists()


def test_an_unknown_actuator_is_named(robot, bridge):
    status, _, err = bridge("calibrate", robot.path, "--only", "lef")
    assert status == 1 and "there is no actuator 'lef'. Did you mean 'left'? Known: left." in err
    status, _, err = bridge("calibrate", robot.path, "--speed", "6")
    assert status == 2
