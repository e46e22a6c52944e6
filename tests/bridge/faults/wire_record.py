"""What was on the wire of a robot, and that all of it was safe."""

from collections import namedtuple

import numpy as np

from tests.bridge.faults import robot
from tests.firmware import wire

Sent = namedtuple("Sent", "time sequence values")
"""A command: when it was complete (monotonic clock [s]), number modulo 2^16, value by channel."""


def messages(times, data):
    """Messages of the serial protocol whose CRC fits: time of the last byte, and content.

    Args:
        times: Of each byte [s].
        data: The bytes.
    """
    found, begin = [], 0
    for end, byte in enumerate(data):
        if byte == 0:
            try:
                found.append((times[end], wire.unframe(bytes(data[begin:end]))))
            except (AssertionError, IndexError):  # damaged: no receiver takes it
                pass
            begin = end + 1
    return [(time, body) for time, body in found if len(body) >= 4]


def commands(times, data):
    """The `Sent` among bytes to a board."""
    return [_sent(time, body) for time, body in messages(times, data) if body[1] == wire.COMMAND]


def _sent(time, body):
    mask = int.from_bytes(body[8:10], "little")
    channels = [channel for channel in range(16) if mask >> channel & 1]
    values = np.frombuffer(body[10:], "<i4").tolist()
    return Sent(time, int.from_bytes(body[2:4], "little"), dict(zip(channels, values, strict=True)))


def sessions(sent, count=None):
    """Commands of each program that sent some: numbers begin anew."""
    found = []
    for one in sent:
        if not found or one.sequence < found[-1][-1].sequence:
            found.append([])
        found[-1].append(one)
    assert count is None or len(found) == count, f"{len(found)} programs sent commands"
    return found


def assert_safe(sent, *, channels=robot.CHANNELS, rounding=1.0):
    """No command to another channel, out of range, or faster than the robot may move.

    Args:
        sent: The commands, in the order of the wire.
        channels: Those that the robot uses.
        rounding: Of values: 1 for whole numbers, which are half a unit off [device unit].
    """
    half = 0.5 * rounding
    for session in sessions(sent):
        assert all(tuple(sorted(one.values)) == tuple(channels) for one in session), "channels"
        values = np.array([[one.values[channel] for channel in channels] for one in session])
        assert np.isfinite(values).all()
        assert values.min() >= robot.ZERO + robot.SLOPE * robot.LOW - 1e-6
        assert values.max() <= robot.ZERO + robot.SLOPE * robot.HIGH + 1e-6
        number = np.array([one.sequence for one in session])
        periods = np.diff(number)
        assert (periods > 0).all(), "lost commands are not repeated, and none overtakes another"
        most = robot.SLOPE * robot.RATE * robot.PERIOD * periods[:, None] + rounding
        assert (np.abs(np.diff(values, axis=0)) <= most + 1e-6).all(), "rate"
        speed = np.diff(values, axis=0, prepend=values[:1])
        change = np.abs(np.diff(speed, axis=0))[periods == 1]
        most = robot.SLOPE * robot.ACCELERATION * robot.PERIOD**2 + 4.0 * half
        kept = np.r_[True, periods[:-1] == 1][periods == 1]  # the change before is one of a period
        assert (change[kept] <= most + 1e-6).all(), "acceleration"


def last_change(times, values):
    """When a value differed from the one before for the last time; -inf: never [s]."""
    values = np.asarray(values, dtype=float).reshape(len(times), -1)
    moved = (np.abs(np.diff(values, axis=0)) > 0.3).any(axis=1)
    return float(np.asarray(times)[1:][moved].max(initial=-np.inf))
