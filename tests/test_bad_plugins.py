"""Plugins and QP solvers that are wrong: each is named, with what was expected and what came."""

import json
import sys
from contextlib import ExitStack

import numpy as np
import pytest

from sofa_softctl import plugins as plugins_module
from sofa_softctl.base import processes
from sofa_softctl.cli.app import main
from sofa_softctl.offers import REGISTRIES, registry_of
from sofa_softctl.record.record import read_record
from sofa_softctl.status import Status

HEADER = """\
import numpy as np
from sofa_softctl import SceneController, hookimpl
from sofa_softctl.qp import QPResult, no_solution
from sofa_softctl.runtime import Component, ForceField, Real


class Follower(SceneController):
    "Does nothing."


class Whistle(Component):
    "A whistle."


def solve(qp, warm):
    return no_solution(qp, "failed", 0, "it knows nothing")


"""
HOOK = "@hookimpl\ndef softctl_register_{}(register):\n    {}\n"


@pytest.fixture
def softctl(monkeypatch, capsys):
    """softctl(*arguments) -> (status, out, err), in this process; plugins are forgotten again."""
    monkeypatch.setattr(plugins_module, "_plugins", [])
    monkeypatch.setattr(plugins_module, "_files", [])
    monkeypatch.setattr(plugins_module, "_paths", set())
    monkeypatch.setattr(processes, "_first", {})

    def call(*arguments):
        monkeypatch.setenv("COLUMNS", "200")
        monkeypatch.setattr(sys, "argv", ["softctl", *map(str, arguments)])
        with pytest.raises(SystemExit) as done:
            main()
        said = capsys.readouterr()
        return done.value.code or 0, said.out, said.err

    with ExitStack() as stack:
        for kind in REGISTRIES:
            stack.enter_context(registry_of(kind).kept())
        yield call


@pytest.fixture
def plugin(tmp_path):
    """plugin(code) -> the file; the names of `HEADER` are in it."""

    def write(code):
        path = tmp_path / "mine.py"
        path.write_text(HEADER + code)
        return path

    return write


def hook(kind, line):
    return HOOK.format(kind, line)


# -- what a plugin registers -----------------------------------------------------------------------

