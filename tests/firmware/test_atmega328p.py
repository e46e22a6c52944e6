"""The firmware for the ATmega328P, run in simavr: what is on the pins, in the processor's time."""

import math
import os
import termios
import time

import numpy as np
import pytest

from tests.firmware import wire
from tests.firmware.emulator import CYCLES, FROM_FIRMWARE, TO_FIRMWARE, Emulator

PINS = range(4, 12)
"""Of the servos' channels 0 to 7; steppers have STEP on 4 to 7 and DIR on 8 to 11."""
LED = 13
FRAME = 0.01
"""Time between two pulses of a servo [s]."""


def last_byte(board):
    """When the firmware received its last byte [s]."""
    return board.events(TO_FIRMWARE)[0][-1] / CYCLES


# Neighbours share a slot. Their ends coincide, are ended by one interrupt (1 to 16 us), by two
# (17 us and more), in either order, at either end of the range.
WIDTHS = [
    [1500] * 8,
    [500, 2400, 2400, 500, 500, 500, 2400, 2400],
    *[[1000 + d, 1000, 1700, 1700 + d, 900, 900 + d, 2100 + d, 2100] for d in range(1, 30)],
    [501, 500, 2399, 2400, 1499, 1500, 1501, 1500],
]


def test_pulses_are_as_wide_as_commanded_to_a_cycle(servo):
    """Beside them the line is busy: commands, answers, and refused commands in between."""
    line = wire.Line(servo)
    line.arm(range(8), 500, 2400, 1500)
    times = []
    for widths in WIDTHS:
        line.command(dict(enumerate(widths)))
        start = servo.time()
        while servo.time() < start + 0.045:
            assert line.command({0: 2401}).result == 6
            assert line.command(dict(enumerate(widths))).result == 0
        times.append((start + 0.015, servo.time()))
    dropped = line.ask(wire.PING).dropped
    line.close()
    for channel, pin in enumerate(PINS):
        starts, found = servo.pulses(pin)
        assert np.diff(starts) == pytest.approx(FRAME, abs=0.5 / CYCLES)
        for widths, (start, end) in zip(WIDTHS, times, strict=True):
            during = found[(starts > start) & (starts < end - 0.0025)]
            assert len(during) >= 2
            assert np.all(during == widths[channel]), (channel, widths)
    assert dropped == 0
    assert servo.statistics().overruns == 0


def test_only_outputs_that_were_commanded_have_pulses(servo):
    line = wire.Line(servo)
    line.arm(range(8), 500, 2400, 1500)
    line.stream(lambda t: {5: 800, 6: 2000}, 0.1)
    line.close()
    assert [len(servo.pulses(pin)[0]) > 3 for pin in PINS] == [c in (5, 6) for c in range(8)]


def test_silence_stops_within_100_ms(servo):
    """1000 us/s would go on for more than a second: the last pulse that differs says when it stops.

    The LED, lit while armed, says when the watchdog struck.
    """
    line = wire.Line(servo)
    line.arm(range(8), 600, 2300, 600, rate=1000)
    line.command(dict.fromkeys(range(8), 600))
    line.command(dict.fromkeys(range(8), 2300))
    sent = last_byte(servo)
    line.sleep(0.3)
    assert line.ask(wire.PING).state == wire.BY_WATCHDOG
    for pin in PINS:
        starts, widths = servo.pulses(pin)
        changes = starts[1:][np.diff(widths) != 0]
        assert len(changes) > 3
        assert 0.05 < changes[-1] - sent < 0.1
        assert starts[-1] > sent + 0.2  # the pulses go on: the servo holds
    assert 0.08 < servo.edges(LED)[1][-1] / CYCLES - sent < 0.0876


def test_noise_does_not_feed_the_watchdog(servo):
    line = wire.Line(servo)
    line.arm([0], 600, 2300, 600)
    line.command({0: 1000}, 5)
    sent = last_byte(servo)
    old = wire.frame(wire.message(wire.COMMAND, 5, wire.command({0: 1100})))
    rng = np.random.default_rng(1)
    for _ in range(20):
        line.write(rng.bytes(40) + b"\0" + old + wire.frame(wire.message(wire.PING, 1)))
        line.sleep(0.01)
    assert servo.edges(LED)[1][-1] / CYCLES - sent < 0.0876


def test_each_answer_begins_with_a_byte_0_that_ends_noise_before_it(servo):
    line = wire.Line(servo)
    for _ in range(3):
        line.ask(wire.PING)
    line.close()
    said = bytes(servo.events(FROM_FIRMWARE)[1].astype(np.uint8))
    assert said.count(b"\0\0") == 3, "the end of what came before, and the beginning"


