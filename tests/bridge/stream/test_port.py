"""The last check before a device, its unit conversion, and calls that hang."""

import math
import time
from dataclasses import replace

import numpy as np
import pytest
from rig import robot_of

from sofa_softctl.bridge.config.maps import LinearMap
from sofa_softctl.bridge.course.checks import check_capabilities
from sofa_softctl.bridge.course.state import Histogram
from sofa_softctl.bridge.device import Capabilities, Feedback
from sofa_softctl.bridge.devices.loopback import LoopbackDevice
from sofa_softctl.bridge.stream.fleet import DeviceSet
from sofa_softctl.bridge.stream.port import call_limit
from sofa_softctl.errors import DeviceFailedError, DeviceOpenError, DeviceTimeoutError


def fleet(**actuator):
    robot = robot_of("", kind="loopback", actuator={"rate": 200.0, **actuator})
    found = DeviceSet(robot, {"board0": LoopbackDevice("board0")})
    found.open()
    return found


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, -0.001, 60.001, 1e300])
def test_a_value_outside_the_limits_is_never_written(value):
    one = fleet()
    one.write(np.array([30.0, 30.0]))
    with pytest.raises(DeviceFailedError, match="a command was not sent, since the value of 'cab"):
        one.write(np.array([30.0, value]))
    one.read()
    assert one.positions().tolist() == [30.0, 30.0]
    with pytest.raises(DeviceFailedError, match="outside"):
        fleet().write(np.array([30.0, value]))  # as the first one


def test_a_value_that_jumps_is_never_written():
    """200 mm/s at 200 Hz: 1 mm a period."""
    one = fleet()
    for value in (30.0, 31.0, 30.0):
        one.write(np.array([30.0, value]))
    with pytest.raises(DeviceFailedError, match="more than .* from the last"):
        one.write(np.array([30.0, 31.001]))


def test_rounding_at_a_limit_is_cut_off():
    one = fleet(map=LinearMap(-100.0 / 3.0, 0.1))
    port = one.ports[0]
    sent = []
    port.device.write = lambda command: sent.append(command.values)
    one.write(np.nextafter([60.0, 60.0], 61.0))
    assert sent[0].min() >= port.channels[0].low == -100.0 / 3.0 * 60.0 + 0.1
    assert port.channels[0].high == port.channels[0].rest == 0.1
    assert port.channels[0].rate == pytest.approx(200.0 * 100.0 / 3.0)


def test_conversion_there_and_back():
    one = fleet(map=LinearMap(-25.0, 500.0))
    one.write(np.array([12.5, 40.0]))
    one.read()
    np.testing.assert_allclose(one.positions(), [12.5, 40.0])


def test_half_a_resolution_is_the_tolerance_of_targets():
    robot = robot_of("", kind="loopback")
    one = DeviceSet(robot, {"board0": LoopbackDevice("board0", resolution=4.0)})
    one.open()
    np.testing.assert_allclose(one.tolerance(), 0.02)  # 2 counts of 100 a mm


@pytest.mark.parametrize("swallowed", [False, True])
def test_a_call_that_hangs_is_interrupted_even_if_it_swallows_the_first_interruption(swallowed):
    begin = time.monotonic()
    with pytest.raises(DeviceTimeoutError, match=r"the pump did not return within 0.05 s"):
        with call_limit("the pump", 0.05):
            if swallowed:
                with pytest.raises(DeviceTimeoutError):
                    time.sleep(60.0)
            time.sleep(60.0)
    assert time.monotonic() - begin < 5.0
    time.sleep(0.12)  # no alarm is left


def test_percentiles_are_the_upper_edges_of_bins_and_never_exceed_the_worst():
    times = Histogram()
    assert np.isnan(times.percentiles()).all()
    seconds = np.random.default_rng(1).lognormal(-8.0, 1.0, 20_000)
    for each in seconds:
        times.add(each)
    exact = np.percentile(seconds, [50.0, 90.0, 99.0, 99.9])
    found = times.percentiles()
    assert (found[:4] >= 0.999 * exact).all() and (found[:4] <= 1.06 * exact).all()
    assert found[4] == seconds.max()
    times.add(0.0)
    times.add(1e6)
    assert times.counts.sum() == 20_002 and times.percentiles()[4] == 1e6


def test_messages_that_a_line_damaged_are_counted_from_the_least_on():
    """A board begins its count anew when it is armed; what was on the line before is no matter."""

    class Noisy(LoopbackDevice):
        counts = [7.0, 0.0, 2.0, 5.0]

        def read(self):
            return Feedback(time.monotonic(), signals={"frames_dropped": [self.counts.pop(0)]})

    one = DeviceSet(robot_of("", kind="loopback"), {"board0": Noisy("board0")})
    one.open()
    one.read()
    one.read()

    def dropped():  # a busy computer makes devices slow, which is another note
        return [note for note in one.notes() if "dropped" in note]

    assert dropped() == []
    one.read()
    one.read()
    (note,) = dropped()
    assert note.startswith("device 'board0': 5 messages on its line were dropped: damaged, late")


@pytest.mark.parametrize(
    ("dropped", "heard", "words"),
    [
        ({}, False, r"Check its cable and its supply"),
        ({"with a wrong checksum": 7}, False, r"7 of them were dropped: 7 with a wrong checksum"),
        ({}, True, r"Its feedback arrives, but the numbers .* are old: none after 0 of \d+"),
    ],
)
def test_a_device_without_acknowledgements_is_described_by_what_arrives(dropped, heard, words):
    class Deaf(LoopbackDevice):
        """Acknowledges the first command."""

        def open(self, channels):
            return replace(super().open(channels), acknowledges=True)

        def read(self):
            return Feedback(time.monotonic(), acknowledged=0) if heard else None

        def dropped(self):
            return dropped

    robot = robot_of("", kind="loopback", safety={"feedback_timeout": 0.05})
    port = DeviceSet(robot, {"board0": Deaf("board0")}).ports[0]
    port.open()
    port.write(np.zeros(len(robot.actuators)))
    port.read()
    end = time.monotonic() + 1.0
    with pytest.raises(DeviceTimeoutError, match=words):
        while time.monotonic() < end:
            port.write(np.zeros(len(robot.actuators)))
            port.read()
            time.sleep(0.005)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("rate_max", None),
        ("range", 5.0),
        ("resolution", "fine"),
        ("watchdog", -1.0),
        ("notes", ["a list"]),
        ("measures", 1),
    ],
)
def test_capabilities_of_a_class_that_are_wrong_are_named(field, value):
    found = Capabilities("a board", "us", 1.0, (0.0, 10.0), 100.0, None, False)
    check_capabilities("board", found, (), 100.0)
    wrong = replace(found, **{field: value})
    with pytest.raises(DeviceOpenError, match=rf"device 'board': Capabilities.{field}: expected"):
        check_capabilities("board", wrong, (), 100.0)
