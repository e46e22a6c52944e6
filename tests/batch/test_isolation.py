"""Runs that change settings of their process: the next run does not see it."""

import json

import pytest

from sofa_softctl.base.executors.local import LocalExecutor
from tests.batch.studies import GRID, done, written

CHANGES = """
import json
import os
import sys
import warnings

import numpy as np


def settings():
    umask = os.umask(0)
    os.umask(umask)
    return json.dumps({
        "seterr": np.geterr(),
        "errcall": repr(np.geterrcall()),
        "print": {k: str(v) for k, v in np.get_printoptions().items()},
        "cwd": os.getcwd(),
        "environ": dict(os.environ),
        "path": sys.path,
        "filters": [str(each) for each in warnings.filters],
        "recursion": sys.getrecursionlimit(),
        "umask": umask,
    })


def change():
    np.seterr(all="raise")
    np.seterrcall(print)
    np.set_printoptions(precision=2, linewidth=20)
    os.chdir("/")
    os.environ["SOFTCTL_LEFT"] = "yes"
    os.environ.pop("PATH")
    sys.path.insert(0, "/nowhere")
    warnings.simplefilter("error")
    sys.setrecursionlimit(20_000)
    os.umask(0o111)


def changes(number):
    found = settings()
    if number == 2:
        change()
        if "raise" in __file__:
            raise RuntimeError("it fails, too")
    return {"settings": found}
"""


@pytest.mark.parametrize("name", ["change", "raise"])
def test_a_run_does_not_see_what_another_has_set(tmp_path, name):
    (tmp_path / f"{name}.py").write_text(CHANGES)
    text = f'function = "{name}.py:changes"\nparameters.number.values = [1, 2, 3]\n'
    (tmp_path / "study.toml").write_text(text)
    with LocalExecutor(1) as executor:
        rows = done(tmp_path / "study.toml", executor).rows.to_pylist()
    before, after = json.loads(rows[0]["settings"]), json.loads(rows[2]["settings"])
    assert [key for key in before if before[key] != after[key]] == []


@pytest.mark.processes
def test_a_run_that_begins_from_a_warm_up_sees_what_that_has_set(tmp_path):
    """As does the first, which does the warm-up itself."""
    path = written(tmp_path, GRID + 'left = "bar.py:left"\n[warmup]\nsteps = 1\n')
    scene = (tmp_path / "bar.py").read_text()
    scene = scene.replace("made = small_scene(root)", "os.environ['SOFTCTL_LEFT'] = str(young)\n"
                          "    made = small_scene(root)")  # fmt: skip
    scene += "\ndef left(session):\n    return float(os.environ.get('SOFTCTL_LEFT', 0.0))\n"
    (tmp_path / "bar.py").write_text(scene)
    with LocalExecutor(1) as executor:
        found = done(path, executor)
    assert found.rows["left"].to_pylist() == found.rows["young"].to_pylist()
