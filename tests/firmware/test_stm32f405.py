"""The firmware for the STM32F405, run in QEMU: it answers, and sets its timers.

QEMU has no pins and does not make pulses of timers: the test reads their registers. Its clock is
not the processor's to the microsecond, so that nothing here is timed.
"""

import re
import subprocess

import pytest

from tests.firmware import wire
from tests.firmware.emulator import require

WIDTHS = [0x40000434 + 4 * i for i in range(4)] + [0x40000834 + 4 * i for i in range(4)]
"""Registers of the pulses of channels 0 to 7 (Timers 3 and 4, CCR1 to CCR4)."""


class Machine:
    """A board in QEMU; a context manager."""

    def __init__(self, elf):
        self._process = subprocess.Popen(
            ["qemu-system-arm", "-M", "netduinoplus2", "-kernel", elf]
            + ["-display", "none", "-monitor", "stdio", "-serial", "pty"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.port = self._until(r"char device redirected to (\S+)")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.stdin.close()
        self._process.terminate()
        self._process.wait(timeout=5.0)
        self._process.stdout.close()

    def _until(self, pattern):
        while line := self._process.stdout.readline():
            if found := re.search(pattern, line):
                return found[1]
        raise AssertionError(f"QEMU ended without '{pattern}'")

    def word(self, address):
        self._process.stdin.write(f"xp /1wx {address:#x}\n")
        self._process.stdin.flush()
        return int(self._until(rf"{address:016x}: (0x\w+)"), 16)


def connect(machine):
    """A line to a board that may still boot: what it does not hear yet is said again."""
    line = wire.Line(machine)
    for _ in range(50):
        line.send(wire.HELLO)
        if line.receive(0.2):
            return line
    raise AssertionError("it never answers")


@pytest.fixture
def machine(built):
    require("qemu-system-arm")
    machines = subprocess.run(
        ["qemu-system-arm", "-M", "help"], capture_output=True, text=True
    ).stdout
    if "netduinoplus2" not in machines:
        pytest.skip("this qemu-system-arm has no netduinoplus2, which has an STM32F405")
    with Machine(built("stm32f405") / "stm32f405.elf") as found:
        yield found


def test_it_answers_moves_and_stops(machine):
    line = connect(machine)
    assert line.ask(wire.HELLO).name == "stm32f405 servo"
    line.arm(range(8), 600, 2300, 1500)
    assert [machine.word(address) for address in WIDTHS] == [0] * 8  # no pulses yet
    widths = [700 + 200 * channel for channel in range(8)]
    commands = [(dict(enumerate(widths)), 100), ({0: 2301}, 101), ({0: 1000}, 100)]
    for _ in range(20):  # its time is this machine's: the watchdog may strike in between
        assert line.ask(wire.ARM, b"\1") == (wire.ARM, 0)
        results = [line.command(*command).result for command in commands]
        if 5 not in results:
            break
    assert results == [0, 6, 7]
    assert line.ask(wire.STOP) == (wire.STOP, 0)
    feedback = line.ask(wire.PING)
    assert (feedback.state, feedback.taken, feedback.dropped) == (wire.BY_STOP, 100, 0)
    assert [machine.word(address) for address in WIDTHS] == list(feedback.outputs) == widths
    assert line.command({0: 1000}, 102).result == 5
    line.close()


def test_silence_stops_it(machine):
    line = connect(machine)
    line.arm([0], 600, 2300, 1500)
    line.command({0: 1000})
    state = wire.ARMED
    while state == wire.ARMED:
        state = line.ask(wire.PING).state
    assert state == wire.BY_WATCHDOG
    line.close()
