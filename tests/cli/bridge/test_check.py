"""The commands list, check and stop."""

import ast
import importlib
import json
import textwrap
from pathlib import Path

import pytest

from sofa_softctl.base.extras import install_command
from sofa_softctl.base.user_module import import_file
from sofa_softctl.bridge import registry
from sofa_softctl.bridge.config.robot import DeviceConfig
from sofa_softctl.bridge.stream.device_lock import lock_device
from tests.cli.bridge.conftest import PLUGIN

SCENE = """
UNITS = "mm, kg, s"
def createScene(root):
    root.dt = 0.01
    node = root.addChild("{name}")
    node.addObject("MechanicalObject", position=[[0, 0, 0], [0, 0, 9]])
    node.addObject("CableConstraint", indices=[0, 1], pullPoint=[0, 0, 0])
"""


@pytest.fixture
def scene(tmp_path):
    def write(name="left", text=SCENE):
        path = tmp_path / "scene.py"
        path.write_text(textwrap.dedent(text.format(name=name)))
        return path

    return write


def test_list_names_devices_with_their_options(bridge):
    status, out, _ = bridge("list")
    assert status == 0
    assert "loopback: Simulated device that reports each command as reached" in out
    line = next(line for line in out.splitlines() if line.split()[:1] == ["resolution"])
    assert line.split() == ["resolution", "a", "finite", "number", "default", "0.0"]


def test_list_names_devices_of_plugins(bridge):
    status, out, _ = bridge("list", "--json")
    found = {device["name"]: device for device in json.loads(out)}
    assert status == 0
    assert found["writer"]["plugin"] == str(PLUGIN)
    file, at, low, _ = found["writer"]["options"]
    assert file == {"name": "file", "type": "a text", "default": None}
    assert at == {"name": "at", "type": "a list of a finite number", "default": "()"}
    assert found["loopback"]["plugin"] == "" and found["loopback"]["missing"] == []


def test_list_says_what_is_not_installed(bridge, monkeypatch):
    from sofa_softctl.bridge.devices.loopback import LoopbackDevice

    monkeypatch.setattr(LoopbackDevice, "modules", ("no_such_module", "numpy"))
    _, out, _ = bridge("list")
    assert f"not installed: no_such_module; {install_command('hardware')}" in out


def test_check_shows_limits_in_both_units(robot, bridge):
    status, out, _ = bridge("check", robot.path)
    assert status == 0
    row = next(line for line in out.splitlines() if "left" in line)
    for cell in ("motors:0", "0 to 20 mm", "400 mm/s", "1000 to 3000", "0.01 mm"):
        assert cell in row
    assert not robot.log.exists()  # no device was opened


def test_check_opens_devices_when_asked(robot, bridge):
    status, out, _ = bridge("check", robot.path, "--open")
    assert status == 0
    assert "motors: It moves nothing." in out and "a file" in out
    row = next(line for line in out.splitlines() if "left" in line)
    assert "1000 to 3000 step" in row and "0.02 mm" in row  # its resolution is two steps
    assert [words for _, words in robot.words()] == [["open"]]


def test_check_says_that_a_device_does_not_take_the_limits(robot, bridge):
    robot.edit("at = [1000.0]", "low = 2000.0")
    assert bridge("check", robot.path)[0] == 0
    status, _, err = bridge("check", robot.path, "--open")
    assert status == 1
    assert "takes 2000 to 1e+09 step; actuator 'left' needs 1000 to 3000" in err


def test_check_says_what_fits_a_scene(robot, bridge, scene):
    status, out, _ = bridge("check", robot.path, "--scene", scene())
    assert status == 0
    assert "The robot fits the scene." in out and "times real time here" in out
    assert "warning: 'left': the scene's limits are wider" in out
    assert "note: the scene sets no limit on the speed of 'left'" in out
    status, out, _ = bridge("check", robot.path, "--scene", scene("lefty"))
    assert status == 1
    assert "error:" in out and "Did you mean 'lefty'?" in out and "does not fit" in out


DRIVEN = (
    SCENE.replace('    node.addObject("C', '    cable = node.addObject("C')
    + """
    node.addObject("EulerImplicitSolver")
    node.addObject("SparseLDLSolver")
    node.addObject("UniformMass", totalMass=1.0)
    node.addObject("LinearSolverConstraintCorrection")
    root.addObject("FreeMotionAnimationLoop")
    root.addObject("GenericConstraintSolver", maxIterations=10, tolerance=1e-6)
    cable.valueType, cable.value = "force", [0.0]
    from sofa_softctl import InverseController, add_effector
    root.addObject(InverseController(root=root, actuators=[cable], effectors=[add_effector(node)],
                                     goal=[0, 0, 9], OPTION))
"""
)


@pytest.mark.parametrize(
    ("option", "text"),
    [
        ("motor_speed=1e4", "warning: 'left': the scene may ask for 1e+04 mm/s"),
        ("motor_speed=10.0", ""),
        ("effort_rate=1.0", "limits how fast the force of 'left' changes, not the length: whether"),
    ],
)
def test_check_knows_how_fast_an_inverse_controller_may_move(robot, bridge, scene, option, text):
    file = scene(text=DRIVEN.replace("OPTION", option))
    status, out, err = bridge("check", robot.path, "--scene", file)
    assert status == 0, err
    assert text in out and "no limit on the speed" not in out
    assert ("note: the scene" in out) == ("effort" in option)


