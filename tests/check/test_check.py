"""`softctl check`: whether scenes run here, what they lack, and that each ends in time."""

import json
import re
from pathlib import Path

import pytest

from sofa_softctl.check import check_scenes, folder, rank, scenes_in
from sofa_softctl.check.examine import examine
from sofa_softctl.errors import SceneError

BODY = """
def createScene(root):
    body = root.addChild("body")
    body.addObject("EulerImplicitSolver")
    body.addObject("SparseLDLSolver")
    body.addObject("MechanicalObject", name="dofs", position=[[0, 0, 0], [1, 0, 0]])
    body.addObject("UniformMass", totalMass=1.0)
"""
LACKING = """
def createScene(root):
    root.addObject("WarpDrive", speed=3)
    body = root.addChild("body")
    body.addObject("MechanicalObject", position=[[0, 0, 0]], colour="red")
    body.addObject("AdaptiveBeamForceFieldAndMass", name="beam", interpolation="@dofs")
    body.addObject("UniformMass", totalMass="1-0")
"""


@pytest.fixture
def check(tmp_path):
    """Check a scene that is given as text."""

    def check(text, name="scene.py", **options):
        path = tmp_path / name
        path.write_text(text)
        (found,) = check_scenes([path], **options)
        return found

    return check


@pytest.mark.processes
def test_a_scene_that_runs_is_described(check):
    found = check(BODY, steps=3)
    assert found.runs
    assert (found.error, found.lacks, found.steps) == ("", [], 3)
    assert (found.states, found.dofs, found.time_step) == (1, 6, 0.01)
    assert found.solvers == ["DefaultAnimationLoop", "EulerImplicitSolver", "SparseLDLSolver"]


@pytest.mark.processes
def test_all_that_a_scene_lacks_is_found_at_once(check, tmp_path):
    found = check(LACKING)
    assert not found.runs
    assert f"{tmp_path / 'scene.py'}:3: the embedded runtime has no component" in found.error
    lacks = {(lack.kind, lack.name): lack for lack in found.lacks}
    assert list(lacks) == [
        ("component", "WarpDrive"),
        ("Data", "MechanicalObject.colour"),
        ("component", "AdaptiveBeamForceFieldAndMass"),
        ("value", "UniformMass.totalMass"),
    ]
    beam = lacks["component", "AdaptiveBeamForceFieldAndMass"]
    assert beam.where == f"{tmp_path / 'scene.py'}:6"
    assert beam.needs == "beams (plugin BeamAdapter)"
    assert beam.stops
    assert not lacks["Data", "MechanicalObject.colour"].stops


@pytest.mark.processes
def test_data_and_values_alone_do_not_stop_a_scene(check):
    found = check(BODY.replace("totalMass=1.0", "totalMass='1.0x', totalmass=3"))
    assert found.runs
    assert [lack.kind for lack in found.lacks] == ["value", "Data"]
    assert len(found.warnings) == 2


@pytest.mark.processes
@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("import nowhere_at_all\n" + BODY, "ModuleNotFoundError: No module named 'nowhere_at_all'"),
        ("open('not_there.txt')\n" + BODY, "FileNotFoundError: .* 'not_there.txt'"),
        ("def createScene(root):\n    input('Go?')\n", "It waits for input from the keyboard"),
        ("def createScene(root):\n    exit(3)\n", "SystemExit: 3"),
        ("def createScene(root):\n    while True: pass\n", r"It was not done after 5 s\."),
        ("import os\nos.abort()\n", "The process ended with SIGABRT"),
        ("def createScene(root):\n    1 / 0\n", "ZeroDivisionError: division by zero"),
        ("print 'hello'\n", "SyntaxError: Missing parentheses"),
        (
            "import Sofa.Core\n"
            "class Bad(Sofa.Core.Controller):\n"
            "    def onAnimateBeginEvent(self, event):\n"
            "        raise KeyError('mine')\n"
            "def createScene(root):\n    root.addObject(Bad(name='bad'))\n",
            "KeyError: 'mine'",
        ),
    ],
)
def test_a_scene_that_cannot_run_ends_with_a_sentence(check, text, error):
    found = check(text, seconds=5.0 if "while" in text else 60.0)
    assert not found.runs
    assert re.search(error, found.error), found.error


