"""Installed plugins that import Sofa do not choose the backend, in fresh processes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.usefixtures("no_sofa_of_this_machine")

BY_NAME = """
from sofa_softctl import SceneController, hookimpl

class Follower(SceneController):
    pass

@hookimpl
def softctl_register_controllers(register):
    register("follower", Follower)
"""
OF_SOFA = BY_NAME.replace("SceneController, ", "").replace(
    "class Follower(SceneController)", "import Sofa.Core\nclass Follower(Sofa.Core.Controller)"
)
ROOT = Path(__file__).parents[2]
NAME = "__import__('sofa_softctl.scene.backend.backend', fromlist=['x']).find_backend().name"
SCENE = "def createScene(root):\n    root.dt = 0.01\n"


@pytest.fixture
def softctl(tmp_path, no_sofa_of_this_machine):
    """softctl(*arguments, **environment) -> the process that ran the command line."""

    def call(*arguments, **environment):
        given = {key: str(value) for key, value in environment.items()}
        return subprocess.run(
            [sys.executable, "-m", "sofa_softctl.cli", *map(str, arguments)],
            env={**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}", **given},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    return call


@pytest.fixture
def scene(tmp_path):
    path = tmp_path / "scene.py"
    path.write_text(SCENE)
    return path


@pytest.mark.processes
@pytest.mark.parametrize("code", [BY_NAME, OF_SOFA], ids=["by the package", "by Sofa"])
def test_a_command_runs_on_the_backend_that_it_was_asked_for(
    softctl, installed, make_sofa, scene, code
):
    installed(code)
    done = softctl("run", scene, "--steps", 2, "--backend", "embedded", SOFA_ROOT=make_sofa())
    assert (done.returncode, done.stderr) == (0, "")
    assert "Backend: embedded runtime" in done.stdout


@pytest.mark.processes(keep=3)
@pytest.mark.parametrize("code", [BY_NAME, OF_SOFA], ids=["by the package", "by Sofa"])
@pytest.mark.parametrize("asked", ["factory.components()", "controller('follower')", "plugins()"])
def test_a_plugin_that_is_loaded_late_takes_the_sofa_below_sofa_root(
    fresh, installed, make_sofa, tmp_path, code, asked
):
    """As `auto` does, without a Session or find_backend() before."""
    installed(code)
    root = make_sofa()
    program = (
        "from sofa_softctl import controller\n"
        "from sofa_softctl.plugins import plugins\n"
        "from sofa_softctl.runtime.core import factory\n"
        f"{asked}\nimport Sofa\nprint(Sofa.__file__)"
    )
    done = fresh(program, SOFA_ROOT=root, PYTHONPATH=f"{tmp_path}{os.pathsep}{ROOT}")
    assert done.stdout.strip().startswith(str(root)), done.stderr


def test_a_session_chooses_before_plugins_are_loaded(fresh, installed, make_sofa, scene, tmp_path):
    installed(OF_SOFA)
    scene.write_text(
        "from sofa_softctl import controller\n"
        "def createScene(root):\n    root.addObject(controller('follower')(root=root))\n"
    )
    program = (
        "from sofa_softctl import Session\n"
        f"print(Session({str(scene)!r}, backend='embedded').backend.name)"
    )
    path = f"{tmp_path}{os.pathsep}{ROOT}"
    done = fresh(program, SOFA_ROOT=make_sofa(), PYTHONPATH=path)
    assert done.stdout.strip() == "embedded", done.stderr


@pytest.mark.processes
def test_workers_have_the_backend_of_their_parent(fresh, make_sofa):
    program = (
        f"NAME = {NAME!r}\n"
        "from sofa_softctl.base.executors.workers import workers\n"
        "from sofa_softctl.scene.backend.backend import find_backend\n"
        "if __name__ == '__main__':\n"
        "    find_backend('embedded')\n"
        "    with workers(1) as executor:\n"
        "        print(executor.submit(eval, NAME).result())"
    )
    done = fresh(program, SOFA_ROOT=make_sofa())
    assert done.stdout.strip() == "embedded", done.stderr


def test_without_plugins_nothing_is_chosen(fresh):
    program = (
        "import sys\n"
        "from sofa_softctl.plugins import plugins\n"
        "plugins()\n"
        "print('Sofa' in sys.modules)"
    )
    assert fresh(program, SOFTCTL_PLUGINS="0").stdout.strip() == "False"
