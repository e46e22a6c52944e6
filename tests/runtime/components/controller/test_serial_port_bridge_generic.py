"""SerialPortBridgeGeneric on a pseudo terminal; tests/sofa compares its bytes with SOFA's."""

import builtins
import logging
import os
import select
import time
import tty

import pytest

from sofa_softctl.base.extras import install_command
from sofa_softctl.errors import SceneError
from sofa_softctl.runtime.components import SerialPortBridgeGeneric
from sofa_softctl.runtime.core.scripted import Controller
from sofa_softctl.runtime.simulation import simulation
from sofa_softctl.testing import check_component


@pytest.fixture
def line():
    """The other end of a port, and the port's path."""
    master, slave = os.openpty()
    tty.setraw(slave)
    os.set_blocking(master, False)
    yield master, os.ttyname(slave)
    os.close(slave)
    try:
        os.close(master)
    except OSError:  # a test unplugged it
        pass


@pytest.fixture
def serial(root, line):
    """Adds the component to the scene and initialises that: serial(**Data)."""

    def add(**values):
        given = {"port": line[1], "baudRate": 115200, "listening": True, "size": 3, **values}
        component = root.addObject("SerialPortBridgeGeneric", name="serial", **given)
        simulation.init(root)
        return component

    yield add
    simulation.unload(root)


def arrived(line):
    """All bytes, until none came for a while: a pseudo terminal passes them on a little later."""
    found = b""
    while select.select([line[0]], [], [], 0.03)[0]:
        found += os.read(line[0], 4096)
    return list(found)


def step(root, line, count=1):
    simulation.animateNSteps(root, count)
    return arrived(line)


def warnings(caplog):
    return [r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING]


def test_it_is_a_component_like_others(caplog):
    check_component(SerialPortBridgeGeneric)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, [255, 1, 2, 250]),
        ({"header": 7}, [7, 1, 2, 250]),
        ({"redundancy": 2}, [255, 1, 2, 250, 255, 1, 2, 250]),
        ({"precise": True}, [255, 0, 1, 0, 2, 0, 250]),
        ({"precise": True, "splitPacket": True}, [255, 0, 1, 0, 254, 2, 0, 250]),
    ],
)
def test_packets_are_those_of_softrobots(root, line, serial, options, expected):
    serial(packetOut=[1, 2, 250], **options)
    assert arrived(line) == []  # nothing before the first step
    assert step(root, line) == expected
    assert step(root, line, 3) == 3 * expected


def test_a_controller_sets_values_as_in_the_tripod_of_softrobots(root, line, serial):
    """Added after the port, it sets what goes out in the next step; sentData is an old name."""
    component = serial(header=255)

    class Servos(Controller):
        angle = 60

        def onAnimateEndEvent(self, event):
            self.angle += 1
            component.packetOut = [self.angle, 100, 180]

    component.findData("sentData").value = [150.0, 150.0, 150.0]
    root.addObject(Servos(name="servos"))
    assert step(root, line) == [255, 150, 150, 150]
    assert step(root, line) == [255, 61, 100, 180]


def test_a_byte_is_received_in_each_step(root, line, serial):
    component = serial(packetOut=[1, 2, 3], receive=True)
    os.write(line[0], b"\x07\x08")
    step(root, line)
    assert component.packetIn.value.tolist() == [7]  # the first; SOFA throws the others away
    step(root, line)
    assert component.packetIn.value.tolist() == [0]


def test_what_comes_during_a_step_is_thrown_away_as_in_sofa(root, line, serial):
    class Late(Controller):
        def onAnimateEndEvent(self, event):
            os.write(line[0], b"\x09")
            time.sleep(0.05)

    root.addObject(Late(name="late"))
    component = serial(packetOut=[1, 2, 3], receive=True)
    simulation.animateNSteps(root, 2)
    assert component.packetIn.value.tolist() == [0]


def test_without_listening_nothing_is_sent(root, line, serial):
    serial(packetOut=[1, 2, 3], listening=False)
    assert step(root, line) == []


