"""One run at a time moves a device."""

import os
import signal

import pytest
from rig import robot_of

from sofa_softctl.bridge.config.robot import DeviceConfig
from sofa_softctl.bridge.devices.loopback import LoopbackDevice
from sofa_softctl.bridge.devices.udp import UdpDevice
from sofa_softctl.bridge.registry import find
from sofa_softctl.bridge.stream.client import Stream
from sofa_softctl.bridge.stream.device_lock import lock_device
from sofa_softctl.errors import DeviceOpenError


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))


def lock(kind=UdpDevice, name="lab", **options):
    return lock_device(DeviceConfig(name, "kind", options, 1), kind(name, **options), "Arm")


def test_a_second_run_on_a_device_is_refused_and_named(record):
    with Stream(robot_of(record)) as first:
        said = r"device 'board0' \(wire\) is in use by process \d+, robot 'Test': another run moves"
        with pytest.raises(DeviceOpenError, match=said):
            Stream(robot_of(record))
        first.send(0.0, [0.0, 0.0])
    with Stream(robot_of(record)):
        pass  # it is free again


def test_a_device_process_that_was_killed_holds_no_lock(record):
    stream = Stream(robot_of(record))
    os.kill(stream._process.pid, signal.SIGKILL)
    stream._process.wait()
    with Stream(robot_of(record)):
        pass
    with pytest.raises(Exception, match="killed"):
        stream.finish()


def test_the_same_device_in_another_configuration_is_the_same():
    """Of UDP host and port say which one it is, and a default is as good as a value."""
    first = lock(host="10.0.0.1", port=5000)
    with pytest.raises(DeviceOpenError, match="in use by process"):
        lock(name="other", host="10.0.0.1", port=5000, unit="mm", watchdog=0.1)
    other = lock(host="10.0.0.1", port=5001)
    first.close()
    lock(host="10.0.0.1", port=5000).close()
    other.close()


@pytest.mark.parametrize(
    ("kind", "options", "same", "other"),
    [
        (
            "can",
            {"channel": "can0", "command_id": 0x200},
            {"bitrate": 125000},
            {"command_id": 0x300},
        ),
        ("dynamixel", {"port": "/dev/ttyUSB0"}, {"baud_rate": 57600}, {"port": "/dev/ttyUSB1"}),
        ("ros2", {"topic": "/arm"}, {"unit": "m"}, {"topic": "/leg"}),
        ("rosbridge", {"topic": "/arm"}, {"unit": "m"}, {"host": "10.0.0.2"}),
        ("serial", {"port": "/dev/ttyUSB0"}, {"timeout": 9.0}, {"port": "/dev/ttyUSB1"}),
        ("softrobots", {"port": "/dev/ttyUSB0"}, {"precise": True}, {"port": "/dev/ttyUSB1"}),
        ("zeromq", {"send": "tcp://10.0.0.1:1"}, {"unit": "m"}, {"send": "tcp://10.0.0.1:2"}),
    ],
)
def test_what_makes_a_device_the_same(kind, options, same, other):
    first = lock(find(kind), **options)
    with pytest.raises(DeviceOpenError, match="in use by process"):
        lock(find(kind), **(options | same))
    lock(find(kind), **(options | other)).close()
    first.close()


def test_a_link_to_a_port_is_the_same_port(tmp_path):
    (tmp_path / "port").touch()
    (tmp_path / "by-id").symlink_to(tmp_path / "port")
    first = lock(find("serial"), port=str(tmp_path / "port"))
    with pytest.raises(DeviceOpenError, match="in use by process"):
        lock(find("serial"), port=str(tmp_path / "by-id"))
    first.close()


def test_loopbacks_are_shared():
    assert lock(LoopbackDevice) is None and lock(LoopbackDevice) is None


def test_a_lock_file_that_somebody_else_owns_locks_too(tmp_path):
    lock(port=1).close()
    (file,) = (tmp_path / "softctl-devices").iterdir()
    file.chmod(0o444)
    held = lock(port=1)
    with pytest.raises(DeviceOpenError, match="in use by"):
        lock(port=1)
    held.close()


def test_without_a_folder_there_is_no_lock(tmp_path):
    (tmp_path / "softctl-devices").write_text("a file in its place")
    assert lock(port=1) is None
