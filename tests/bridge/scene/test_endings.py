"""However a scene's process ends, its robot ends at rest: real processes, real signals."""

import os
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
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
        path = robot_file(device=wire.table, **begin.changes)
        known = {"PYTHONPATH": paths, "ROBOT": str(path)}
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

    begin.folder, begin.changes = tmp_path, {}
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


@pytest.mark.real_time
def test_ctrl_c_ends_softctl_run_and_the_record_has_the_way_to_rest(begun, plugin, wire):
    """SIGTERM: below, and in other orders on the way to rest."""
    process = softctl_run(begun, plugin, "--bridge", "bar.toml")
    process.send_signal(signal.SIGINT)
    found, out = finished(process)
    assert found == 130, out
    assert out.count("The robot is in its rest pose") <= 1  # in the table
    wire.assert_rested()
    record = read_record(begun.folder / "run.mcap")
    assert record.status == "interrupted"
    assert states_of(record)[-3:] == ["STREAMING", "RETURNING", "RESTED"]


@pytest.fixture
def returning(begun, plugin, wire):
    """returning() -> process of a run whose steps are done; the way to rest takes more than 1 s."""

    def begin():
        stop_file = f'stop_file = "{begun.folder}/stop"'
        begun.changes = {"hold = 0.02": f"hold = 1.0\n{stop_file}"}
        process = softctl_run(begun, plugin, "--bridge", "bar.toml", "--steps", "25")
        deadline = time.monotonic() + 30.0
        while not goes_back(wire):
            assert process.poll() is None and time.monotonic() < deadline
            time.sleep(0.01)
        return process

    return begin


def goes_back(wire):
    values = wire.values()[:, 1]
    return len(values) and values[-1] < values.max() - 1.0


@pytest.mark.real_time
@pytest.mark.parametrize(
    ("count", "number", "status"), [(1, signal.SIGHUP, 129), (6, signal.SIGINT, 0)]
)
def test_signals_on_the_way_to_rest_keep_the_record(begun, returning, wire, count, number, status):
    """The first one waits for its end; with more, the robot goes there without the scene."""
    process = returning()
    for other in [number, *[signal.SIGTERM, signal.SIGINT, signal.SIGHUP] * 2][:count]:
        process.send_signal(other)
        time.sleep(0.002)
    found, out = finished(process)
    assert found == status or count > 1, out  # the last one may come when all is done
    record = read_record(begun.folder / "run.mcap")
    assert record.status == "interrupted" and len(record.time) == 25
    command = record.streams["bridge.robot.command"].values
    sent = np.isfinite(command).all(axis=1).sum()
    if count == 1:
        assert states_of(record)[-2:] == ["RETURNING", "RESTED"] and sent == len(wire.values())
    else:
        assert states_of(record)[-1] == "RETURNING" and sent > 25
        deadline = time.monotonic() + 10.0
        while "close" not in wire.calls() and time.monotonic() < deadline:
            time.sleep(0.05)
    wire.assert_rested()


@pytest.mark.real_time
def test_a_stop_on_the_way_to_rest_is_shown_also_where_a_signal_comes_as_well(begun, returning):
    process = returning()
    (begun.folder / "stop").touch()
    process.send_signal(signal.SIGTERM)
    found, out = finished(process)
    assert found == 1 and "Error: Bar: emergency stop: the file" in " ".join(out.split())
    record = read_record(begun.folder / "run.mcap")
    assert record.status.startswith("stopped: Bar: emergency stop: the file")
    assert states_of(record)[-2:] == ["RETURNING", "STOPPED"]


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


@pytest.mark.real_time
def test_a_script_that_ends_without_closing_its_session(script, wire):
    """It waits for the robot, which the device process would bring to rest after a fault."""
    status, out = finished(script(30))
    assert status == 0 and "ended without finishing" not in out, out
    assert out.count("the session was not closed. Bar: The robot is in its rest pose") == 1
    wire.assert_rested()


@pytest.mark.real_time
def test_a_script_that_a_signal_ends(script, wire):
    process = script(100000)
    process.send_signal(signal.SIGTERM)
    found, out = finished(process)
    assert found == 143, out
    wire.assert_rested()
