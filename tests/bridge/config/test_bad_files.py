"""What is wrong in a robot's configuration file is reported with its line."""

import os
import re

import pytest

from sofa_softctl.bridge.config.file import parse_robot, read_robot
from sofa_softctl.errors import ConfigError
from tests.bridge.config.robots import TEXT

PUMP = '{ type = "syringe", area = 1.0, lead = 1.0, counts_per_turn = 1 }'
LEFT = '[actuators.left]\ndevice = "board"\nchannel = 0'
SPOOL = '{ type = "spool", radius = 12.0, counts_per_turn = 4000, gear = 1.0 }'
ROWS = [
    # what is replaced, by what, where the error is (the first line with this), what it says
    # tables and keys that are not there
    ("[stream]", "[streem]", "[streem]", "got 'streem'. Did you mean 'stream'?"),
    ("[safety]", "[savety]", "[savety]", "Did you mean 'safety'?"),
    ('robot = "Trunk"', 'name = "Trunk"', "name =", "expected robot, stream, safety"),
    ('robot = "Trunk"', "robot = 3", "robot = 3", "expected the robot's name in quotes, got 3"),
    ("lookahead = 2", "look_ahead = 2", "look_ahead", "Did you mean 'lookahead'?"),
    ("stop_file =", "stopfile =", "stopfile", "Did you mean 'stop_file'?"),
    ("effort_max =", "max_effort =", "max_effort", "expected a key of an actuator"),
    ("radius = 12.0", "radus = 12.0", "radus", "Did you mean 'radius'?"),
    ("size = 3", "sizes = 3", "sizes", "Did you mean 'size'?"),
    # keys that are missing
    ('type = "loopback"\nunit = "us"', 'unit = "us"', "[devices.board]", "the key 'type'"),
    ("channel = 0\n", "", "[actuators.left]", "expected the key 'channel', got none. Add"),
    ("rate = 40.0\n", "", "[actuators.left]", "expected the key 'rate', got none. Add: rate = 40"),
    ("jump = 10.0\n", "", "[actuators.left]", "expected the key 'jump'"),
    ("position = [0.0, 60.0]\n", "", "[actuators.left]", "expected the key 'position'"),
    (f"map = {SPOOL}\n", "", "[actuators.left]", "expected the key 'map'"),
    (", counts_per_turn = 4000", "", "map = {", "expected the key 'counts_per_turn'"),
    ('signal = "tip"\n', "", "[sensors.tip]", "expected the key 'signal'"),
    # wrong types
    ("rate = 100", 'rate = "fast"', 'rate = "fast"', "got 'fast'"),
    ("lookahead = 2", "lookahead = 2.5", "lookahead", "expected a whole number from 1 to 1000"),
    ("channel = 0", "channel = true", "channel = true", "got true"),
    ("channel = 1", "channel = -1", "channel = -1", "expected a whole number from 0"),
    ("sign = -1", "sign = 2", "sign = 2", "expected 1 or -1, got 2"),
    ("zero = 1000", "zero = nan", "zero", "expected a number, got nan"),
    ("rate = 40.0", "rate = inf", "rate = inf", "got inf"),
    ("rate = 40.0", f"rate = 1{'0' * 400}", "rate = 10000", "more than 15 digits"),
    ("position = [0.0, 60.0]", "position = 60.0", "position = 60", "two numbers, got 60.0"),
    ("position = [0.0, 60.0]", "position = [60.0]", "position = [60", "two numbers"),
    ("position = [0.0, 60.0]", "position = [0.0,\n 'a']", " 'a'", "position[1]: expected"),
    (f"map = {SPOOL}", "map = 3.0", "map = 3", "map: expected a table, got 3.0"),
    ("[sensors.tip]", "[sensors]\ntop = 1\n[sensors.tip]", "top = 1", "expected a table, got 1"),
    (TEXT, "devices = 3", "devices = 3", "expected tables [devices.NAME], got 3"),
    (TEXT, "stream = 3", "stream = 3", "[stream]: expected a table, got 3"),
    # devices
    ('type = "loopback"\nunit', 'type = "loopbak"\nunit', 'type = "loopbak"', "'loopback'?"),
    ('type = "loopback"\nunit', "type = 7\nunit", "type = 7", "expected the name of a device"),
    ("resolution = 0.5", "resolutions = 0.5", "resolutions", "Did you mean 'resolution'?"),
    ("resolution = 0.5", 'resolution = "fine"', "resolution", "expected a finite number"),
    ("resolution = 0.5", "resolution = nan", "resolution", "expected a finite number, got nan"),
    ('unit = "us"', "unit = 3", "unit = 3", "expected a text, got 3"),
    ('unit = "us"', 'name = "b"', 'name = "b"', "expected an option: unit, resolution; got 'name'"),
    (LEFT, LEFT.replace("board", "bord"), 'device = "bord"', "got 'bord'. Did you mean 'board'?"),
    ('device = "camera"', 'device = ""', 'device = ""', "expected a device of this file"),
    ("channel = 1", "channel = 0", "channel = 0\nquantity = \"p", "by 'left' in line 23"),
    # quantities and units
    ('"pressure"', '"presure"', "presure", "Did you mean 'pressure'?"),
    ('unit = "kPa"', 'unit = "mm"', 'unit = "mm"\nposition = [0.0, 50', "a unit of pressure"),
    ('unit = "deg"', 'unit = "degree"', "degree", "expected a unit of angle: rad, deg"),
    ('quantity = "angle"\nunit = "deg"', 'quantity = "angle"\nunit = "N m"', "N m", "angle"),
    # limits
    ("position = [0.0, 60.0]", "position = [60.0, 0.0]", "position = [60", "Swap them"),
    ("position = [0.0, 60.0]", "position = [60.0, 60.0]", "position = [60", "Swap them"),
    ("position = [0.0, 60.0]", "position = [1.0, 60.0]", "rest = 0.0", "within the limits, 1 to"),
    ("rest = 0.0\nsoft", "rest = 61.0\nsoft", "rest = 61.0", "within the limits, 0 to 60 mm"),
    ("rate = 40.0", "rate = 0.0", "rate = 0.0", "expected a number above 0"),
    ("acceleration = 400.0", "acceleration = -1.0", "acceleration = -1", "mm/s2"),
    ("jump = 10.0", "jump = 0", "jump = 0", "two successive targets"),
    ("effort_max = 800.0", "effort_max = 0", "effort_max = 0", "above 0"),
    ("soft_start = 2.0", "soft_start = -2.0", "soft_start = -2", "from 0"),
    # maps
    ('type = "spool"', 'type = "spol"', "spol", "Did you mean 'spool'?"),
    ('type = "spool", ', "", "map = {", "expected the key 'type'"),
    ("radius = 12.0", "radius = 0.0", "radius = 0", "map.radius: expected a number above 0"),
    ("gear = 1.0", "gear = -1.0", "gear = -1", "expected a number above 0: turns of the motor"),
    (SPOOL, '{ type = "linear", factor = 0 }', "factor = 0", "a number other than 0"),
    (SPOOL, '{ type = "linear", factor = 1e-320 }', "factor", "can be told apart"),
    ("zero = 1000", "zero = 1e14", "map = {", "can be told apart"),
    ("zero = 1000", "zero = 1e300", "zero = 1e300", "expected a number, got 1e+300"),
    (SPOOL, PUMP, "syringe", "which is for volume"),
    (SPOOL, '{ type = "turn", counts_per_turn = 1 }', "turn", "which is for angle"),
    (SPOOL, '{ type = "servo", pulse = [500, 2400], radius = 9.0 }', "servo", "Narrow the limits"),
    (SPOOL, '{ type = "servo", pulse = [2400, 500], radius = 9.0 }', "servo", "and longest"),
    ("[30.0, 0.2]", "[30.0, 2.0]", "coefficients", "only rises, or only falls, from -10 to 45 deg"),
    ("[30.0, 0.2]", "[0.0]", "coefficients", "only rises"),
    ("[30.0, 0.2]", "[]", "coefficients", "1 to 8 factors"),
    ("[30.0, 0.2]", "[1, 1, 1, 1, 1, 1, 1, 1, 1]", "coefficients", "1 to 8 factors"),
    ("positions = [0.0, 20.0, 50.0]", "positions = [0.0, 20.0, 49.0]", "49.0", "cover the limits"),
    ("positions = [0.0, 20.0, 50.0]", "positions = [0.0, 50.0, 20.0]", "50.0, 20", "20 after 50"),
    ("positions = [0.0, 20.0, 50.0]", "positions = [0.0, 50.0]", "values", "2 positions and 3"),
    ("values = [0.0, 300.0, 1023.0]", "values = [0, 300, 300]", "values", "got 300 and then 300"),
    ("values = [0.0, 300.0, 1023.0]", "values = []", "values", "at least two numbers"),
    ("size = 3", 'map = { type = "polynomial", coefficients = [1] }', "[1]", "Use a table"),
    ("size = 3", "size = 0", "size = 0", "from 1 to 4096"),
    ('signal = "tip"', 'signal = ""', "signal", "expected a signal of the device"),
    # stream and safety
    ("rate = 100", "rate = 0", "rate = 0", "from 1 to 1000"),
    ("rate = 100", "rate = 2000", "rate = 2000", "commands a second [Hz], got 2000"),
    ('"linear"', '"cubic"', "cubic", "expected one of: linear, hold, got 'cubic'"),
    ('"wait"', '"refus"', "refus", "Did you mean 'refuse'?"),
    ("lookahead = 2", "lookahead = 0", "lookahead", "from 1 to 1000"),
    ("command_timeout = 0.5", "command_timeout = 0.005", "command_t", "the stream, 0.01 s"),
    ("command_timeout = 0.5", "command_timeout = 1e9", "command_t", "at most 60 s"),
    ("command_timeout = 0.5", "feedback_timeout = 0.0", "feedback_t", "one period"),
    ("command_timeout = 0.5", "hold = -1", "hold", "from 0 to 60 s"),
    ("command_timeout = 0.5", "clock_jump = true", "clock_jump", "got true"),
    ("lookahead = 2", "realtime = 1", "realtime", "expected true or false"),
    ('stop_file = "stop"', 'stop_file = "a\\u0000b"', "stop_file", "character 0"),
    # TOML itself
    ("rate = 40.0", "rate 40.0", "rate 40.0", "expected TOML, got a mistake at column 6"),
    ("rate = 40.0", "rate = fast", "rate = fast", "texts need quotes"),
    ("[actuators.right]", "[actuators.left]", LEFT[:-1] + "1", "twice"),
    ("rate = 40.0", "rate = 40.0\nrate = 41.0", "rate = 41.0", "there twice"),
    ('[sensors.tip]', '[sensors."\\u0007"]', "[sensors.", "Write a readable one"),
    ("size = 3\n", "size = [", "size = [", "expected TOML"),
]  # fmt: skip


