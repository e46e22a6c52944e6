"""The embedded runtime has SOFA's Python API, as far as the public examples use it."""

import importlib.util
import json
from pathlib import Path

import pytest

spec = importlib.util.spec_from_file_location("parity_api", Path(__file__).with_name("api.py"))
api = importlib.util.module_from_spec(spec)
spec.loader.exec_module(api)
RECORD = json.loads(api.RECORD.read_text(encoding="utf-8"))
USES, PROBES = RECORD["examples use"], RECORD["probes"]


@pytest.fixture(scope="module")
def missing(Sofa):
    return [name for name in USES if not api.has(Sofa, name)]


def test_nothing_that_an_example_uses_is_missing_without_a_reason(missing):
    assert [name for name in missing if USES[name] and api.reason(name) is None] == []


def test_what_is_said_to_be_missing_is(missing):
    assert [
        start for start in api.ABSENT if not any(name.startswith(start) for name in missing)
    ] == []


def test_the_record_has_the_answer_of_every_probe():
    assert list(PROBES) == api.api_probes.PROBES


@pytest.mark.parametrize("code", PROBES)
def test_a_line_of_python_does_what_it_does_in_sofa(Sofa, code):
    answer = api.api_probes.answer(Sofa, code)
    if code in api.DIFFERENT:
        assert not api.agrees(PROBES[code], answer), "take it out of api_differences.py"
    else:
        assert api.agrees(PROBES[code], answer), f"SOFA: {PROBES[code]}, here: {answer}"


def test_every_difference_is_of_a_probe():
    assert sorted(set(api.DIFFERENT) - set(PROBES)) == []