GOOD = hook("controllers", "register('follower', Follower)")
REGISTERED = {
    "nothing at all": ("", "has no hook, so that it brings nothing. Write a function with the"),
    "a function without the decorator": (
        GOOD.removeprefix("@hookimpl\n"),
        "softctl_register_controllers would never be called, without the decorator @hookimpl",
    ),
    "one of two without the decorator": (
        GOOD + hook("qp_solvers", "register('x', solve)").removeprefix("@hookimpl\n"),
        "softctl_register_qp_solvers would never be called, without the decorator @hookimpl",
    ),
    "the decorator of another project": (
        "import pluggy\nhookimpl = pluggy.HookimplMarker('pytest')\n" + GOOD,
        "softctl_register_controllers would never be called",
    ),
    "a misspelt hook": (
        hook("controler", "pass"),
        "there is no hook 'softctl_register_controler'. Did you mean 'softctl_register_contr",
    ),
    "a hook that does not exist": (
        hook("sensors", "pass"),
        "there is no hook 'softctl_register_sensors'",
    ),
    "a hook with other arguments": (
        GOOD.replace("register)", "registry)"),
        "cannot be used: Plugin",
    ),
    "a controller without a name": (
        hook("controllers", "register(Follower)"),
        "softctl_register_controllers calls register with wrong arguments: missing a required "
        "argument: 'controller'. Expected: register(name, controller).",
    ),
    "a controller with its name last": (
        hook("controllers", "register(Follower, 'follower')"),
        "controller '<class 'softctl_plugin_mine.Follower'>' must be a class or a function",
    ),
    "a controller that is no class": (
        hook("controllers", "register('follower', 3)"),
        "controller 'follower' must be a class or a function that returns one, got 3",
    ),
    "a controller that is no Controller": (
        hook("controllers", "register('follower', dict)"),
        "controller 'follower' must be a subclass of Sofa.Core.Controller, or of "
        "sofa_softctl.SceneController; got the class dict, which is not.",
    ),
    "a name that is no text": (
        hook("controllers", "register(3, Follower)"),
        "the name of a controller must be a text, got 3",
    ),
    "an empty name": (
        hook("qp_solvers", "register('', solve)"),
        "the name of a QP solver must be a text, got ''",
    ),
    "a solver that is no function": (
        hook("qp_solvers", "register('mine', 'daqp')"),
        "QP solver 'mine' must be a function (qp, warm) -> QPResult, got 'daqp'",
    ),
    "a solver without a name": (
        hook("qp_solvers", "register(solve)"),
        "Expected: register(name, solve, sparse=False).",
    ),
    "a solver with an unknown option": (
        hook("qp_solvers", "register('mine', solve, dense=True)"),
        "got an unexpected keyword argument 'dense'. Expected: register(name, solve, sparse=False)",
    ),
    "a solver of a taken name": (
        hook("qp_solvers", "register('daqp', solve)"),
        "both register a QP solver 'daqp'. Rename one of them.",
    ),
    "a sparse solver of a taken name": (
        hook("qp_solvers", "register('piqp', solve, sparse=True)"),
        "both register a sparse QP solver 'piqp'. Rename one of them.",
    ),
    "a solver with the name of an adapter": (
        hook("qp_solvers", "register('qpsolvers:scs', solve)"),
        "both register a QP solver 'qpsolvers:scs'",
    ),
    "the same controller twice": (
        hook("controllers", "register('x', Follower); register('x', Follower)"),
        "registers a controller 'x' twice.",
    ),
    "a component that is none": (
        hook("components", "register(dict)"),
        "'dict' is no subclass of Component, so no scene can add it.",
    ),
    "a component with a name": (
        hook("components", "register('whistle', Whistle)"),
        "too many positional arguments. Expected: register(component).",
    ),
    "a component that is an object": (
        hook("components", "register(Whistle())"),
        "is no subclass of Component",
    ),
    "a component of a taken name": (
        hook("components", "register(type('UniformMass', (Component,), {}))"),
        "both register a component 'UniformMass'",
    ),
    "a component that lacks methods": (
        "from abc import ABC, abstractmethod\n"
        "class Base(Component, ABC):\n    @abstractmethod\n    def ring(self): ...\n"
        "class Bell(Base): pass\n" + hook("components", "register(Bell)"),
        "no scene can make a Bell, which lacks the methods ring.",
    ),
}


@pytest.mark.parametrize("case", REGISTERED)
def test_a_plugin_that_registers_what_cannot_be_is_named(softctl, plugin, case):
    code, message = REGISTERED[case]
    path = plugin(code)
    status, _, err = softctl("plugins", "--plugin", path)
    assert status == 1
    assert err.startswith(f"Error: Plugin '{path}'") or err.startswith("Error: Plugins 'built-in' ")
    assert message in err, err
    assert "Traceback" not in err
    assert "sofa_softctl/" not in err


def test_a_plugin_that_is_right_is_listed_with_all_that_it_brings(softctl, plugin):
    code = GOOD + hook("components", "register(Whistle)")
    code += hook("qp_solvers", "register('one', solve); register('two', solve, sparse=True)")
    path = plugin(code)
    status, out, err = softctl("plugins", "--plugin", path)
    assert (status, err) == (0, "")
    rows = [[cell.strip() for cell in row.split("│")[2:4]] for row in out.splitlines()[-5:-1]]
    assert rows == [
        ["controller", "follower"],
        ["QP solver", "one"],
        ["sparse QP solver", "two"],
        ["component", "Whistle"],
    ]


