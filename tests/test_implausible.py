"""Scenes that run, but are implausible: each is warned of at its start, and --strict refuses it."""

import re
import sys

import numpy as np
import pytest

from sofa_softctl import Session
from sofa_softctl.cli.app import main
from sofa_softctl.errors import SceneError

HEADER = """\
import numpy as np
import warnings
import Sofa
from sofa_softctl import InverseController, add_effector, goal
from tests.conftest import box_of_tetrahedra
POSITIONS, TETRAHEDRA = box_of_tetrahedra(3, 3, 6)  # 20 x 20 x 90
"""
CREATE = """\
def createScene(root):
    beam = root.addChild("beam")
    cable = beam.addChild("cable")
    tip = beam.addChild("tip")
"""
SCENE = {
    "dt": "root.dt = 0.01",
    "gravity": "root.gravity = [0, -9810, 0]",
    "loop": "root.addObject('FreeMotionAnimationLoop')",
    "constraints": "root.addObject('GenericConstraintSolver')",
    "ode": "beam.addObject('EulerImplicitSolver', rayleighStiffness=0.02)",
    "linear": "beam.addObject('SparseLDLSolver')",
    "mesh": "beam.addObject('TetrahedronSetTopologyContainer', name='mesh', position=POSITIONS, "
    "tetrahedra=TETRAHEDRA)",
    "dofs": "beam.addObject('MechanicalObject', name='dofs')",
    "mass": "beam.addObject('UniformMass', name='mass', totalMass=0.04)",
    "fem": "beam.addObject('TetrahedronFEMForceField', name='fem', youngModulus=400.0)",
    "roi": "beam.addObject('BoxROI', name='roi', box=[-1, -1, -1, 21, 21, 1])",
    "clamp": "beam.addObject('FixedProjectiveConstraint', name='clamp', indices='@roi.indices')",
    "correction": "beam.addObject('LinearSolverConstraintCorrection')",
    "points": "cable.addObject('MechanicalObject', position=[[4, 10, z] for z in (5, 45, 85)])",
    "pull": "motor = cable.addObject('CableConstraint', name='pull', indices=[0, 1, 2], "
    "pullPoint=[4, 10, 0], valueType='force', value=[0.0])",
    "mapping": "cable.addObject('BarycentricMapping')",
    "tip": "tip.addObject('MechanicalObject', position=[[10, 10, 90]])",
    "effector": "effector = add_effector(tip)",
    "tip mapping": "tip.addObject('BarycentricMapping')",
    "inverse": "root.addObject(InverseController(name='inverse', root=root, actuators=[motor], "
    "effectors=[effector], goal=[0, 5, 88], effort_min=0))",
}


def inverse(**options):
    given = {"actuators": "[motor]", "effectors": "[effector]", "goal": "[0, 5, 88]"}
    given |= {"effort_min": "0"} | options
    values = ", ".join(f"{name}={value}" for name, value in given.items())
    return f"root.addObject(InverseController(name='inverse', root=root, {values}))"


def fem(text):
    return f"beam.addObject('TetrahedronFEMForceField', name='fem', youngModulus={text})"


def mass(text):
    return f"beam.addObject('UniformMass', name='mass', totalMass={text})"


def cable(text):
    return f"cable.addObject('MechanicalObject', position={text})"


def tip(text):
    return f"tip.addObject('MechanicalObject', position={text})"


def clamp(text):
    return f"beam.addObject('FixedProjectiveConstraint', name='clamp', {text})"


SMALL = {  # the same beam in metres, kilograms and seconds
    "mesh": SCENE["mesh"].replace("position=POSITIONS", "position=1e-3 * POSITIONS"),
    "fem": fem(400e3),
    "roi": "beam.addObject('BoxROI', name='roi', box=[-1, -1, -1, 1, 1, 0.001])",
    "points": cable("[[0.004, 0.01, z] for z in (0.005, 0.045, 0.085)]"),
    "pull": SCENE["pull"].replace("[4, 10, 0]", "[0.004, 0.01, 0]"),
    "tip": tip("[[0.01, 0.01, 0.09]]"),
    "inverse": inverse(goal="[0, 0.005, 0.088]"),
}
EARTH = {"gravity": "root.gravity = [0, -9.81, 0]"}