def changed(old, new):
    assert TEXT.count(old), old
    return TEXT.replace(old, new, 1)


@pytest.mark.parametrize(
    ("old", "new", "place", "says"), ROWS, ids=[f"{row[1][:30]}: {row[3][:20]}" for row in ROWS]
)
def test_an_error_has_its_line(old, new, place, says):
    text = changed(old, new)
    line = text[: text.index(place)].count("\n") + 1
    with pytest.raises(ConfigError) as error:
        parse_robot(text, "robot.toml")
    messages = str(error.value).splitlines()
    (found,) = [each for each in messages if says in each]
    assert found.startswith(f"robot.toml:{line}: ")
    assert re.search(r"\. [A-Z`][^.]+", found), "it says what to do"
    if old != TEXT and new != "size = [":
        assert len(messages) == 1, "one mistake, one message"


def test_the_file_that_the_rows_change_is_valid():
    assert len(parse_robot(TEXT, "robot.toml").actuators) == 3
    assert len(ROWS) >= 60


def test_all_errors_are_listed_by_their_lines():
    text = TEXT.replace("rate = 30.0", "rate = 0.0").replace('"linear"', '"cubic"')
    with pytest.raises(ConfigError) as error:
        parse_robot(text, "robot.toml")
    lines = [int(each.split(":")[1]) for each in str(error.value).splitlines()]
    assert len(lines) == 3
    assert lines == sorted(lines)