@pytest.mark.parametrize(
    "command",
    [
        ["plugins"],
        ["components"],
        ["run", "scenes/trunk.py"],
        ["bench", "scenes", "scenes/trunk.py"],
        ["bench", "compare", "scenes/trunk.py"],
        ["plan", "scenes/laser_arm.py", "--task", "circle"],
        ["identify", "scenes/finger.py"],
        ["library", "build", "cart.py", "--estimate"],
        ["library", "verify", "cart.library", "cart.py"],
    ],
    ids=" ".join,
)
def test_every_command_refuses_a_plugin_that_is_not_there(softctl, command):
    status, _, err = softctl(*command, "--plugin", "none.py")
    assert (status, err) == (1, "Error: There is no plugin file 'none.py'.\n")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("scenes", "There is no plugin file 'scenes'"),
        ("README.md", "The plugin 'README.md' is not a Python file (.py)"),
    ],
)
def test_a_plugin_that_is_no_python_file_is_refused(softctl, name, message):
    status, _, err = softctl("plugins", "--plugin", name)
    assert status == 1
    assert err.startswith(f"Error: {message}")


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("x = 1 / 0\n", "ZeroDivisionError: division by zero"),
        ("import softctl_nothing\n", "ModuleNotFoundError: No module named 'softctl_nothing'"),
        (hook("controllers", "raise ValueError('no licence')"), "ValueError: no licence"),
        ("def (:\n", "SyntaxError: invalid syntax"),
    ],
)
def test_what_a_plugin_file_raises_is_shown_with_its_own_lines(softctl, plugin, code, error):
    path = plugin(code)
    status, _, err = softctl("plugins", "--plugin", path)
    assert status == 1
    assert f'File "{path}", line ' in err
    assert err.splitlines()[-1] == error
    assert "sofa_softctl/" not in err


def test_the_same_file_twice_is_an_error(softctl, plugin):
    path = plugin(GOOD)
    status, _, err = softctl("plugins", "--plugin", path, "--plugin", path)
    assert (status, err) == (1, f"Error: Plugin '{path}' is there already.\n")


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("lambda: 3", "Plugin '{path}': controller 'late' must be a subclass of Sofa.Core.Con"),
        ("lambda: Whistle", "got the class Whistle, which is not."),
        ("lambda: None", "; got None."),
    ],
)
def test_a_late_controller_that_is_none_is_named_when_a_scene_asks(
    softctl, plugin, tmp_path, code, message
):
    path = plugin(hook("controllers", f"register('late', {code})"))
    scene = tmp_path / "scene.py"
    scene.write_text(
        "from sofa_softctl import controller\ndef createScene(root):\n    controller('late')\n"
    )
    status, _, err = softctl("run", scene, "--plugin", path)
    assert status == 1
    assert message.format(path=path) in err
    assert f"{scene}:3: controller('late')" in err
    assert "sofa_softctl/" not in err


# -- components ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            "def __init__(self): super().__init__()",
            "Bell of plugin '{path}' cannot be made: TypeError: Bell.__init__() got an unexpected "
            "keyword argument 'loudness'",
        ),
        (
            "def __init__(self, **values): raise RuntimeError('cracked')",
            "Bell of plugin '{path}' cannot be made: RuntimeError: cracked\n"
            "  at {scene}:2: root.addObject('Bell', loudness=2.0)\n"
            "  at {path}:20: def __init__(self, **values): raise RuntimeError('cracked')\n",
        ),
        (
            "def __new__(cls): return super().__new__(cls, 1)",
            "Bell of plugin '{path}' cannot be made: TypeError: object.__new__() takes",
        ),
    ],
)
def test_a_component_that_cannot_be_made_names_the_plugin(softctl, plugin, tmp_path, body, message):
    code = f"class Bell(Component):\n    {body}\n" + hook("components", "register(Bell)")
    path, scene = plugin(code), tmp_path / "scene.py"
    scene.write_text("def createScene(root):\n    root.addObject('Bell', loudness=2.0)\n")
    status, _, err = softctl("run", scene, "--quiet", "--plugin", path)
    assert status == 1
    assert err.startswith(f"Error: {scene}:2: ")
    assert message.format(path=path, scene=scene) in err
    assert "sofa_softctl/" not in err