def test_the_emergency_stop_or_its_broken_wire_stops_at_once(servo):
    line = wire.Line(servo)
    line.arm([0], 600, 2300, 600, rate=1000)
    line.command({0: 600})
    line.stream(lambda t: {0: 2300}, 0.1)
    servo.emergency(True)
    pressed = servo.time()
    line.stream(lambda t: {0: 2300}, 0.1)
    assert line.ask(wire.PING).state == wire.BY_EMERGENCY
    assert line.ask(wire.ARM, b"\1") == (wire.ARM, 5)
    servo.emergency(False)
    line.stream(lambda t: {0: 2300}, 0.1)
    starts, widths = servo.pulses(4)
    changes = starts[1:][np.diff(widths) != 0]
    assert changes[-1] < pressed + 0.0025 + FRAME
    assert starts[-1] > pressed + 0.15
    assert line.ask(wire.ARM, b"\1") == (wire.ARM, 0)
    assert line.command({0: 700}).result == 0
    line.close()


def test_a_power_cycle_loses_the_arming_and_the_pulses(servo):
    line = wire.Line(servo)
    line.arm(range(8), 600, 2300, 600)
    line.stream(lambda t: dict.fromkeys(range(8), 1000), 0.05)
    servo.reset()
    cut = servo.time()
    found = line.stream(lambda t: dict.fromkeys(range(8), 1000), 0.05)
    assert {feedback.result for feedback in found} == {4}
    feedback = line.ask(wire.PING)
    assert (feedback.state, feedback.taken, feedback.outputs) == (0, 0, (wire.OFF,) * 8)
    assert feedback.time < 200_000
    assert all(servo.edges(pin)[0][-1] <= cut * CYCLES for pin in PINS)
    assert line.ask(wire.ARM, b"\1") == (wire.ARM, 3)
    line.close()


def test_a_firmware_that_hangs_is_reset_by_the_processors_watchdog(servo):
    line = wire.Line(servo)
    line.arm([0], 600, 2300, 600)
    line.command({0: 1000})
    servo.hang()
    hung = servo.time()
    line.sleep(0.3)
    assert line.ask(wire.PING).state == wire.BY_FAULT
    assert servo.edges(4)[0][-1] / CYCLES < hung + 0.15
    assert servo.edges(4)[0][-1] / CYCLES > hung + 0.08  # interrupts had gone on
    assert line.command({0: 1000}).result == 5
    line.arm([0], 600, 2300, 600)
    assert line.command({0: 1000}).state == wire.ARMED
    line.close()


def test_analogue_inputs_are_in_65535ths_of_5_volts(servo):
    for number in range(6):
        servo.analogue(number, number * 1.0)
    line = wire.Line(servo)
    start = servo.time()
    while servo.time() < start + 0.05:  # each is converted every 15 ms
        found = line.ask(wire.PING).inputs
    line.close()
    # A conversion has ten bits.
    assert found == pytest.approx([number * 65535 / 5 for number in range(6)], abs=65)


def test_a_host_at_another_baud_rate_hears_and_sends_noise(servo):
    line = wire.Line(servo)
    mode = termios.tcgetattr(line.fd)
    mode[4] = mode[5] = termios.B115200
    termios.tcsetattr(line.fd, termios.TCSANOW, mode)
    line.send(wire.HELLO)
    assert line.receive(0.2) is None
    mode[4] = mode[5] = termios.B500000
    termios.tcsetattr(line.fd, termios.TCSANOW, mode)
    line.forget()
    line.write(b"\0")
    assert line.ask(wire.PING).dropped >= 1
    line.close()


def test_unplugged_and_plugged_in_again_it_still_answers(servo):
    line = wire.Line(servo)
    line.arm([0], 600, 2300, 600)
    servo.unplug()
    with pytest.raises(OSError):
        for _ in range(2):
            os.write(line.fd, b"\0")
    line.close()
    servo.run(0.2)
    servo.plug()
    line = wire.Line(servo)
    assert line.ask(wire.PING).state == wire.BY_WATCHDOG
    line.close()


def test_it_runs_in_real_time_for_hosts_that_do_not_know_better(built):
    """No faster than the wall's clock, but for 50 ms that it may catch up."""
    folder = built("atmega328p-servo", "emulator")
    with Emulator(folder / "atmega328p-servo.elf", folder) as board:
        line = wire.Line(board)
        assert line.ask(wire.HELLO).channels == 8
        start, wall = board.time(), time.monotonic()
        line.sleep(0.1)
        assert 0.01 < board.time() - start < time.monotonic() - wall + 0.06
        board.pause()
        start = board.time()
        line.sleep(0.05)
        assert board.time() == start
        board.resume()
        line.ask(wire.PING)
        line.close()


# Steppers -----------------------------------------------------------------------------------


