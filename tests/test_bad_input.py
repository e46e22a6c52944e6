"""Scenes that are wrong: each gives a message with its line, status 1, and no traceback of ours."""

import io
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from sofa_softctl.base.files import replace_atomically
from sofa_softctl.errors import SoftctlError
from sofa_softctl.record.record import read_record

HEADER = """\
import numpy as np
POSITIONS = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1]]
def createScene(root, size=1.0):
    body = root.addChild("body")
    cable = body.addChild("cable")
    tip = body.addChild("tip")
"""
SCENE = {
    "dt": "root.dt = 0.01",
    "loop": "root.addObject('FreeMotionAnimationLoop')",
    "constraints": "root.addObject('GenericConstraintSolver')",
    "ode": "body.addObject('EulerImplicitSolver', name='ode')",
    "linear": "body.addObject('SparseLDLSolver', name='linear')",
    "mesh": "body.addObject('TetrahedronSetTopologyContainer', name='mesh', position=POSITIONS, "
    "tetrahedra=[[0, 1, 2, 3], [1, 2, 3, 4]])",
    "dofs": "body.addObject('MechanicalObject', name='dofs')",
    "mass": "body.addObject('UniformMass', name='mass', totalMass=1.0)",
    "fem": "body.addObject('TetrahedronFEMForceField', name='fem', youngModulus=100.0)",
    "roi": "body.addObject('BoxROI', name='roi', box=[0, 0, 0, 1, 1, 0])",
    "clamp": "body.addObject('FixedProjectiveConstraint', name='clamp', indices='@roi.indices')",
    "correction": "body.addObject('LinearSolverConstraintCorrection')",
    "points": "cable.addObject('MechanicalObject', name='dofs', position=[[0.1, 0.1, 0.8]])",
    "pull": "cable.addObject('CableConstraint', name='pull', indices=[0], pullPoint=[0, 0, 0])",
    "mapping": "cable.addObject('BarycentricMapping', name='mapping')",
    "tip": "tip.addObject('MechanicalObject', name='dofs', position='0.1 0.1 0.8')",
    "tip mapping": "tip.addObject('BarycentricMapping', name='mapping')",
}


@pytest.fixture
def run_scene(softctl, tmp_path):
    """Runs the scene with some of its lines replaced: run_scene(fem="...") -> (status, err)."""

    def call(*arguments, **replaced):
        path = tmp_path / "scene.py"
        lines = [text for text in ({**SCENE, **replaced}).values() if text]
        path.write_text(HEADER + "".join(f"    {line}\n" for line in lines))
        status, _, err = softctl("run", path, "--steps", 3, "--quiet", *arguments)
        return status, err

    return call


def line_of(tmp_path, text):
    lines = (tmp_path / "scene.py").read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if line.strip() == text)


def test_the_scene_itself_runs(run_scene):
    assert run_scene() == (0, "")


