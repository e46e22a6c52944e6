"""Robots of recorders and loopback devices, and small real scenes that drive them."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sofa_softctl import HardwareBridge
from sofa_softctl.base.user_module import import_file
from sofa_softctl.bridge import registry
from sofa_softctl.bridge.config.file import parse_robot
from sofa_softctl.scene.session.session import Session
from sofa_softctl.testing.scene import small_scene
from tests.bridge.scene.helpers import wave

UNITS = "mm, kg, s"
"""Of the scenes here."""
WIRE = Path(__file__).parents[1] / "stream" / "wire_device.py"

ROBOT = """
robot = "Bar"

[stream]
rate = 200
realtime = false

[safety]
command_timeout = 5.0
hold = 0.02

[devices.board]
DEVICE

[actuators.cable_0]
device = "board"
channel = 0
quantity = "length"
unit = "cm"
map = { type = "linear", factor = 100.0 }
position = [-1.0, 3.0]
rate = 20.0
acceleration = 400.0
jump = 1.0
rest = 0.0
soft_start = 0.05

[actuators.cable_1]
device = "board"
channel = 1
quantity = "length"
unit = "mm"
map = { type = "linear", factor = 10.0 }
position = [-10.0, 30.0]
rate = 200.0
acceleration = 4000.0
jump = 10.0
rest = 0.0
soft_start = 0.05
MORE
"""
"""Two motors of the small scene; one of them in another unit."""


@pytest.fixture(autouse=True)
def wire_device(monkeypatch):
    """The type 'wire', a recorder of whatever reaches it, as a plugin file registers it."""
    module = import_file(WIRE, "softctl_plugin", folder_too=False)
    monkeypatch.setitem(registry.DEVICES._added, "wire", module.WireDevice)


@pytest.fixture
def wire(tmp_path):
    """What reached the device of a robot: `wire.calls()`, `wire.values()`; `wire.table` for TOML.

    `values()`: what was written [device unit], shape (n, 2).
    """

    class Wire:
        path = tmp_path / "wire.txt"
        table = f'type = "wire"\nrecord = {json.dumps(str(path))}'

        def lines(self):
            return [line.split() for line in self.path.read_text().splitlines()]

        def calls(self):
            """Names of the calls, those that repeat once."""
            names = [line[1] for line in self.lines()]
            return [a for a, b in zip(names, [*names[1:], ""], strict=True) if a != b]

        def values(self):
            writes = (line[4:] for line in self.lines() if line[1] == "write")
            return np.array([[float.fromhex(word) for word in words] for words in writes])

        def assert_rested(self):
            """The robot ended at its rest pose, and its device was stopped and closed."""
            assert self.values()[-1].tolist() == [0.0, 0.0]
            assert self.calls() == ["open", "write", "stop", "close"]

    return Wire()


@pytest.fixture
def robot_file(tmp_path):
    """robot_file(device=..., more=..., old=new, ...) -> path of a robot's TOML file."""

    def make(device='type = "loopback"', more="", **changes):
        text = ROBOT.replace("DEVICE", device).replace("MORE", more)
        for old, new in changes.items():
            assert old in text
            text = text.replace(old, new)
        path = tmp_path / "bar.toml"
        path.write_text(text)
        return path

    return make


@pytest.fixture
def robot(robot_file):
    """robot(device=..., more=..., stream={...}, safety={...}) -> RobotConfig."""

    def make(stream=None, safety=None, **options):
        path = robot_file(**options)
        found = parse_robot(path.read_text(), str(path))
        return replace(
            found,
            stream=replace(found.stream, **(stream or {})),
            safety=replace(found.safety, **(safety or {})),
        )

    return make


@pytest.fixture
def bar(Sofa):
    """bar(add=None, pull=wave, **options of HardwareBridge) -> Session.

    A bar whose cables a controller pulls in by `pull(time)`, with a bridge where there are options;
    `add(scene)` adds what else it likes.
    """
    sessions = []

    class Pull(Sofa.Core.Controller):
        def __init__(self, *args, root, actuators, pull, **options):
            Sofa.Core.Controller.__init__(self, *args, **options)
            self.root, self.actuators, self.pull = root, actuators, pull

        def onAnimateBeginEvent(self, event):
            time = self.root.time.value + self.root.dt.value
            for cable, length in zip(self.actuators, self.pull(time), strict=True):
                cable.value.value = [float(length)]

    def make(add=None, pull=wave, **options):
        def createScene(root):
            scene = small_scene(root)
            for cable in scene.cables:
                cable.valueType.value = "displacement"
            root.addObject(Pull(name="pull", root=root, actuators=list(scene.cables), pull=pull))
            if add is not None:
                add(scene)
            if options:
                root.addObject(HardwareBridge(name="bridge", root=root, **options))

        sessions.append(Session(createScene, backend="embedded"))
        return sessions[-1]

    yield make
    for session in sessions:
        session.close()
