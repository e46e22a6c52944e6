"""reference/bridge-devices.md has each built-in device, with its options and their defaults."""

import inspect
import re
import tomllib

import pytest

from sofa_softctl.bridge import registry
from tests.docs.pages import blocks, text

PAGE = "reference/bridge-devices"
SECTIONS = {part.partition("\n")[0]: part for part in re.split(r"(?m)^## ", text(PAGE))[1:]}


def options(device):
    """Options of a class: name, and the default as TOML has it."""
    _, *rest = inspect.signature(device).parameters.values()
    return {
        option.name: "" if option.default is option.empty else option.default for option in rest
    }


BUILT_IN = [name for name in registry.DEVICES.names() if registry.DEVICES.home_of(name)]


def test_every_device_has_a_section_in_alphabetical_order():
    assert list(SECTIONS) == sorted(SECTIONS)
    assert set(SECTIONS) >= set(BUILT_IN)


@pytest.mark.parametrize("name", sorted(set(SECTIONS) & set(BUILT_IN)))
def test_options_and_defaults_are_those_of_the_class(name):
    found = {}
    for option, default in re.findall(r"(?m)^\| `(\w+)` \|(.*?)\| ", SECTIONS[name]):
        value = default.strip(" `") or '""'
        found[option] = tomllib.loads(f"x = {value}")["x"]
    wanted = options(registry.find(name))
    assert list(found) == list(wanted)
    empty = ((), None, [], {})
    assert {k: v for k, v in found.items() if v not in empty} == {
        k: v for k, v in wanted.items() if v not in empty
    }


@pytest.mark.parametrize("block", range(len(blocks(PAGE, "toml"))))
def test_examples_are_devices_that_can_be_made(block):
    for name, given in tomllib.loads(blocks(PAGE, "toml")[block])["devices"].items():
        registry.find(given.pop("type"))(name, **given)
