"""Ends of the scene's process, in whatever way: the robot comes to rest, and nothing is left."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest
from rig import Wire, robot_of

HERE = Path(__file__).parent
SCENE = """\
    # a script of a user, without `if __name__ == "__main__"`
    import os, signal, sys, time
    for number in (signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)  # the tests may run in the background
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.path.insert(0, {here!r})
    from pathlib import Path
    from rig import drive, robot_of, wave
    from sofa_softctl.base.user_module import import_file
    from sofa_softctl.bridge import registry
    from sofa_softctl.bridge.client.client import Stream

    plugin = import_file(Path({here!r}) / "wire_device.py", "softctl_plugin", folder_too=False)
    registry.DEVICES.add("wire", plugin.WireDevice)
    with Stream(robot_of({record!r})) as stream:
        print(stream._process.pid, flush=True)
        drive(stream, {steps})
        print("moving", flush=True)
        {then}
"""


class Scene:
    """A scene in a process of its own; it moves the robot, then does what it is asked to."""

    def __init__(self, record, then, steps=25):
        program = textwrap.dedent(SCENE).format(
            here=str(HERE), record=str(record), then=then, steps=steps
        )
        self.process = subprocess.Popen(
            [sys.executable, "-c", program],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.device = int(self.process.stdout.readline())
        assert self.process.stdout.readline() == "moving\n"

    def end(self, seconds=5.0):
        """Wait until the device process ended; what both wrote on stderr."""
        said = self.process.communicate(timeout=seconds)[1]  # until both closed stderr
        deadline = time.monotonic() + seconds
        while Path(f"/proc/{self.device}").exists():
            state = Path(f"/proc/{self.device}/stat").read_text().rpartition(")")[2].split()[0]
            if state == "Z":  # nobody waits for an orphan in this container
                break
            assert time.monotonic() < deadline, "the device process outlives its scene"
            time.sleep(0.01)
        return said


def assert_at_rest(record):
    robot = robot_of(record)
    np.testing.assert_array_equal(Wire(record).assert_safe(robot).values()[-1], [1000.0, 1000.0])


ON = "drive(stream, 10_000, first=25)"


def test_a_scene_that_is_killed_leaves_a_robot_at_rest_and_a_line_that_says_so(record):
    scene = Scene(record, ON)
    killed = time.monotonic()
    scene.process.kill()
    said = scene.end()
    assert_at_rest(record)
    # hold 0.03 s, brake 0.05 s, return 0.12 s, hold 0.03 s; slack for a busy computer: 2 s
    assert Wire(record).times("close")[0] - killed < 2.3
    assert "the process of the scene ended without finishing the stream" in said
    assert "robot 'Test' RESTED" in said and "Devices closed" in said


def test_a_child_of_the_scene_that_holds_its_socket_does_not_keep_the_robot_moving(record):
    """A fork inherits the socket, so that its end is not seen there."""
    scene = Scene(record, "os.fork() or signal.pause(); " + ON)
    time.sleep(0.1)
    scene.process.kill()
    deadline = time.monotonic() + 5.0
    while "close" not in Wire(record).what():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    os.killpg(scene.process.pid, signal.SIGKILL)  # the child
    scene.end()
    assert_at_rest(record)


@pytest.mark.real_time(keep=1)
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_signals_that_end_the_scene_bring_the_robot_to_rest(record, how):
    """SIGINT to the whole group, as the terminal sends it; as an exception it calls finish()."""
    scene = Scene(record, ON)
    os.killpg(scene.process.pid, how)
    said = scene.end()
    assert ("KeyboardInterrupt" in said) == (how == signal.SIGINT)
    assert ("without finishing" in said) == (how != signal.SIGINT)
    assert_at_rest(record)


@pytest.mark.parametrize("how", ["os._exit(3)", "raise RuntimeError('a bug')"])
def test_scenes_that_end_by_themselves_bring_the_robot_to_rest(record, how):
    scene = Scene(record, how)
    said = scene.end()
    assert scene.process.returncode != 0
    assert ("without finishing" in said) == how.startswith("os._exit")
    assert_at_rest(record)


@pytest.mark.real_time
def test_a_scene_that_is_stopped_finds_its_robot_at_rest_when_it_goes_on(record):
    scene = Scene(record, ON)
    os.kill(scene.process.pid, signal.SIGSTOP)
    deadline = time.monotonic() + 5.0
    while "stop" not in Wire(record).what():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    os.kill(scene.process.pid, signal.SIGCONT)
    said = scene.end()
    assert "DeviceFailedError: Test: nothing came from the scene for 1 s" in said
    assert_at_rest(record)


def test_a_scene_that_ends_before_anything_moved_moves_nothing(record):
    said = Scene(record, "os._exit(0)", steps=0).end()
    assert "robot 'Test' STOPPED: the process of the scene ended" in said
    assert Wire(record).what() == ["open", "stop", "close"]