def test_at_most_ten_errors_are_listed():
    text = "".join(f"[actuators.a{i}]\n" for i in range(5))
    with pytest.raises(ConfigError) as error:
        parse_robot(text, "robot.toml")
    messages = str(error.value).splitlines()
    assert len(messages) == 11
    assert re.fullmatch(r"robot.toml: and \d+ more errors\.", messages[-1])


def test_an_empty_file_lacks_devices_and_actuators():
    with pytest.raises(
        ConfigError, match=r"(?s)robot.toml:1: .*\[actuators.NAME\].*\[devices.NAME"
    ):
        parse_robot("", "robot.toml")


def test_lines_are_found_in_inline_tables_and_dotted_keys():
    text = TEXT.replace("map.coefficients = [30.0, 0.2]", "map.coefficients = [30.0,\n  'x']")
    with pytest.raises(ConfigError) as error:
        parse_robot(text, "r.toml")
    line = text[: text.index("'x'")].count("\n") + 1
    assert f"r.toml:{line}: [actuators.bend] map.coefficients[1]: " in str(error.value)


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        (b"robot = 'a'\n\xff\n", r"r.toml:2: expected a text in UTF-8, got byte 0xff"),
        (b"# " + b"x" * (1 << 20), "expected at most 1 MiB"),
        (b"x = " + b"[" * 100_000, "nested|expected TOML"),
        (b"x = 1" + b"0" * 5000, "expected TOML, got what cannot be read"),
        (b"\x00", "r.toml:1: expected TOML"),
    ],
)
def test_a_file_that_is_no_text_is_refused(tmp_path, raw, says):
    file = tmp_path / "r.toml"
    file.write_bytes(raw)
    with pytest.raises(ConfigError, match=says):
        read_robot(file)


def test_a_file_that_is_not_there(tmp_path):
    (tmp_path / "trunk.toml").write_text(TEXT)
    with pytest.raises(ConfigError, match="got none. Did you mean trunk.toml"):
        read_robot(tmp_path / "trnk.toml")
    with pytest.raises(ConfigError, match="expected a file, got a folder"):
        read_robot(tmp_path)
    with pytest.raises(ConfigError, match="expected a file, got a device or pipe"):
        read_robot("/dev/zero")
    with pytest.raises(ConfigError, match="cannot be read|got none"):
        read_robot("a\0b")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission(tmp_path):
    file = tmp_path / "r.toml"
    file.write_text(TEXT)
    file.chmod(0)
    with pytest.raises(ConfigError, match="cannot be read: Permission denied"):
        read_robot(file)
