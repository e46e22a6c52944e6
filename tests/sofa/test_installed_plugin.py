"""A plugin that is installed and imports Sofa, on both backends."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PLUGIN = """
from sofa_softctl import SceneController, hookimpl

class Counter(SceneController):
    steps = 0

    def onAnimateEndEvent(self, event):
        self.keep(steps=self.steps + 1)
        print("step", self.steps)

@hookimpl
def softctl_register_controllers(register):
    register("counter", Counter)
"""
SCENE = """
from sofa_softctl import controller

def createScene(root):
    root.dt = 0.01
    root.addObject("DefaultAnimationLoop")
    ball = root.addChild("ball")
    ball.addObject("EulerImplicitSolver")
    ball.addObject("SparseLDLSolver", template="CompressedRowSparseMatrixMat3x3d")
    ball.addObject("MechanicalObject", position=[[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    ball.addObject("UniformMass", totalMass=1.0)
    root.addObject(controller("counter")(name="counter", root=root))
"""


@pytest.fixture
def softctl(sofa, installed, tmp_path):
    """softctl(*arguments) -> what the command prints, with the plugin installed."""
    installed(PLUGIN)
    (tmp_path / "scene.py").write_text(SCENE)
    paths = os.pathsep.join((str(tmp_path), str(ROOT), os.environ.get("PYTHONPATH", "")))
    environment = {**sofa, "PYTHONPATH": paths}
    del environment["SOFTCTL_BACKEND"]

    def call(*arguments):
        done = subprocess.run(
            [sys.executable, "-m", "sofa_softctl.cli", *map(str, arguments)],
            env=environment,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return call


@pytest.mark.parametrize(
    ("backend", "name"), [("sofa", "SOFA v"), ("embedded", "embedded runtime"), ("auto", "SOFA v")]
)
def test_a_run_is_on_the_backend_that_it_was_asked_for(softctl, tmp_path, backend, name):
    out = softctl("run", tmp_path / "scene.py", "--steps", 2, "--backend", backend)
    assert out.startswith(f"Backend: {name}")
    assert out.count("step ") >= 2


def test_both_backends_are_compared(softctl, tmp_path):
    found = json.loads(softctl("bench", "compare", tmp_path / "scene.py", "--steps", 4, "--json"))
    assert [name.split()[0] for name in found["backends"]] == ["embedded", "SOFA"]
    assert found["deviation_max"] < 1e-9


def test_plans_are_made_in_the_embedded_runtime(softctl):
    """Also where SOFA is, and in the processes of --workers."""
    command = ("plan", ROOT / "scenes" / "laser_arm.py", "--task", "circle", "--instants", 10)
    found = json.loads(softctl(*command, "--workers", 1, "--estimate", "--json"))
    assert found["equilibria"] > 0


def test_plugins_are_listed(softctl):
    assert "counter" in softctl("plugins")