BAD = {
    # What does not exist
    "unknown component": (
        "fem",
        "body.addObject('TetrahedronFEMForcefeild')",
        "has no component 'TetrahedronFEMForcefeild'. Did you mean 'TetrahedronFEMForceField'",
    ),
    "unknown Data": (
        "fem",
        "body.addObject('TetrahedronFEMForceField', name='fem', youngModulos=3)",
        "TetrahedronFEMForceField '/body/fem' has no Data 'youngModulos'. Did you mean "
        "'youngModulus'? 'softctl components TetrahedronFEMForceField' lists them.",
    ),
    "unknown template": (
        "dofs",
        "body.addObject('MechanicalObject', name='dofs', template='Rigid2d')",
        "has template 'Rigid2d'; the embedded runtime knows 'Vec3', 'Vec3d'",
    ),
    # Wrong types and shapes
    "wrong type": (
        "mass",
        "body.addObject('UniformMass', name='mass', totalMass='heavy')",
        "'totalMass' of UniformMass '/body/mass' takes one number, got 'heavy'",
    ),
    "wrong shape": (
        "roi",
        "body.addObject('BoxROI', name='roi', box=[0, 0, 0])",
        "'box' of BoxROI '/body/roi' takes a list of vectors of 6 numbers, got [0, 0, 0] (3",
    ),
    "wrong choice": (
        "fem",
        "body.addObject('TetrahedronFEMForceField', name='fem', method='larg')",
        "'method' of TetrahedronFEMForceField '/body/fem' takes one of 'small', 'large', 'polar'",
    ),
    "NaN": (
        "fem",
        "body.addObject('TetrahedronFEMForceField', name='fem', poissonRatio=float('nan'))",
        "'poissonRatio' of TetrahedronFEMForceField '/body/fem' takes a list of numbers, got nan",
    ),
    "infinite positions": (
        "points",
        "cable.addObject('MechanicalObject', name='dofs', position=[[np.inf, 0, 0]])",
        "MechanicalObject '/body/cable/dofs' got a 'position' that is not finite at 1 nodes",
    ),
    "a link that is no path": (
        "mapping",
        "cable.addObject('BarycentricMapping', name='mapping', input=3)",
        "the link 'input' of BarycentricMapping '/body/cable/mapping' takes a path such as",
    ),
    # Links
    "broken link": (
        "clamp",
        "body.addObject('FixedProjectiveConstraint', name='clamp', indices='@rio.indices')",
        "'indices' of FixedProjectiveConstraint '/body/clamp' links to '@rio.indices', which does "
        "not exist. 'rio' is not in node '/body'",
    ),
    "broken link to a Data": (
        "clamp",
        "body.addObject('FixedProjectiveConstraint', name='clamp', indices='@roi.indexes')",
        "BoxROI '/body/roi' has no Data 'indexes'. Did you mean 'indices'?",
    ),
    "broken src": (
        "mesh",
        "body.addObject('MeshTopology', name='mesh', src='@loader')",
        "src='@loader' of MeshTopology '/body/mesh' leads nowhere",
    ),
    "link to the wrong kind": (
        "mapping",
        "cable.addObject('BarycentricMapping', name='mapping', input='@../mass')",
        "'input' of BarycentricMapping '/body/cable/mapping' links to UniformMass '/body/mass', "
        "which is no state",
    ),
    # Meshes
    "missing mesh file": (
        "mesh",
        "body.addObject('MeshVTKLoader', name='loader', filename='none.vtk')",
        "none.vtk",
    ),
    "vertices that do not exist": (
        "mesh",
        "body.addObject('MeshTopology', name='mesh', position=POSITIONS, tetrahedra='0 1 2 9')",
        "has 1 of 1 tetrahedra that name a vertex which does not exist, first tetrahedra[0] = "
        "[0, 1, 2, 9]; there are 5 vertices",
    ),
    "flat tetrahedra": (
        "fem",
        "body.addObject('MeshTopology', name='flat', position=POSITIONS, "
        "tetrahedra=[[0, 1, 2, 2], [0, 1, 2, 3]]); body.addObject('TetrahedronFEMForceField', "
        "name='fem', topology='@flat')",
        "has 1 of 2 tetrahedra without volume, first tetrahedra[0] = [0, 1, 2, 2]. Repair the mesh",
    ),
    "no tetrahedra": (
        "fem",
        "body.addObject('MeshTopology', name='surface', position=POSITIONS, triangles=[[0, 1, 2]]);"
        " body.addObject('TetrahedronFEMForceField', name='fem', topology='@surface')",
        "finds no tetrahedra in MeshTopology '/body/surface'. A surface mesh is not enough",
    ),
    # Parts that are missing
    "mass of zero": (
        "mass",
        "body.addObject('UniformMass', name='mass', totalMass=0)",
        "UniformMass '/body/mass' needs a positive mass, got 0",
    ),
    "mass without a value": (
        "mass",
        "body.addObject('UniformMass', name='mass')",
        "UniformMass '/body/mass' has no mass: give totalMass or vertexMass",
    ),
    "Poisson's ratio": (
        "fem",
        "body.addObject('TetrahedronFEMForceField', name='fem', poissonRatio=0.5)",
        "needs poissonRatio from 0 to below 0.5, got 0.5",
    ),
    "nodes that do not exist": (
        "clamp",
        "body.addObject('FixedProjectiveConstraint', name='clamp', indices=[0, 7])",
        "has 7 in 'indices', but there are 5 nodes",
    ),
    "points of a cable that do not exist": (
        "pull",
        "cable.addObject('CableConstraint', name='pull', indices=[1])",
        "CableConstraint '/body/cable/pull' has 1 in 'indices', but there are 1 nodes",
    ),
    "a dt of zero": ("dt", "root.dt = 0", "dt must be positive, got 0"),
    "an object without a state": (
        "tip",
        "tip.addObject('PositionConstraint', name='alone', mstate='@/', useDirections=[1, 0, 0])",
        "'mstate' of PositionConstraint '/body/tip/alone' links to Node '/', which holds no state",
    ),
}


