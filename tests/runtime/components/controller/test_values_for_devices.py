"""No value that a scene can compute ends in an error of Python in what talks to a device."""

import logging
import math
import os
import tty

import numpy as np
import pytest

from sofa_softctl.errors import SceneError
from sofa_softctl.runtime.core import COMPONENTS
from sofa_softctl.runtime.core.scripted import Controller
from sofa_softctl.runtime.helper.message import warnings_as_errors
from sofa_softctl.runtime.simulation import simulation

DEVICES = {
    "SerialPortBridgeGeneric": {"listening": True, "size": 2, "packetOut": [1, 2]},
    "CommunicationController": {"nbDataField": 2, "data1": 0.5},
}
DATA = {
    "SerialPortBridgeGeneric": (
        "packetOut", "header", "size", "redundancy", "precise", "splitPacket", "receive",
    ),
    "CommunicationController": ("data1", "data2"),
}  # fmt: skip
"""What a scene may set while it runs."""
VALUES = {
    "NaN": [math.nan, 1.0],
    "one NaN": math.nan,
    "infinite": [math.inf, -math.inf],
    "negative": [-5, -1],
    "too large": [300, 70000],
    "huge": [1e300, 2**70],
    "fractions": [0.4, 1.6],
    "too many": [1, 2, 3, 4, 5],
    "too few": [1],
    "none": [],
    "a text": "left",
    "an empty text": "",
    "a number in a text": "3.5",
    "None": None,
    "nested": [[1], [2]],
    "ragged": [[1, 2], [3]],
    "a bool": True,
    "complex": 1j,
    "an object": object(),
    "an array": np.array([[1.5, 2.5]]),
    "a dict": {"left": 1},
}


@pytest.fixture
def port():
    """A serial port on which nobody answers."""
    master, slave = os.openpty()
    tty.setraw(slave)
    os.set_blocking(master, False)
    yield os.ttyname(slave)
    for end in (slave, master):
        os.close(end)


def test_every_component_of_a_device_is_swept():
    """Those that have a port, or an address, among their Data."""
    has_port = {
        COMPONENTS.find(name).__name__
        for name in COMPONENTS.names()
        if {"port", "ip", "serverIPAddr", "deviceName"} & set(COMPONENTS.find(name).data_types)
    }
    inert = {kind for kind in has_port if "Inert" in str(COMPONENTS.find(kind).__mro__)}
    assert has_port - inert <= {*DEVICES} and {*DEVICES} <= has_port


def sending(root, kind, port, name, value, in_place=False):
    """A scene whose controller sets a Data in every step; each error is one of the scene."""
    given = {"port": port, "baudRate": 115200} if kind == "SerialPortBridgeGeneric" else {}
    component = root.addObject(kind, name="device", **DEVICES[kind], **given)
    errors = []

    class Sender(Controller):
        def onAnimateBeginEvent(self, event):
            try:
                if in_place:
                    with component.findData(name).writeable() as array:
                        array[...] = value
                else:
                    component.findData(name).value = value
            except SceneError as error:
                errors.append(error)

    root.addObject(Sender(name="sender"))
    with warnings_as_errors(False):
        simulation.init(root)
        simulation.animateNSteps(root, 3, 0.01)
        simulation.unload(root)
    return component, errors


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind in DATA for name in DATA[kind]])
def test_a_value_that_a_scene_computes_is_taken_or_an_error_of_the_scene(
    root, port, caplog, kind, name, value
):
    with caplog.at_level(logging.WARNING, "sofa_softctl"):
        _, errors = sending(root, kind, port, name, value)
    for error in errors:
        assert f"'{name}'" in str(error) and "test_values_for_devices.py:" in str(error)
    said = [r.getMessage() for r in caplog.records if f"'{name}' of Serial" in r.getMessage()]
    if name in ("packetOut", "header"):
        assert len(said) <= 1  # not in every step


@pytest.mark.parametrize(
    ("value", "precise", "sent"),
    [
        ([300, -5], False, [255, 0]),
        ([300, 70000], True, [300, 65535]),
        ([math.nan, 7.0], False, [1, 2]),  # a motor stays where it is
        ([math.inf, 7.0], False, [255, 7]),
        ([6.4, 7.6], False, [6, 8]),
    ],
)
def test_values_out_of_range_are_held_at_its_end_with_one_warning(
    root, port, caplog, monkeypatch, value, precise, sent
):
    monkeypatch.setitem(
        DEVICES,
        "SerialPortBridgeGeneric",
        DEVICES["SerialPortBridgeGeneric"] | {"precise": precise},
    )
    with caplog.at_level(logging.WARNING, "sofa_softctl"):
        component, _ = sending(root, "SerialPortBridgeGeneric", port, "packetOut", value)
    assert component.packetOut.value.tolist() == sent
    (said,) = [r.getMessage() for r in caplog.records]
    assert f"takes a list of whole numbers from 0 to {65535 if precise else 255}, got" in said


def test_two_bytes_need_no_warning(root, port, caplog, monkeypatch):
    given = DEVICES["SerialPortBridgeGeneric"] | {"precise": True, "packetOut": [300, 65535]}
    monkeypatch.setitem(DEVICES, "SerialPortBridgeGeneric", given)
    with caplog.at_level(logging.WARNING, "sofa_softctl"):
        sending(root, "SerialPortBridgeGeneric", port, "packetOut", [65535, 300])
    assert not caplog.records


def test_an_array_that_is_written_in_place_is_held_too(root, port):
    sending(root, "SerialPortBridgeGeneric", port, "packetOut", [400, -4], in_place=True)


@pytest.mark.parametrize(
    "data",
    [
        {"redundancy": 10**9}, {"redundancy": -3}, {"baudRate": -1}, {"baudRate": 10**12},
        {"baudRate": "fast"}, {"port": ""}, {"port": "/dev/null"}, {"port": 5}, {"header": [256]},
        {"header": "x"}, {"size": -1}, {"packetOut": [np.float32(3.0), np.uint8(4)]},
    ],
)  # fmt: skip
def test_a_component_that_begins_with_odd_values_runs(root, port, data):
    given = {"port": port, "baudRate": 115200, **DEVICES["SerialPortBridgeGeneric"], **data}
    with warnings_as_errors(False):
        root.addObject("SerialPortBridgeGeneric", **given)
        simulation.init(root)
        simulation.animateNSteps(root, 2, 0.01)
        simulation.unload(root)
