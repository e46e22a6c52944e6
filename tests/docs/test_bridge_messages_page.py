"""The programs of the page on messages run, with the bridge's own devices."""

import re
import shutil
import socket
import subprocess
import sys
import time

import numpy as np
import pytest

from sofa_softctl.bridge.device import ChannelSetup, Command
from sofa_softctl.bridge.devices.udp import UdpDevice
from sofa_softctl.bridge.protocol.json_messages import Inbox
from tests.docs.pages import blocks, text

PAGE = "reference/bridge-messages"


def free_port():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def test_feedback_on_the_page_is_accepted():
    shown = re.findall(r"^    (\{.*\"feedback\".*\})$", text(PAGE), re.MULTILINE)
    inbox = Inbox({"left": 0})
    found = [inbox.accept(line.encode()) for line in shown]
    assert (found[0].acknowledged, found[0].to, found[0].positions) == (12, "5f0c21aa", {0: 12.4})
    assert found[1].signals["tip"].tolist() == [10.2, -3.5, 81.0]


def test_the_python_program_takes_commands_and_stops():
    port = free_port()
    (code,) = blocks(PAGE)
    code = code.replace("9000", str(port))
    command = [sys.executable, "-u", "-c", code]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as program:
        device = UdpDevice("lab", host="127.0.0.1", port=port, timeout=10.0)
        device.open([ChannelSetup(0, "left", 0.0, 60.0, 40.0, 0.0)])
        feedback = None
        for sequence in range(20):
            device.write(Command(sequence, time.monotonic(), np.array([12.5])))
            time.sleep(0.01)
            feedback = device.read() or feedback
        device.stop()
        device.close()
        time.sleep(0.2)
        program.terminate()
        said = program.stdout.read()
    assert feedback.acknowledged in (18, 19) and feedback.positions == {0: 12.5}
    assert said.count("motors to {'left': 12.5}") == 20
    assert "no command: motors off" in said.partition("motors off")[2]


def test_the_camera_in_c_is_read(tmp_path, request):
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    port = free_port()
    (code,) = blocks(PAGE, "c")
    source, program = tmp_path / "camera.c", tmp_path / "camera"
    source.write_text(code.replace("9001", str(port)))
    options = ["-std=c99", "-Wall", "-Wextra", "-Werror"]
    subprocess.run([compiler, *options, source, "-o", program], check=True)
    with subprocess.Popen([program, "127.0.0.1"]) as camera:
        device = UdpDevice("camera", bind=f"127.0.0.1:{port}", timeout=10.0)
        try:
            device.open([])
            time.sleep(0.1)
            assert device.read().signals["tip"].tolist() == [10.2, -3.5, 81.0]
            device.close()
        finally:
            camera.terminate()