@pytest.mark.parametrize(("key", "line", "message"), BAD.values(), ids=BAD)
def test_a_wrong_line_is_told_with_its_number(run_scene, tmp_path, key, line, message):
    status, err = run_scene(**{key: line})
    assert status == 1
    assert err.startswith(f"Error: {tmp_path / 'scene.py'}:{line_of(tmp_path, line)}: ")
    assert message in err
    assert "Traceback" not in err


MISSING = {
    "mass": ("ode", "has force fields below it (TetrahedronFEMForceField '/body/fem') but no mass"),
    "ode": (
        "mass",
        "acts on MechanicalObject '/body/dofs', but no time integrator moves it: add an",
    ),
    "linear": ("ode", "needs a linear solver: add a SparseLDLSolver to its node '/body'"),
    "correction": ("ode", "has no constraint correction for MechanicalObject '/body/dofs': under"),
    "dofs": ("mass", "needs a MechanicalObject in its node, added before it"),
    "points": ("pull", "has 5 in 'indices', but"),
    "mesh": (
        "fem",
        "needs tetrahedra: add a TetrahedronSetTopologyContainer or MeshTopology to its node",
    ),
}


@pytest.mark.parametrize(("key", "told", "message"), [(k, *v) for k, v in MISSING.items()])
def test_a_missing_part_is_told_at_the_line_that_needs_it(run_scene, tmp_path, key, told, message):
    lines = {key: ""}
    if key == "points":  # the cable would act on the body's own nodes, as in SOFA
        lines["pull"] = "cable.addObject('CableConstraint', name='pull', indices=[5])"
    status, err = run_scene(**lines)
    assert status == 1
    line = line_of(tmp_path, {**SCENE, **lines}[told])
    assert f"{tmp_path / 'scene.py'}:{line}: " in err
    assert message in err
    assert "Traceback" not in err


def test_all_in_one_message_are_the_line_and_what_to_do(run_scene, tmp_path):
    """The whole of it, once: message, then the lines of the user's files that led there."""
    line = "body.addObject('UniformMass', name='mass', totalMas=1.0)"
    _, err = run_scene(mass=line)
    number = line_of(tmp_path, line)
    assert err.splitlines() == [
        f"Error: {tmp_path}/scene.py:{number}: UniformMass '/body/mass' has no Data 'totalMas'. "
        "Did you mean 'totalMass'? 'softctl components UniformMass' lists them.",
        f"  at {tmp_path}/scene.py:{number}: {line}",
    ]


def test_a_system_that_nothing_holds_and_nothing_weighs_is_told(run_scene):
    status, err = run_scene(mass="", fem="")
    assert status == 1
    assert "cannot factorise the system matrix: it is singular" in err
    assert "give every body a mass, or hold it" in err


def test_force_fields_without_a_topology_are_told(run_scene, tmp_path):
    status, err = run_scene(
        mesh="", dofs="body.addObject('MechanicalObject', name='dofs', position=POSITIONS)"
    )
    assert status == 1
    assert f"scene.py:{line_of(tmp_path, SCENE['fem'])}: " in err
    assert "needs tetrahedra: add a TetrahedronSetTopologyContainer or MeshTopology" in err


def test_a_scene_that_only_holds_solvers_runs(run_scene):
    """As in SOFA: there is nothing to move."""
    kept = ("dt", "loop", "constraints", "ode", "linear", "correction")
    assert run_scene(**dict.fromkeys(SCENE.keys() - kept, "")) == (0, "")
    assert run_scene(**dict.fromkeys(SCENE.keys() - {"dt"}, "")) == (0, "")


@pytest.mark.parametrize("kind", ["CableActuator", "CableEquality"])
def test_actuators_under_a_forward_solver_are_told(run_scene, tmp_path, kind):
    line = f"cable.addObject('{kind}', name='pull', indices=[0])"
    status, err = run_scene(pull=line)
    assert status == 1
    assert f"scene.py:{line_of(tmp_path, line)}: {kind} '/body/cable/pull' is for inverse" in err
    assert "use QPInverseProblemSolver instead" in err


