"""Robots of loopback devices, and small real scenes that drive them."""

from dataclasses import replace

import numpy as np
import pytest

from sofa_softctl.bridge.config.file import parse_robot
from sofa_softctl.scene.session import Session
from sofa_softctl.testing.scene import small_scene

UNITS = "mm, kg, s"
"""Of the scenes here."""

ROBOT = """
robot = "Bar"

[stream]
rate = 200
realtime = false

[safety]
command_timeout = 5.0

[devices.board]
type = "loopback"

[actuators.cable_0]
device = "board"
channel = 0
quantity = "length"
unit = "cm"
map = {{ type = "linear", factor = 100.0 }}
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
map = {{ type = "linear", factor = 10.0 }}
position = [-10.0, 30.0]
rate = 200.0
acceleration = 4000.0
jump = 10.0
rest = 0.0
soft_start = 0.05
{more}
"""
"""Two motors of the small scene; one of them in another unit."""


@pytest.fixture
def robot_text():
    """robot_text(more="", **replacements) -> text of a robot's file."""

    def make(more="", **changes):
        text = ROBOT.format(more=more)
        for old, new in changes.items():
            assert old in text
            text = text.replace(old, new)
        return text

    return make


@pytest.fixture
def robot(robot_text, tmp_path):
    """robot(more="", stream={...}, safety={...}) -> RobotConfig."""

    def make(more="", stream=None, safety=None):
        found = parse_robot(robot_text(more), str(tmp_path / "bar.toml"))
        return replace(
            found,
            stream=replace(found.stream, **(stream or {})),
            safety=replace(found.safety, **(safety or {})),
        )

    return make


@pytest.fixture
def bar(Sofa):
    """bar(bridge=..., pull=...) -> Session of a bar whose cables are pulled along `pull(time)`.

    `bridge(scene)` adds what it likes when the scene is there.
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

    def make(bridge=None, pull=lambda time: (4.0 * np.sin(10.0 * time) ** 2, 20.0 * time)):
        def createScene(root):
            scene = small_scene(root)
            for cable in scene.cables:
                cable.valueType.value = "displacement"
            puller = Pull(name="pull", root=root, actuators=list(scene.cables), pull=pull)
            root.addObject(puller)
            if bridge is not None:
                bridge(scene)

        sessions.append(Session(createScene, backend="embedded"))
        return sessions[-1]

    yield make
    for session in sessions:
        session.close()
