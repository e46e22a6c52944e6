"""The check of devices finds each kind of mistake that it is for."""

import os
from dataclasses import replace
from time import monotonic, sleep

import numpy as np
import pytest

from sofa_softctl.bridge.device import ChannelSetup, Feedback
from sofa_softctl.bridge.devices.loopback import LoopbackDevice
from sofa_softctl.errors import DeviceError, DeviceOpenError
from sofa_softctl.testing import check_device, device_run


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """A fifth of the motion, at more than twice the rate: the check is the same."""
    settings = device_run.DeviceRunSettings(command_count=10, rate_max=250.0, settle_timeout=0.1)
    monkeypatch.setattr(device_run, "SETTINGS", settings)


def test_loopback_passes_with_and_without_a_resolution():
    assert check_device(LoopbackDevice).acknowledges
    assert check_device(LoopbackDevice, resolution=0.25, unit="ul").unit == "ul"


def test_a_function_may_make_the_device():
    assert not check_device(lambda name, unit: LoopbackDevice(name, unit=unit), unit="V").moves


class Capable(LoopbackDevice):
    """A loopback device with other capabilities."""

    changes = {}

    def open(self, channels):
        return replace(super().open(channels), **self.changes)


class Answers(LoopbackDevice):
    """A loopback device with other feedback."""

    def change(self, feedback):
        return feedback

    def read(self):
        found = super().read()
        return None if found is None else self.change(found)


class ByPosition(LoopbackDevice):
    def __init__(self, name, unit: str = ""):
        super().__init__(name, unit=unit)


class Untyped(LoopbackDevice):
    def __init__(self, name, *, unit=""):
        super().__init__(name, unit=unit)


class WithoutName(LoopbackDevice):
    def __init__(self, *, unit: str = ""):
        super().__init__("x", unit=unit)


class OpensEarly(LoopbackDevice):
    def __init__(self, name):
        super().__init__(name)
        self.file = os.open("/dev/null", os.O_RDONLY)

    def __del__(self):
        os.close(self.file)


class Leaks(LoopbackDevice):
    files = []

    def open(self, channels):
        self.files.append(os.open("/dev/null", os.O_RDONLY))
        return super().open(channels)


class WritesUnopened(LoopbackDevice):
    def write(self, command):
        if self._channels:
            super().write(command)


class WaitsForAnswers(LoopbackDevice):
    def write(self, command):
        super().write(command)
        if self._channels:
            sleep(0.005)


class ForgetsToReopen(LoopbackDevice):
    closed = False

    def open(self, channels):
        if self.closed:
            raise RuntimeError("threads can only be started once")
        return super().open(channels)

    def close(self):
        self.closed = bool(self._channels) or self.closed
        super().close()


class StopsOnce(LoopbackDevice):
    stopped = False

    def stop(self):
        if self.stopped and self._channels:
            raise ValueError("I/O operation on closed file")
        self.stopped = True


class RaisesInClose(LoopbackDevice):
    def close(self):
        if self._channels:
            super().close()
            raise DeviceError("it is gone")


class Busy(LoopbackDevice):
    def open(self, channels):
        raise DeviceOpenError("the port is busy")


class Vague(LoopbackDevice):
    def open(self, channels):
        raise DeviceError("something is wrong")


class CrashesAtUnknownChannels(LoopbackDevice):
    def open(self, channels):
        _ = [("first", "second")[channel.number] for channel in channels]
        return super().open(channels)


class Nothing(Capable):
    changes = {"description": ""}


class Negative(Capable):
    changes = {"watchdog": -0.1}


class Upside(Capable):
    changes = {"range": (1.0, 1.0)}


class Listed(Capable):
    changes = {"notes": ["a list"]}


class Small(Capable):
    changes = {"range": (0.0, 1.0)}


class SaysNothing(Capable):
    changes = {"acknowledges": False}


class OfTheFuture(Answers):
    def change(self, feedback):
        return replace(feedback, time=monotonic() + 1.0)


class OfAnotherClock(Answers):
    def change(self, feedback):
        return replace(feedback, time=0.0)


class OtherChannels(Answers):
    def change(self, feedback):
        return replace(feedback, positions={7: 0.0})


class NoNumbers(Answers):
    def change(self, feedback):
        return replace(feedback, efforts={0: np.nan})


class Lists(Answers):
    def change(self, feedback):
        return replace(feedback, signals={"tip": [0.0, 1.0]})


class ClockBack(Answers):
    clock = 5.0

    def change(self, feedback):
        self.clock -= 0.1
        return replace(feedback, device_time=self.clock)


class Tuples(Answers):
    def change(self, feedback):
        return (feedback.time, feedback.positions)


