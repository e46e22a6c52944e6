"""The Dynamixel device with emulated motors on a pseudo terminal."""

import time

import numpy as np
import pytest

pytest.importorskip("dynamixel_sdk")

from sofa_softctl.bridge.device import ChannelSetup, Command
from sofa_softctl.bridge.devices.dynamixel import bus as line
from sofa_softctl.bridge.devices.dynamixel import motors as opening
from sofa_softctl.bridge.devices.dynamixel.device import DynamixelDevice, latency_note
from sofa_softctl.errors import (
    ConfigError,
    DeviceFailedError,
    DeviceOpenError,
    DeviceTimeoutError,
)
from sofa_softctl.testing import check_device
from tests.bridge.dynamixel_bus import DynamixelBus, Motor

TORQUE, GOAL, WATCHDOG = 64, 116, 98
PATIENT = {"watchdog": 1.0, "answer_timeout": 1.0}
"""On a busy computer this process may wait for long."""


def channel(number, low=0.0, high=4000.0, rate=1e4, rest=2048.0):
    return ChannelSetup(number, f"cable_{number}", low, high, rate, rest)


@pytest.fixture(autouse=True)
def patient(monkeypatch):
    """When a bus is opened, too."""
    monkeypatch.setattr(line, "_WAIT", 0.5)


@pytest.fixture
def bus():
    with DynamixelBus(Motor(1, 2000), Motor(2, 2100)) as found:
        yield found


@pytest.fixture
def make(bus):
    """Opens a device on the bus with motors 1 and 2."""
    made = []

    def opened(*channels, **options):
        device = DynamixelDevice("arm", port=bus.port, **{**PATIENT, **options})
        made.append(device)
        device.open(channels or (channel(1), channel(2)))
        return device

    yield opened
    for device in made:
        device.close()


def send(device, number, *values):
    device.write(Command(number, time.monotonic(), np.array(values, float)))


def stream(device, values, *, until=lambda feedback: False, periods=600):
    """Command the same values at 200 Hz until a feedback is as wanted; gives it."""
    for number in range(periods):
        send(device, number, *values)
        end = time.monotonic() + 0.005
        while time.monotonic() < end:
            feedback = device.read()
            if feedback is not None and until(feedback):
                return feedback
            time.sleep(2e-4)
    raise AssertionError("no such feedback")


def eventually(found, within=5.0):
    end = time.monotonic() + within
    while time.monotonic() < end:
        if value := found():
            return value
        time.sleep(1e-3)
    raise AssertionError(f"not within {within} s")


def goals_of(bus):
    return tuple(bus.motors[motor].get(GOAL, 4) for motor in (1, 2))


def next_feedback(device):
    return eventually(device.read)


def bytes_of(value, size=4):
    return value.to_bytes(size, "little", signed=True)


@pytest.mark.parametrize("fast", [False, True])
def test_it_passes_the_contract_test(fast):
    motors = [Motor(number, 2048) for number in range(1, 9)]
    channels = [channel(number, 1000.0, 3000.0, 2000.0) for number in range(1, 9)]
    with DynamixelBus(*motors) as bus:
        found = check_device(DynamixelDevice, channels, port=bus.port, fast_read=fast, **PATIENT)
    assert found.description.startswith("8 Dynamixel motors (xl330, firmware 46 or newer)")
    # Sync write 54 bytes, sync read 22, answers 8 * 31, or 8 + 8 * 24 in one; 10 us a byte.
    line_rate = 1e5 / (54 + 22 + (8 + 8 * 24 if fast else 8 * 31))
    assert found.rate_max == pytest.approx(0.5 * line_rate)
    assert (found.watchdog, found.resolution, found.unit) == (1.0, 1.0, "count")


def test_opening_moves_nothing_and_switches_the_torque_off(bus, make):
    bus.motors[1].put(TORQUE, 1)
    bus.motors[1].put(GOAL, 2000, 4)
    make()
    time.sleep(0.05)
    assert [m.get(TORQUE) for m in bus.motors.values()] == [0, 0]
    assert [m.position for m in bus.motors.values()] == [2000.0, 2100.0]
    assert [m.get(11) for m in bus.motors.values()] == [4, 4], "many turns"
    assert [m.get(9) for m in bus.motors.values()] == [0, 0], "they answer at once"