def test_a_cable_under_the_default_loop_warns(run_scene, tmp_path, caplog):
    """SOFA runs such a scene too, and the cable does nothing."""
    status, err = run_scene(loop="", constraints="", correction="")
    assert (status, err) == (0, "")
    line = line_of(tmp_path, SCENE["pull"])
    assert f"scene.py:{line}: CableConstraint '/body/cable/pull' does nothing under" in caplog.text


def test_inverted_tetrahedra_are_taken_as_sofa_takes_them(run_scene):
    """SOFA accepts a negative winding: the stiffness has the volume's size."""
    status, err = run_scene(mesh=SCENE["mesh"].replace("[0, 1, 2, 3]", "[1, 0, 2, 3]"))
    assert (status, err) == (0, "")


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        (
            "mesh.vtk",
            b"# vtk DataFile Version 2.0\nx\nASCII\nDATASET UNSTRUCTURED_GRID\nPOIN",
            "VTK",
        ),
        ("mesh.vtk", b"\x00\x01\x02", "VTK"),
        ("mesh.vtk", b"", "VTK"),
        ("mesh.stl", b"solid x\nfacet nor", "STL"),
        ("mesh.obj", b"v 0 0\nf 1 2 3\n", "OBJ"),
        ("mesh.msh", b"$MeshFormat\n2.2 0 8\n", "Gmsh"),
    ],
)
def test_a_corrupt_mesh_file_is_told_with_its_name(run_scene, tmp_path, name, content, kind):
    (tmp_path / name).write_bytes(content)
    line = f"body.addObject('Mesh{kind}Loader', name='loader', filename='{name}')"
    status, err = run_scene(mesh=line)
    assert status == 1
    assert err.startswith(f"Error: {tmp_path / 'scene.py'}:{line_of(tmp_path, line)}: ")
    assert name in err
    assert "Traceback" not in err


# -- errors of the user's own code ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("raise RuntimeError('mine')", "RuntimeError: mine"),
        ("x = 1 / 0", "ZeroDivisionError: division by zero"),
        ("import softctl_nothing", "ModuleNotFoundError: No module named 'softctl_nothing'"),
        (
            "body.dofs.positon",
            "AttributeError: MechanicalObject has no attribute or Data 'positon'",
        ),
        ("assert size > 1.0", "AssertionError"),
    ],
)
def test_an_error_of_the_scene_file_is_a_traceback_to_its_line(run_scene, tmp_path, line, error):
    status, err = run_scene(mass=line)
    assert status == 1
    assert err.startswith("Traceback (most recent call last):\n")
    assert f'File "{tmp_path}/scene.py", line {line_of(tmp_path, line)}, in createScene' in err
    assert error in err.splitlines()[-1]
    assert "sofa_softctl" not in err


def test_an_error_of_a_controller_is_a_traceback_to_its_line(run_scene, tmp_path):
    code = (
        "import Sofa.Core\n"
        "class Mine(Sofa.Core.Controller):\n"
        "    def onAnimateBeginEvent(self, event):\n"
        "        return self.nothing\n"
    )
    (tmp_path / "softctl_test_mine.py").write_text(code)
    status, err = run_scene(
        dt="from softctl_test_mine import Mine; root.addObject(Mine(name='mine'))"
    )
    assert status == 1
    assert f'File "{tmp_path}/softctl_test_mine.py", line 4, in onAnimateBeginEvent' in err
    assert "Mine has no attribute or Data 'nothing'" in err.splitlines()[-2]
    assert err.splitlines()[-1] == "This was in step 1, from t = 0 to 0.01."


def test_a_syntax_error_shows_the_line(softctl, tmp_path):
    path = tmp_path / "scene.py"
    path.write_text("def createScene(root):\n    root.addObject(]\n")
    status, _, err = softctl("run", path)
    assert status == 1
    assert f'File "{path}", line 2' in err
    assert "root.addObject(]" in err
    assert "SyntaxError" in err.splitlines()[-1]
    assert "sofa_softctl" not in err


