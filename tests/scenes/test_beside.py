"""Scenes import what is beside them wherever they lie, and from any working folder."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCENES = Path(__file__).parents[2] / "scenes"
NEIGHBOURS = {"elastic_arm_pick_place": "elastic_arm", "loop_manipulation": "flexible_loop"}
SESSION = """
from sofa_softctl import Session
with Session(sys.argv[1], backend="embedded") as session:
    session.step()
"""
RUN_SOFA = """
import importlib.util, os
from operator import attrgetter
from pathlib import Path
from sofa_softctl.base.executors.workers import workers
from sofa_softctl.scene.backend.backend import find_backend

file, started = Path(sys.argv[1]), os.getcwd()
if __name__ == "__main__":
    root = find_backend("embedded").Sofa.Core.Node("root")
    sys.path[0], sys.argv = "", [file.stem, "links=6", "model_links=6"]
    os.chdir(file.parent)
    spec = importlib.util.spec_from_file_location(file.stem, file.name)
    scene = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(scene)
    scene.createScene(root)
    os.chdir(started)
    with workers(1) as executor:
        found = executor.submit(attrgetter("name"), scene.LoopProblem(6)).result()
    assert found == "loop of 6 links", found
"""
"""As SofaPython3 does it: the working folder is on the path, and is the scene's while it loads."""
TELL = """
if __name__ == "__main__":
    print(json.dumps({name: sys.modules[name].__file__ for name in NAMES if name in sys.modules}))
"""


@pytest.fixture
def installed(tmp_path):
    """The scenes with neighbours, in a folder like that of an installed package."""
    folder = tmp_path / "share" / "scenes"
    folder.mkdir(parents=True)
    for scene, package in NEIGHBOURS.items():
        shutil.copy(SCENES / f"{scene}.py", folder)
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(SCENES / package, folder / package, ignore=ignored)
    return folder


def imported(code, scene, folder):
    """File of each package beside the scenes that a program imports, started in a folder."""
    program = folder / "program.py"
    program.write_text(f"import json, sys\nNAMES = {[*NEIGHBOURS.values()]}\n{code}{TELL}")
    command = [sys.executable, "-W", "error", str(program), str(scene)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("scene", NEIGHBOURS)
def test_a_scene_finds_its_neighbours(installed, tmp_path, scene):
    if scene == "elastic_arm_pick_place":
        pytest.importorskip("casadi")
    package = NEIGHBOURS[scene]
    found = imported(SESSION, installed / f"{scene}.py", tmp_path)
    assert found == {package: str(installed / package / "__init__.py")}


def test_in_runsofa_a_process_of_a_controller_finds_them_too(installed, tmp_path):
    found = imported(RUN_SOFA, installed / "loop_manipulation.py", tmp_path)
    assert found == {"flexible_loop": str(installed / "flexible_loop" / "__init__.py")}