def test_check_wants_units(robot, bridge, scene):
    status, out, _ = bridge("check", robot.path, "--scene", scene(text=SCENE.replace("UNITS", "U")))
    assert status == 1 and "the scene declares no units" in out


def test_errors_of_the_file_come_with_their_lines(robot, bridge):
    robot.edit("rate = 400.0", "rate = -1")
    status, out, err = bridge("check", robot.path)
    assert (status, out) == (1, "")
    assert f"{robot.path}:18: [actuators.left] rate: expected a number above 0" in err


def test_stop_makes_and_removes_the_file(robot, bridge, softctl):
    file = robot.path.with_name("stop")
    status, out, _ = softctl("bridge", "stop", robot.path)
    assert status == 0 and file.exists() and "Emergency stop" in out
    status, _, err = bridge("jog", robot.path, "left", "--by", "1")
    assert status == 1 and "the file" in err and "exists" in err
    status, out, _ = softctl("bridge", "stop", robot.path, "--clear")
    assert status == 0 and out.startswith(f"Removed: {file}.")
    assert not file.exists()
    status, out, _ = softctl("bridge", "stop", robot.path, "--clear")
    assert status == 0 and out.startswith(f"Nothing to remove, there is no file: {file}.")


def test_stop_works_with_a_file_that_was_damaged_meanwhile(robot, softctl):
    robot.edit("rate = 400.0", "rate = -1\nnonsense = 3")
    assert softctl("bridge", "stop", robot.path)[0] == 0
    assert robot.path.with_name("stop").exists()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("position = [0.0, 20.0]", "position = [0.0, 20"),
        ('[safety]\nhold = 0.05\nstop_file = "stop"', "safety = {hold=0, stop_file = 'stop' "),
        ("[safety]", '# stop_file = "old"\n[safety'),
    ],
)
def test_stop_works_while_the_file_is_edited(robot, softctl, old, new):
    robot.edit(old, new)
    status, out, err = softctl("bridge", "stop", robot.path)
    assert status == 0, err
    assert robot.path.with_name("stop").exists()


def test_stop_says_what_else_stops_where_no_file_is_named(robot, softctl):
    robot.edit('stop_file = "stop"', "")
    robot.edit("position = [0.0, 20.0]", "position = [0.0, 20")
    status, _, err = softctl("bridge", "stop", robot.path)
    assert status == 1 and f"{robot.path}:" in err and "No line names a stop_file" in err
    assert "pkill -USR1 -f sofa_softctl.bridge.stream.process" in err


def test_check_says_that_a_stop_file_can_never_be_there(robot, bridge):
    robot.edit('stop_file = "stop"', 'stop_file = "none/stop"')
    status, _, err = bridge("check", robot.path)
    assert status == 1 and "none/stop' cannot be created: there is no folder" in err


def test_check_opens_no_device_that_a_run_uses(robot, bridge):
    options = {"file": str(robot.log), "at": [1000.0]}
    made = import_file(PLUGIN, "writing", folder_too=False).Writer("motors", **options)
    lock = lock_device(DeviceConfig("motors", "writer", options, 1), made, "Arm")
    status, _, err = bridge("check", robot.path, "--open")
    lock.release()
    assert status == 1 and "is in use by process" in err and not robot.log.exists()


def test_check_says_that_efforts_are_not_measured(robot, bridge):
    robot.edit('type = "writer"', 'type = "loopback" #')
    robot.edit(f'file = "{robot.log}"\nat = [1000.0]', "")
    robot.edit("rest = 0.0", "rest = 0.0\neffort_max = 5.0")
    status, out, _ = bridge("check", robot.path, "--open")
    assert status == 0 and "no effort of left comes from device 'motors'" in out


def test_stop_says_that_there_is_no_file_to_make(robot, softctl):
    robot.edit('stop_file = "stop"', "")
    status, _, err = softctl("bridge", "stop", robot.path)
    assert status == 1 and "[safety] has no stop_file" in err and "Press Ctrl-C" in err


def test_every_command_has_examples(softctl):
    for name in ("list", "check", "jog", "calibrate", "stop"):
        status, out, _ = softctl("bridge", name, "--help")
        assert status == 0 and "Examples:" in out


def test_every_built_in_device_names_the_packages_that_its_files_import():
    """Optional packages are imported in functions: `list` can only know them by `modules`."""
    optional = {"serial", "dynamixel_sdk", "can", "zmq", "roslibpy", "rclpy"}
    for home in filter(None, map(registry.DEVICES.home_of, registry.DEVICES.names())):
        module = importlib.import_module(home.partition(":")[0])
        cls, file = getattr(module, home.partition(":")[2]), Path(module.__file__)
        files = file.parent.glob("*.py") if file.parent.name != "devices" else [file]
        imported = {
            name.partition(".")[0]
            for each in files
            for node in ast.walk(ast.parse(each.read_text()))
            if isinstance(node, ast.Import | ast.ImportFrom)
            for name in [getattr(node, "module", None), *(alias.name for alias in node.names)]
            if name
        }
        assert imported & optional <= set(cls.modules), cls
