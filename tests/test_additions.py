"""Each addition of docs/contributing.md, made in a copy of the package, and its check run there.

An addition is one new file, and one line in an existing one where names are listed; more does not
fit into `Addition`.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "contributing.md"
KINDS = (
    "A component of the embedded runtime",
    "A force field",
    "A controller",
    "A QP solver",
    "An identification problem",
    "A problem of optimal motions",
    "A device",
    "A command",
)
"""Sections of the page with an addition each."""


@dataclass(frozen=True)
class Addition:
    """One new file, and at most one line in one existing file."""

    kind: str
    """Title of its section."""
    new: str
    """Path of the new file."""
    text: str
    """What is in it."""
    check: str
    """Code that must run afterwards."""
    touched: str = ""
    """Path of the existing file; empty: there is none."""
    before: str = ""
    """Line after which the new one goes; it stands there once."""
    line: str = ""
    """The new line."""


def additions():
    """The additions of the page, by their sections."""
    found = {}
    for section in re.split(r"(?m)^## ", PAGE.read_text())[1:]:
        kind = section.partition("\n")[0]
        file = re.search(r"`([\w/]+\.py)`:\n\n```python\n(.*?)```", section, re.S)
        if file is None:
            continue
        new, text = file.groups()
        path = new if new.startswith("scenes/") else f"sofa_softctl/{new}"
        check = re.findall(r"```python\n(.*?)```", section, re.S)[1]
        changed = re.search(r"```diff\n--- (\S+)\n(.*?)```", section, re.S)
        if changed is None:
            found[kind] = Addition(kind, path, text, check)
            continue
        touched, change = changed.groups()
        before, line = change.splitlines()
        assert (before[0], line[0]) == (" ", "+"), f"{kind}: the line before, and the new one"
        found[kind] = Addition(kind, path, text, check, touched, before[1:], line[1:])
    return found


ADDITIONS = additions()


def add(package, addition):
    """Make an addition in a folder that holds `sofa_softctl`."""
    path = package / addition.new
    assert not path.exists(), f"{addition.kind}: {addition.new} is there already"
    path.parent.mkdir(exist_ok=True)
    path.write_text(addition.text)
    if not addition.touched:
        return
    touched = package / addition.touched
    lines = touched.read_text().split("\n")
    assert lines.count(addition.before) == 1, f"{addition.touched}: no line '{addition.before}'"
    place = lines.index(addition.before) + 1
    touched.write_text("\n".join([*lines[:place], addition.line, *lines[place:]]))


RUN = """
import importlib.util, json, pathlib, sys, traceback

class Compiled:
    "Finds modules with kernels where they are compiled already: a copy would compile them anew."

    def find_spec(self, name, path, target=None):
        file = pathlib.Path(ORIGINAL, *name.split(".")).with_suffix(".py")
        if name.startswith("sofa_softctl.") and file.is_file() and "@njit" in file.read_text():
            return importlib.util.spec_from_file_location(name, file)

sys.meta_path.insert(0, Compiled())
results = {}
for kind, code in CHECKS.items():
    try:
        exec(code, {"__name__": "check"})
        results[kind] = ""
    except BaseException:
        results[kind] = traceback.format_exc()
import sofa_softctl
print("RESULTS " + json.dumps([sofa_softctl.__file__, results]))
"""
LAYERS = """
import sys
sys.path.insert(0, "tests")
import test_layers
test_layers.test_modules_import_from_lower_layers_only()
test_layers.test_circles_stay_within_the_folders_where_they_belong()
test_layers.test_packages_of_controllers_never_import_the_runtime()
"""


def files_of(folder):
    return {path: path.read_bytes() for path in folder.rglob("*.py")}


def test_the_page_has_an_example_of_every_kind():
    assert tuple(ADDITIONS) == KINDS


def test_each_addition_is_a_file_and_at_most_a_line_and_works(tmp_path):
    """All in one copy and one process, with the rules of the layers: the kinds do not mix."""
    pytest.importorskip("casadi")
    shutil.copytree(
        ROOT / "sofa_softctl", tmp_path / "sofa_softctl", ignore=shutil.ignore_patterns("*.nb[ci]")
    )
    (tmp_path / "tests").mkdir()
    shutil.copy(ROOT / "tests" / "test_layers.py", tmp_path / "tests")
    shutil.copytree(ROOT / "scenes", tmp_path / "scenes", copy_function=os.symlink)
    for addition in ADDITIONS.values():
        before = files_of(tmp_path)
        add(tmp_path, addition)
        after = files_of(tmp_path)
        assert [path for path in after if path not in before] == [tmp_path / addition.new]
        changed = [path for path in before if before[path] != after[path]]
        assert changed == ([tmp_path / addition.touched] if addition.touched else [])
        for path in changed:
            assert after[path].count(b"\n") - before[path].count(b"\n") == 1
    checks = {kind: addition.check for kind, addition in ADDITIONS.items()}
    code = f"ORIGINAL, CHECKS = {str(ROOT)!r}, {checks | {'layers': LAYERS}!r}\n{RUN}"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path), "SOFTCTL_BACKEND": "embedded"},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    found = [line for line in done.stdout.splitlines() if line.startswith("RESULTS ")]
    assert found, done.stdout + done.stderr
    package, results = json.loads(found[0].removeprefix("RESULTS "))
    assert package == str(tmp_path / "sofa_softctl" / "__init__.py")
    assert {kind: problem for kind, problem in results.items() if problem} == {}
