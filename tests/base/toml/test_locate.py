"""Lines of tables and keys."""

import tomllib

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from sofa_softctl.base.toml.locate import locate
from tests.bridge.config.robots import TEXT

tomlkit = pytest.importorskip("tomlkit")

DOCUMENT = '''\
# [not.a.table]
title = "a = [1, \\"2\\"] # no comment"   # comment = 1
"quoted key" = \'\'\'
[not.this]
it\'s text\'\'\'\'
a.b . c = { d = [ { e = 1 }, {f.g = 2} ], "h.i" = 3 }

[table.sub]
list = [
  1,
  [2, 1979-05-27 07:32:00],  # one, ]
  """
  ]""",
]
x = 1

[[fruit]]
name = "apple"
[fruit.physical]
color = "red"
[[fruit.kinds]]
name = "delicious"
[[fruit]]
[[fruit.kinds]]
name = "plantain"
'''
LINES = {
    ("title",): 2,
    ("quoted key",): 3,
    ("a",): 6,
    ("a", "b"): 6,
    ("a", "b", "c"): 6,
    ("a", "b", "c", "d"): 6,
    ("a", "b", "c", "d", 0): 6,
    ("a", "b", "c", "d", 0, "e"): 6,
    ("a", "b", "c", "d", 1): 6,
    ("a", "b", "c", "d", 1, "f"): 6,
    ("a", "b", "c", "d", 1, "f", "g"): 6,
    ("a", "b", "c", "h.i"): 6,
    ("table",): 8,
    ("table", "sub"): 8,
    ("table", "sub", "list"): 9,
    ("table", "sub", "list", 0): 10,
    ("table", "sub", "list", 1): 11,
    ("table", "sub", "list", 1, 0): 11,
    ("table", "sub", "list", 1, 1): 11,
    ("table", "sub", "list", 2): 12,
    ("table", "sub", "x"): 15,
    ("fruit",): 17,
    ("fruit", 0): 17,
    ("fruit", 0, "name"): 18,
    ("fruit", 0, "physical"): 19,
    ("fruit", 0, "physical", "color"): 20,
    ("fruit", 0, "kinds"): 21,
    ("fruit", 0, "kinds", 0): 21,
    ("fruit", 0, "kinds", 0, "name"): 22,
    ("fruit", 1): 23,
    ("fruit", 1, "kinds"): 24,
    ("fruit", 1, "kinds", 0): 24,
    ("fruit", 1, "kinds", 0, "name"): 25,
}


def paths(value, path=()):
    """Paths of everything in a document that was read."""
    members = value.items() if isinstance(value, dict) else ()
    members = enumerate(value) if isinstance(value, list) else members
    for key, member in members:
        yield (*path, key)
        yield from paths(member, (*path, key))


def test_every_kind_of_toml_is_found_on_its_line():
    assert locate(DOCUMENT) == LINES
    assert set(LINES) == set(paths(tomllib.loads(DOCUMENT)))


def test_lines_with_carriage_returns_are_the_same():
    assert locate(DOCUMENT.replace("\n", "\r\n")) == LINES


def test_the_keys_of_a_robot_are_found():
    found = locate(TEXT)
    assert set(found) == set(paths(tomllib.loads(TEXT)))
    lines = TEXT.splitlines()
    assert lines[found["actuators", "right", "map"] - 1] == "[actuators.right.map]"
    assert lines[found["actuators", "bend", "map", "coefficients"] - 1].startswith("map.coeff")


SCALARS = st.one_of(
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False),
    st.booleans(),
    st.text(st.characters(exclude_categories=("Cs",)), max_size=12),
    st.datetimes(),
    st.dates(),
)
KEYS = st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=6)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=10,
)


@pytest.mark.processes
@settings(max_examples=80, deadline=None)
@given(st.dictionaries(KEYS, VALUES, max_size=5))
def test_every_key_of_a_random_document_is_found(data):
    """tomlkit writes it, tomllib reads it: the locator finds the same keys, on lines in order."""
    text = tomlkit.dumps(data)
    found = locate(text)
    assert set(found) == set(paths(tomllib.loads(text)))
    assert all(1 <= line <= text.count("\n") + 1 for line in found.values())
    for path, line in found.items():
        assert line >= found.get(path[:-1], 1), "a key stands on or below its table's line"
