"""Scenes that run everywhere: parameters from runSofa's command line, names that SOFA changed."""

import inspect
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from sofa_softctl.errors import SceneError
from sofa_softctl.scene.backend.backend import Backend
from sofa_softctl.scene.graph.recipe import recipe_of
from sofa_softctl.scene.session import portable
from sofa_softctl.scene.session.loader import load_scene
from sofa_softctl.scene.session.portable import add_constraint_solver
from sofa_softctl.scene.session.session import Session

SCENE = """
from sofa_softctl import parameters_from_argv

@parameters_from_argv
def createScene(root, path="circle", radius=25.0, count=3):
    root.addData(name="got", value=f"{path} {radius!r} {count!r}", type="string")
"""


@pytest.fixture
def create(tmp_path):
    path = tmp_path / "robot.py"
    path.write_text(SCENE)
    return load_scene(path).create


def test_parameters_come_from_the_command_line_of_runsofa(create, root, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["robot", "path=eight", "radius=30", "count=4"])
    create(root)
    assert root.got.value == "eight 30.0 4"


def test_in_runsofa_it_is_known_how_the_scene_was_made(create, root, monkeypatch):
    """A copy of the scene needs that."""
    monkeypatch.setattr(sys, "argv", ["robot", "radius=30"])
    create(root)
    recipe = recipe_of(root)
    assert inspect.unwrap(recipe.create) is inspect.unwrap(create)
    assert recipe.values == {"radius": 30.0}


def test_in_runsofa_other_processes_find_what_is_beside_the_scene(create, root, monkeypatch):
    """It leaves the folder of the scene, by which alone Python finds it there, after loading."""
    folder = str(Path(inspect.unwrap(create).__code__.co_filename).parent)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry != folder])
    monkeypatch.setattr(sys, "argv", ["robot"])
    create(root)
    assert sys.path[-1] == folder


def test_a_scene_that_uses_another_ones_is_not_that_one(create, root, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["other", "radius=30"])
    create(root)
    with pytest.raises(SceneError, match="not known how the scene was made"):
        recipe_of(root)


def test_another_programs_command_line_is_none_of_the_scenes_business(create, root, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["train.py", "path=eight"])
    create(root)
    assert root.got.value == "circle 25.0 3"


def test_a_session_gives_a_scene_its_name_as_command_line_and_knows_how_it_was_made(
    create, tmp_path, monkeypatch
):
    """As runSofa without --argv; afterwards the command line is that of the program again."""
    path = tmp_path / "robot.py"
    path.write_text(SCENE + "    import sys\n    assert sys.argv == ['robot'], sys.argv\n")
    monkeypatch.setattr(sys, "argv", ["softctl", "run", "robot.py"])
    with Session(path) as session:
        assert session.root.got.value == "circle 25.0 3"
        assert recipe_of(session.root).create is session._create
    assert sys.argv == ["softctl", "run", "robot.py"]


def test_given_values_come_first(create, root, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["robot", "path=eight"])
    create(root, radius=1.0)
    assert root.got.value == "circle 1.0 3"


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("eight", r"A scene's parameter in --argv is NAME=VALUE, got 'eight'\."),
        ("paht=eight", r"takes no parameter 'paht'\. Did you mean 'path'\?"),
        ("radius=wide", r"'radius' takes a float such as 25\.0, got 'wide'"),
    ],
)
def test_wrong_arguments_are_told(create, root, monkeypatch, argument, message):
    monkeypatch.setattr(sys, "argv", ["robot", argument])
    with pytest.raises(SceneError, match=message):
        create(root)


def test_the_constraint_solver_has_the_name_that_sofa_has_for_it(monkeypatch):
    """GenericConstraintSolver until v25.06, BlockGaussSeidelConstraintSolver from v25.12 on."""
    added = []
    node = SimpleNamespace(addObject=lambda name, **values: added.append((name, values)))
    for names, expected in (
        (["GenericConstraintSolver", "LCPConstraintSolver"], "GenericConstraintSolver"),
        (["BlockGaussSeidelConstraintSolver"], "BlockGaussSeidelConstraintSolver"),
    ):
        factory = SimpleNamespace(components=[SimpleNamespace(className=name) for name in names])
        Sofa = SimpleNamespace(Core=SimpleNamespace(ObjectFactory=factory))
        backend = Backend("sofa", "", Sofa)
        monkeypatch.setattr(portable, "find_backend", lambda backend=backend: backend)
        add_constraint_solver(node, maxIterations=7)
        assert added[-1] == (expected, {"maxIterations": 7})


def test_the_constraint_solver_of_the_embedded_runtime_is_added(root):
    solver = add_constraint_solver(root, maxIterations=7)
    assert solver.getClassName() == "GenericConstraintSolver"
    assert solver.maxIterations.value == 7
