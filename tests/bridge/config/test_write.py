"""Calibration is written back: comments stay, the old file is kept, all or nothing."""

import os
import random
import stat

import pytest

from sofa_softctl.bridge.config.file import parse_robot, read_robot
from sofa_softctl.bridge.config.write import changed_text, write_back
from sofa_softctl.errors import ConfigError
from tests.bridge.config.robots import TEXT
from tests.bridge.config.test_random_files import mutated

pytest.importorskip("tomlkit")
COMMENTED = TEXT.replace("zero = 1000", "zero   =  1000    # after the new cable, 3 May").replace(
    "sign = -1\n", "# the motor sits\n# upside down\nsign = -1\n\n"
)


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "trunk.toml"
    path.write_text(COMMENTED)
    return path


def test_only_the_new_values_differ(file):
    copy = write_back(read_robot(file), {"left": {"zero": 1234.5, "sign": 1}})
    assert copy == file.with_name("trunk.toml.1")
    assert copy.read_text() == COMMENTED
    expected = COMMENTED.replace("zero   =  1000 ", "zero   =  1234.5 ").replace(
        "sign = -1", "sign = 1"
    )
    assert file.read_text() == expected
    assert (
        os.listdir(file.parent) == ["trunk.toml", "trunk.toml.1"]
        or len(os.listdir(file.parent)) == 2
    )


def test_copies_are_never_overwritten(file):
    for zero in (1, 2, 3):
        write_back(read_robot(file), {"left": {"zero": float(zero)}})
    assert file.with_name("trunk.toml.1").read_text() == COMMENTED
    for number, zero in ((2, 1), (3, 2)):
        copy = read_robot(file.with_name(f"trunk.toml.{number}"))
        assert copy.actuators[0].map.zero == zero


KEYS = {
    "device": '"board"', "channel": "0", "quantity": '"length"', "unit": '"mm"', "rate": "1",
    "position": "[0, 9]", "acceleration": "1", "jump": "1", "rest": "0",
    "map": '{ type = "linear", factor = 1 }',
}  # fmt: skip


@pytest.mark.parametrize(
    "lines",
    [
        f"left = {{ {', '.join(f'{key} = {value}' for key, value in KEYS.items())} }}",
        "\n".join(f"left.{key} = {value}" for key, value in KEYS.items()),
    ],
)
def test_keys_are_added_to_inline_tables_and_dotted_keys(lines):
    device = 'devices.d = { type = "loopback" }\n[devices.board]\ntype = "loopback"\n'
    text = f"{device}[actuators]\n{lines}\n"
    robot = parse_robot(text, "r.toml")
    again = parse_robot(changed_text(robot, {"left": {"zero": 5.0, "sign": -1}}), "r.toml")
    assert (again.actuators[0].map.zero, again.actuators[0].map.slope) == (5.0, -1.0)
    assert len(again.devices) == 2


def test_a_file_that_was_changed_meanwhile_stays(file):
    robot = read_robot(file)
    file.write_text(COMMENTED + "# a note\n")
    with pytest.raises(ConfigError, match="has changed since it was read, nothing was written"):
        write_back(robot, {"left": {"zero": 5.0}})
    assert file.read_text() == COMMENTED + "# a note\n"
    assert os.listdir(file.parent) == ["trunk.toml"]


def test_values_that_make_no_robot_are_not_written(file):
    with pytest.raises(ConfigError, match="zero: expected a number, got nan"):
        write_back(read_robot(file), {"left": {"zero": float("nan")}})
    assert os.listdir(file.parent) == ["trunk.toml"]


def test_permissions_and_links_stay(file, tmp_path):
    file.chmod(0o640)
    link = tmp_path / "link.toml"
    link.symlink_to(file)
    write_back(read_robot(link), {"left": {"zero": 5.0}})
    assert link.is_symlink() and "zero   =  5.0" in file.read_text()
    assert stat.S_IMODE(file.stat().st_mode) == 0o640


def test_a_file_of_windows_keeps_its_line_ends(tmp_path):
    path = tmp_path / "r.toml"
    path.write_bytes(COMMENTED.replace("\n", "\r\n").encode())
    write_back(read_robot(path), {"left": {"zero": 5.0}, "right": {"zero": 6.0}})
    raw = path.read_bytes()
    assert raw.count(b"\n") == raw.count(b"\r\n") > COMMENTED.count("\n")


def test_in_random_files_that_are_valid_nothing_else_changes():
    generator, valid = random.Random(5), 0
    for _ in range(200):
        text = mutated(generator)
        try:
            robot = parse_robot(text, "r.toml")
        except ConfigError:
            continue
        valid += 1
        name = robot.actuators[-1].name
        again = parse_robot(changed_text(robot, {name: {"zero": 77.0}}), "r.toml")
        for one, other in zip(robot.actuators, again.actuators, strict=True):
            old, new = (float(each.map.to_device(each.rest)) for each in (one, other))
            assert one.rest == other.rest and (one.name == name or old == new)
        assert (robot.stream, robot.safety) == (again.stream, again.safety)
    assert valid > 15
