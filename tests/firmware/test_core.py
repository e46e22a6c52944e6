"""What every board does alike: the program on the host, and the ATmega328P in simavr."""

import pytest

from tests.firmware import wire
from tests.firmware.emulator import Host, SteppedEmulator, require


@pytest.fixture(params=["host", "atmega328p-servo"])
def board(request, built):
    if request.param == "host":
        require("make", "cc")
        running = Host(built("host") / "firmware-host")
    else:
        folder = built(request.param, "emulator")
        running = SteppedEmulator(folder / f"{request.param}.elf", folder)
    with running as found:
        yield found


@pytest.fixture
def line(board):
    found = wire.Line(board)
    yield found
    found.close()


def test_a_device_says_what_it_is(line):
    info = line.ask(wire.HELLO)
    assert (info.major, info.channels, info.unit, info.reserved) == (1, 8, 0, 0)
    assert (info.least, info.greatest) == (500, 2400)
    assert info.rate_max >= 100
    assert 50 <= info.watchdog <= 100


def test_outputs_are_off_until_a_command_names_them(line):
    assert line.ask(wire.PING).outputs == (wire.OFF,) * 8
    line.arm(range(8), 600, 2300, 1500)
    assert line.ask(wire.PING).outputs == (wire.OFF,) * 8
    assert line.command({2: 1234}).outputs == tuple(
        1234 if channel == 2 else wire.OFF for channel in range(8)
    )


def test_arming_needs_a_configured_channel_and_forbids_configuring(line):
    assert line.ask(wire.ARM, b"\1") == (wire.ARM, 3)
    line.arm([0], 600, 2300, 1500)
    assert line.ask(wire.PING).state == wire.ARMED
    assert line.ask(wire.CONFIGURE, wire.configure(0, 600, 2300, 1500)) == (wire.CONFIGURE, 8)
    assert line.ask(wire.ARM, b"\0") == (wire.ARM, 0)
    assert line.ask(wire.PING).state == 0
    assert line.ask(wire.CONFIGURE, wire.configure(0, 600, 2300, 1500)) == (wire.CONFIGURE, 0)


@pytest.mark.parametrize(
    ("values", "sequence", "result"),
    [
        ({0: 1000, 1: 2301}, 11, 6),
        ({0: 599}, 11, 6),
        ({0: -(2**31)}, 11, 6),
        ({0: 1000, 2: 1500}, 11, 3),
        ({0: 1000, 8: 1500}, 11, 1),
        ({0: 1000}, 10, 7),
        ({0: 1000}, 9, 7),
        ({0: 1000}, 10 + 32768, 7),
        ({0: 1000}, 10 + 32767, 0),
    ],
)
def test_a_command_that_may_not_be_is_refused_as_a_whole_and_says_why(
    line, values, sequence, result
):
    assert line.command({0: 1500}, 10).result == 4
    line.arm([0, 1], 600, 2300, 1500)
    assert line.command({0: 1500, 1: 1600}, 10).result == 0
    feedback = line.command(values, sequence)
    assert (feedback.result, feedback.refused) == (result, int(result != 0))
    if result:
        assert (feedback.taken, feedback.outputs[:2]) == (10, (1500, 1600))
    else:
        assert feedback.taken == sequence


def test_sequences_wrap_and_begin_anywhere_after_arming(line):
    line.arm([0], 600, 2300, 1500)
    for sequence in (65534, 65535, 0, 1):
        assert line.command({0: 1000}, sequence).result == 0
    assert line.command({0: 1000}, 65535).result == 7
    line.ask(wire.ARM, b"\1")
    feedback = line.command({0: 1000}, 65535)
    assert (feedback.result, feedback.refused) == (0, 0)


def test_stop_latches_until_armed_again(line):
    line.arm([0], 600, 2300, 1500, rate=400)
    line.command({0: 600})
    line.stream(lambda t: {0: 2300}, 0.2)
    assert line.ask(wire.STOP) == (wire.STOP, 0)
    stopped = line.ask(wire.PING)
    assert stopped.state == wire.BY_STOP
    assert 675 <= stopped.outputs[0] <= 685  # on its way: 80 in 0.2 s
    assert line.command({0: 700}).result == 5
    assert line.ask(wire.ARM, b"\0") == (wire.ARM, 0)
    assert line.command({0: 700}).result == 5
    line.sleep(0.05)
    assert line.ask(wire.PING).outputs == stopped.outputs
    assert line.ask(wire.ARM, b"\1") == (wire.ARM, 0)
    assert line.ask(wire.PING).state == wire.ARMED
    assert line.command({0: 700}).result == 0


def test_silence_stops_and_pings_do_not_count(line):
    line.arm([0], 600, 2300, 1500)
    line.command({0: 1000})
    for _ in range(100):
        if line.ask(wire.PING).state != wire.ARMED:
            break
    assert line.ask(wire.PING).state == wire.BY_WATCHDOG
    assert line.command({0: 1000}).result == 5


def test_a_rate_is_kept_and_the_way_ends_at_the_target(line):
    """500 us/s from 1000 to 1100 us takes 0.2 s; the device's clock says when."""
    line.arm([0], 600, 2300, 1500, rate=500)
    first = line.command({0: 1000})
    assert first.outputs[0] == 1000
    found = line.stream(lambda t: {0: 1100}, 0.25)
    start = found[0].time - 2500  # the first tick of the way may have just been before
    for feedback in found:
        assert feedback.outputs[0] - 1000 <= 500e-6 * (feedback.time - start) + 1.25
        assert bool(feedback.state & wire.MOVING) == (feedback.outputs[0] < 1100)
    assert found[-1].outputs[0] == 1100


def test_the_emergency_input_stops_until_it_is_released_and_armed_again(board, line):
    line.arm(range(8), 600, 2300, 1500)
    line.command({0: 1000})
    board.emergency(True)
    line.sleep(0.005)
    assert line.ask(wire.PING).state == wire.BY_EMERGENCY
    assert line.command({0: 1100}).result == 5
    assert line.ask(wire.ARM, b"\1") == (wire.ARM, 5)
    board.emergency(False)
    line.sleep(0.005)
    assert line.ask(wire.PING).state == wire.BY_EMERGENCY
    assert line.ask(wire.ARM, b"\1") == (wire.ARM, 0)
    assert line.command({0: 1100}).result == 0


def test_another_computer_goes_on_after_disarming(line):
    line.arm([0], 600, 2300, 1500)
    line.command({0: 1000}, 500)
    line.ask(wire.ARM, b"\0")
    line.arm([0], 900, 1100, 1000)
    assert line.command({0: 1200}, 2).result == 6
    feedback = line.command({0: 900}, 3)
    assert (feedback.result, feedback.taken) == (0, 3)
