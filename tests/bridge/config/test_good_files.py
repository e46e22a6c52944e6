"""What a valid configuration file becomes."""

import math
import pickle

import numpy as np
import pytest

from sofa_softctl.bridge.config.file import parse_robot, read_robot
from sofa_softctl.bridge.config.setup import channels
from sofa_softctl.bridge.device import ChannelSetup, Device
from sofa_softctl.bridge.registry import DEVICES
from sofa_softctl.errors import ConfigError, DeviceUnavailableError
from tests.bridge.config.robots import TEXT


@pytest.fixture
def robot():
    return parse_robot(TEXT, "/robots/trunk.toml")


def test_tables_become_dataclasses(robot):
    assert (robot.name, robot.path, robot.text) == ("Trunk", "/robots/trunk.toml", TEXT)
    assert [device.name for device in robot.devices] == ["board", "camera"]
    assert robot.devices[0].options == {"unit": "us", "resolution": 0.5}
    left = robot.actuators[0]
    assert (left.name, left.device, left.channel) == ("left", "board", 0)
    assert (left.position_min, left.position_max, left.rest) == (0.0, 60.0, 0.0)
    assert (left.rate, left.acceleration, left.jump) == (40.0, 400.0, 10.0)
    assert (left.effort_max, left.soft_start) == (800.0, 2.0)
    assert TEXT.splitlines()[left.line - 1] == "[actuators.left]"
    (tip,) = robot.sensors
    assert (tip.signal, tip.size, tip.unit) == ("tip", 3, "mm")
    assert (robot.stream.rate, robot.safety.command_timeout) == (100.0, 0.5)


def test_what_is_left_out_has_a_default():
    robot = parse_robot(TEXT.replace('robot = "Trunk"\n', ""), "/robots/snake.toml")
    assert robot.name == "snake"
    assert robot.actuators[1].effort_max == math.inf
    assert robot.actuators[1].soft_start == 2.0
    assert robot.sensors[0].map.from_device(np.array(5.0)) == 5.0


def test_a_file_for_stops_is_in_the_folder_of_the_configuration(robot):
    assert robot.safety.stop_file == "/robots/stop"
    there = parse_robot(TEXT.replace('"stop"', '"/run/stop"'), "/robots/trunk.toml")
    assert there.safety.stop_file == "/run/stop"


def test_timeouts_that_are_not_given_fit_a_slow_stream():
    """Two periods of 1 s; the defaults, of less than a second, would be errors."""
    text = TEXT.replace("rate = 100", "rate = 1").replace("command_timeout = 0.5\n", "")
    assert parse_robot(text, "r.toml").safety.command_timeout == 2.0


def test_a_robot_goes_to_another_process(robot):
    again = pickle.loads(pickle.dumps(robot))
    for one, other in zip(robot.actuators, again.actuators, strict=True):
        assert one.map.to_device(np.array(3.0)) == other.map.to_device(np.array(3.0))


def test_a_file_of_windows_is_read(tmp_path):
    file = tmp_path / "r.toml"
    file.write_bytes(b"\xef\xbb\xbf" + TEXT.replace("\n", "\r\n").encode())
    assert read_robot(file).actuators[0].line == parse_robot(TEXT, "r").actuators[0].line


def test_channels_are_in_the_units_of_the_device(robot):
    """4000 counts a turn of 2 pi 12 mm, backwards from 1000: 60 mm are 3183 counts."""
    counts = 4000 / (2 * math.pi * 12)
    board = channels(robot)["board"]
    assert channels(robot)["camera"] == ()
    expected = ChannelSetup(0, "left", 1000 - 60 * counts, 1000.0, 40 * counts, 1000.0)
    assert board[0].__dict__ == pytest.approx(expected.__dict__)
    # 30 + 0.4 x counts a degree, 48 at 45 degrees
    assert board[2].rate == pytest.approx(30 * 48)
    assert [channel.name for channel in board] == ["left", "right", "bend"]


class Fussy(Device):
    """A device with options of many types."""

    quantities = ("pressure",)

    def __init__(
        self,
        name,
        *,
        port: str,
        mode: "int | str" = 1,
        gains: list[float] = (),
        pair: tuple[int, str] = (1, "a"),
        table: "dict[str, float] | None" = None,
        anything=None,
    ):
        super().__init__(name)
        if mode == 99:
            raise ValueError("mode 99 is for later.")
        if mode == 98:
            raise DeviceUnavailableError("no library")

    open = write = read = stop = close = lambda self, *_: None


@pytest.fixture
def fussy():
    with DEVICES.kept():
        DEVICES.add("fussy", Fussy)
        yield lambda options: parse_robot(
            TEXT.replace(
                'type = "loopback"\nunit = "us"\nresolution = 0.5', f'type = "fussy"\n{options}'
            ),
            "r.toml",
        )


NOT_FOR_LENGTHS = (
    "[actuators.left] quantity: expected a quantity for which 'fussy' is meant: pressure"
)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ("mode = 2", "r.toml:13: [devices.board]: expected the option 'port' (a text)"),
        ('port = "a"\nmode = 2.5', "r.toml:16: [devices.board] mode: expected a whole number or"),
        ('port = "a"\nmode = 99', "[devices.board]: the options do not fit: mode 99 is for later."),
        ('port = "a"\ngains = [1, "b"]', "gains: expected a list of a finite number, got [1, 'b']"),
        ('port = "a"\ngains = 1', "gains: expected a list of a finite number, got 1"),
        ('port = "a"\npair = [1]', "pair: expected a list of a whole number and a text, got [1]"),
        ('port = "a"\ntable = { a = "b" }', "table: expected a table, got a table"),
        ('port = "a"\nmode = 98', NOT_FOR_LENGTHS),
        ('port = "a"\nanything = 1979-05-27', NOT_FOR_LENGTHS),
    ],
)  # fmt: skip
def test_options_are_those_of_the_devices_class(fussy, options, says):
    with pytest.raises(ConfigError) as error:
        fussy(options)
    assert says in str(error.value)


def test_options_have_the_types_of_the_class(fussy, monkeypatch):
    monkeypatch.setattr(Fussy, "quantities", ())
    robot = fussy('port = "a"\ngains = [1, 2]\npair = [3, "c"]\ntable = { a = 1 }\nmode = "x"')
    options = robot.devices[0].options
    assert options["gains"] == [1.0, 2.0] and isinstance(options["gains"][0], float)
    assert options["pair"] == (3, "c")
    assert options["table"] == {"a": 1.0}