# What is replaced; UNITS; what the warning says.
IMPLAUSIBLE = {
    # Units of gravity
    "gravity in m, UNITS in mm": (
        EARTH,
        "mm, kg, s",
        "gravity is 9.81 mm/s^2 with UNITS 'mm, kg, s', and the Earth's is 9810 mm/s^2",
    ),
    "gravity in m, rounded": (
        {"gravity": "root.gravity = [0, -10, 0]"},
        "mm, kg, s",
        "gravity is 10 mm/s^2 with UNITS",
    ),
    "gravity in cm, UNITS in mm": (
        {"gravity": "root.gravity = [0, 0, 981]"},
        "mm, g, s",
        "gravity is 981 mm/s^2",
    ),
    "gravity in mm, UNITS in m": (SMALL, "m, kg, s", "the Earth's is 9.81 m/s^2"),
    "gravity in mm, UNITS in cm": ({}, "cm, kg, s", "the Earth's is 981 cm/s^2"),
    "gravity for seconds, UNITS in ms": ({}, "mm, kg, ms", "the Earth's is 0.00981 mm/ms^2"),
    "gravity in m, mesh of a hundred": (
        EARTH,
        None,
        "gravity is 9.81, the Earth's in m and s, and the largest body is 90 long, which would be "
        "m too. Is the mesh in mm? Then gravity is 9810; declare UNITS = 'mm, kg, s'",
    ),
    "gravity in mm, mesh below one": (SMALL, None, "is 0.09 long, which would be mm too. Is the"),
    # Modulus, mass, dt
    "no stiffness": ({"fem": fem(0.0)}, None, "fem' has youngModulus=0: without stiffness nothing"),
    "an element without stiffness": (
        {"fem": fem("[400.0] * 3 + [0.0] + [400.0] * (len(TETRAHEDRA) - 4)")},
        None,
        "has youngModulus=0 in 1 of 120 entries, first 3",
    ),
    "a modulus that a rounding took": ({"fem": fem("600 // 1000")}, None, "has youngModulus=0:"),
    "modulus in MPa for kPa": ({"fem": fem(0.4)}, "mm, kg, s", "the body sags by 2.01e+03"),
    "modulus in GPa for kPa": ({"fem": fem(4e-4)}, None, "(youngModulus=0.0004, totalMass=0.04)"),
    "modulus in Pa for kPa": (
        {"fem": fem(400e3)},
        "mm, kg, s",
        "the longest natural period of the body is 0.00",
    ),
    "modulus in kPa for Pa": (
        SMALL | EARTH | {"fem": fem(400.0)},
        "m, kg, s",
        "Is the modulus, the mass or gravity in other units, or are too few nodes fixed?",
    ),
    "mass in g for kg": ({"mass": mass(40.0)}, None, "(youngModulus=400, totalMass=40)"),
    "density in kg/m^3 for kg/mm^3": (
        {"mass": "beam.addObject('MeshMatrixMass', name='mass', massDensity=1100.0)"},
        None,
        "under gravity 9810 the body sags by ",
    ),
    "mass in t for kg": ({"mass": mass(4e-5)}, None, "less than dt=0.01"),
    "dt in ms for s": ({"dt": "root.dt = 10.0"}, None, "less than dt=10 (youngModulus=400,"),
    # What holds the body
    "a box around all nodes": (
        {"roi": "beam.addObject('BoxROI', name='roi', box=[-99, -99, -99, 99, 99, 99])"},
        None,
        "clamp' fixes all 54 nodes of '/beam', so the body cannot move",
    ),
    "a clamp on no node": (
        {"clamp": clamp("indices=[]")},
        None,
        "clamp' fixes no node of '/beam': its 'indices' are empty",
    ),
    "all nodes by number": ({"clamp": clamp("indices=range(54)")}, None, "fixes all 54 nodes"),
    "fixAll": ({"clamp": clamp("fixAll=True")}, None, "fixes all 54 nodes of '/beam'"),
    "two clamps on all nodes": (
        {"clamp": f"{clamp('indices=range(30)')}; {clamp('indices=range(25, 54)')}"},
        None,
        "fixes all 54 nodes of '/beam'",
    ),
    "no clamp": (
        {"clamp": ""},
        None,
        "dofs': nothing holds this body of 54 nodes against gravity: no fixed node",
    ),
    "no clamp and no cable": (
        {key: "" for key in ("clamp", "points", "pull", "mapping", "inverse", "effector")},
        None,
        "Add a FixedProjectiveConstraint at its clamp",
    ),
    "a clamp that holds no node": (
        {"roi": "beam.addObject('BoxROI', name='roi', box=[50, 50, 50, 60, 60, 60])"},
        None,
        "' holds no node",
    ),
    # Points of cables and effectors
    "an effector beyond the mesh": (
        {"tip": tip("[[10, 10, 150]]")},
        None,
        "its point 0 at [10, 10, 150] is 60 from the nearest node of the mesh of '/beam', more "
        "than an element (",
    ),
    "an effector in um": ({"tip": tip("[[1e4, 1e4, 9e4]]")}, None, "at [1e+04, 1e+04, 9e+04] is"),
    "a cable beside the mesh": (
        {"points": cable("[[-60, 10, z] for z in (5, 45, 85)]")},
        None,
        "3 of 3 points are that far out",
    ),
    "one point of a cable": (
        {"points": cable("[[4, 10, 5], [4, 10, 45], [4, 10, 850]]")},
        None,
        "its point 2 at [4, 10, 850] is 760 from",
    ),
    "a pull point in um": (
        {"pull": SCENE["pull"].replace("[4, 10, 0]", "[4000, 10000, 0]")},
        None,
        "pullPoint [4000, 1e+04, 0] is 1.076e+04 from the cable's first point, and the body is 90",
    ),
    # Goals
    "a goal in m": (
        {"inverse": inverse(goal="[0, 0.005, 0.088]")},
        "mm, kg, s",
        "effector '/beam/tip' is at [10, 10, 90], and its goal [0, 0.005, 0.088] is 91.02 away; "
        "the robot is 90 long. Times 1000 the goal is 11.4 away: is it in other units?",
    ),
    "a goal in um": ({"inverse": inverse(goal="[0, 5e3, 88e3]")}, None, "Times 0.001 the goal is"),
    "a goal ten robots away": (
        {"inverse": inverse(goal="[0, 900, 90]")},
        None,
        "is 890.1 away; the robot is 90 long. Is the goal, or the mesh, in other units?",
    ),
    "a moving goal that begins far away": (
        {"inverse": inverse(goal="lambda t: [0, 5, 88 + 1e5 * t]")},
        None,
        "its goal [0, 5, 1088] is 998.1 away",
    ),
    "a circle with its centre in um": (
        {"inverse": inverse(goal="goal.circle([1e4, 1e4, 9e4], 10.0, 2.0)")},
        None,
        "effector '/beam/tip' is at [10, 10, 90], and its goal",
    ),
    "a goal far beyond what goal_distance leads to": (
        {"inverse": inverse(goal="[0, 5, 2e4]", goal_distance=1.0)},
        None,
        "and its goal [0, 5, 2e+04] is 1.991e+04 away",
    ),
    "a circle of five steps": (
        {"inverse": inverse(goal="goal.circle([10, 10, 90], 5.0, 0.05)")},
        None,
        "the goal goes round in 0.05, which is 5 steps of dt=0.01",
    ),
    # Warnings of loading
    "a cable that does nothing": (
        {"loop": "", "constraints": "", "correction": "", "inverse": ""},
        None,
        "CableConstraint '/beam/cable/pull' does nothing under",
    ),
    "an old name of SOFA": ({"dt": "root.createChild('empty')"}, None, "createChild is now"),
    "a warning of the scene": ({"dt": "Sofa.msg_warning('mine', 'too thin')"}, None, "too thin"),
}


