"""Trunk scene, bridge, serial protocol, real firmware in simavr, pulses on its pins, for minutes.

python -m tests.firmware.endurance --minutes 10: scenes/trunk.py drives hardware/trunk_servos.toml
at 100 Hz in real time; with `--stall`, a controller stops the scene for 300 ms every 5 s.
Commands are compared at three places: as the run recorded them, as bytes on the line, and as
pulses, measured in the cycles of the processor. Figures of docs/reference/bridge-measurements.md.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

import numpy as np

from sofa_softctl import read_record
from sofa_softctl.bridge.config.file import read_robot
from tests.firmware import wire
from tests.firmware.emulator import CYCLES, FROM_FIRMWARE, TO_FIRMWARE, Emulator, build

ROOT = Path(__file__).parents[2]
FIRST_PIN = 4
"""Pin of channel 0."""
STALLING = """
import time
import Sofa
from sofa_softctl.scene.session.loader import load_scene

TRUNK = load_scene({trunk!r})
UNITS = "mm, kg, s"


class Stall(Sofa.Core.Controller):
    steps = 0

    def onAnimateBeginEvent(self, event):
        self.steps += 1
        if self.steps % 500 == 0:
            time.sleep(0.3)


def createScene(root):
    TRUNK.create(root)
    root.addObject(Stall(name="stall"))
"""


def messages(board, kind):
    """Messages of one direction: time at which each was complete [s], type, sequence, content."""
    cycles, data = board.events(kind)
    ends = np.flatnonzero(data == 0)
    found, begin = [], 0
    for end in ends:
        if end > begin:
            body = wire.unframe(bytes(data[begin:end].astype(np.uint8)))
            found.append((cycles[end] / CYCLES, body[1], int.from_bytes(body[2:4], "little"), body))
        begin = end + 1
    return found


def commands(board):
    """COMMANDs on the line: times [s], shape (n,), sequences, and values [us], shape (n, 8)."""
    found = [each for each in messages(board, TO_FIRMWARE) if each[1] == wire.COMMAND]
    assert all(body[8:10] == b"\xff\0" for *_, body in found), "every command names all channels"
    values = [np.frombuffer(body[10:], "<i4") for *_, body in found]
    return np.array([e[0] for e in found]), np.array([e[2] for e in found]), np.array(values)


def percentiles(name, values):
    p50, p99, worst = np.percentile(values, [50, 99, 100])
    print(f"{name}: p50 {1e3 * p50:.3f}, p99 {1e3 * p99:.3f}, worst {1e3 * worst:.3f} ms")


def run(board, folder, minutes, stall, rate, values):
    """Run the scene. Returns its JSON, its record and the robot."""
    config, record = folder / "trunk.toml", folder / "trunk.mcap"
    text = (ROOT / "hardware" / "trunk_servos.toml").read_text()
    text = text.replace("/dev/ttyACM0", board.port).replace("rate = 100 ", f"rate = {rate:g} ", 1)
    assert f"rate = {rate:g} " in text
    config.write_text(text)
    scene = ROOT / "scenes" / "trunk.py"
    if stall:
        scene = folder / "stalling.py"
        scene.write_text(STALLING.format(trunk=str(ROOT / "scenes" / "trunk.py")))
    command = [sys.executable, "-m", "sofa_softctl.cli", "run", scene, "--bridge", config]
    command += ["--duration", f"{60 * minutes:g}", "--record", record, "--json"]
    command += [word for value in values for word in ("--set", value)]
    done = subprocess.run(command, stdout=subprocess.PIPE, cwd=ROOT, text=True)
    assert done.returncode in (0, 3), done.returncode
    return json.loads(done.stdout), read_record(record), read_robot(config)


def compare(board, record, robot):
    """Compare what was recorded with the line, and the line with the pulses."""
    times, sequences, values = commands(board)
    steps = np.diff(sequences.astype(np.int64)) % 65536
    last = [e for e in messages(board, FROM_FIRMWARE) if e[1] == wire.FEEDBACK][-1]
    feedback = wire.parse(last[3])[2]
    print(f"{len(values)} commands on the line; steps of their sequence other than 1: ", end="")
    print(f"{np.count_nonzero(steps != 1)}; by the firmware: {feedback.dropped} frames dropped, ")
    print(f"{feedback.refused} commands refused, last taken {feedback.taken} of {sequences[-1]}")

    stream = record.streams["bridge.robot.command"]
    sent = np.isfinite(stream.values).all(axis=1)
    rows, clock = stream.values[sent], stream.clock[sent]
    print(f"{len(rows)} commands recorded")
    rows, clock = rows[: len(values)], clock[: len(values)]
    error, resolution = np.empty_like(rows), np.empty(8)
    for k, actuator in enumerate(robot.actuators):
        error[:, k] = actuator.map.from_device(values[: len(rows), k].astype(float)) - rows[:, k]
        resolution[k] = 1.0 / actuator.map.slope_range(0.0, 1.0)[0]
    print(
        f"length of the pulse on the line less the one that was sent: at most "
        f"{np.abs(error).max():.4f} mm; 1 us is {resolution.min():.4f} mm"
    )

    first, count, between, beyond, off = np.full(len(values), np.inf), 0, 0, 0, 0.0
    for channel in range(8):
        starts, widths = board.pulses(FIRST_PIN + channel)
        newest = np.searchsorted(times, starts) - 1
        use = newest >= 1
        starts, widths, newest = starts[use], widths[use], newest[use]
        last, before = values[newest, channel], values[newest - 1, channel]
        on_the_way = (widths != last) & (widths != before)
        low, high = np.minimum(last, before), np.maximum(last, before)
        outside = np.maximum(low - widths, widths - high)
        off, beyond = max(off, outside.max()), beyond + np.count_nonzero(outside > 0.5)
        count, between = count + len(widths), between + np.count_nonzero(on_the_way)
        np.minimum.at(first, newest, starts)
    print(
        f"{count} pulses, each that of the last command or the one before, but for {between} where "
        f"the rate was limited: between the two, or {beyond} up to {off:.3f} us further behind"
    )
    at_line = times[: len(clock)] + board.base - clock
    percentiles("from the start of a period to the end of its frame at the firmware", at_line)
    shown = np.isfinite(first[: len(clock)])
    percentiles(
        "from the start of a period to the next pulse",
        (first[: len(clock)] + board.base - clock)[shown],
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--stall", action="store_true", help="stop the scene now and then")
    parser.add_argument("--rate", type=float, default=100.0, help="commands a second")
    parser.add_argument("--set", action="append", default=[], help="NAME=VALUE of the scene")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = build(Path(name), "atmega328p-servo", "emulator")
        with Emulator(folder / "atmega328p-servo.elf", folder, wire=True) as board:
            with suppress(PermissionError):  # a board has a processor of its own
                os.sched_setscheduler(board.pid, os.SCHED_FIFO, os.sched_param(20))
            summary, record, robot = run(
                board, folder, options.minutes, options.stall, options.rate, options.set
            )
            statistics = board.statistics()
            compare(board, record, robot)
    print(f"emulator: {statistics}; load {os.getloadavg()}")
    bridge = summary["controllers"]["/bridge"]
    for name in ("jitter", "latency", "round_trip"):
        times = "  ".join(f"{key} {1e3 * value:.3f}" for key, value in bridge[name].items())
        print(f"{name} [ms]: {times}")
    print(
        {k: bridge[k] for k in ("state", "periods", "missed", "steps", "late", "waited", "faults")}
    )


if __name__ == "__main__":
    main()