def test_without_a_port_the_scene_runs_with_a_warning(root, line, serial, caplog):
    component = serial(port="/dev/ttyNO0", packetOut=[1, 2, 3])
    simulation.animateNSteps(root, 3)
    assert component.componentState.value == "Invalid"
    (text,) = warnings(caplog)
    assert "No serial port found: there is no port /dev/ttyNO0" in text
    assert root.time.value == pytest.approx(0.03)


def test_without_pyserial_the_scene_runs_with_a_warning(root, serial, caplog, monkeypatch):
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name == "serial":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    serial(packetOut=[1, 2, 3])
    simulation.animate(root)
    assert install_command("hardware") in warnings(caplog)[0]


def test_another_number_of_values_ends_sending(root, line, serial, caplog):
    component = serial(packetOut=[1, 2])
    assert step(root, line, 3) == []
    (text,) = warnings(caplog)
    assert "packetOut has 2 values, but size is 3" in text
    assert component.componentState.value == "Invalid"
    component.packetOut = [1, 2, 3]
    assert step(root, line) == []


def test_what_does_not_fit_is_mended_with_warnings(root, line, serial, caplog):
    component = serial(packetOut=[1, 2, 3], splitPacket=True, header=[], redundancy=0)
    assert step(root, line) == [255, 1, 2, 3]
    assert not component.splitPacket.value and component.redundancy.value == 1
    said = " ".join(warnings(caplog))
    for words in ("splitPacket should only", "Problem with header size", "set automatically to 1"):
        assert words in said


@pytest.mark.parametrize("values", [[1, 2, 256], [-1, 0, 0], [0.5, 1.0, 2.0], "300 1 2"])
def test_values_that_are_no_bytes_are_errors(root, line, serial, values):
    """SOFA sends them modulo 256: to a motor, that is another place."""
    component = serial(packetOut=[1, 2, 3])
    with pytest.raises(SceneError, match="whole numbers from 0 to 255"):
        component.packetOut = values
    assert step(root, line) == [255, 1, 2, 3]


def test_an_unplugged_port_is_warned_of_once(root, line, serial, caplog):
    component = serial(packetOut=[1, 2, 3])
    step(root, line)
    os.close(line[0])
    simulation.animateNSteps(root, 3)
    (text,) = warnings(caplog)
    assert "Nothing is sent any more" in text and "is gone" in text
    assert component.componentState.value == "Invalid"


def test_a_line_that_takes_nothing_does_not_stop_the_scene(root, line, serial, caplog):
    serial(packetOut=[1, 2, 3], redundancy=1000)
    simulation.animateNSteps(root, 10)
    (text,) = warnings(caplog)
    assert "A packet was not sent" in text


def test_the_port_is_released_at_the_end_or_when_the_scene_is_made_anew(root, line, Sofa, caplog):
    def add(to):
        component = to.addObject(
            "SerialPortBridgeGeneric",
            **{"port": line[1], "baudRate": 115200, "listening": True, "size": 1, "packetOut": [5]},
        )
        simulation.init(to)
        return component

    first = add(root)
    again = Sofa.Core.Node("again")
    second = add(again)
    assert step(root, line) == [] and first.componentState.value == "Invalid"
    assert step(again, line) == [255, 5]
    again.removeObject(second)
    assert step(again, line) == []
    third = add(Sofa.Core.Node("third"))
    assert third.componentState.value == "Valid"
    third.cleanup()
    assert warnings(caplog) == []


def test_a_session_releases_the_port_at_its_end(line):
    from sofa_softctl import Session

    def create(root):
        root.addObject(
            "SerialPortBridgeGeneric",
            **{"name": "serial", "port": line[1], "baudRate": 115200},
            **{"listening": True, "size": 1, "packetOut": [5]},
        )

    with Session(create, backend="embedded") as session:
        session.step()
        serial = session.root.serial
        assert arrived(line) == [255, 5] and serial._port is not None
    assert serial._port is None


def test_a_copy_of_a_scene_sends_nothing(root, line, serial):
    root.__dict__["_softctl_without_devices"] = True
    serial(packetOut=[1, 2, 3])
    assert step(root, line) == []
