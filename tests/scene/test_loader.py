"""Scene files and their parameters."""

import traceback
from pathlib import Path

import numpy as np
import pytest

from sofa_softctl.errors import SceneError
from sofa_softctl.scene.session.loader import build_scene, convert, load_scene
from sofa_softctl.scene.session.session import Session


@pytest.fixture
def scene_file(tmp_path):
    """Writes a scene file: scene_file(text) -> path."""

    def write(text, name="scene.py"):
        path = tmp_path / name
        path.write_text(text)
        return path

    return write


# -- files ---------------------------------------------------------------------------------------


def test_a_scene_file_tells_its_parameters_duration_and_units(scene_file):
    scene = load_scene(
        scene_file(
            'DURATION = 1.5\nUNITS = "mm, kg, s"\n'
            "def createScene(root, size=3, soft=True):\n    root.addChild(f'arm{size}{soft}')\n"
        )
    )
    assert scene.parameters == {"size": 3, "soft": True}
    assert scene.duration == 1.5
    assert scene.units.length == "mm"
    root = scene.build(size="4", soft="false")
    assert root.children[0].getName() == "arm4False"


def test_a_scene_file_may_import_its_neighbours(scene_file):
    scene_file("NAME = 'neighbour'\n", "softctl_test_neighbour.py")
    path = scene_file(
        "from softctl_test_neighbour import NAME\ndef createScene(root):\n    root.addChild(NAME)\n"
    )
    assert load_scene(path).build().children[0].getName() == "neighbour"


def test_a_missing_file_names_a_close_one(scene_file, tmp_path):
    scene_file("", "trunk.py")
    with pytest.raises(SceneError) as caught:
        load_scene(tmp_path / "trunck.py")
    assert f"There is no scene file '{tmp_path / 'trunck.py'}'." in str(caught.value)
    assert f"Did you mean '{tmp_path / 'trunk.py'}'?" in str(caught.value)
    with pytest.raises(SceneError, match="There is no scene file '.*/nowhere/x.py'"):
        load_scene(tmp_path / "nowhere" / "x.py")
    with pytest.raises(SceneError, match=r"is a folder\. Name the scene file in it"):
        load_scene(tmp_path)


def test_other_kinds_of_files_are_refused(scene_file):
    with pytest.raises(SceneError, match=r"is no scene: Python \(\.py, \.pyscn\).*or XML"):
        load_scene(scene_file("<Node/>", "scene.txt"))


def test_a_python_scene_may_be_called_pyscn(scene_file):
    text = "def createScene(root):\n    root.addChild('arm')\n"
    assert load_scene(scene_file(text, "arm.pyscn")).build().arm.getPathName() == "/arm"


def test_a_scene_in_python_2_says_so(scene_file):
    with pytest.raises(SyntaxError) as caught:
        load_scene(scene_file("print 'hello'\ndef createScene(root): pass\n"))
    assert "This scene is in Python 2" in caught.value.__notes__[0]


def test_a_scene_is_loaded_in_its_own_folder(scene_file, tmp_path, monkeypatch):
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "given.txt").write_text("2.0")
    (tmp_path / "beside.txt").write_text("0.5")
    path = scene_file(
        "from pathlib import Path\n"
        "at_import = float(Path('beside.txt').read_text())\n"
        "def createScene(root, file='beside.txt'):\n"
        "    root.dt = at_import * float(Path(file).read_text())\n"
    )
    monkeypatch.chdir(folder)
    assert load_scene(path).build().dt.value == 0.25
    assert load_scene(path).build(file="given.txt").dt.value == 1.0  # as seen from the caller
    assert Path.cwd() == folder


@pytest.mark.parametrize("text", ["", "createScene = 3\n", "def create_scene(root): pass\n"])
def test_a_file_without_create_scene_is_refused(scene_file, text):
    with pytest.raises(SceneError, match=r"scene\.py' has no function createScene\(root\)"):
        load_scene(scene_file(text))


def test_a_create_scene_without_a_root_is_refused(scene_file):
    path = scene_file("def createScene():\n    pass\n")
    message = r"scene\.py:1: createScene must take the root node: def createScene\(root\)"
    with pytest.raises(SceneError, match=message):
        Session(path, backend="embedded")


def test_errors_of_a_scene_file_are_its_own_at_their_own_line(scene_file):
    for text, kind, line in (
        ("import os\n\nx = 1 / 0\n", ZeroDivisionError, 3),
        ("def createScene(root):\n    y = 1\n    root.undefined.thing\n", AttributeError, 3),
        ("def createScene(root):\n    raise RuntimeError('mine')\n", RuntimeError, 2),
        ("import softctl_test_nothing\n", ModuleNotFoundError, 1),
    ):
        path = scene_file(text)
        with pytest.raises(kind) as caught:
            Session(path, backend="embedded")
        frames = [
            entry
            for entry in traceback.extract_tb(caught.value.__traceback__)
            if entry.filename == str(path)
        ]
        assert frames[-1].lineno == line
        assert caught.value.__cause__ is None


def test_a_syntax_error_names_the_file_and_the_line(scene_file):
    path = scene_file("def createScene(root):\n    root.addObject(\n")
    with pytest.raises(SyntaxError) as caught:
        load_scene(path)
    assert (caught.value.filename, caught.value.lineno) == (str(path), 2)


