"""The firmware for the ATmega328P in simavr, and as a program on this machine.

    folder = build(tmp_path, "atmega328p-servo", "emulator")     # skips what cannot be built here
    with Emulator(folder / "atmega328p-servo.elf", folder) as board:
        ... board.port is the path of its serial line ...
        pulses = board.pulses(4)

The emulator is a C program beside this file; its head describes what it records. Times are the
processor's own unless they say otherwise. It runs in real time, for hosts that do not know that
it is emulated; `SteppedEmulator` lets time pass only as the test asks for it.
"""

import os
import shutil
import signal
import subprocess
from collections import namedtuple
from pathlib import Path

import numpy as np
import pytest

HERE = Path(__file__).parent
FIRMWARE = HERE.parents[1] / "hardware" / "firmware"
CYCLES = 16_000_000
"""Cycles of the processor in a second."""
HALF_MILLISECOND = 0.0005
PIN, RESET, LAG, TO_FIRMWARE, FROM_FIRMWARE = range(5)
"""Kinds of recorded events."""

Statistics = namedtuple("Statistics", "time lags overruns cpu")
"""Time of the processor [s], how often the emulator lagged, bytes a real UART would have lost,
CPU time that the emulator took [s]."""


def require(*programs):
    """Skip the test where a program is missing."""
    missing = [program for program in programs if shutil.which(program) is None]
    if missing:
        pytest.skip(f"{', '.join(missing)} not installed")


def build(folder, *targets):
    """Build targets of hardware/firmware/Makefile, or "emulator", into `folder`. Returns it."""
    for target in targets:
        if target == "emulator":
            _build_emulator(folder)
            continue
        require("make", "cc", *(["avr-gcc"] if target.startswith("atmega") else []))
        require(*(["arm-none-eabi-gcc"] if target.startswith("stm32") else []))
        make = ["make", "-C", FIRMWARE, f"BUILD={folder}", target]
        made = subprocess.run(make, capture_output=True, text=True)
        assert made.returncode == 0, made.stderr
    return Path(folder)


def _build_emulator(folder):
    if not Path("/usr/include/simavr/sim_avr.h").exists():
        pytest.skip("libsimavr-dev not installed")
    source, program = HERE / "emulator.c", Path(folder) / "emulator"
    options = ["-O2", "-Wall", "-Wextra", "-Werror"]
    subprocess.run(["cc", *options, source, "-o", program, "-lsimavr", "-lelf"], check=True)


class Emulator:
    """A running board, in real time; a context manager.

    Args:
        elf: The firmware; the program `emulator` lies in `folder`.
        folder: Where its record is written.
        wire: Whether the record holds the bytes of the line, too.
    """

    mode = "realtime"

    def __init__(self, elf, folder, *, wire=False):
        self.record = Path(folder) / f"{Path(elf).stem}-{os.urandom(4).hex()}.record"
        arguments = [Path(folder) / "emulator", elf, self.record, self.mode]
        self._process = subprocess.Popen(
            arguments + ["wire"] * wire, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.base = int(self._answer("base")[0]) * 1e-9
        """CLOCK_MONOTONIC at cycle 0 [s], while it never lagged or paused."""
        self.port = self._answer("line")[0]
        """Path of the pseudo terminal."""

    @property
    def pid(self):
        """Its process."""
        return self._process.pid

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """End it; its record remains."""
        self._process.stdin.close()
        self._process.wait(timeout=10.0)
        self._process.stdout.close()

    def _answer(self, name):
        words = self._process.stdout.readline().split()
        assert words and words[0] == name, f"the emulator ended, or answered {words}"
        return words[1:]

    def _tell(self, name, *arguments):
        self._process.stdin.write(" ".join([name, *map(str, arguments)]) + "\n")
        self._process.stdin.flush()
        return self._answer(name)

    def emergency(self, pressed):
        """Press or release the emergency stop."""
        self._tell("emergency", int(pressed))

    def analogue(self, number, voltage):
        """Set the voltage of an analogue input [V]."""
        self._tell("analogue", number, round(voltage * 1000.0))

    def reset(self):
        """Switch the power off and on."""
        self._tell("reset")

    def hang(self):
        """Let the firmware's main loop hang, until its watchdog resets it."""
        self._tell("hang")

    def pause(self):
        """Let the processor stand still."""
        self._tell("pause")

    def resume(self):
        """Let it go on."""
        self._tell("resume")

    def unplug(self):
        """Close the serial line."""
        self._tell("unplug")

    def plug(self):
        """Open a serial line; its path is `port` again, and may be another."""
        self.port = self._tell("plug")[0]

    def statistics(self):
        """See `Statistics`."""
        cycle, lags, overruns, cpu = self._tell("statistics")
        return Statistics(int(cycle) / CYCLES, int(lags), int(overruns), float(cpu))

    def time(self):
        """Time of the processor [s]; what happened until now is in the record."""
        return int(self._tell("flush")[0]) / CYCLES

    def events(self, kind):
        """Times [cycles] and values of the events of a kind until now, two arrays."""
        if self._process.poll() is None:
            self.time()
        words = np.fromfile(self.record, dtype="<u8")
        words = words[(words >> 8 & 255) == kind]
        return (words >> 16).astype(np.int64), (words & 255).astype(np.int64)

    def edges(self, pin):
        """Times at which a pin rose, and at which it fell [cycles]."""
        cycles, values = self.events(PIN)
        return cycles[values == 2 * pin + 1], cycles[values == 2 * pin]

    def pulses(self, pin):
        """Starts [s] and widths [us] of the complete pulses on a pin."""
        rises, falls = self.edges(pin)
        count = min(len(rises), len(falls))
        return rises[:count] / CYCLES, (falls[:count] - rises[:count]) / (CYCLES / 1e6)


class SteppedEmulator(Emulator):
    """A board whose time passes by `run` alone, so that a busy machine changes nothing."""

    mode = "stepped"

    def run(self, duration, sent=0):
        """Run for `duration` [s] once `sent` bytes have come since the line was plugged in.

        Returns:
            How many bytes it has sent since then.
        """
        return int(self._tell("run", round(duration / HALF_MILLISECOND), sent)[1])


class Host:
    """The program firmware-host, stepped; a context manager."""

    def __init__(self, program):
        self._process = subprocess.Popen(
            [program, "/dev/null", "stepped"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.port = self._process.stdout.readline().strip()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.stdin.close()
        self._process.wait(timeout=10.0)
        self._process.stdout.close()

    def run(self, duration, sent=0):
        """See `SteppedEmulator.run`; a tick of 2.5 ms at least."""
        ticks = max(1, round(duration / 0.0025))
        self._process.stdin.write(f"run {ticks} {sent}\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline().split()[2])

    def emergency(self, pressed):
        """Press or release the emergency stop."""
        self._process.send_signal(signal.SIGUSR1 if pressed else signal.SIGUSR2)
