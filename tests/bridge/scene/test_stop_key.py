"""Space is an emergency stop where softctl runs in a terminal."""

import os
import pty
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from sofa_softctl.record.writer import RecordWriter
from tests.bridge.scene.conftest import WIRE
from tests.bridge.scene.test_commands import SCENE


@pytest.mark.real_time
@pytest.mark.parametrize(
    ("wait", "said"),
    [(0.0, "emergency stop"), (4.0, "emergency stop: signal SIGUSR1.*stopped where the robot was")],
    ids=["at once", "while it moves"],
)
def test_space_stops_the_motors_at_once_and_other_keys_do_nothing(tmp_path, robot_file, wait, said):
    config = robot_file(device='type = "loopback"')
    (tmp_path / "scene.py").write_text(SCENE.replace("DURATION = 0.1", "DURATION = 60.0"))
    pid, terminal = pty.fork()  # a session of its own, of which it is the foreground
    if pid == 0:
        command = [sys.executable, "-m", "sofa_softctl.cli", "run", tmp_path / "scene.py"]
        os.execv(sys.executable, [*map(str, command), "--bridge", str(config)])
    shown = read_until(terminal, b"Space stops all motors at once.")
    os.write(terminal, b"xq")
    time.sleep(wait)
    assert os.waitpid(pid, os.WNOHANG) == (0, 0), "other keys do nothing"
    os.write(terminal, b" ")
    shown += read_until(terminal, None)
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 1
    assert re.search(said, " ".join(shown.decode().split()))


def test_space_stops_the_motors_on_the_way_to_rest_that_ctrl_c_began(tmp_path, robot_file, wire):
    """Of `softctl bridge play`; the way takes more than 2 s."""
    config = robot_file(device=wire.table, **{"hold = 0.02": "hold = 2.0"})
    times = np.arange(0.0, 10.0, 0.01)
    metadata = {"units": "mm, kg, s", "inverse.actuators": '["cable_0", "cable_1"]'}
    with RecordWriter(tmp_path / "motion.mcap", metadata) as writer:
        writer.add_channel("inverse.displacement", unit="mm", shape=(2,), description="")
        for time_ in times:
            writer.write(time_, {"inverse.displacement": [0.5 * time_, time_]})
    pid, terminal = pty.fork()
    if pid == 0:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        command = [sys.executable, "-m", "sofa_softctl.cli", "bridge", "play", "motion.mcap"]
        os.chdir(tmp_path)
        os.execv(sys.executable, [*command, "--config", str(config), "--plugin", str(WIRE)])
    shown = read_until(terminal, b"Space stops all motors at once.")
    while not (wire.path.exists() and len(wire.values()) > 100):
        time.sleep(0.02)
    os.write(terminal, b"\x03")
    time.sleep(0.5)
    os.write(terminal, b" ")
    shown += read_until(terminal, None)
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 1
    assert "emergency stop: signal SIGUSR1" in " ".join(shown.decode().split())


def read_until(terminal, words):
    """What the terminal shows until it shows these words, or its program ends."""
    shown = b""
    while words is None or words not in shown:
        try:
            found = os.read(terminal, 4096)
        except OSError:  # nobody holds the other end any more
            return shown
        if not found:
            return shown
        shown += found
    return shown


@pytest.mark.real_time
def test_without_a_terminal_input_is_left_alone(tmp_path, robot_file):
    config = robot_file(device='type = "loopback"')
    (tmp_path / "scene.py").write_text(SCENE)
    command = [sys.executable, "-m", "sofa_softctl.cli", "run", tmp_path / "scene.py"]
    done = subprocess.run(
        [*command, "--bridge", config], input=b"   ", capture_output=True, timeout=60
    )
    assert done.returncode == 0 and b"Space" not in done.stdout + done.stderr
    assert signal.Signals.SIGUSR1.name.encode() not in done.stderr