@pytest.mark.parametrize("text", ["'2'", "-1", "0", "float('nan')", "[1]"])
def test_a_duration_must_be_a_positive_time(scene_file, text):
    path = scene_file(f"DURATION = {text}\ndef createScene(root): pass\n")
    with pytest.raises(SceneError, match=r"scene\.py': DURATION must be a positive number, got"):
        load_scene(path)


# -- parameters ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "default", "expected"),
    [
        ("3", 1, 3),
        ("-3", 1, -3),
        ("2.5", 1.0, 2.5),
        ("1e-3", 1.0, 1e-3),
        ("3", 1.0, 3.0),
        ("true", False, True),
        ("False", True, False),
        ("1", False, True),
        ("0", True, False),
        ("left", "right", "left"),
        ("1", "right", "1"),
        ("path.csv", None, "path.csv"),
        ("1,2.5", (0.0,), (1.0, 2.5)),
        ("1, 2", [0.0, 0.0, 0.0], [1.0, 2.0]),
        ("1 2", [0.0], [1.0, 2.0]),
        ("3", [0], [3]),
        ("a,b", ["x"], ["a", "b"]),
        ("", [0.0], []),
    ],
)
def test_texts_become_values_of_the_defaults_kind(text, default, expected):
    found = convert("x", text, default)
    assert found == expected
    assert type(found) is type(expected)
    if isinstance(found, list | tuple) and found:
        assert type(found[0]) is type(expected[0])


def test_a_text_becomes_an_array_where_the_default_is_one():
    found = convert("x", "1,2,3", np.zeros(3))
    assert found.tolist() == [1.0, 2.0, 3.0]


@pytest.mark.parametrize(
    ("text", "default", "message"),
    [
        ("3.5", 1, "takes a int such as 1, got '3.5'"),
        ("many", 1.0, "takes a float such as 1.0, got 'many'"),
        ("nan", 1.0, "takes a float such as 1.0, got 'nan'"),
        ("yes", True, "takes a bool such as True, got 'yes'"),
        ("1,x", (0.0,), r"takes a tuple such as \(0.0,\), got '1,x'"),
    ],
)
def test_a_text_that_does_not_fit_says_what_would(text, default, message):
    with pytest.raises(SceneError, match=f"The scene's parameter 'size' {message}"):
        convert("size", text, default)


def test_values_that_are_no_texts_are_handed_over_as_they_are():
    thing = object()
    assert convert("x", thing, 1) is thing
    assert convert("x", 2.5, 1) == 2.5


def test_an_unknown_parameter_names_the_close_one_and_all():
    def createScene(root, size=3, soft=True):
        pass

    message = r"takes no parameter 'sise'\. Did you mean 'size'\? It takes: size=3, soft=True\."
    with pytest.raises(SceneError, match=message):
        build_scene(createScene, {"sise": "4"})
    with pytest.raises(SceneError, match=r"takes no parameter 'x'\. It takes: none\."):
        build_scene(lambda root: None, {"x": 1})


def test_a_parameter_without_a_default_must_be_given():
    found = []

    def createScene(root, size, *, soft):
        found.append((size, soft))

    message = r"The scene needs its parameters 'size', 'soft': give --set size=VALUE"
    with pytest.raises(SceneError, match=message):
        build_scene(createScene)
    build_scene(createScene, {"size": "4", "soft": True})
    assert found == [("4", True)]
    with pytest.raises(SceneError, match=r"It takes: size, soft\."):
        build_scene(createScene, {"sise": 1})


def test_a_scene_that_takes_any_parameter_gets_it():
    found = {}

    def createScene(root, size=3, **others):
        found.update(others, size=size)

    build_scene(createScene, {"size": "4", "colour": "red"})
    assert found == {"size": 4, "colour": "red"}


def test_sofas_own_load_builds_a_scene_that_init_then_starts(Sofa, scene_file):
    path = scene_file("def createScene(root):\n    root.addChild('arm')\n    root.dt = 0.5\n")
    root = Sofa.Simulation.load(str(path))
    Sofa.Simulation.initRoot(root)
    Sofa.Simulation.animate(root, root.dt.value)
    Sofa.Simulation.unload(root)
    assert (root.arm.getName(), root.time.value) == ("arm", 0.5)


@pytest.mark.usefixtures("tolerant")
def test_a_parameter_that_is_given_and_never_read_is_warned_of(tmp_path, caplog):
    """One that only a nested function reads is read; one that has its default is not given."""
    path = tmp_path / "scene.py"
    path.write_text(
        "from sofa_softctl import parameters_from_argv\n"
        "@parameters_from_argv\n"
        "def createScene(root, stiffness=1.0, size=1.0, unused=2.0, default=3.0):\n"
        "    root.addObject('DefaultAnimationLoop')\n"
        "    body = lambda: size\n"
        "    root.dt = stiffness\n"
    )
    Session(path, parameters={"stiffness": 2.0, "size": 2.0, "unused": 3.0}, backend="embedded")
    (text,) = [record.getMessage() for record in caplog.records]
    assert "never reads its parameter 'unused', so that unused=3.0 changes nothing" in text
