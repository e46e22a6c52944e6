"""The page on a robot's configuration lists what there is."""

from dataclasses import fields
from pathlib import Path

import pytest

from sofa_softctl.base.toml.faults import Faults
from sofa_softctl.base.toml.fields import Fields
from sofa_softctl.bridge.config.file import parse_robot
from sofa_softctl.bridge.config.map_tables import KINDS
from sofa_softctl.bridge.config.robot import (
    ActuatorConfig,
    SafetyConfig,
    SensorConfig,
    StreamConfig,
)
from sofa_softctl.bridge.config.text import ROBOT
from sofa_softctl.bridge.quantities import UNITS
from tests.docs.pages import ROOT, blocks, text

PAGE = text("reference/bridge-configuration")
NOT_KEYS = {"name", "line", "position_min", "position_max"}


@pytest.mark.parametrize("table", [StreamConfig, SafetyConfig, ActuatorConfig, SensorConfig])
def test_every_key_is_on_the_page(table):
    for field in fields(table):
        assert field.name in NOT_KEYS or f"`{field.name}`" in PAGE


@pytest.mark.parametrize("table", [StreamConfig, SafetyConfig])
def test_defaults_are_those_of_the_code(table):
    for field in fields(table):
        row = next(line for line in PAGE.splitlines() if line.startswith(f"| `{field.name}` |"))
        default = row.split("|")[3].strip().strip('`"')
        expected = str(field.default).lower() if field.default != "" else "none"
        assert default == expected or float(default) == float(field.default)


@pytest.mark.parametrize("kind", KINDS)
def test_every_key_of_a_map_is_on_the_page(kind):
    (row,) = [line for line in PAGE.splitlines() if line.startswith(f"| `{kind}` |")]
    faults = Faults("robot.toml", {}, ROBOT)
    asked = Fields(faults, ("map",), {})
    unit = {"turn": "deg", "syringe": "ml"}.get(kind, "mm")
    KINDS[kind][1](asked, 1.0, 0.0, unit, (0.0, 1.0))
    assert asked._requested and all(f"`{key}`" in row for key in asked._requested)


def test_every_unit_is_on_the_page():
    for quantity, units in UNITS.items():
        assert f"| {quantity} | {', '.join(units)} |" in PAGE


def test_the_file_of_the_page_is_valid():
    (block,) = blocks("reference/bridge-configuration", "toml")
    robot = parse_robot(block, "robot.toml")
    assert [actuator.name for actuator in robot.actuators] == ["long_up"]


def test_every_ready_robot_is_on_the_page():
    for path in Path(ROOT / "hardware").glob("*.toml"):
        assert f"| `{path.name}` |" in PAGE