def test_the_first_command_switches_the_torque_on_where_the_motors_are(bus, make):
    """They were turned by hand after the bus was opened; an old goal lies far away."""
    device = make()
    bus.motors[1].put(GOAL, 0, 4)
    bus.motors[1].position, bus.motors[2].position = 1500.0, 2500.0
    time.sleep(0.01)
    stream(device, (1510, 2490), until=lambda f: f.positions == {1: 1510.0, 2: 2490.0})
    goals = [values[1] for _, values in bus.written(GOAL)]
    assert goals[0] == bytes_of(1500), "first where it is"
    assert set(goals[1:]) == {bytes_of(1510)}
    written = [address for address in bus.written_to() if address in (GOAL, TORQUE)]
    assert written[:3] == [GOAL, TORQUE, GOAL]


def test_a_command_is_acknowledged_when_every_motor_has_taken_it(bus, make):
    device = make()
    stream(device, (2010, 2090), until=lambda f: f.acknowledged is not None)
    lost = []

    def drop(instruction, parameters):
        if instruction == 0x83 and parameters[0] == GOAL and not lost:
            lost.append(parameters)
            return True
        return False

    send(device, 1000, 3010, 3090)
    eventually(lambda: next_feedback(device).acknowledged == 1000)  # of the stream, first
    acknowledged = []
    for number in range(1001, 1010):
        bus.drop = drop if number == 1003 else bus.drop
        send(device, number, 2010 + number, 2090 + number)
        acknowledged.append(next_feedback(device).acknowledged)
    assert acknowledged == [1001, 1002, 1002, *range(1004, 1010)], "1003 got lost"


def test_answers_that_come_late_belong_to_earlier_commands(bus, make):
    """An adapter that hands on what came 16 ms ago, with a command every 5 ms."""
    device = make()
    stream(device, (2010, 2090), until=lambda f: f.acknowledged is not None)
    bus.latency = 0.016
    sent, ages = {}, []
    for number in range(1000, 1040):
        sent[number] = time.monotonic()
        send(device, number, 2010 + number, 2090 + number)
        time.sleep(0.005)
        feedback = device.read()
        if feedback is not None and feedback.acknowledged >= 1000:
            ages.append(feedback.time - sent[feedback.acknowledged])
    assert min(ages) >= 0.016, "nothing is acknowledged before its answer can have come"
    assert len(ages) > 20, "and everything else is, one after the other"


def test_nobody_speaks_while_motors_answer(make):
    """Commands without a pause wait until the answers are through."""
    device = make()
    send(device, 0, 2000, 2100)
    begin = time.monotonic()
    for number in range(1, 6):
        send(device, number, 2000, 2100)
    assert time.monotonic() - begin > 4.5 * device.exchange_time()


def test_feedback_has_currents_velocities_and_the_motors_clock(bus, make):
    bus.motors[1].current, bus.motors[2].current = 120, -35
    device = make()
    first = stream(device, (2000, 2100), until=lambda f: True)
    assert first.efforts == {1: 120.0, 2: -35.0}
    bus.motors[2].put(128, -10, 4)
    later = stream(device, (2000, 2100), until=lambda f: f.signals["velocity"][1])
    assert later.signals["velocity"] == pytest.approx([0.0, -10 * 0.229 / 60 * 4096])
    assert 0.0 < later.device_time - first.device_time < later.time - first.time + 0.5


def test_motors_of_other_families_have_other_units():
    with DynamixelBus(Motor(1, model=1020, firmware=45), Motor(2, model=1060)) as bus:
        bus.motors[1].current = bus.motors[2].current = 100
        device = DynamixelDevice("arm", port=bus.port)
        found = device.open([channel(1), channel(2)])
        feedback = stream(device, (2048, 2048), until=lambda f: True)
        device.close()
    assert found.description.startswith("2 Dynamixel motors (xl430 and xm430, firmware 45")
    assert feedback.efforts == {1: pytest.approx(269.0), 2: 100.0}


