"""The command line, when all goes well."""

import json
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from sofa_softctl.cli.app import main
from sofa_softctl.runtime import components

SCENE = """
import Sofa.Core
DURATION = 0.05

class Loud(Sofa.Core.Controller):
    def onAnimateEndEvent(self, event):
        print(f"{self.word} at {self.getContext().time.value:g}")

def createScene(root, word="quiet", dt=0.01):
    root.dt = dt
    loud = root.addObject(Loud(name="loud"))
    loud.word = word
"""


@pytest.fixture
def softctl(monkeypatch, capsys):
    """Runs the command line in this process: softctl(*arguments) -> what it prints."""

    def call(*arguments, err=""):
        monkeypatch.setattr(sys, "argv", ["softctl", *map(str, arguments)])
        monkeypatch.setenv("COLUMNS", "200")
        with pytest.raises(SystemExit) as done:
            main()
        said = capsys.readouterr()
        assert (done.value.code or 0, said.err) == (0, err)
        return said.out

    return call


@pytest.fixture
def scene(tmp_path):
    path = tmp_path / "scene.py"
    path.write_text(SCENE)
    return path


def test_the_version_is_that_of_the_package(softctl):
    assert softctl("--version") == f"softctl {version('sofa-softctl')}\n"


def test_a_run_without_a_controller_shows_how_far_the_body_moved(softctl, tmp_path):
    path = tmp_path / "drop.py"
    path.write_text(
        'UNITS = "mm, g, s"\n'
        "def createScene(root):\n"
        "    root.gravity = [0.0, 0.0, -9810.0]\n"
        '    root.addObject("EulerImplicitSolver")\n'
        '    root.addObject("CGLinearSolver")\n'
        '    root.addObject("MechanicalObject", name="ball", position=[[0, 0, 0]])\n'
        '    root.addObject("UniformMass", totalMass=1.0)\n'
    )
    out = softctl("run", path, "--steps", 2)  # 3 g dt^2, as implicit Euler has it
    assert "Moved from the start to the end [mm]" in out
    assert re.search(r"│ ball +│ +2.943 │ +0 │ +0 │ -2.943 │ +2.943 │", out)


def test_a_run_says_which_backend_first_and_how_it_went_last(softctl, scene):
    lines = softctl("run", scene, "--steps", 2).splitlines()
    assert re.match(r"Backend: embedded runtime \(semantics of SOFA v25\.06", lines[0])
    assert lines[1:3] == ["quiet at 0.01", "quiet at 0.02"]
    assert lines[3].startswith("2 steps, 0.02 time simulated")
    assert "real-time" in "\n".join(lines[3:])


def test_a_quiet_run_prints_only_what_the_scene_prints(softctl, scene):
    assert softctl("run", scene, "--steps", 1, "--quiet") == "quiet at 0.01\n"


@pytest.mark.parametrize(
    ("options", "count"),
    [(["--steps", 3], 3), (["--duration", 0.04], 4), ([], 5), (["--set", "dt=0.025"], 2)],
)
def test_a_run_lasts_as_long_as_asked_or_as_the_scene_says(softctl, scene, options, count):
    assert softctl("run", scene, "-q", *options).count("quiet at") == count


def test_parameters_reach_the_scene(softctl, scene):
    out = softctl("run", scene, "-q", "--steps", 1, "--set", "word=loud=er", "--set", "dt=0.5")
    assert out == "loud=er at 0.5\n"


def test_the_summary_comes_as_json(softctl, scene):
    printed = "quiet at 0.01\nquiet at 0.02\n"  # by the scene: it is not in the JSON
    summary = json.loads(softctl("run", scene, "--steps", 2, "--json", err=printed))
    assert summary["steps"] == 2
    assert summary["time"] == 0.02
    assert summary["scene"] == str(scene)
    assert summary["backend"].startswith("embedded runtime")


def test_all_components_are_listed(softctl):
    out = softctl("components")
    for name in components.__all__:
        assert name in out


def test_a_component_is_described_by_any_of_its_names(softctl):
    for name in ("GenericConstraintSolver", "BlockGaussSeidelConstraintSolver"):
        out = softctl("components", name)
        assert "maxIterations, maxIt" in out
        assert "1000" in out
        assert "Largest number of sweeps." in out


