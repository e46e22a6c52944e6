"""The rosbridge device with a server of its own in another process."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("roslibpy")

from sofa_softctl.bridge.device import ChannelSetup, Command
from sofa_softctl.bridge.devices.rosbridge import RosbridgeDevice
from sofa_softctl.errors import (
    ConfigError,
    DeviceFailedError,
    DeviceOpenError,
    DeviceTimeoutError,
)
from sofa_softctl.testing import check_device

ROOT = Path(__file__).parents[3]
CHANNELS = [
    ChannelSetup(0, "first", -1.0, 1.0, 2.0, 0.0),
    ChannelSetup(1, "second", -1.0, 1.0, 2.0, 0.5),
]
FEEDBACK = {"feedback_topic": "/joint_states", "stop_topic": "/stop", "answer_timeout": 3.0}


class Server:
    def __init__(self, folder, port=0):
        self.log = folder / "log"
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.bridge.rosbridge_server", str(self.log), str(port)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        self.port = int(self.process.stdout.readline())

    def set(self, name, value):
        self.process.stdin.write(json.dumps([name, value]) + "\n")
        self.process.stdin.flush()

    def messages(self, topic):
        lines = [json.loads(line) for line in self.log.read_text().splitlines()]
        return [line for line in lines if line["topic"] == topic]

    def end(self):
        self.process.kill()
        self.process.communicate()


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    found = Server(tmp_path_factory.mktemp("rosbridge"))
    yield found
    found.end()


@pytest.fixture
def own(tmp_path):
    found = Server(tmp_path)
    yield found
    found.end()


def send(device, *values, number=0):
    device.write(Command(number, time.monotonic(), np.array(values, float)))


def eventually(found, within=3.0):
    end = time.monotonic() + within
    while time.monotonic() < end:
        if value := found():
            return value
        time.sleep(2e-3)
    raise AssertionError(f"not within {within} s")


def feedback_where(device, right):
    def found():
        feedback = device.read()
        return feedback if feedback is not None and right(feedback) else None

    return eventually(found)


@pytest.mark.real_time(keep=1)
@pytest.mark.parametrize(
    "options",
    [
        {"type": "std_msgs/Float64MultiArray"},
        {"type": "sensor_msgs/msg/JointState"},
        {"feedback_topic": "/positions", "feedback_type": "std_msgs/Float64MultiArray"},
    ],
)
def test_it_passes_the_contract_test(shared, options):
    given = {**FEEDBACK, **options}
    found = check_device(RosbridgeDevice, CHANNELS, port=shared.port, topic="/commands", **given)
    assert not found.acknowledges
    assert found.watchdog is None and "to have no watchdog" in found.notes[0]


def test_twisted_is_not_loaded(shared):
    """Its reactor would be there for all of the process, and print what it likes."""
    code = f"""
