"""The ROS 2 device with a node in another process, through rclpy and its middleware.

rclpy comes with ROS 2, or as wheels: pip install ros-rclpy ros-rmw-fastrtps-cpp ros-std-msgs
ros-sensor-msgs ros-geometry-msgs. Without it, what is said of that is tested.
"""

import importlib.util
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from sofa_softctl.bridge.device import ChannelSetup, Command
from sofa_softctl.bridge.devices import ros2
from sofa_softctl.bridge.devices.ros2 import Ros2Device
from sofa_softctl.errors import DeviceFailedError, DeviceTimeoutError, DeviceUnavailableError
from sofa_softctl.testing import check_device

ROOT = Path(__file__).parents[3]
needs_ros = pytest.mark.skipif(
    importlib.util.find_spec("rclpy") is None,
    reason="rclpy is missing: run in a shell where ROS 2 is sourced, or pip install ros-rclpy "
    "ros-rmw-fastrtps-cpp ros-std-msgs ros-sensor-msgs ros-geometry-msgs",
)
pytestmark = pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning")  # of rclpy's lark
CHANNELS = [
    ChannelSetup(0, "first", -1.0, 1.0, 2.0, 0.0),
    ChannelSetup(1, "second", -1.0, 1.0, 2.0, 0.5),
]
FEEDBACK = {
    "topic": "/commands",
    "feedback_topic": "/joint_states",
    "stop_topic": "/stop",
    "answer_timeout": 3.0,
}


class Peer:
    def __init__(self, kind="Float64MultiArray"):
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.bridge.ros2_peer", kind],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])},
        )
        assert self.process.stdout.readline() == "ready\n"

    def set(self, name, value):
        self.process.stdin.write(json.dumps([name, value]) + "\n")
        self.process.stdin.flush()

    def end(self):
        self.process.kill()
        self.process.communicate()


@pytest.fixture(autouse=True)
def domain(monkeypatch):
    """Apart from other tests that run at the same time, and within this computer."""
    monkeypatch.setenv("ROS_DOMAIN_ID", str(1 + os.getpid() % 100))
    monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")


@pytest.fixture
def peer():
    found = Peer()
    yield found
    found.end()


def eventually(found, within=5.0):
    end = time.monotonic() + within
    while time.monotonic() < end:
        if value := found():
            return value
        time.sleep(2e-3)
    raise AssertionError(f"not within {within} s")


@needs_ros
@pytest.mark.parametrize("kind", ["Float64MultiArray", "JointState"])
def test_it_passes_the_contract_test(kind):
    peer = Peer(kind)
    package = "std_msgs" if kind == "Float64MultiArray" else "sensor_msgs/msg"
    try:
        found = check_device(Ros2Device, CHANNELS, type=f"{package}/{kind}", **FEEDBACK)
        assert peer.process.stdout.readline() == "stopped\n"
    finally:
        peer.end()
    assert not found.acknowledges
    assert "to have no watchdog" in found.notes[0]


@needs_ros
def test_commands_arrive_and_feedback_comes_back(peer):
    device = Ros2Device("arm", signals={"tip": "/camera/tip geometry_msgs/PoseStamped"}, **FEEDBACK)
    device.open([CHANNELS[1], CHANNELS[0]])
    device.write(Command(0, time.monotonic(), np.array([0.25, -0.5])))
    signals = {}

    def found():
        feedback = device.read()
        signals.update(feedback.signals if feedback else {})
        return feedback is not None and feedback.positions == {0: -0.5, 1: 0.25} and feedback

    feedback = eventually(found)
    eventually(lambda: found() and signals)
    device.close()
    assert feedback.efforts == {0: 0.1, 1: 0.2}
    assert signals["tip"].tolist() == [0.0, 0.0, 3.0, 0.0, 0.0, 0.0, 1.0]


@needs_ros
def test_a_node_that_ends_is_a_failure(peer):
    device = Ros2Device("arm", topic="/commands")
    device.open(CHANNELS)
    peer.process.terminate()  # it says goodbye; one that is killed is found by its silence
    with pytest.raises(DeviceFailedError, match="nobody subscribes to /commands any more"):
        eventually(lambda: device.write(Command(0, 0.0, np.zeros(2))))
    device.close()


@needs_ros
def test_silence_of_the_feedback_is_a_timeout(peer):
    device = Ros2Device("arm", **{**FEEDBACK, "answer_timeout": 0.1})
    device.open(CHANNELS)
    peer.set("silent", True)
    with pytest.raises(DeviceTimeoutError, match="nothing on /joint_states for 0.1"):
        eventually(lambda: device.read() and None)
    device.close()


@needs_ros
def test_without_a_subscriber_it_says_how_to_look():
    device = Ros2Device("arm", topic="/commands", open_timeout=0.2)
    with pytest.raises(DeviceTimeoutError, match="nobody subscribes to /commands as std_msgs/Fl"):
        device.open(CHANNELS)


def test_without_ros_it_says_which_command_to_source(monkeypatch):
    def missing(name):
        raise ModuleNotFoundError(f"No module named '{name}'")

    monkeypatch.setattr(ros2, "import_module", missing)
    with pytest.raises(
        DeviceUnavailableError, match=r"No module named 'rclpy'.*source /opt/ros/jazzy/setup.bash"
    ):
        Ros2Device("arm", topic="/commands").open(CHANNELS)