# -- command line --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1\n", "has no function createScene(root)"),
        ("def createScene():\n    pass\n", "scene.py:1: createScene must take the root node"),
        ("DURATION = 0\ndef createScene(root):\n    pass\n", "DURATION must be a positive number"),
    ],
)
def test_a_file_that_is_no_scene_is_told(softctl, tmp_path, text, message):
    path = tmp_path / "scene.py"
    path.write_text(text)
    status, _, err = softctl("run", path)
    assert status == 1
    assert err.startswith("Error: ")
    assert message in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--backend", "sofa"], "start another one for 'sofa'"),
        (["--plugin", "none.py"], "There is no plugin file 'none.py'"),
        (["--record", "/dev/null/run.mcap"], "Cannot write '/dev/null/run.mcap': "),
        (["--plot", "run.png"], "There is nothing to plot: no controller of the scene has a plot"),
    ],
)
def test_an_option_that_cannot_be_had_is_told(run_scene, arguments, message):
    status, err = run_scene(*arguments)
    assert status == 1
    assert err.startswith("Error: ")
    assert message in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--backend", "unity"], "--backend takes auto, embedded, sofa; got 'unity'"),
        (
            ["--set", "sise=3"],
            "The scene takes no parameter 'sise'. Did you mean 'size'? It takes: ",
        ),
        (
            ["--set", "size=big"],
            "The scene's parameter 'size' takes a float such as 1.0, got 'big'",
        ),
        (["--set", "size"], "--set needs NAME=VALUE, got 'size'"),
        (["--duration", "1"], "Give either steps or a duration, not both"),
        (["--record", "run.csv"], "run.csv"),
    ],
)
def test_a_wrong_option_is_told(run_scene, arguments, message):
    """Status 2, as of any wrong command line."""
    status, err = run_scene(*arguments)
    assert status == 2
    assert err.startswith("Error: ")
    assert message in err
    assert "Traceback" not in err


def test_a_picture_that_cannot_be_written_is_told():
    with pytest.raises(SoftctlError, match=r"Cannot write '/dev/null/run\.png': "):
        replace_atomically(Path("/dev/null/run.png")).__enter__()


def test_a_missing_scene_file_is_told(softctl, tmp_path):
    status, _, err = softctl("run", tmp_path / "none.py")
    assert (status, err) == (1, f"Error: There is no scene file '{tmp_path / 'none.py'}'.\n")


def test_an_unknown_component_or_command_is_told(softctl):
    status, _, err = softctl("components", "Mechanical")
    assert status == 1
    assert "no component 'Mechanical'. Did you mean 'MechanicalObject'" in err
    status, _, err = softctl("walk")
    assert status == 2
    assert "walk" in err


# -- a state that diverges -----------------------------------------------------------------------


def test_a_run_that_diverges_keeps_its_record_and_says_what_and_when(run_scene, tmp_path):
    code = (
        "import numpy as np\nimport Sofa.Core\n"
        "class Poison(Sofa.Core.Controller):\n"
        "    def onAnimateBeginEvent(self, event):\n"
        "        if event['dt'] + self.getContext().time.value > 0.025:\n"
        "            with self.getContext().body.dofs.position.writeable() as x:\n"
        "                x[4] = np.nan\n"
    )
    (tmp_path / "softctl_test_poison.py").write_text(code)
    record = tmp_path / "run.mcap"
    status, err = run_scene(
        "--record",
        record,
        dt="from softctl_test_poison import Poison; root.addObject(Poison(name='poison'))",
    )
    assert status == 1
    assert err.startswith(
        "Error: MechanicalObject '/body/dofs' diverged in the step from t = 0.02 to 0.03: "
    )
    kept = read_record(record)
    assert len(kept.time) == 2
    assert np.isfinite(kept.channels["body/dofs.position"]).all()
    assert not kept.complete
    assert "diverged" in kept.status


# -- as a process --------------------------------------------------------------------------------


@pytest.mark.processes
def test_a_real_process_ends_with_status_1_and_the_message_on_stderr(tmp_path):
    path = tmp_path / "scene.py"
    path.write_text("def createScene(root):\n    root.addObject('Mass')\n")
    done = subprocess.run(
        [sys.executable, "-m", "sofa_softctl.cli", "run", str(path), "--backend", "embedded"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    assert re.fullmatch(r"Backend: embedded runtime \(semantics of SOFA v.*\)\n", done.stdout)
    assert f"{path}:2: the embedded runtime has no component 'Mass'." in done.stderr


def test_a_scene_that_waits_for_keys_is_told_of_at_its_line(softctl, tmp_path, monkeypatch):
    """Where standard input is no keyboard; click alone would say 'Aborted.'."""
    path = tmp_path / "scene.py"
    path.write_text("def createScene(root):\n    input('Go?')\n")
    monkeypatch.setattr("sys.stdin", io.StringIO())
    status, _, err = softctl("run", path)
    assert status == 1
    assert f"{path}:2: the scene waits for input from the keyboard, and there is none." in err