def test_the_scenes_own_line_is_named(check, tmp_path):
    found = check("def createScene(root):\n\n    1 / 0\n")
    assert found.where == f"{tmp_path / 'scene.py'}:3"


HANGING = """
import os, time

here, there = os.pipe()  # stands for a serial port or a socket


def createScene(root):
    try:
        {wait}
    except Exception:
        pass
"""


@pytest.mark.parametrize("wait", ["while True: pass", "os.read(here, 1)", "time.sleep(600)"])
def test_a_scene_that_waits_for_ever_is_ended_at_its_line(tmp_path, wait):
    """Whatever it waits for."""
    path = tmp_path / "scene.py"
    path.write_text(HANGING.format(wait=wait))
    found = examine(str(path), steps=1, seconds=1.0, parameters={}, with_stand_ins=False)
    assert (found.error, found.where) == ("It was not done after 1 s.", f"{path}:9")


COMPILING = """
import time
import numba
from numba.extending import overload


def long_to_compile():
    pass


@overload(long_to_compile)
def compile_it():
    time.sleep(600)


@numba.njit
def kernel():
    long_to_compile()


def createScene(root):
    kernel()
"""


@pytest.mark.processes
def test_a_scene_whose_kernels_are_compiled_is_to_be_checked_again(tmp_path):
    path = tmp_path / "scene.py"
    path.write_text(COMPILING)
    found = examine(str(path), steps=1, seconds=2.0, parameters={}, with_stand_ins=False)
    assert "It was compiling kernels, as a first run does: check it again." in found.error


@pytest.mark.processes
def test_a_thread_that_a_scene_leaves_behind_does_not_hold_the_check(check):
    sleeping = "threading.Thread(target=time.sleep, args=(600,)).start()\n"
    found = check(f"import threading, time\n{sleeping}{BODY}")
    assert found.runs, found.error


STUBBORN = """
def createScene(root):
    while True:
        try:
            while True: pass
        except BaseException:
            pass
"""


@pytest.mark.processes
def test_a_scene_that_cannot_be_stopped_is_ended_all_the_same(check, monkeypatch):
    monkeypatch.setattr(folder, "_GRACE_TIME", 2.0)
    assert check(STUBBORN, seconds=3.0).error == "It was not done after 3 s."


@pytest.mark.processes
def test_the_command_line_of_a_scene_is_its_name_as_in_runsofa(check):
    read = "    assert sys.argv == ['scene'], sys.argv\n"
    found = check("import sys\ndef createScene(root):\n" + read)
    assert found.runs, found.error


@pytest.mark.processes
def test_a_component_without_a_name_is_a_mistake_and_not_a_lack(check):
    """SOFA v25.06: ValueError, 'the component '' cannot be found in the factory'."""
    found = check("def createScene(root):\n    root.addObject('')\n")
    assert found.lacks == []
    assert ":2: '' names no component, in SOFA either." in found.error


@pytest.mark.processes
def test_each_lack_is_listed_once_with_the_line_that_asked_first(check, tmp_path):
    again = (
        "    for colour in ('red', 'blue'):\n        body.addObject('UniformMass', hue=colour)\n"
    )
    found = check(BODY + again + again)
    assert [(lack.name, lack.where) for lack in found.lacks] == [
        ("UniformMass.hue", f"{tmp_path}/scene.py:9")
    ]


@pytest.mark.processes
def test_an_xml_scene_is_checked_too(check, tmp_path):
    found = check("<Node>\n<WarpDrive/>\n<Node><MechanicalObject/></Node></Node>", "scene.scn")
    (lack,) = found.lacks
    assert (lack.name, lack.where) == ("WarpDrive", f"{tmp_path / 'scene.scn'}:2")


