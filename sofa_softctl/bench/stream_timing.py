"""Timing of the device process's commands on this computer.

Eight actuators on a loopback device: on an idle computer, with a busy process on each core, and
with a scene that stalls regularly.
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from sofa_softctl.bridge.client.client import Stream
from sofa_softctl.bridge.config.maps import LinearMap
from sofa_softctl.bridge.config.robot import (
    ActuatorConfig,
    DeviceConfig,
    RobotConfig,
    SafetyConfig,
    StreamConfig,
)
from sofa_softctl.bridge.course.state import Statistics

ACTUATORS = 8
STEP = 0.01
"""Time step of the scene [s]."""


def stream_timing(
    rate: float, seconds: float, *, busy: bool = False, stalls: bool = False, realtime: bool = True
) -> Statistics:
    """Stream sines to a loopback device.

    Args:
        rate: Rate of commands [Hz].
        seconds: Duration [s].
        busy: Whether a process computes on each core.
        stalls: Whether the scene stops for 0.1 s in every second.
        realtime: Whether the device process requests real-time priority.

    Returns:
        Measurements of the device process.
    """
    with _load(busy), Stream(_robot(rate, realtime)) as stream:
        for index in range(round(seconds / STEP)):
            phase = 2.0 * math.pi * index * STEP
            stream.send(index * STEP, np.full(ACTUATORS, 20.0 - 20.0 * math.cos(phase)))
            if stalls and index % round(1.0 / STEP) == 0:
                time.sleep(0.1)
            stream.pace()
            stream.poll()
        return stream.finish()


def _robot(rate: float, realtime: bool) -> RobotConfig:
    return RobotConfig(
        path="benchmark",
        text="",
        name="Benchmark",
        devices=(DeviceConfig("loop", "loopback", {}, 1),),
        actuators=tuple(
            ActuatorConfig(
                name=f"cable{channel}",
                device="loop",
                channel=channel,
                quantity="length",
                unit="mm",
                map=LinearMap(100.0),
                position_min=0.0,
                position_max=60.0,
                rate=400.0,
                acceleration=8000.0,
                jump=10.0,
                effort_max=math.inf,
                rest=0.0,
                soft_start=0.1,
                line=1,
            )
            for channel in range(ACTUATORS)
        ),
        sensors=(),
        stream=StreamConfig(rate=rate, lookahead=3, realtime=realtime),
        safety=SafetyConfig(command_timeout=2.0, clock_jump=1.0),
    )


@contextmanager
def _load(busy: bool) -> Iterator[None]:
    count = (os.cpu_count() or 1) if busy else 0
    processes = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


@dataclass(frozen=True)
class Timing:
    """Result of one case of the study."""

    rate: float
    """Rate of commands [Hz]."""
    computer: str
    """'idle'; 'busy', with a process on each core; or 'stalls', with a scene that stalls, too."""
    priority: str
    """'real-time', or 'normal' if it was not requested or not permitted."""
    jitter: tuple[float, float, float]
    """Median, 99 % and worst of |start - deadline| of a period [s]."""
    latency: tuple[float, float, float]
    """Median, 99 % and worst delay from the scene to the wire, without `lookahead` [s]."""
    missed: int
    """Number of missed periods."""
    waited: float
    """Time for which the robot's clock waited for the scene [s]."""


CASES = tuple(
    (rate, *case)
    for rate in (100.0, 500.0)
    for case in (
        ("idle", True),
        ("busy", True),
        ("busy", False),
        ("stalls", True),
    )
)
"""Rate [Hz], load of the computer, and whether real-time priority is requested."""


def study(seconds: float) -> Iterator[Timing]:
    """Measure all cases, each with that duration [s]."""
    for rate, computer, realtime in CASES:
        busy, stalls = computer != "idle", computer == "stalls"
        result = stream_timing(rate, seconds, busy=busy, stalls=stalls, realtime=realtime)
        is_realtime = realtime and not any("priority" in note for note in result.notes)
        jitter, latency = (
            (float(times[0]), float(times[2]), float(times[4]))
            for times in (result.jitter, result.latency)
        )
        priority = "real-time" if is_realtime else "normal"
        yield Timing(rate, computer, priority, jitter, latency, result.missed, result.waited)
