"""One run at a time moves a device."""

import os
import signal
import subprocess
import sys

import pytest
from rig import robot_of

from sofa_softctl.bridge.client.client import Stream
from sofa_softctl.bridge.config.robot import DeviceConfig
from sofa_softctl.bridge.devices.loopback import LoopbackDevice
from sofa_softctl.bridge.devices.udp import UdpDevice
from sofa_softctl.bridge.registry import find
from sofa_softctl.bridge.stream import device_lock
from sofa_softctl.bridge.stream.device_lock import DeviceLock, lock_device
from sofa_softctl.bridge.stream.fleet import DeviceSet
from sofa_softctl.errors import DeviceOpenError


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Where this process takes locks; device processes do so at the usual place."""
    tmp_path.chmod(0o1777)
    monkeypatch.setattr(device_lock, "FOLDERS", (str(tmp_path),))
    return tmp_path / "softctl-devices"


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
    first.release()
    lock(host="10.0.0.1", port=5000).release()
    other.release()


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
    lock(find(kind), **(options | other)).release()
    first.release()


def test_a_link_to_a_port_is_the_same_port(tmp_path):
    (tmp_path / "port").touch()
    (tmp_path / "by-id").symlink_to(tmp_path / "port")
    first = lock(find("serial"), port=str(tmp_path / "port"))
    with pytest.raises(DeviceOpenError, match="in use by process"):
        lock(find("serial"), port=str(tmp_path / "by-id"))
    first.release()


def test_loopbacks_are_shared():
    assert lock(LoopbackDevice) == lock(LoopbackDevice) == DeviceLock()


def test_whoever_comes_may_lock_whatever_the_umask(folder):
    before = os.umask(0o077)
    try:
        held = lock(port=1)
    finally:
        os.umask(before)
    (file,) = folder.iterdir()
    assert file.stat().st_mode & 0o777 == 0o644 and folder.stat().st_mode & 0o7777 == 0o1777
    held.release()


def test_a_lock_file_that_stayed_behind_locks_too(folder):
    """As a device process leaves it that is killed, of another user, too."""
    held = lock(port=1)
    (file,) = folder.iterdir()
    held.file.close()
    file.chmod(0o444)
    held = lock(port=1)
    with pytest.raises(DeviceOpenError, match="in use by"):
        lock(port=1)
    held.release()
    assert not list(folder.iterdir())


def test_a_lock_file_that_is_removed_meanwhile_is_no_lock(folder, monkeypatch):
    """Between the opening of a file and its lock another run can have ended, and removed it."""
    held = lock(port=1)
    opened, ends = device_lock._open_lock_file, [held.release]

    def open_then_end(path):
        file = opened(path)
        if ends:
            ends.pop()()
        return file

    monkeypatch.setattr(device_lock, "_open_lock_file", open_then_end)
    found = lock(port=1)
    with pytest.raises(DeviceOpenError, match="in use by"):
        lock(port=1)
    found.release()


def test_where_locks_are_does_not_depend_on_the_environment(tmp_path):
    """Two device processes with other temporary folders, one robot."""
    script = tmp_path / "hold.py"
    script.write_text(
        "import sys\n"
        "from sofa_softctl.bridge.config.robot import DeviceConfig\n"
        "from sofa_softctl.bridge.devices.udp import UdpDevice\n"
        "from sofa_softctl.bridge.stream.device_lock import lock_device\n"
        "options = {'host': '127.0.0.1', 'port': int(sys.argv[1])}\n"
        "config = DeviceConfig('lab', 'udp', options, 1)\n"
        "found = lock_device(config, UdpDevice('lab', **options), 'Arm')\n"
        "print(found.note or 'held', flush=True)\n"
        "input()\n"
        "found.release()\n"
    )
    port = str(20000 + os.getpid() % 40000)

    def hold(name):
        (tmp_path / name).mkdir()
        return subprocess.Popen(
            [sys.executable, script, port],
            env={**os.environ, "TMPDIR": str(tmp_path / name)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    with hold("one") as first:
        assert first.stdout.readline() == "held\n"
        with hold("other") as second:
            assert "in use by process" in second.communicate()[1]
        first.communicate("\n")


def test_without_a_lock_the_run_says_so(folder):
    folder.write_text("a file in its place")
    found = lock(port=1)
    assert "'lab' could not be locked" in found.note and "Not a directory" in found.note
    fleet = DeviceSet(robot_of("wire.txt"), {})
    fleet._locks.append(found)
    assert fleet.lock_notes() == [found.note]


@pytest.mark.parametrize(
    ("kind", "one", "same"),
    [
        ("udp", {"host": "127.0.0.1", "port": 9}, {"host": "localhost"}),
        ("udp", {"host": "127.0.0.1", "port": 9}, {"host": "127.1"}),
        ("udp", {"host": "10.1", "port": 9}, {"host": "10.0.0.1"}),
        ("udp", {"host": "No.Such.Host.invalid", "port": 9}, {"host": "no.such.host.invalid"}),
        ("rosbridge", {"topic": "/arm"}, {"host": "127.0.0.1"}),
        ("zeromq", {"send": "tcp://localhost:5555"}, {"send": "tcp://127.0.0.1:5555"}),
        ("zeromq", {"send": "tcp://localhost:5555"}, {"send": "tcp://0.0.0.0:0;127.0.0.1:5555"}),
    ],
)
def test_a_computer_is_the_same_by_all_its_names(kind, one, same):
    first = lock(find(kind), **one)
    with pytest.raises(DeviceOpenError, match="in use by process"):
        lock(find(kind), **(one | same))
    first.release()


def test_ipc_endpoints_of_zeromq_are_paths(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path)
    first = lock(find("zeromq"), send=f"ipc://{tmp_path}/robot")
    with pytest.raises(DeviceOpenError, match="in use by process"):
        lock(find("zeromq"), send=f"ipc://{tmp_path}/link/robot")
    lock(find("zeromq"), send=f"ipc://{tmp_path}/other").release()
    first.release()