def test_positions_come_before_the_first_command(bus, make):
    found = next_feedback(make())
    assert found.positions == {1: 2000.0, 2: 2100.0}
    assert found.acknowledged is None


def test_motors_go_no_faster_than_their_channel(bus, make):
    """The motor's own limit, in units of 0.229 rev/min, rounded up."""
    make(channel(1, rate=100.0), channel(2, rate=np.inf))
    assert bus.motors[1].get(112, 4) == 7  # 109 count/s
    assert bus.motors[2].get(112, 4) == 0  # no limit


def test_in_one_turn_the_motor_has_the_limits_too(bus, make):
    device = make(channel(1, 1000.4, 2999.6), channel(2), mode="position")
    assert (bus.motors[1].get(52, 4), bus.motors[1].get(48, 4)) == (1001, 2999)
    bus.motors[1].position = 3500.0
    time.sleep(0.01)
    with pytest.raises(DeviceFailedError, match="motor 1 'cable_1' stands at 3500, outside its"):
        send(device, 0, 2000, 2000)
    assert bus.motors[1].get(TORQUE) == 0


def test_rounding_passes_no_limit(bus, make):
    device = make(channel(1, 1000.6, 2999.6), channel(2, 1000.6, 2999.6))
    goals = [(2999.6, 1000.6), (2000.6, 2000.4)]
    for number, values in enumerate(goals):
        send(device, number, *values)
        wanted = [(2999, 1001), (2001, 2000)][number]
        eventually(lambda wanted=wanted: goals_of(bus) == wanted)


def test_the_current_is_limited_in_its_mode(bus, make):
    make(mode="current", current_limit=300.0)
    assert (bus.motors[1].get(11), bus.motors[1].get(102, 2)) == (5, 300)


def test_registers_that_outlive_the_power_are_written_only_when_they_differ(bus, make):
    make().close()
    bus.received.clear()
    make()
    lasting = [p for _, _, i, p in bus.received if i == 0x03 and p[0] < 64]
    assert lasting == []


def test_silence_stops_the_motors_by_their_own_watchdog(bus, make):
    device = make(channel(1, rate=1000.0), channel(2), watchdog=0.1)
    stream(device, (3000, 2100), until=lambda f: f.positions[1] > 2050)
    eventually(lambda: bus.motors[1].get(WATCHDOG) == 255)
    at = bus.motors[1].heard_at
    stopped_at = bus.motors[1].position
    # In the motor's own time: 0.1 s after the last packet, at 65 units of 15.6 count/s.
    assert stopped_at - at <= 0.1 * 1016
    found = stream(device, (3000, 2100), until=lambda f: f.stopped)
    assert "motor 1 'cable_1' was stopped by its Bus Watchdog" in found.stopped
    assert bus.motors[1].position == stopped_at, "and goes nowhere any more"


def test_the_watchdog_is_cleared_when_the_bus_is_opened_again(bus, make):
    bus.motors[1].put(WATCHDOG, 255)
    device = make()
    found = stream(device, (2010, 2090), until=lambda f: f.positions[1] == 2010)
    assert not found.stopped


@pytest.mark.parametrize(("on_stop", "torque"), [("hold", 1), ("release", 0)])
def test_stop_ends_the_motion(bus, make, on_stop, torque):
    device = make(channel(1, rate=1000.0), channel(2), on_stop=on_stop)
    stream(device, (3000, 2100), until=lambda f: f.positions[1] > 2050)
    device.stop()
    time.sleep(0.02)
    at = bus.motors[1].position
    device.stop()
    time.sleep(0.05)
    assert abs(bus.motors[1].position - at) < 1.0
    assert at < 2900, "it was on its way to 3000"
    assert bus.motors[1].get(TORQUE) == torque
    with pytest.raises(DeviceFailedError, match="was stopped: open it again"):
        send(device, 9, 2000, 2000)


