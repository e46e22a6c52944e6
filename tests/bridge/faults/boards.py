"""Boards that the faults are injected into, with a recorder on their side of the wire."""

import os
import time
from pathlib import Path

import numpy as np

from tests.bridge.board import Board
from tests.bridge.faults import robot
from tests.bridge.faults.wire_record import Sent, commands, last_change
from tests.firmware import emulator

FIRST_PIN, LED = 4, 13
"""Of channel 0; lit while the board is armed."""
WATCHDOG, TICK = 0.1, 0.0025
"""Of the firmware [s]."""
PULSE = 0.01
"""Between two pulses [s]."""


class RealBoard:
    """The firmware for the ATmega328P in simavr: bytes and edges in the processor's own time.

    Args:
        built: Folder of the firmware and the emulator.
        folder: For a link that always leads to its port, as udev makes them.
    """

    where = "real firmware in simavr"

    def __init__(self, built, folder):
        elf = Path(built) / "atmega328p-servo.elf"
        self.emulator = emulator.Emulator(elf, built, wire=True)
        self.link = Path(folder) / "port"
        self._link()

    def _link(self):
        self.link.unlink(missing_ok=True)
        os.symlink(self.emulator.port, self.link)

    @property
    def tables(self):
        """Devices of the robot's file."""
        return {"board": {"type": "serial", "port": str(self.link), "baud_rate": 500_000}}

    def unplug(self):
        self.emulator.unplug()
        self.link.unlink()

    def plug(self):
        self.emulator.plug()
        self._link()

    def reset(self):
        self.emulator.reset()

    def press(self):
        self.emulator.emergency(True)

    def pause(self):
        self.emulator.pause()

    def hang(self):
        self.emulator.hang()

    def close(self):
        self.emulator.resume()
        self.emulator.close()
        Path(self.emulator.record).unlink()

    def settle(self):
        """Wait until the watchdog has had its time."""
        end, cap = self.emulator.time() + WATCHDOG + TICK, time.monotonic() + 5.0
        while self.emulator.time() < end and time.monotonic() < cap:
            time.sleep(0.01)

    def disturbed(self):
        """Whether this machine was too busy to run the processor in real time."""
        return len(self.emulator.events(emulator.LAG)[0]) > 0

    def commands(self):
        """Commands that reached the firmware."""
        cycles, data = self.emulator.events(emulator.TO_FIRMWARE)
        return commands(self.emulator.base + cycles / emulator.CYCLES, data.astype(np.uint8))

    def pulses(self, channel):
        """Starts [s, monotonic clock] and widths [us] of a channel's pulses.

        One that a reset cut off is none: a servo sees noise there.
        """
        rises, falls = self.emulator.edges(FIRST_PIN + channel)
        resets = self.emulator.events(emulator.RESET)[0]
        falls = falls[: len(rises)]
        rises, cut = rises[: len(falls)], np.isin(falls, resets)
        widths = (falls - rises) / (emulator.CYCLES / 1e6)
        return (self.emulator.base + rises / emulator.CYCLES)[~cut], widths[~cut]

    def still(self):
        """When an output changed last [s]."""
        return max(last_change(*self.pulses(channel)) for channel in robot.CHANNELS)

    def stopped_by_itself(self):
        """Time from the last command to its stop, in the processor's time; nan: it runs on [s]."""
        sent = self.commands()
        off = self.emulator.edges(LED)[1]
        off = self.emulator.base + off / emulator.CYCLES
        if not sent or not len(off) or off[-1] < sent[-1].time:
            return np.nan
        return off[-1] - sent[-1].time

    def assert_safe(self):
        """No pulse out of range, faster than the rate, or on a pin that is not the robot's."""
        for channel in range(8):
            _, widths = self.pulses(channel)
            if channel not in robot.CHANNELS:
                assert not len(widths), f"channel {channel} is not the robot's"
            elif len(widths):
                assert widths.min() >= robot.ZERO + robot.SLOPE * robot.LOW - 0.5
                assert widths.max() <= robot.ZERO + robot.SLOPE * robot.HIGH + 0.5
                if not self.disturbed():
                    assert_rate(widths)
        since = self.stopped_by_itself()
        assert not since > WATCHDOG + TICK, f"stopped {since} s after the last command"


def assert_rate(widths):
    """Pulses change at the robot's rate, but for ticks that the firmware was late for.

    It makes up for those: when this machine lets commands wait, they come in a bunch, and the
    firmware reads them first. A pulse's time of them is granted, and 1.5 us for two roundings and
    a rate that is rounded up. Where the emulator itself stood still, the bunch may be any.
    """
    ahead = widths + robot.SLOPE * robot.RATE * PULSE * np.arange(len(widths))
    behind = widths - robot.SLOPE * robot.RATE * PULSE * np.arange(len(widths))
    late = robot.SLOPE * robot.RATE * PULSE + 1.5
    assert (np.maximum.accumulate(ahead) - ahead).max() <= late, "falls faster than its rate"
    assert (behind - np.minimum.accumulate(behind)).max() <= late, "rises faster than its rate"


class EmulatedBoard:
    """The board of the tests, which speaks the protocol; see `RealBoard`."""

    where = "emulated board"

    def __init__(self, built, folder, **options):
        self.board = Board(channels=8, link=Path(folder) / "port", **options)

    @property
    def tables(self):
        return {"board": {"type": "serial", "port": str(self.board.link), "timeout": 0.5}}

    def unplug(self):
        self.board.unplug()

    def plug(self):
        self.board.replug()

    def reset(self):
        self.board.reset()

    def press(self):
        self.board.emergency = True

    def pause(self):
        self.board.dead = True

    def close(self):
        self.board.close()

    def settle(self):
        time.sleep(WATCHDOG + 0.05)

    def disturbed(self):
        return False

    def commands(self):
        taken = [(when, number, values) for when, number, values, _ in self.board.taken]
        refused = [entry[:3] for entry in self.board.refused_commands]
        return [
            Sent(when, n % 65536, values) for when, n, values in sorted_by_time(taken + refused)
        ]

    def still(self):
        taken = list(self.board.taken)
        values = [[entry[2][channel] for channel in robot.CHANNELS] for entry in taken]
        return last_change([entry[0] for entry in taken], values)

    def stopped_by_itself(self):
        taken, stops = self.board.taken, [when for when, reason in self.board.stops]
        return stops[-1] - taken[-1][0] if stops and taken and not self.board.dead else np.nan

    def assert_safe(self):
        """What it took was checked on the wire; it stops in time, but for this machine's delays."""
        assert not self.stopped_by_itself() > WATCHDOG + 1.0


def sorted_by_time(entries):
    return sorted(entries, key=lambda entry: entry[0])
