"""Tests that run in SOFA itself, in a process of their own; skipped with the reason without it."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sofa_softctl.scene.backend.installation import find_installation
from sofa_softctl.scene.backend.problems import problems

ROOT = Path(__file__).parents[2]
MARK = "RESULT "

PRELUDE = """
import json, os, sys
import numpy as np
from sofa_softctl import *
from sofa_softctl.errors import *
from sofa_softctl.scene.backend.backend import find_backend
assert find_backend().name == os.environ["SOFTCTL_BACKEND"]
sys.path.insert(0, {here!r})
def result(value):
    print({mark!r} + json.dumps(value, default=lambda x: np.asarray(x).tolist()), flush=True)
"""


@pytest.fixture(scope="session")
def sofa():
    """The environment of processes that run SOFA."""
    found = find_installation()
    if found is None:
        pytest.skip("SOFA is not installed: neither importable nor below SOFA_ROOT")
    if problems(found):
        pytest.skip(" ".join(problems(found)))
    return {**os.environ, "SOFTCTL_BACKEND": "sofa"}


@pytest.fixture(scope="session")
def in_sofa(sofa):
    """Runs Python code in SOFA: in_sofa(code) -> what it gave to result(...), and what it said."""
    return lambda code: _result_of(code, sofa)


@pytest.fixture(scope="session")
def embedded():
    """Runs the same code in the embedded runtime: embedded(code) -> what it gave to result(...)."""
    return lambda code: _result_of(code, {**os.environ, "SOFTCTL_BACKEND": "embedded"})[0]


@pytest.fixture(scope="session")
def run_sofa(sofa):
    """Runs the program runSofa without a window: run_sofa(scene, steps, *argv) -> what it said."""
    program = shutil.which("runSofa")
    if program is None:
        pytest.skip("runSofa is not on PATH")
    python = Path(sys.executable).parent  # the Python inside runSofa finds its packages by PATH
    environment = {**sofa, "PATH": f"{python}{os.pathsep}{sofa['PATH']}"}

    def run(scene, steps, *argv):
        given = [word for entry in argv for word in ("--argv", entry)]
        command = [program, "-l", "SofaPython3", "-g", "batch", "-n", str(steps), str(scene)]
        return _said_by([*command, *given], environment)

    run.environment = environment
    return run


def _result_of(code, environment):
    prelude = PRELUDE.format(here=str(Path(__file__).parent), mark=MARK)
    program = f"{prelude}\n{code}\nsys.stdout.flush(); os._exit(0)"
    said = _said_by([sys.executable, "-c", program], environment)
    found = [line for line in said.splitlines() if line.startswith(MARK)]
    assert found, said[-4000:]
    return json.loads(found[-1].removeprefix(MARK)), said


def _said_by(command, environment):
    """What a program prints, run in the project's folder."""
    done = subprocess.run(
        command,
        env=environment,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
        check=False,
    )
    return done.stdout