@pytest.mark.parametrize(
    ("bits", "word"), [(0b100000, "overload"), (0b100, "overheating"), (1, "input voltage")]
)
def test_a_motor_that_shuts_down_is_an_error_with_its_name(bus, make, bits, word):
    device = make()
    stream(device, (2010, 2090), until=lambda f: f.acknowledged is not None)
    bus.motors[2].shut_down(bits)
    with pytest.raises(DeviceFailedError, match=f"motor 2 'cable_2' has shut down: {word}"):
        stream(device, (2010, 2090))


def test_a_motor_that_lost_its_torque_is_an_error(bus, make):
    """Its power was off for a moment: goal and torque are back at their initial values."""
    device = make()
    stream(device, (2010, 2090), until=lambda f: f.acknowledged is not None)
    bus.motors[2].put(TORQUE, 0)
    bus.motors[2].write = lambda address, data: 0
    bus.motors[2].put(GOAL, 0, 4)
    with pytest.raises(DeviceFailedError, match="motor 2 'cable_2' has no torque"):
        stream(device, (2010, 2090))


def test_a_motor_that_refuses_positions_is_an_error(bus, make):
    device = make()
    stream(device, (2010, 2090), until=lambda f: f.acknowledged is not None)
    write = bus.motors[2].write
    bus.motors[2].write = lambda address, data: 6 if address == GOAL else write(address, data)
    with pytest.raises(DeviceFailedError, match="motor 2 'cable_2' does not take the position 20"):
        stream(device, (2010, 2050))


def test_a_motor_that_falls_silent_is_a_timeout_with_its_name(bus, make):
    device = make(answer_timeout=0.5)
    stream(device, (2010, 2090), until=lambda f: f.acknowledged is not None)
    bus.motors[2].silent = True
    with pytest.raises(DeviceTimeoutError, match="no answer from motor 2 'cable_2' for 0.5 s"):
        stream(device, (2010, 2090))


def test_answers_that_are_all_broken_are_no_loose_cable(bus, make):
    device = make(answer_timeout=0.2)
    stream(device, (2010, 2090), until=lambda f: f.acknowledged is not None)
    bus.spoil = lambda data: bytes([*data[:-1], data[-1] ^ 1])
    with pytest.raises(DeviceTimeoutError, match=r"dropped: \d+ with a wrong checksum") as caught:
        stream(device, (2010, 2090))
    assert "cable is loose" not in str(caught.value)


def test_broken_answers_are_left_out(bus, make):
    """One bit of every third answer is wrong: feedback goes on, and every number of it is right."""
    device = make()
    count = [0]

    def spoil(data):
        count[0] += 1
        if count[0] % 3:
            return data
        spoiled = bytearray(data)
        spoiled[count[0] % len(data)] ^= 0x10
        return bytes(spoiled)

    bus.spoil = spoil
    found = []
    stream(device, (2010, 2090), until=lambda f: found.append(f) or len(found) > 20)
    assert all(1999 <= f.positions[1] <= 2010 for f in found)
    assert all(2090 <= f.positions[2] <= 2100 for f in found)


def test_an_adapter_that_echoes_does_no_harm():
    with DynamixelBus(Motor(1, 2000), echo=True) as bus:
        device = DynamixelDevice("arm", port=bus.port)
        device.open([channel(1)])
        stream(device, (2010,), until=lambda f: f.positions[1] == 2010)
        device.close()


def test_an_adapter_that_is_unplugged_is_an_error(bus, make):
    device = make()
    stream(device, (2010, 2090), until=lambda f: f.acknowledged is not None)
    bus.unplug()
    with pytest.raises(DeviceFailedError, match=r"pts.* is gone"):
        stream(device, (2010, 2090))
    device.close()


def test_missing_motors_are_named_with_those_that_answer(bus, make, monkeypatch):
    monkeypatch.setattr(line, "_WAIT", 0.1)
    with pytest.raises(
        DeviceOpenError,
        match=r"(?s)no answer from motor 7 'cable_7' at 1000000 bit/s.*answer: 1, 2",
    ):
        make(channel(1), channel(7))