@pytest.fixture
def scene(tmp_path):
    """Writes the scene with some of its lines replaced: scene(units, fem="...") -> its path."""

    def write(units=None, **replaced):
        path = tmp_path / "scene.py"
        lines = [text for text in ({**SCENE, **replaced}).values() if text]
        head = f"UNITS = {units!r}\n" if units else ""
        path.write_text(HEADER + head + CREATE + "".join(f"    {line}\n" for line in lines))
        return path

    return write


@pytest.fixture
def softctl(monkeypatch, capsys):
    """Runs the command line in this process: softctl(*arguments) -> (status, out, err)."""

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["softctl", *map(str, arguments)])
        with pytest.raises(SystemExit) as done:
            main()
        said = capsys.readouterr()
        return done.value.code or 0, said.out, said.err

    return call


@pytest.mark.parametrize(
    ("replaced", "units"), [({}, None), ({}, "mm, kg, s"), (SMALL | EARTH, "m, kg, s")]
)
def test_the_scene_itself_has_no_warning(scene, replaced, units, caplog):
    Session(scene(units, **replaced), strict=True)
    Session(scene(units, **replaced))
    assert caplog.text == ""


@pytest.mark.parametrize(
    ("replaced", "units", "message"), IMPLAUSIBLE.values(), ids=list(IMPLAUSIBLE)
)
def test_what_is_implausible_is_warned_of_once(scene, caplog, replaced, units, message):
    Session(scene(units, **replaced))
    assert sum(message in record.getMessage() for record in caplog.records) == 1


