"""Random changes of a valid file: an error with a line, or a robot that is safe to move."""

import math
import random
import re

import numpy as np
import pytest

from sofa_softctl.bridge.config.file import parse_robot
from sofa_softctl.bridge.config.setup import channels
from sofa_softctl.bridge.quantities import UNITS
from sofa_softctl.errors import ConfigError
from tests.bridge.config.robots import TEXT

VALUES = [
    "0", "1", "-1", "3", "-0.0", "0.5", "1e-3", "-2.5", "60.0", "100", "1000", "1e6", "1e18",
    "1e308", "-1e308", "5e-324", "1e-300", "nan", "inf", "-inf", "9223372036854775807", "0x7f",
    "true", "false", '"mm"', '"kPa"', '"board"', '""', '"linear"', '"table"', "'spool'", "[]",
    "[0.0]", "[0.0, 60.0]", "[60.0, 0.0]", "[1e308, -1e308]", "[-1e308, 1e308]", "[nan, 1]",
    "[[1], [2]]", "{}", "{ a = 1 }", "1979-05-27", '"""\n"""', "zwölf", "",
    '{ type = "linear", factor = 1e-300 }', '{ type = "linear", factor = -1e300 }',
    '{ type = "polynomial", coefficients = [1e-300, 1e300] }',
    '{ type = "polynomial", coefficients = [1.0, 1e-310, -1e-310] }',
    '{ type = "table", positions = [0, 1e-300, 100], values = [0, 1, 2] }',
    '{ type = "table", positions = [-1e9, 1e9], values = [1, -1] }',
    '{ type = "servo", pulse = [0, 1], radius = 1e300 }',
]  # fmt: skip


def mutated(generator):
    """The valid file after one to four random changes."""
    lines = TEXT.splitlines()
    for _ in range(generator.randint(1, 4)):
        at = generator.randrange(len(lines))
        other = generator.randrange(len(lines))
        match generator.randrange(9):
            case 0:
                del lines[at]
            case 1:
                lines.insert(other, lines[at])
            case 2:
                lines[at], lines[other] = lines[other], lines[at]
            case 3 | 4 | 5:  # another value
                key, equals, _ = lines[at].partition("=")
                lines[at] = f"{key}{equals} {generator.choice(VALUES)}" if equals else lines[at]
            case 6:  # one number by another one
                number = repr(generator.choice([-1, 1]) * 10.0 ** generator.uniform(-12, 12))
                lines[at] = re.sub(r"-?\d+(\.\d*)?", number, lines[at], count=1)
            case 7:  # one character by another one
                place = generator.randrange(len(lines[at]) + 1)
                new = generator.choice("= []{}\"'.,#\n\\0x-eé\x00 ")
                lines[at] = lines[at][:place] + new + lines[at][place + 1 :]
            case 8:  # the value of another line
                key, equals, _ = lines[at].partition("=")
                value = lines[other].partition("=")[2]
                lines[at] = f"{key}{equals}{value}"
        if not lines:
            lines = [""]
    return "\n".join(lines) + "\n"


def check_robot(robot):
    """Invariants of a robot that was accepted."""
    assert robot.devices and robot.actuators
    assert len({(each.device, each.channel) for each in robot.actuators}) == len(robot.actuators)
    assert 1.0 <= robot.stream.rate <= 1000.0
    assert robot.stream.interpolation in ("linear", "hold")
    for timeout in ("command_timeout", "feedback_timeout", "clock_jump"):
        assert 1.0 / robot.stream.rate <= getattr(robot.safety, timeout) <= 60.0
    known = {device.name for device in robot.devices}
    for each in robot.actuators:
        assert each.device in known and each.channel >= 0
        assert each.unit in UNITS[each.quantity]
        assert math.isfinite(each.position_min) and math.isfinite(each.position_max)
        assert each.position_min < each.position_max
        assert each.position_min <= each.rest <= each.position_max
        for value in (each.rate, each.acceleration, each.jump):
            assert 0.0 < value < math.inf
        assert each.effort_max > 0.0 and 0.0 <= each.soft_start < math.inf
        x = np.linspace(each.position_min, each.position_max, 33)
        y = each.map.to_device(x)
        assert np.all(np.isfinite(y))
        steps = np.diff(y) * np.sign(y[-1] - y[0])
        assert np.all(steps >= 0.0) and steps.sum() > 0.0  # as far as floats can say
        span = each.position_max - each.position_min
        assert np.allclose(each.map.from_device(y), x, rtol=0.0, atol=1e-5 * span)
    for device in channels(robot).values():
        for channel in device:
            assert -math.inf < channel.low < channel.high < math.inf
            assert channel.low <= channel.rest <= channel.high
            assert 0.0 < channel.rate < math.inf
    for sensor in robot.sensors:
        assert sensor.device in known and sensor.size >= 1 and sensor.signal


def fuzz(count, seed=0):
    """Counts of accepted and refused files; anything else raises."""
    generator = random.Random(seed)
    accepted = refused = 0
    for _ in range(count):
        text = mutated(generator)
        try:
            robot = parse_robot(text, "robot.toml")
        except ConfigError as error:
            refused += 1
            for line in str(error).splitlines():
                assert re.match(r"robot\.toml(:\d+)?: .", line)
                number = re.match(r"robot\.toml:(\d+)", line)
                assert number is None or 1 <= int(number[1]) <= text.count("\n") + 1
        else:
            accepted += 1
            check_robot(robot)
    return accepted, refused


@pytest.mark.parametrize("seed", range(3))
def test_random_files_are_refused_or_safe(seed):
    accepted, refused = fuzz(150, seed)
    assert accepted > 15 and refused > 60


if __name__ == "__main__":  # python -m tests.bridge.config.test_random_files
    print("accepted, refused:", fuzz(100_000, seed=19))