@pytest.mark.real_time
def test_another_baud_rate_is_found(bus, make, monkeypatch):
    monkeypatch.setattr(opening, "BAUD_RATES", (57600, 1_000_000))
    monkeypatch.setattr(line, "_WAIT", 0.1)
    with pytest.raises(DeviceOpenError, match=r"(?s)at 2000000 bit/s.*set baud_rate = 1000000"):
        make(baud_rate=2_000_000)


def test_a_line_without_motors_is_said(monkeypatch):
    monkeypatch.setattr(opening, "BAUD_RATES", (57600,))
    monkeypatch.setattr(line, "_WAIT", 0.02)
    with DynamixelBus() as bus:
        device = DynamixelDevice("arm", port=bus.port)
        with pytest.raises(DeviceOpenError, match="No motor answers, at any rate: check power"):
            device.open([channel(1)])


@pytest.mark.parametrize(
    ("motor", "options", "words"),
    [
        (Motor(1, model=350), {}, "expected a motor of the family xl330, xc330.*model number 350"),
        (Motor(1, model=1060), {"model": "xl330"}, "family xl330, got model number 1060, xl430"),
        (Motor(1, model=1020, firmware=37), {}, "firmware 37, which has no Bus Watchdog"),
    ],
)
def test_motors_that_are_not_as_expected_are_refused(motor, options, words):
    with DynamixelBus(motor) as bus:
        device = DynamixelDevice("arm", port=bus.port, **options)
        with pytest.raises(DeviceOpenError, match=words):
            device.open([channel(1)])


def test_a_motor_in_shutdown_is_refused_before_anything_moves(bus, make):
    bus.motors[2].shut_down(0b10000)
    with pytest.raises(DeviceOpenError, match="motor 2 'cable_2' has shut down: electrical shock"):
        make()


def test_motors_that_answer_only_pings_are_woken(bus, make):
    bus.motors[1].put(68, 0)
    make()
    assert bus.motors[1].get(68) == 2


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"mode": "speed"}, "mode = 'speed': expected one of position, extended, current"),
        ({"on_stop": "fall"}, "on_stop = 'fall'"),
        ({"model": "ax12"}, "model = 'ax12': expected one of"),
        ({"watchdog": 3.0}, "watchdog: expected 0.02 to 2.54 s"),
        ({"return_delay": 0.1}, "return_delay: expected 0 to 0.000508 s"),
        ({"current_limit": 100.0}, "current_limit needs mode = 'current'"),
    ],
)
def test_options_that_do_not_fit_are_refused(options, words):
    with pytest.raises(ConfigError, match=words):
        DynamixelDevice("arm", port="/dev/none", **options)


@pytest.mark.parametrize(
    ("number", "low", "words"),
    [(300, 0.0, "ids of motors go from 0 to 252"), (1, -5.0, "it may go from -5 to 4000, mode =")],
)
def test_channels_that_cannot_be_are_refused(number, low, words):
    device = DynamixelDevice("arm", port="/dev/none", mode="position")
    with pytest.raises(DeviceOpenError, match=words):
        device.open([channel(number, low=low)])


def test_a_channel_without_a_whole_count_is_refused():
    device = DynamixelDevice("arm", port="/dev/none")
    with pytest.raises(DeviceOpenError, match=r"there is no count from 10\.2 to 10\.8"):
        device.open([channel(1, 10.2, 10.8)])


def test_a_slow_latency_timer_is_said_with_what_to_do(tmp_path):
    adapter = tmp_path / "ttyUSB7"
    adapter.mkdir()
    (adapter / "latency_timer").write_text("16\n")
    link = tmp_path / "by-id"
    link.symlink_to("/dev/ttyUSB7")
    note = latency_note(str(link), str(tmp_path))
    assert note.startswith("the latency timer of ttyUSB7 is 16 ms")
    assert f"echo 1 | sudo tee {adapter}/latency_timer" in note
    (adapter / "latency_timer").write_text("1\n")
    assert latency_note("/dev/ttyUSB7", str(tmp_path)) == ""
    assert latency_note("/dev/ttyACM0", str(tmp_path)) == ""
