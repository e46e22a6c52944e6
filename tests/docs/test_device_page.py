"""The device of how-to/write-a-device.md, with a pump that is emulated on a pseudo terminal."""

import os
import threading
import tty

import numpy as np
import pytest

from sofa_softctl.bridge import registry
from sofa_softctl.bridge.device import ChannelSetup, Command
from sofa_softctl.errors import DeviceFailedError, DeviceOpenError, DeviceTimeoutError
from sofa_softctl.plugins import Plugins
from tests.docs.pages import blocks, run

pytest.importorskip("serial")


class Pump:
    """Two syringes that take every position at once."""

    def __init__(self, silent=False):
        self.line, other = os.openpty()
        tty.setraw(other)
        self.port, self.silent = os.ttyname(other), silent
        self.places, self.received, self._other = [0.0, 0.0], [], other
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self):
        buffer = b""
        while b"end\n" not in buffer:
            *lines, buffer = (buffer + os.read(self.line, 4096)).split(b"\n")
            for line in lines:
                if line == b"end":
                    return
                self._take(line)

    def _take(self, line):
        self.received.append(line)
        word, *rest = line.split()
        if word == b"S":
            self.places[int(rest[0])] = float(rest[1])
        elif word == b"?" and not self.silent:
            os.write(self.line, f"P {self.places[0]:.3f} {self.places[1]:.3f}\n".encode())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.write(self._other, b"end\n")
        self._thread.join()
        os.close(self.line)
        os.close(self._other)


@pytest.fixture(scope="module")
def page():
    return run("how-to/write-a-device")


def test_the_pump_of_the_page_passes_the_check(page):
    with Pump() as pump:
        found = page["check_pump"](pump.port)
    assert found.unit == "ul"
    places = [float(line.split()[2]) for line in pump.received if line.startswith(b"S 1 ")]
    assert 10.0 < max(places) < 25.0, "it moves, half way to its limit at most"
    assert b"H" in pump.received


def test_its_errors_are_those_of_the_page(page):
    device = page["PumpDevice"]("pump", port="/dev/none")
    with pytest.raises(DeviceOpenError, match="device 'pump', port /dev/none"):
        device.open([])
    with pytest.raises(DeviceFailedError, match="not open"):
        device.write(Command(0, 0.0, np.array([])))
    with Pump(silent=True) as pump:
        device = page["PumpDevice"]("pump", port=pump.port, answer_timeout=0.05)
        with pytest.raises(DeviceTimeoutError, match=r"no answer to '\?' within 0.05 s"):
            device.open([])
        device.close()
    with Pump() as pump:
        device = page["PumpDevice"]("pump", port=pump.port)
        with pytest.raises(DeviceOpenError, match="no syringe 2, which is 'third'. It has 2"):
            device.open([ChannelSetup(2, "third", 0.0, 1.0, 1.0, 0.0)])
        device.close()


def test_its_file_is_a_plugin(tmp_path):
    file = tmp_path / "pump.py"
    file.write_text(blocks("how-to/write-a-device")[0])
    with registry.DEVICES.kept():
        Plugins().add_file(file)
        assert registry.find("pump").quantities == ("volume",)