def test_the_error_of_a_component_in_a_scene_is_a_traceback_to_its_line(softctl, plugin, tmp_path):
    code = "class Bell(Component):\n    def init(self): return self.clapper\n"
    path, scene = plugin(code + hook("components", "register(Bell)")), tmp_path / "scene.py"
    scene.write_text("def createScene(root):\n    root.addObject('Bell')\n")
    status, _, err = softctl("run", scene, "--quiet", "--plugin", path)
    assert status == 1
    assert f'File "{path}", line 20, in init' in err
    assert "Bell has no attribute or Data 'clapper'" in err.splitlines()[-1]


def test_a_component_of_a_plugin_is_described_and_marked_in_the_list(softctl, plugin):
    path = plugin(hook("components", "register(Whistle)"))
    _, out, _ = softctl("components", "Whistle", "--plugin", path)
    assert out.startswith(f"A whistle.\nFrom the plugin '{path}'.\n")


def test_the_list_of_components_marks_those_of_plugins(softctl, plugin):
    path = plugin(hook("components", "register(Whistle)"))
    _, out, _ = softctl("components", "--plugin", path)
    assert "A whistle. (plugin" in out
    assert out.count("(plugin") == 1


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("Whistel", "has no component 'Whistel'. Did you mean 'Whistle'?"),
        ("follower", "'follower' is a controller of the plugin '{path}', no component."),
        ("mine", "'mine' is a QP solver of the plugin '{path}', no component."),
        ("piqp", "'piqp' is a sparse QP solver of the plugin 'built-in', no component."),
        ("", "has no component ''."),
    ],
)
def test_a_name_that_is_no_component_has_a_sentence(softctl, plugin, name, message):
    code = GOOD + hook("components", "register(Whistle)")
    path = plugin(code + hook("qp_solvers", "register('mine', solve)"))
    status, _, err = softctl("components", name, "--plugin", path)
    assert status == 1
    assert err.startswith("Error: ")
    assert message.format(path=path) in err


# -- installed plugins -----------------------------------------------------------------------------

WAY_OUT = "Uninstall 'softctl-test-pretended', or set SOFTCTL_PLUGINS=0.\n"
INSTALLED = {
    "no hook": (HEADER, "Plugin 'pretended' has no hook, so that it brings nothing."),
    "no decorator": (HEADER + GOOD.removeprefix("@hookimpl\n"), "without the decorator @hookimpl"),
    "an import that fails": ("import softctl_nothing\n", "ModuleNotFoundError: No module named"),
    "an error of its own": ("1 / 0\n", "ZeroDivisionError: division by zero. Uninstall"),
    "an error in its hook": (HEADER + hook("controllers", "1 / 0"), "ZeroDivisionError: division"),
}


@pytest.mark.parametrize("case", INSTALLED)
def test_an_installed_plugin_that_cannot_be_used_says_how_to_go_on(softctl, installed, case):
    code, message = INSTALLED[case]
    installed(code)
    status, _, err = softctl("plugins")
    assert status == 1
    assert err.startswith("Error: The plugin 'pretended' that is installed cannot be used: ")
    assert message in err
    assert WAY_OUT.strip() in err.splitlines()[0]
    assert "Traceback" not in err


def test_an_entry_point_to_a_class_is_told(softctl, installed, tmp_path):
    installed(
        HEADER + "class Mine:\n    " + GOOD.replace("\n", "\n    ").replace("(reg", "(self, reg", 1)
    )
    entry = tmp_path / "softctl_test_pretended-1.0.dist-info" / "entry_points.txt"
    entry.write_text("[sofa_softctl]\npretended = softctl_test_pretended:Mine\n")
    status, _, err = softctl("plugins")
    assert status == 1
    assert "Plugin 'pretended' is the class Mine; expected an object of it, or a module." in err


def test_an_entry_point_to_nothing_is_told(softctl, installed, tmp_path):
    installed(HEADER + GOOD)
    entry = tmp_path / "softctl_test_pretended-1.0.dist-info" / "entry_points.txt"
    entry.write_text("[sofa_softctl]\npretended = softctl_test_pretended:nothing\n")
    status, _, err = softctl("plugins")
    assert status == 1
    assert "has no attribute 'nothing'" in err
    assert WAY_OUT in err
    assert "Traceback" not in err


