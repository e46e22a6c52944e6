"""One vocabulary of endings."""

import ast
from pathlib import Path

import pytest

import sofa_softctl
from sofa_softctl.status import ExitStatus, Status, Verdict

PACKAGE = Path(sofa_softctl.__file__).parent
DOCS = PACKAGE.parent / "docs" / "reference"
NO_ENDINGS = {"Correction", "InverseRole", "Method", "Mode", "StreamState", "Termination"}
"""Enums of the package that say something else than how a thing ended."""


def test_only_solved_and_reached_are_good():
    assert [one for one in Status if one.ok] == [Status.SOLVED]
    assert [one for one in Verdict if one.ok] == [Verdict.REACHED]


@pytest.mark.parametrize("status", Status)
def test_every_status_leads_to_a_verdict_and_an_exit_status(status):
    verdict = status.verdict
    assert verdict.ok is status.ok
    assert verdict.exit_status is (ExitStatus.DONE if status.ok else ExitStatus.NOT_REACHED)


def test_the_worst_of_several_is_the_last_in_their_order():
    assert Status.worst([Status.SOLVED, Status.HELD, Status.FALLBACK]) is Status.HELD
    assert Status.worst([]) is Status.SOLVED
    assert Verdict.worst([Verdict.CLOSEST, Verdict.REACHED]) is Verdict.CLOSEST
    assert Verdict.worst([]) is None


@pytest.mark.parametrize("one", [*Status, *Verdict], ids=str)
def test_statuses_and_verdicts_are_in_their_table(one):
    assert f"| `{one.name}` | " in (DOCS / "statuses.md").read_text()


@pytest.mark.parametrize("one", ExitStatus)
def test_exit_statuses_are_in_their_table(one):
    assert f"| {one.value} | `{one.name}` | " in (DOCS / "command-line.md").read_text()


@pytest.mark.processes
def test_no_other_enum_says_how_things_end():
    found = set()
    for file in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ClassDef) and any("Enum" in ast.unparse(b) for b in node.bases):
                found.add(node.name)
    assert found - NO_ENDINGS == {"Status", "Verdict", "ExitStatus"}
