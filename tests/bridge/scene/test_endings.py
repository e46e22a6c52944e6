"""However a scene's process ends, its robot ends at rest: real processes, real signals."""

import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest

from sofa_softctl.record.record import read_record
from tests.bridge.scene.helpers import states_of

SCENE = """
import os, sys
import Sofa.Core
from sofa_softctl import HardwareBridge
from sofa_softctl.testing.scene import small_scene

UNITS = "mm, kg, s"
DURATION = 60.0


class Pull(Sofa.Core.Controller):
    def __init__(self, *args, root, cables, **options):
        Sofa.Core.Controller.__init__(self, *args, **options)
        self.root, self.actuators = root, cables

    def onAnimateBeginEvent(self, event):
        now = self.root.time.value
        self.actuators[1].value.value = [min(20.0 * now, 10.0)]
        if now > 0.15:
            open(os.environ["MOVING"], "w").close()
        if now > 0.25 and os.environ.get("FAILS"):
            raise RuntimeError("mine")


def createScene(root, bridge=False):
    scene = small_scene(root)
    for cable in scene.cables:
        cable.valueType.value = "displacement"
    root.addObject(Pull(name="pull", root=root, cables=list(scene.cables)))
    if bridge:
        root.addObject(HardwareBridge(name="bridge", root=root, config=os.environ["ROBOT"]))
"""


@pytest.fixture
def begun(tmp_path, robot_file, wire):
    """begun(command, **environment) -> its process, after the robot has moved for a while."""
    (tmp_path / "scene.py").write_text(SCENE)
    moving = tmp_path / "moving"
    paths = os.pathsep.join(entry or os.getcwd() for entry in sys.path)
    processes = []

    def begin(*command, **environment):
        known = {"PYTHONPATH": paths, "ROBOT": str(robot_file(device=wire.table))}
        process = subprocess.Popen(
            [sys.executable, *map(str, command)],
            env={**os.environ, "MOVING": str(moving), **known, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=tmp_path,
        )
        processes.append(process)
        deadline = time.monotonic() + 60.0
        while not moving.exists() and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.01)
        return process

    begin.folder = tmp_path
    yield begin
    for process in processes:
        process.kill()
        process.communicate()


def finished(process):
    out, _ = process.communicate(timeout=30)
    return process.returncode, out


def softctl_run(begun, wire_plugin, *options, **environment):
    arguments = ("run", "scene.py", "--plugin", wire_plugin, "--record", "run.mcap", "--quiet")
    command = ("-c", "from sofa_softctl.cli.app import main; main()")
    return begun(*command, *arguments, *options, **environment)


@pytest.fixture
def plugin():
    from tests.bridge.scene.conftest import WIRE

    return WIRE


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_softctl_run_and_the_record_has_the_way_to_rest(
    begun, plugin, wire, number, status
):
    process = softctl_run(begun, plugin, "--bridge", "bar.toml")
    process.send_signal(number)
    found, out = finished(process)
    assert found == status, out
    assert out.count("The robot is in its rest pose") <= 1  # in the table
    wire.assert_rested()
    record = read_record(begun.folder / "run.mcap")
    assert record.status == "interrupted"
    assert states_of(record)[-3:] == ["STREAMING", "RETURNING", "RESTED"]


def test_an_error_of_the_scene_ends_it_the_same_way(begun, plugin, wire):
    status, out = finished(softctl_run(begun, plugin, "--bridge", "bar.toml", FAILS="1"))
    assert status == 1 and "RuntimeError: mine" in out
    assert out.count("The robot is in its rest pose, and its devices are stopped.") == 1
    wire.assert_rested()
    record = read_record(begun.folder / "run.mcap")
    assert record.status == "stopped: RuntimeError: mine"
    assert states_of(record)[-2:] == ["RETURNING", "RESTED"]


SCRIPT = """
import sys
from sofa_softctl.plugins import load_files
from sofa_softctl import Session

if __name__ == "__main__":
    load_files([sys.argv[1]])
    session = Session("scene.py", parameters={"bridge": True})
    session.step(int(sys.argv[2]))
"""


@pytest.fixture
def script(begun, plugin):
    """script(steps) -> process of a script that never closes its session."""
    (begun.folder / "script.py").write_text(textwrap.dedent(SCRIPT))
    return lambda steps, **environment: begun("script.py", plugin, steps, **environment)


def test_a_script_that_ends_without_closing_its_session(script, wire):
    """It waits for the robot, which the device process would bring to rest after a fault."""
    status, out = finished(script(30))
    assert status == 0 and "ended without finishing" not in out, out
    assert out.count("the session was not closed. Bar: The robot is in its rest pose") == 1
    wire.assert_rested()


def test_a_script_that_a_signal_ends(script, wire):
    process = script(100000)
    process.send_signal(signal.SIGTERM)
    found, out = finished(process)
    assert found == 143, out
    wire.assert_rested()