def test_what_an_installed_plugin_raises_is_shown_with_its_line(
    softctl, installed, tmp_path, monkeypatch
):
    """Installed packages lie below sys.prefix, whose lines are left out otherwise."""
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    installed(HEADER + hook("controllers", "1 / 0"))
    _, _, err = softctl("plugins")
    line = len(HEADER.splitlines()) + 3
    assert f"  at {tmp_path}/softctl_test_pretended.py:{line}: 1 / 0\n" in err


# -- answers of QP solvers -------------------------------------------------------------------------

SCENE = """
from sofa_softctl import InverseController, add_effector

POSITIONS = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1]]

def createScene(root, solver="mine"):
    root.dt = 0.01
    root.addObject("FreeMotionAnimationLoop")
    root.addObject("GenericConstraintSolver", maxIterations=100, tolerance=1e-9)
    body = root.addChild("body")
    body.addObject("EulerImplicitSolver", rayleighStiffness=0.1)
    body.addObject("SparseLDLSolver")
    body.addObject("TetrahedronSetTopologyContainer", position=POSITIONS,
                   tetrahedra=[[0, 1, 2, 3], [1, 2, 3, 4]])
    body.addObject("MechanicalObject")
    body.addObject("UniformMass", totalMass=1.0)
    body.addObject("TetrahedronFEMForceField", youngModulus=100.0, poissonRatio=0.3)
    body.addObject("FixedProjectiveConstraint", indices=[0, 1, 2])
    body.addObject("LinearSolverConstraintCorrection")
    cable = body.addChild("cable")
    cable.addObject("MechanicalObject", position=[[1, 1, 1]])
    pull = cable.addObject("CableConstraint", indices=[0], pullPoint=[0, 0, 0], valueType="force",
                           value=[0.0], minForce=0.0)
    cable.addObject("BarycentricMapping")
    tip = body.addChild("tip")
    tip.addObject("MechanicalObject", position=[[1, 1, 1]])
    rows = add_effector(tip)
    tip.addObject("BarycentricMapping")
    root.addObject(InverseController(name="inverse", root=root, actuators=[pull], effectors=[rows],
                                     goal=[0.9, 0.9, 0.9], solver=solver, names=["cable"],
                                     goal_tolerance=float("inf")))
"""
SOLVE = """
from sofa_softctl.qp.solvers import find

@hookimpl
def softctl_register_qp_solvers(register):
    register("mine", answer)

def answer(qp, warm=None):
    found = find("daqp")(qp, warm)
    n, limits = qp.g.shape[0], qp.lower.shape[0]
    {}
"""


@pytest.fixture
def run(softctl, plugin, tmp_path):
    """run(line, *arguments): a scene whose solver has this line -> (path, status, out, err)."""

    def call(line, *arguments):
        path, scene = plugin(SOLVE.format(line)), tmp_path / "scene.py"
        scene.write_text(SCENE)
        found = softctl("run", scene, "--steps", 4, "--plugin", path, *arguments)
        return path, *found

    return call


def test_the_scene_itself_is_solved_by_the_plugin(run):
    _, status, out, err = run("return found", "--json")
    assert (status, err) == (0, "")
    (inverse,) = json.loads(out)["inverse"]
    assert inverse["statuses"] == {"SOLVED": 4}
    assert inverse["fallback"] == ""