@pytest.mark.processes(keep=3)
@pytest.mark.parametrize(
    ("replaced", "units", "message"), IMPLAUSIBLE.values(), ids=list(IMPLAUSIBLE)
)
def test_what_is_implausible_is_warned_of_and_strict_refuses_it(
    scene, softctl, caplog, replaced, units, message
):
    """The same words in both, with the file and line of a component."""
    path = scene(units, **replaced)
    Session(path)
    (said,) = [record.getMessage() for record in caplog.records if message in record.getMessage()]
    caplog.clear()
    status, out, err = softctl("run", path, "--strict", "--steps", 1, "--quiet")
    assert (status, out) == (1, "")
    assert err.startswith("Error: [") and said in err
    assert "Traceback" not in err and caplog.text == ""
    assert len(said) > 60 or "too thin" in said
    if "too thin" not in said:
        assert re.search(rf"{re.escape(str(path))}:\d+: ", said)


@pytest.mark.processes
def test_a_warning_is_shown_in_quiet_and_changes_nothing_else(fresh, scene):
    path = scene(**{"clamp": "", "inverse": ""})
    done = fresh(f"""
        import sys
        sys.argv = ["softctl", "run", {str(path)!r}, "--steps", "2", "--quiet"]
        from sofa_softctl.cli.app import main
        main()
    """)
    assert (done.returncode, done.stdout) == (0, "")
    assert "nothing holds this body of 54 nodes" in done.stderr


def test_the_check_changes_no_data(scene):
    """Nor the motion: what it asks of force fields and solvers, the first step asks anew."""
    from sofa_softctl.scene.plausibility import implausible

    def value_of(data):
        value = data.value
        return value.toarray() if hasattr(value, "toarray") else np.copy(value)

    one, other = Session(scene()), Session(scene())
    before = {
        (entry.getPathName(), data.getName()): value_of(data)
        for node in one.nodes()
        for entry in node.objects
        for data in entry.getDataFields()
    }
    implausible(one.root)
    for node in one.nodes():
        for entry in node.objects:
            for data in entry.getDataFields():
                known = before[entry.getPathName(), data.getName()]
                assert np.array_equal(value_of(data), known), data.getName()
    assert not np.any(one.root.beam.dofs.force.value)
    one.step(3)
    other.step(3)
    for name, position in one.positions().items():
        np.testing.assert_array_equal(position, other.positions()[name])


def test_a_body_that_may_be_held_is_not_warned_of(scene):
    """A spring, a contact, a motor, or a controller that nobody knows."""
    spring = "beam.addObject('RestShapeSpringsForceField', points=[0], stiffness=100.0)"
    contact = "beam.addObject('PointCollisionModel')"
    unknown = "root.addObject(Sofa.Core.Controller(name='mine'))"
    away = SCENE["pull"].replace("[4, 10, 0]", "[4, 100, 0]")  # hangs from above
    for replaced in ({"clamp": spring}, {"clamp": contact}, {"clamp": unknown}):
        Session(scene(**replaced), strict=True)
    Session(scene(clamp="", pull=away), strict=True)
    motor = "effector = add_effector(tip); motor = effector[1]"
    Session(scene(clamp="", effector=motor, pull="", points="", mapping=""), strict=True)


