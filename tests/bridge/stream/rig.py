"""A robot of two actuators on a recorder, its stream, and what the recorder proves."""

import math
import time
from pathlib import Path

import numpy as np

from sofa_softctl.bridge.config.maps import LinearMap
from sofa_softctl.bridge.config.robot import (
    ActuatorConfig,
    DeviceConfig,
    RobotConfig,
    SafetyConfig,
    SensorConfig,
    StreamConfig,
)
from sofa_softctl.bridge.course.state import StreamState as S

STEP = 0.01
"""Of the scene [s]."""
LONG = {"command_timeout": 1.0, "feedback_timeout": 0.5, "clock_jump": 0.5}
"""Timeouts: so long that a busy computer does not reach them by itself [s]."""
OVER = (S.RESTED, S.STOPPED)


def robot_of(
    record,
    *,
    kind="wire",
    devices=1,
    options=(),
    stream=None,
    safety=None,
    actuator=None,
    path="robot.toml",
):
    """Two actuators for each device: lengths from 0 to 60 mm, at rest at 0; 100 counts a mm."""
    names = [f"board{i}" for i in range(devices)]
    of = [dict(options[i]) if i < len(options) else {} for i in range(devices)]
    settings = {
        "device": "",
        "channel": 0,
        "quantity": "length",
        "unit": "mm",
        "map": LinearMap(100.0, 1000.0),
        "position_min": 0.0,
        "position_max": 60.0,
        "rate": 400.0,
        "acceleration": 8000.0,
        "jump": 20.0,
        "effort_max": 5.0,
        "rest": 0.0,
        "soft_start": 0.05,
        "line": 1,
        **(actuator or {}),
    }
    wire = {"record": str(record)}
    return RobotConfig(
        path=path,
        text="",
        name="Test",
        devices=tuple(
            DeviceConfig(name, kind, {**wire, "label": name, **own} if kind == "wire" else own, 3)
            for name, own in zip(names, of, strict=True)
        ),
        actuators=tuple(
            ActuatorConfig(f"cable{2 * i + j}", **{**settings, "device": name, "channel": j})
            for i, name in enumerate(names)
            for j in range(2)
        ),
        sensors=(SensorConfig("tip", names[0], "tip", "length", "mm", 3, LinearMap(2.0), 9),),
        stream=StreamConfig(**{"rate": 200.0, "lookahead": 2, **(stream or {})}),
        safety=SafetyConfig(**{**LONG, "hold": 0.03, **(safety or {})}),
    )


def wave(index, count=2):
    """Target of a step: smooth, between 0 and 30 mm, at most 0.94 mm a step."""
    return np.full(count, 15.0 - 15.0 * math.cos(math.pi * index / 50.0))


def drive(stream, steps, target=wave, *, step=STEP, first=0, count=None):
    """Send targets in real time."""
    count = len(stream.robot.actuators) if count is None else count
    for index in range(first, first + steps):
        stream.send(index * step, target(index, count))
        stream.pace()


def until(stream, *states, seconds=5.0):
    """Poll until it is in one of the states; all samples on the way."""
    samples, deadline = [], time.monotonic() + seconds
    while True:
        samples += stream.poll()
        if stream.state in states:
            return samples
        assert time.monotonic() < deadline, f"{stream.state} {stream.reason!r}"
        time.sleep(0.005)


class Wire:
    """What a recorder got, by device."""

    def __init__(self, path):
        self.lines = [line.split() for line in Path(path).read_text().splitlines()]

    def what(self, device="board0"):
        return [line[1] for line in self.lines if line[0] == device]

    def times(self, what, device="board0"):
        return [float(line[2]) for line in self.lines if line[:2] == [device, what]]

    def values(self, device="board0"):
        """Shape (n_writes, n_channels)."""
        lines = [line for line in self.lines if line[:2] == [device, "write"]]
        assert [int(line[3]) for line in lines] == list(range(len(lines)))
        return np.array([[float.fromhex(value) for value in line[4:]] for line in lines])

    def assert_safe(self, robot):
        """No value beyond a limit of position, speed or acceleration, on any device; stopped last.

        It begins at rest at the first value. Rounding of counts: 1e-9 of the range.
        """
        period, slope, loose = 1.0 / robot.stream.rate, 100.0, 1e-9 * 6000.0
        for device in robot.devices:
            what = self.what(device.name)
            if "write" in what:
                after = what[len(what) - what[::-1].index("write") :]
                assert "stop" in after and after[-1] == "close"
                values = self.values(device.name)
                assert np.isfinite(values).all()
                assert values.min() >= 1000.0 and values.max() <= 7000.0
                one = robot.actuators[0]
                speed = np.diff(values, axis=0, prepend=values[:1])
                assert np.abs(speed).max() <= one.rate * slope * period + loose
                change = np.diff(speed, axis=0, prepend=0.0 * values[:1])
                assert np.abs(change).max() <= one.acceleration * slope * period**2 + 2.0 * loose
        return self