WRONG = {
    "None": ("return None", "None; expected a QPResult"),
    "nothing": ("pass", "None; expected a QPResult"),
    "a tuple": ("return tuple(found)", "a value of type 'tuple'; expected a QPResult"),
    "x alone": ("return found.x", "a value of type 'ndarray'; expected a QPResult"),
    "a number": ("return 3", "a value of type 'int'; expected a QPResult"),
    "the class": ("return QPResult", "a value of type 'type'; expected a QPResult"),
    "no x": (
        "return found._replace(x=None)",
        "x as None; expected an array of 1 floats, shape (1,)",
    ),
    "x as a list": (
        "return found._replace(x=list(found.x))",
        "x as a value of type 'list'; expected an array of 1 floats",
    ),
    "x too long": (
        "return found._replace(x=np.zeros(n + 2))",
        "x of shape (3,); expected an array of 1 floats, shape (1,)",
    ),
    "x as a column": (
        "return found._replace(x=found.x[:, None])",
        "x of shape (1, 1); expected an array of 1 floats",
    ),
    "y of the variables alone": (
        "return found._replace(y=np.zeros(n - 1))",
        "y of shape (0,); expected an array of 1 floats, shape (1,)",
    ),
    "no y": ("return found._replace(y=None)", "y as None; expected an array of 1 floats"),
    "complex numbers": (
        "return found._replace(x=found.x + 0j)",
        "x of dtype complex128; expected an array of 1 floats",
    ),
    "objects": (
        "return found._replace(x=found.x.astype(object))",
        "x of dtype object; expected an array of 1 floats",
    ),
    "an unknown outcome": (
        "return found._replace(outcome='optimal')",
        "the outcome 'optimal'; expected one of 'solved', 'infeasible', 'failed'",
    ),
    "a status for an outcome": (
        "return found._replace(outcome=1)",
        "the outcome 1; expected one of 'solved', 'infeasible', 'failed'",
    ),
    "no iterations": (
        "return found._replace(iterations=None)",
        "the iterations None; expected an int",
    ),
    "no message": ("return found._replace(message=None)", "the message None; expected a text"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_solver_that_returns_no_qp_result_is_named_in_one_line(run, case):
    line, message = WRONG[case]
    path, status, _, err = run(line, "--quiet")
    assert status == 1
    assert err.startswith(f"Error: QP solver 'mine' of plugin '{path}' returned {message}")
    first, second = err.splitlines()
    assert second == "This was in step 1, from t = 0 to 0.01."
    assert "Traceback" not in err


RAISED = {
    "an error": ("raise ValueError('H is singular')", "ValueError: H is singular"),
    "an error of its code": ("return found.x / None", "TypeError: unsupported operand"),
    "a missing package": (
        "import softctl_nothing",
        "ModuleNotFoundError: No module named 'softctl_nothing'",
    ),
    "an error of ours": ("return find('daqb')(qp, warm)", "ProblemError: There is no QP solver"),
}


@pytest.mark.parametrize("case", RAISED)
def test_what_a_solver_raises_is_shown_with_its_own_line(run, case):
    line, message = RAISED[case]
    path, status, _, err = run(line, "--quiet")
    first, *lines = err.splitlines()
    assert status == 1
    assert first.startswith(f"Error: QP solver 'mine' of plugin '{path}' raised {message}")
    assert any(text.startswith(f"  at {path}:") and text.endswith(line) for text in lines)
    assert "Traceback" not in err
    assert "sofa_softctl/" not in err


def test_a_solver_of_other_arguments_is_named(softctl, plugin, tmp_path):
    path = plugin(SOLVE.format("return found").replace("(qp, warm=None)", "(qp)"))
    scene = tmp_path / "scene.py"
    scene.write_text(SCENE)
    _, _, err = softctl("run", scene, "--steps", 2, "--quiet", "--plugin", path)
    assert err.startswith(
        f"Error: QP solver 'mine' of plugin '{path}' raised TypeError: answer() takes 1 positional"
    )


REPLACED = {
    "NaN": ("return found._replace(x=found.x * np.nan)", "(reported as solved, but not finite)"),
    "infinite": ("return found._replace(x=found.x + np.inf)", "(reported as solved, but not fi"),
    "zeros": ("return QPResult(np.zeros(n), np.zeros(limits), 'solved')", "(reported as solved)"),
    "a little off": ("return found._replace(x=found.x + 1e-4)", "KKT residual 1.0e-04."),
    "other signs": ("return found._replace(y=1.0 - found.y)", "answer rejected"),
    "failed": ("return solve(qp, warm)", "answer rejected (it knows nothing)"),
    "failed, without numbers": (
        "return QPResult(None, None, 'failed', 3, 'too hard')",
        "answer rejected (too hard)",
    ),
    "contradicting limits that do not": (
        "return no_solution(qp, 'infeasible', 1, '')",
        "mine: the limits contradict each other.",
    ),
}


@pytest.mark.processes(keep=1)
@pytest.mark.parametrize("case", REPLACED)
def test_an_answer_that_was_replaced_is_a_fallback_everywhere(run, tmp_path, caplog, case):
    """In JSON, record and the warning of the step, which comes once."""
    line, message = REPLACED[case]
    record = tmp_path / "run.mcap"
    _, status, out, _ = run(line, "--json", "--record", record)
    assert status == 0
    (inverse,) = json.loads(out)["inverse"]
    assert inverse["statuses"] == {"FALLBACK": 4}
    assert message in inverse["fallback"]
    assert "proxqp answered in place of mine." in inverse["fallback"]
    assert f"{Status.FALLBACK.value} mine: " in caplog.text
    assert caplog.text.count("proxqp answered in place of mine.") == 1
    assert list(read_record(record).channels["inverse.status"]) == ["FALLBACK"] * 4


def test_the_table_of_a_run_says_how_often_and_why(run):
    _, _, out, _ = run("return found._replace(x=found.x * np.nan)")
    text = " ".join(out.split())
    assert "Steps: FALLBACK 4." in text
    assert (
        "Warning: another QP solver's answer was taken in 4 of 4 steps. The last time: mine: "
        in text
    )
    assert "proxqp answered in place of mine." in text


def test_the_same_solver_again_without_the_start_is_no_fallback(run):
    line = "return found if warm is None else found._replace(x=found.x * np.nan)"
    _, _, out, err = run(line, "--json")
    assert json.loads(out)["inverse"][0]["statuses"] == {"SOLVED": 4}
    assert err == ""


def test_replaced_answers_are_counted_beside_others(run):
    """Every call from the second on gives nothing: one step of four is its own."""
    line = (
        "answer.calls = getattr(answer, 'calls', 0) + 1\n"
        "    return found if answer.calls < 2 else found._replace(x=found.x * np.nan)"
    )
    _, _, out, _ = run(line, "--json")
    assert json.loads(out)["inverse"][0]["statuses"] == {"SOLVED": 1, "FALLBACK": 3}


def test_limits_that_are_exceeded_are_named_beside_the_fallback(register_solver):
    from sofa_softctl import InverseProblem, solve_inverse
    from sofa_softctl.qp import no_solution

    register_solver("mine", lambda qp, warm: no_solution(qp, "failed", 0, "it knows nothing"))
    problem = InverseProblem(
        W_ea=[[1.0]], W_aa=[[1.0]], delta_e_free=[1.0], delta_a_free=[4.0],
        displacement_max=2.0, effort_min=0.0, names=["cable"],
    )  # fmt: skip
    own, other = (solve_inverse(problem, solver=name) for name in ("daqp", "mine"))
    assert own.status is Status.CLOSEST_FEASIBLE
    assert other.status is Status.FALLBACK
    assert other.relaxed == own.relaxed == ("cable: displacement 2 above its maximum",)
    assert not other.within_limits
    assert np.array_equal(other.effort, own.effort)


@pytest.mark.parametrize("code", ["raise SystemExit(0)", "import sys; sys.exit(4)"])
def test_a_plugin_that_exits_is_an_error(softctl, tmp_path, code):
    path = tmp_path / "mine.py"
    path.write_text(code)
    status, _, err = softctl("plugins", "--plugin", path)
    assert status == 1
    assert f"Plugin '{path}' called exit(" in err and "Raise an exception instead." in err


def test_a_hook_without_its_argument_is_an_error(softctl, tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(
        "from sofa_softctl import hookimpl\n@hookimpl\ndef softctl_register_components(): pass\n"
    )
    status, _, err = softctl("plugins", "--plugin", path)
    assert status == 1
    assert "takes no argument; expected softctl_register_components(register)." in err