class Ahead(Answers):
    def change(self, feedback):
        return replace(feedback, acknowledged=feedback.acknowledged + 1)


class Wraps(Answers):
    def change(self, feedback):
        return replace(feedback, acknowledged=feedback.acknowledged % 2**16)


class Backwards(Answers):
    last = 0

    def change(self, feedback):
        if feedback.acknowledged % 5 == 4:
            return replace(feedback, acknowledged=feedback.acknowledged - 2)
        return feedback


class NeverTakes(Answers):
    def change(self, feedback):
        return Feedback(feedback.time, feedback.positions)


class Misses(Answers):
    def change(self, feedback):
        return replace(feedback, positions={0: 0.3})


WRONG = {
    ByPosition: "expected every option by keyword.*'unit: str = ''",
    Untyped: "expected a type for the option 'unit'",
    WithoutName: "expected the name of its table as first argument",
    OpensEarly: "making it opens nothing.*got 1 more open files",
    Leaks: "expected `close` to let go of everything.*1 more files",
    WritesUnopened: "write before it was opened: expected DeviceFailedError, got no error",
    WaitsForAnswers: "without waiting, within 2.0 ms, half a period; got .* or more in three",
    ForgetsToReopen: "open: expected errors of the kinds.*got RuntimeError: threads",
    StopsOnce: "the first stop.*ValueError",
    RaisesInClose: "close raises nothing; the first one raised DeviceError",
    Busy: "open: expected no error, got DeviceOpenError: the port is busy",
    Vague: "one of the four situations of DeviceError.*got DeviceError itself",
    CrashesAtUnknownChannels: "channel 1000000.*got IndexError",
    Nothing: "Capabilities.description: expected a text, got ''",
    Negative: "Capabilities.watchdog: expected seconds, more than 0, or None, got -0.1",
    Upside: "Capabilities.range: expected the least value and a greater one",
    Listed: "Capabilities.notes: expected a tuple of sentences",
    Small: "channel 1 of this check goes from -1 to 1, the device's range is 0 to 1",
    SaysNothing: "acknowledged: expected None, as Capabilities.acknowledges is False, got 0",
    OfTheFuture: "Feedback.time: expected when it arrived",
    OfAnotherClock: "Feedback.time: expected when it arrived",
    OtherChannels: r"Feedback.positions: .*channels \[0, 1\], got 0.0 of 7",
    NoNumbers: "Feedback.efforts: expected finite numbers.*got nan of 0",
    Lists: r"Feedback.signals: expected arrays of shape \(n,\) by name",
    ClockBack: "Feedback.device_time: expected no step back from 4.9 s, got 4.8 s",
    Tuples: r"expected Feedback or None from read, got \(",
    Ahead: "that was sent, 0 to 0, got 1. Numbers that a device",
    Wraps: "that was sent, 65528 to 65536, got 0",
    Backwards: "acknowledged: expected no step back from 3, got 2",
    NeverTakes: "expected that it acknowledges command .* within 0.1 s.*is None",
    Misses: r"positions to come to the last command, \[.*got {0: 0.3}",
}


@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: wrong.__name__)
def test_each_mistake_is_found_and_said(wrong):
    with pytest.raises(AssertionError, match=f"(?s){WRONG[wrong]}"):
        check_device(wrong)


def test_positions_that_come_only_after_commands_are_found_and_said():
    """It would begin to move at its rest pose, with a jump."""

    class Late(Capable):
        changes = {"measures": True}

    with pytest.raises(
        AssertionError, match=r"(?s)channels \[0, 1\] from the first `read`.*Keep the"
    ):
        check_device(Late)


def test_an_option_that_does_not_exist_is_said():
    with pytest.raises(
        AssertionError, match=r"no option 'units'. It has: \['unit', 'resolution'\]"
    ):
        check_device(LoopbackDevice, units="V")


def test_the_motion_stays_within_limits_and_rates():
    written = []

    class Recorder(LoopbackDevice):
        def write(self, command):
            super().write(command)
            written.append(command)

    channels = [
        ChannelSetup(3, "slow", 0.0, 100.0, 2.0, 0.0),
        ChannelSetup(5, "wide", -10.0, 1.0, 1e6, 1.0),
    ]
    check_device(Recorder, channels)
    values = np.array([command.values for command in written])
    assert (values >= [0.0, -10.0]).all() and (values <= [100.0, 1.0]).all()
    assert values[:, 1].min() == pytest.approx(-4.5), "half way to the farther limit"
    steps = np.abs(np.diff(values[:, 0]))
    assert 0.9 < steps.max() * 250.0 <= 1.0, "at half its rate"