def test_plugins_are_listed_with_all_that_they_bring(softctl):
    out = softctl("plugins")
    assert re.search(r"built-in\W+controllers\W+bridge, identification, inverse", out)
    assert re.search(r"\W QP solvers\W+active-set, daqp, proxqp", out)
    assert re.search(r"sparse QP solvers\W+osqp, piqp", out)
    assert re.search(r"components\W+AMDOrderingMethod, .* more", out, re.DOTALL)


def test_the_doctor_looks_at_backend_versions_and_cache(softctl):
    out = softctl("doctor")
    for subject in ("backend", "SOFA", "Python", "numpy", "daqp", "compiled code"):
        assert subject in out


def test_the_doctor_ends_with_a_status_when_something_is_wrong(monkeypatch, capsys, tmp_path):
    monkeypatch.setenv("SOFA_ROOT", str(tmp_path / "nowhere"))
    monkeypatch.setattr(sys, "argv", ["softctl", "doctor"])
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if "Sofa" not in entry])
    with pytest.raises(SystemExit) as done:
        main()
    assert done.value.code == 1
    assert "nowhere" in capsys.readouterr().out


WELL = """
from sofa_softctl import hookimpl
from sofa_softctl.runtime import Component

class {name}(Component):
    "A well of a plugin."

@hookimpl
def softctl_register_components(register):
    register({name})
"""


@pytest.mark.processes
def test_components_of_a_plugin_file_are_described(tmp_path):
    """In another process: components that are registered stay."""
    (tmp_path / "well.py").write_text(WELL.format(name="WellOfATest"))
    command = [sys.executable, "-m", "sofa_softctl.cli", "components", "WellOfATest"]
    command += ["--plugin", str(tmp_path / "well.py")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert "A well of a plugin" in done.stdout


@pytest.mark.parametrize("words", [("plan", "--task", "none"), ("identify",)])
def test_plans_and_estimates_load_plugin_files_first(words, scene, tmp_path, monkeypatch, capsys):
    (tmp_path / "broken.py").write_text("raise RuntimeError('the plugin was loaded')")
    command, *options = words
    arguments = [command, str(scene), *options, "--plugin", str(tmp_path / "broken.py")]
    monkeypatch.setattr(sys, "argv", ["softctl", *arguments])
    with pytest.raises(SystemExit) as done:
        main()
    assert done.value.code == 1 and "the plugin was loaded" in capsys.readouterr().err


ARM = """
import sys
sys.path.insert(0, {scenes!r})
import laser_arm
from laser_arm import SURROGATE, TASKS

def createScene(root):
    laser_arm.createScene(root)
    root.addObject("WellOfAPlan")
"""


@pytest.mark.processes
def test_processes_of_a_plan_know_the_components_of_plugin_files(tmp_path):
    """Each makes the scene anew, where the name would be unknown without the plugin."""
    (tmp_path / "well.py").write_text(WELL.format(name="WellOfAPlan"))
    scene = tmp_path / "arm.py"
    scene.write_text(ARM.format(scenes=str(Path(__file__).parents[2] / "scenes")))
    command = [sys.executable, "-m", "sofa_softctl.cli", "plan", str(scene), "--task", "circle"]
    command += ["--instants", "10", "--workers", "1", "--estimate", "--json"]
    command += ["--plugin", str(tmp_path / "well.py")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["equilibria"] > 0


def test_a_run_explains_the_plan_of_a_step(softctl, scene):
    out = softctl("run", scene, "--steps", 1, "--explain")
    assert "free motion\n  /: nothing moves: there is no time integrator" in out
    assert "controllers\n  /loud (Loud): onAnimateEndEvent" in out


def test_a_plan_that_nobody_would_see_is_refused(monkeypatch, capsys, scene):
    monkeypatch.setattr(sys, "argv", ["softctl", "run", str(scene), "--explain", "--json"])
    with pytest.raises(SystemExit) as done:
        main()
    assert done.value.code == 2
    assert "--explain prints: leave out --quiet and --json." in capsys.readouterr().err