import sys
from sofa_softctl.bridge.device import ChannelSetup
from sofa_softctl.bridge.devices.rosbridge import RosbridgeDevice
device = RosbridgeDevice("arm", port={shared.port}, topic="/commands")
device.open([ChannelSetup(0, "first", 0.0, 1.0, 1.0, 0.0)])
device.close()
print([name for name in sys.modules if name == "twisted.internet.reactor"])
"""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_messages_are_those_of_the_protocol(own):
    device = RosbridgeDevice("arm", port=own.port, topic="/commands", **FEEDBACK)
    device.open([CHANNELS[1], CHANNELS[0]])
    send(device, 0.25, -0.5)
    feedback_where(device, lambda f: f.positions == {0: -0.5, 1: 0.25})
    device.stop()
    eventually(lambda: own.messages("/stop")[-1]["op"] == "publish")
    device.close()
    first, command, *_, held = own.messages("/commands")
    assert (first["op"], first["type"]) == ("advertise", "std_msgs/Float64MultiArray")
    assert (first["queue_size"], first["latch"]) == (1, False)
    assert command["op"] == "publish"
    assert command["msg"] == {"layout": {"dim": [], "data_offset": 0}, "data": [-0.5, 0.25]}
    assert held["msg"]["data"] == [-0.5, 0.25], "a stop holds where it is"
    assert own.messages("/stop")[-1]["msg"] == {"data": True}
    (subscription,) = own.messages("/joint_states")
    assert (subscription["op"], subscription["type"]) == ("subscribe", "sensor_msgs/JointState")


def test_joints_have_names_of_their_own(own):
    own.set("names", ["motor_a", "motor_b"])
    device = RosbridgeDevice(
        "arm",
        port=own.port,
        topic="/commands",
        type="sensor_msgs/JointState",
        joints=["motor_a", "motor_b"],
        feedback_topic="/joint_states",
    )
    device.open(CHANNELS)
    assert device.read().positions == {0: 0.0, 1: 0.0}, "before the first command"
    found = feedback_where(device, lambda f: f.efforts)
    device.close()
    assert found.positions == {0: 0.0, 1: 0.0}, "those of another robot are left out"
    assert found.efforts == {0: 0.1, 1: 0.2}


def test_poses_and_arrays_are_signals(shared):
    """A camera is a device, too: no topic of commands, no channels."""
    device = RosbridgeDevice(
        "camera",
        port=shared.port,
        signals={
            "tip": "/camera/tip geometry_msgs/msg/PoseStamped",
            "angles": "/joint_states sensor_msgs/JointState",
            "broken": "/broken std_msgs/Float64",
        },
    )
    found = device.open([])
    feedback = feedback_where(device, lambda f: {"tip", "angles"} <= set(f.signals))
    device.close()
    assert feedback.signals["tip"].tolist() == [1.0, 2.0, 3.0, 0.0, 0.0, 0.6, 0.8]
    assert feedback.signals["angles"].shape == (3,)
    assert "broken" not in feedback.signals
    assert not found.moves and found.notes == ()


@pytest.mark.real_time
def test_a_lost_connection_is_a_failure_and_is_not_taken_up_again(own):
    device = RosbridgeDevice("arm", port=own.port, topic="/commands", **FEEDBACK)
    device.open(CHANNELS)
    own.end()
    with pytest.raises(DeviceFailedError, match="the connection is lost"):
        eventually(lambda: send(device, 0.0, 0.0))
    with pytest.raises(DeviceFailedError, match="the connection is lost"):
        eventually(lambda: device.read() and None)  # the first positions are kept
    again = Server(own.log.parent, own.port)
    time.sleep(1.5)  # roslibpy by itself would come back after 1 s
    with pytest.raises(DeviceFailedError, match="the connection is lost"):
        send(device, 0.0, 0.0)
    device.close()
    again.end()
    assert again.log.read_text() == ""


def test_silence_of_the_feedback_is_a_timeout(own):
    device = RosbridgeDevice(
        "arm", port=own.port, topic="/commands", **{**FEEDBACK, "answer_timeout": 0.1}
    )
    device.open(CHANNELS)
    own.set("silent", True)
    with pytest.raises(DeviceTimeoutError, match="nothing on /joint_states for 0.1"):
        eventually(lambda: device.read() and None)
    device.close()


def test_a_server_that_does_not_read_is_a_timeout(own):
    device = RosbridgeDevice("arm", port=own.port, topic="/commands")
    many = [ChannelSetup(c, f"joint {c}", -1.0, 1.0, 2.0, 0.0) for c in range(2000)]
    values = np.random.default_rng(0).uniform(-1.0, 1.0, 2000)  # 40 kB a message
    device.open(many)
    own.process.send_signal(signal.SIGSTOP)
    with pytest.raises(DeviceTimeoutError, match="does not read what is sent"):
        for number in range(5_000):  # 200 MB, more than the kernel keeps
            send(device, *values, number=number)
            time.sleep(1e-3)  # the thread that sends gets its turn
    own.process.send_signal(signal.SIGCONT)
    device.close()


def test_without_a_server_it_says_how_to_start_one():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    device = RosbridgeDevice("arm", port=port, topic="/commands")
    with pytest.raises(DeviceOpenError, match="(?s)no connection.*ros2 launch rosbridge_server"):
        device.open(CHANNELS)


def test_another_server_is_a_timeout():
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        device = RosbridgeDevice("arm", port=port, topic="/commands", open_timeout=0.3)
        with pytest.raises(DeviceTimeoutError, match="something else than rosbridge listens"):
            device.open(CHANNELS)
        device.close()


@pytest.mark.real_time
def test_missing_feedback_is_said_when_it_is_opened(shared):
    channels = [CHANNELS[0], ChannelSetup(1, "third", -1.0, 1.0, 2.0, 0.0)]
    device = RosbridgeDevice(
        "arm", port=shared.port, topic="/commands", open_timeout=2.0, **FEEDBACK
    )
    with pytest.raises(DeviceTimeoutError, match="no position of third on /joint_states"):
        device.open(channels)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"type": "std_msgs/Float64MultiArry"}, "Did you mean 'std_msgs/Float64MultiArray'"),
        ({"type": "std_msgs/srv/JointState"}, "type: expected a message type"),
        ({"feedback_topic": "/x", "feedback_type": "std_msgs/String"}, "feedback_type: expected"),
        ({"signals": {"tip": "/tip"}}, "signals.tip: expected a message type"),
    ],
)
def test_options_that_do_not_fit_are_refused(options, words):
    with pytest.raises(ConfigError, match=words):
        RosbridgeDevice("arm", **options)


@pytest.mark.parametrize(
    ("options", "channels", "words"),
    [
        ({}, CHANNELS, "it has no `topic` for commands"),
        ({"topic": "/c"}, CHANNELS[1:], "no actuator uses channel 0"),
        ({"topic": "/c", "joints": ["a"]}, CHANNELS, r"1 joints \(a\) for 2 channels"),
    ],
)
def test_channels_that_do_not_fit_are_refused(options, channels, words):
    with pytest.raises(DeviceOpenError, match=words):
        RosbridgeDevice("arm", **options).open(channels)