def test_scenes_of_a_folder_are_found_and_other_files_left_out(tmp_path):
    (tmp_path / "sub").mkdir()
    for name, text in {
        "arm.py": BODY,
        "helper.py": "def add(root): pass\n",
        "arm.scn": "<Node/>",
        "other.xml": "<package/>",
        "sub/leg.pyscn": BODY,
        ".hidden.py": BODY,
        "notes.txt": BODY,
    }.items():
        (tmp_path / name).write_text(text)
    names = [str(path.relative_to(tmp_path)) for path in scenes_in([tmp_path])]
    assert names == ["arm.py", "arm.scn", "sub/leg.pyscn"]
    with pytest.raises(SceneError, match="There is no scene file or folder"):
        scenes_in([tmp_path / "nowhere"])


@pytest.mark.processes
def test_what_most_scenes_lack_comes_first(tmp_path):
    texts = {
        "a.py": "def createScene(root):\n    root.addObject('WarpDrive')\n",
    }
    texts["b.py"] = texts["a.py"] + "    root.addObject('Tardis')\n"
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    ranks = rank(check_scenes(scenes_in([tmp_path]), workers=2))
    assert [(entry.name, entry.scenes, entry.alone) for entry in ranks] == [
        ("WarpDrive", 2, 1),
        ("Tardis", 1, 0),
    ]


@pytest.mark.processes
def test_the_command_prints_one_scene_or_a_table_and_ends_with_status_1(softctl, tmp_path):
    (tmp_path / "good.py").write_text(BODY)
    (tmp_path / "bad.py").write_text(LACKING)
    status, out, _ = softctl("check", tmp_path / "good.py")
    assert status == 0
    assert "good.py: runs here" in out
    assert "1, with 6 degrees of freedom" in out
    status, out, _ = softctl("check", tmp_path, "--rank", "--quiet")
    assert status == 1
    assert "1 of 2 scenes run; 1 of them have a mechanical state." in out
    assert "WarpDrive" in out
    status, out, _ = softctl("check", tmp_path / "bad.py", "--json", "--rank")
    found = json.loads(out)
    assert found["scenes"][0]["lacks"][0]["name"] == "WarpDrive"
    assert found["rank"][0]["scenes"] == 1


@pytest.mark.processes(keep=1)
@pytest.mark.parametrize(("options", "expected"), [(["--strict"], 1), ([], 0)])
def test_strict_counts_warnings(softctl, tmp_path, options, expected):
    path = tmp_path / "scene.py"
    path.write_text(BODY.replace("totalMass=1.0", "totalMass=1.0, colour='red'"))
    status, out, _ = softctl("check", path, *options)
    assert status == expected
    assert "scene.py: runs here" in out and "colour" in out


@pytest.mark.processes
def test_the_packages_own_scenes_lack_nothing():
    """Two of them, for the time: the others run in tests/scenes."""
    folder = Path(__file__).parents[2] / "scenes"
    for found in check_scenes([folder / "finger.py", folder / "trunk.py"], steps=1):
        assert (found.runs, found.lacks, found.warnings) == (True, [], [])


def test_files_of_the_current_folder_are_not_modules_of_the_check(check, tmp_path, monkeypatch):
    """Python's -m would take them for the standard library's."""
    (tmp_path / "xml.py").write_text("raise SystemExit('not the xml of Python')")
    monkeypatch.chdir(tmp_path)
    assert check(BODY).runs


@pytest.mark.processes(keep=1)
@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("root.addObject('MeshGmshLoader', filename='mesh/no_liver.msh')", "mesh/no_liver.msh"),
        ("root.addObject('MeshTopology', filename='no.obj')", "no.obj"),
        ("root.addObject('MeshVTKLoader', filename=HERE + '/no.vtk')", "no.vtk"),
        ("open(HERE + '/sub/no.txt')", "sub/no.txt"),
    ],
)
def test_a_file_that_is_missing_is_a_lack(check, line, name):
    """By its name as seen from the scene's folder, so that a folder's checks count it."""
    text = f"import os\nHERE = os.path.dirname(__file__)\ndef createScene(root):\n    {line}\n"
    found = check(text)
    (lack,) = found.lacks
    assert (lack.kind, lack.name) == ("file", name)
    assert lack.where.endswith(":4")
    assert lack.stops and not found.runs
