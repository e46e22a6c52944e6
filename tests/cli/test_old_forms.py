"""Commands in their form of version 0.1."""

import shlex

import pytest

from sofa_softctl.cli.old_forms import renewed


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("bench s.py --steps 5", "bench scene s.py --steps 5"),
        ("bench --steps 5 s.py", "bench scene --steps 5 s.py"),
        ("compare s.py", "bench compare s.py"),
        ("papers", "papers inverse"),
        ("papers --contacts both --json", "papers inverse --contacts both --json"),
        ("papers --transfer", "papers inverse --transfer"),
        ("papers --plot p.png --planning", "papers planning --plot p.png"),
        ("papers --trajectories", "papers trajectories"),
        ("papers --identification", "papers identification"),
        ("papers --coverage a.csv", "papers identification --coverage a.csv"),
        ("papers --coverage=a.csv", "papers identification --coverage=a.csv"),
        ("papers --robust --only ring", "papers robust --only ring"),
        ("papers --random --strategies", "papers search --strategies"),
    ],
)
def test_old_forms_become_new_ones_with_a_warning(old, new, capsys):
    assert renewed(shlex.split(old)) == shlex.split(new)
    assert f"'softctl {old}' is now 'softctl {new}'" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        "",
        "run compare",
        "bench",
        "bench scene s.py",
        "bench compare s.py",
        "bench bridge",
        "bench --help",
        "papers robust --only ring",
        "papers dimensions --lines 6",
        "papers library --seeds 1",
        "papers --help",
        "library query a.library -1.0",
    ],
)
def test_present_forms_stay_as_they_are(words, capsys):
    assert renewed(shlex.split(words)) == shlex.split(words)
    assert capsys.readouterr().err == ""