def test_a_goal_with_a_state_is_not_called_before_the_first_step(scene):
    code = (
        "class Goal:\n"
        "    def __call__(self, time): raise AssertionError('asked')\n"
        "    def snapshot(self): return 0\n"
        "    def restore(self, value): pass\n"
    )
    path = scene(inverse=inverse(goal="Goal()"))
    path.write_text(code + path.read_text())
    Session(path, strict=True)


def test_a_goal_that_raises_is_left_to_the_first_step(scene):
    session = Session(scene(inverse=inverse(goal="lambda t: 1 / 0")), strict=True)
    with pytest.raises(ZeroDivisionError):
        session.step()


@pytest.mark.filterwarnings("default")
def test_strict_gathers_all_warnings_in_one_error(scene):
    """Those of Python too."""
    path = scene("cm, kg, s", fem=fem(0.4), dt="warnings.warn('mine', UserWarning)")
    with pytest.raises(SceneError) as error:
        Session(path, strict=True)
    first, modulus, density, sag, third = str(error.value).splitlines()
    assert "gravity is 9810 cm/s^2" in first and "the body sags by" in sag
    assert "that is 40 Pa" in modulus and "kg/cm^3 that is 1.11 kg/m^3" in density
    assert re.fullmatch(rf"{path}:\d+: mine", third)


def test_strict_ends_with_the_start(scene, caplog):
    """Warnings of later steps are warnings."""
    late = (
        "root.addObject(type('Late', (Sofa.Core.Controller,), {'onAnimateEndEvent': "
        "lambda self, event: Sofa.msg_warning(self, 'late')})(name='late'))"
    )
    session = Session(scene(inverse=late), strict=True)
    session.step()
    assert "late" in caplog.text
    Session(scene(fem=fem(0.4)))  # nothing of it remains


LASER = ("scenes/laser_arm.py", "--set", "young_modulus=0.03")


@pytest.mark.parametrize(
    "command",
    [
        ("run", *LASER),
        ("plan", *LASER, "--task", "circle"),
    ],
    ids=lambda command: command[0],
)
def test_strict_is_one_option_of_all_commands_that_open_scenes(softctl, command):
    status, _, err = softctl(*command, "--strict")
    assert status == 1 and "the body sags by" in err and "Traceback" not in err


@pytest.mark.processes
def test_strict_holds_for_the_scenes_of_an_identification(softctl, tmp_path):
    """The problem of the finger, whose scene takes a mass in other units."""
    problem = tmp_path / "soft.py"
    problem.write_text(
        "import dataclasses\n"
        "from sofa_softctl.identification.model.problem import load_problem\n"
        "found = load_problem('scenes/finger_identification.py')\n"
        "given = dict(found.scene_parameters or {}) | {'total_mass': 1e3}\n"
        "PROBLEMS = {'soft': lambda: dataclasses.replace(found, scene_parameters=given)}\n"
    )
    data = tmp_path / "data.csv"
    status, _, err = softctl("identify", problem, "--template", data)
    assert status == 0, err
    head = next(line for line in data.read_text().splitlines() if line[:1] != "#")
    width = len(head.split(","))
    rows = [",".join(f"{0.01 * row + column:g}" for column in range(width)) for row in range(9)]
    data.write_text("\n".join([head, *rows]))
    status, _, err = softctl("identify", problem, "--data", data, "--strict")
    assert status == 1 and "the body sags by" in err, err


@pytest.mark.processes
def test_the_check_is_a_small_part_of_loading_a_scene():
    """Of the trunk: an eighth. It was bound to five steps, which became faster since."""
    from time import process_time

    from sofa_softctl.scene.plausibility import implausible

    session = Session("scenes/trunk.py")
    session.step(3)

    def least(work, repeats=9):
        found = []
        for _ in range(repeats):
            start = process_time()
            work()
            found.append(process_time() - start)
        return min(found)

    check = least(lambda: implausible(session.root, session.units))
    assert check < 0.25 * least(lambda: Session("scenes/trunk.py").close(), repeats=3)
