"""How regularly the device process sends commands on this computer.

    python -m sofa_softctl.bench.stream_timing

prints, for a robot of eight actuators on a loopback device, percentiles of the jitter of periods
and of the latency of targets, on an idle computer and with a busy process on each core, and with
the scene itself stalled now and then.
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from sofa_softctl.bridge.config.maps import LinearMap
from sofa_softctl.bridge.config.robot import (
    ActuatorConfig,
    DeviceConfig,
    RobotConfig,
    SafetyConfig,
    StreamConfig,
)
from sofa_softctl.bridge.stream.client import Stream
from sofa_softctl.bridge.stream.state import Statistics

ACTUATORS = 8
STEP = 0.01
"""Of the scene [s]."""


def stream_timing(
    rate: float, seconds: float, *, busy: bool = False, stalls: bool = False, realtime: bool = True
) -> Statistics:
    """Stream sines to a loopback device.

    Args:
        rate: Commands in a second [Hz].
        seconds: How long [s].
        busy: Whether a process computes on each core meanwhile.
        stalls: Whether the scene stops for 0.1 s in every second.
        realtime: Whether the device process asks for real-time priority.

    Returns:
        What the device process measured.
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


def main(seconds: float = 20.0) -> None:
    """Print the table."""
    print(f"{'rate':>5} {'computer':>9} {'priority':>9}   {'jitter [us]':>22} ", end="")
    print(f"  {'latency [ms]':>22}   missed  waited")
    print(f"{'':>27} {'p50':>7} {'p99':>7} {'worst':>7}   {'p50':>7} {'p99':>7} {'worst':>7}")
    for rate in (100.0, 500.0):
        for busy, stalls, realtime in (
            (False, False, True),
            (True, False, True),
            (True, False, False),
            (True, True, True),
        ):
            found = stream_timing(rate, seconds, busy=busy, stalls=stalls, realtime=realtime)
            given = not any("priority" in note for note in found.notes)
            jitter, latency = 1e6 * found.jitter[[0, 2, 4]], 1e3 * found.latency[[0, 2, 4]]
            computer = "stalls" if stalls else "busy" if busy else "idle"
            priority = "FIFO" if realtime and given else "normal"
            print(
                f"{rate:5.0f} {computer:>9} {priority:>9}   "
                + " ".join(f"{value:7.0f}" for value in jitter)
                + "   "
                + " ".join(f"{value:7.2f}" for value in latency)
                + f"   {found.missed:6d} {found.waited:7.3f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