def steps(board, channel):
    """Times of the steps [s], and their directions, +1 or -1."""
    rises = board.edges(4 + channel)[0]
    up, down = board.edges(8 + channel)  # DIR is high backwards
    changes = np.concatenate([[0], up, down])
    levels = np.concatenate([[1], np.full(len(up), -1), np.full(len(down), 1)])
    order = np.argsort(changes, kind="stable")
    found = np.searchsorted(changes[order], rises, side="right") - 1
    return rises / CYCLES, levels[order][found]


def test_steppers_make_as_many_steps_as_commanded(stepper):
    """A sine of 300 steps at 1 Hz, ends at 77, 78, 79 and 80; the first command makes no step."""
    line = wire.Line(stepper)
    line.arm(range(4), -1000, 1000, 0, rate=5000)
    first = {0: 1000, 1: -1000, 2: 0, 3: 5}
    assert line.command(first, time_us=0).outputs == tuple(first.values())
    line.sleep(0.03)
    assert len(stepper.edges(4)[0]) == 0
    ends = {channel: 77 + channel for channel in range(4)}

    def values(t):
        swing = round(300 * math.sin(2 * math.pi * t))
        return dict.fromkeys(range(4), swing) if t < 1.0 else ends

    found = line.stream(values, 1.3)
    assert found[-1].outputs == tuple(ends.values())
    assert (found[-1].state, found[-1].dropped, found[-1].refused) == (wire.ARMED, 0, 0)
    line.close()
    for channel in range(4):
        times, directions = steps(stepper, channel)
        assert first[channel] + directions.sum() == ends[channel]
        assert len(times) > 1000  # there and back
    assert stepper.statistics().overruns == 0


@pytest.mark.parametrize("rate", [100, 3000, 15000])
def test_steppers_are_never_faster_than_their_rate(stepper, rate):
    """A way far longer than 0.3 s permits: they go at the rate, evenly, and not beyond.

    Steps are made in a grid of 50 us, which the interrupts of the line delay by a few.
    """
    line = wire.Line(stepper)
    line.arm(range(4), 0, 10**6, 0, rate=rate)
    line.command(dict.fromkeys(range(4), 500_000))
    for sign in (1, -1):
        line.stream(lambda t, s=sign: dict.fromkeys(range(4), 500_000 + s * 400_000), 0.3)
    line.close()
    for channel in range(4):
        times, directions = steps(stepper, channel)
        assert set(directions) == {1, -1}
        for count in (1, 2, 5, 20, 100):
            if count < len(times):
                spans = times[count:] - times[:-count]
                same = np.abs(directions.cumsum()[count:] - directions.cumsum()[:-count]) == count
                assert spans[same].min() >= count / rate - 65e-6, count
        assert len(times) > 0.5 * 0.6 * rate


def test_steppers_stop_within_100_ms_of_silence_and_say_where(stepper):
    line = wire.Line(stepper)
    line.arm(range(4), 0, 10**6, 0, rate=4000)
    line.command(dict.fromkeys(range(4), 0))
    line.command(dict.fromkeys(range(4), 10**6))
    sent = last_byte(stepper)
    line.sleep(0.25)
    feedback = line.ask(wire.PING)
    assert feedback.state == wire.BY_WATCHDOG
    for channel in range(4):
        times, directions = steps(stepper, channel)
        assert 0.05 < times[-1] - sent < 0.09
        assert feedback.outputs[channel] == directions.sum()


def test_stop_ends_steps_at_once_and_the_count_stays_right(stepper):
    line = wire.Line(stepper)
    line.arm(range(4), 0, 10**6, 0, rate=15000)
    line.command(dict.fromkeys(range(4), 0))
    line.stream(lambda t: dict.fromkeys(range(4), 10**6), 0.1)
    assert line.ask(wire.STOP) == (wire.STOP, 0)
    stopped = last_byte(stepper)
    line.sleep(0.05)
    feedback = line.ask(wire.PING)
    for channel in range(4):
        times, directions = steps(stepper, channel)
        assert times[-1] < stopped + 0.001
        assert feedback.outputs[channel] == directions.sum() > 100
    # And on from there.
    line.ask(wire.ARM, b"\1")
    line.stream(lambda t: dict.fromkeys(range(4), feedback.outputs[0] + 10), 0.1)
    assert line.ask(wire.PING).outputs == (feedback.outputs[0] + 10,) * 4
    assert steps(stepper, 0)[1].sum() == feedback.outputs[0] + 10


def test_a_rate_above_the_boards_own_is_refused(stepper):
    line = wire.Line(stepper)
    for rate, result in [(15000, 0), (15001, 2), (0, 0)]:
        content = wire.configure(0, -(10**9), 10**9, 0, rate)
        assert line.ask(wire.CONFIGURE, content) == (wire.CONFIGURE, result)
    line.close()
