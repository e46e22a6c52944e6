"""Slow motion by hand: one actuator at a time, within limits that the device process enforces."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from time import monotonic, sleep

import numpy as np

from sofa_softctl.bridge.client.client import Stream
from sofa_softctl.bridge.config.robot import ActuatorConfig, RobotConfig
from sofa_softctl.bridge.course.state import Sample
from sofa_softctl.bridge.device import Capabilities
from sofa_softctl.errors import DeviceError

PERIOD = 0.02
"""Time between two targets [s]; no shorter than a period of the stream."""
FIRST = 0.5
"""Time in which devices that measure positions say where the robot is [s]."""


def slow_robot(robot: RobotConfig, speed: float) -> RobotConfig:
    """The same robot, to be moved by hand.

    Args:
        robot: The robot.
        speed: Share of each actuator's rate that it may have, from above 0 to 1.
    """
    actuators = tuple(replace(each, rate=speed * each.rate) for each in robot.actuators)
    stream = replace(robot.stream, interpolation="linear", lookahead=2, slow_scene="wait")
    return replace(robot, actuators=actuators, stream=stream)


def widened(
    robot: RobotConfig, beyond: float, capabilities: Mapping[str, Capabilities]
) -> RobotConfig:
    """The same robot with wider limits, while its zeros are not known yet.

    Args:
        robot: The robot.
        beyond: Share of each actuator's range by which it may leave it at both ends, as far as its
            device takes such values.
        capabilities: Of each device, by its name.
    """
    return replace(
        robot,
        actuators=tuple(
            _widened(actuator, beyond, capabilities[actuator.device])
            for actuator in robot.actuators
        ),
    )


def _widened(actuator: ActuatorConfig, beyond: float, device: Capabilities) -> ActuatorConfig:
    low, high = actuator.position_min, actuator.position_max
    more = beyond * (high - low)
    wide = np.array([low - more, high + more])
    values = actuator.map.to_device(wide)
    taken = np.clip(values, *device.range)
    inside = 1e-6 * more * np.array([1.0, -1.0])  # rounding must not lead out of the range again
    wide = np.where(taken == values, wide, actuator.map.from_device(taken) + inside)
    least, most = min(low, float(wide[0])), max(high, float(wide[1]))
    return replace(actuator, position_min=least, position_max=most)


class Hand:
    """Moves actuators by hand; `tick` must be called again and again, also while nothing moves.

    Args:
        stream: The device process, that of a `slow_robot`.
    """

    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        self.actuators: Sequence[ActuatorConfig] = stream.robot.actuators
        self.low = np.array([actuator.position_min for actuator in self.actuators])
        self.high = np.array([actuator.position_max for actuator in self.actuators])
        self.period = max(PERIOD, 1.0 / stream.robot.stream.rate)
        rates = np.array([(actuator.rate, actuator.jump) for actuator in self.actuators])
        self._step = np.minimum(rates[:, 0] * self.period, 0.5 * rates[:, 1])
        self.last: Sample | None = None
        """What the device process said last."""
        self.measured_at_start = self._measure()
        """Where devices say that the robot is before it moves [unit], NaN: unknown, shape (n,)."""
        rest = np.array([actuator.rest for actuator in self.actuators])
        known = np.isfinite(self.measured_at_start)
        start = np.where(known, self.measured_at_start, rest)
        self.goal = np.clip(start, self.low, self.high)
        """Where the actuators are to go [unit], shape (n,)."""
        self.rest = rest
        """Where they go at the end [unit], shape (n,)."""
        self._target = self.goal.copy()
        self._count = 0

    def _measure(self) -> np.ndarray:
        found = np.full(len(self.actuators), np.nan)
        end = monotonic() + FIRST
        while monotonic() < end and not np.isfinite(found).all():
            for sample in self.stream.poll():
                found = np.where(np.isfinite(sample.measured), sample.measured, found)
            sleep(self.period)
        return found

    def tick(self) -> None:
        """Send the next target on the way to the goal, and wait for the robot: about `period`.

        Raises:
            DeviceError: The robot was held or stopped; the message says why.
        """
        way = np.clip(self.goal - self._target, -self._step, self._step)
        self._target = self._target + way
        self.stream.send(self._count * self.period, self._target)
        self._count += 1
        self.stream.pace()
        for sample in self.stream.poll():
            self.last = sample

    @property
    def command(self) -> np.ndarray:
        """What was sent last [unit], NaN before the first command, shape (n,)."""
        if self.last is None:
            return np.full(len(self.goal), np.nan)
        return self.last.command

    @property
    def arrived(self) -> bool:
        """Whether all actuators have been sent to their goals."""
        return bool((np.abs(self.command - self.goal) <= 1e-9 * (self.high - self.low)).all())

    def go(self, index: int, position: float) -> float:
        """Set the goal of an actuator; beyond its limits, to the limit. It moves with `tick`.

        Returns:
            The goal [its unit].
        """
        goal = self.goal.copy()
        goal[index] = min(max(position, float(self.low[index])), float(self.high[index]))
        self.goal = goal
        return float(goal[index])


@contextmanager
def hand_on(robot: RobotConfig, *, dry_run: bool = False) -> Iterator[Hand]:
    """A hand on a `slow_robot`, which goes to `Hand.rest` at the end.

    Whatever the block raises, and Ctrl-C on the way to rest too, stops all devices at once, where
    they are.

    Args:
        robot: The robot.
        dry_run: Whether loopback devices stand in for all devices.

    Raises:
        DeviceError: See `Stream`.
        ConfigError: See `Stream`.
    """
    stream = Stream(robot, dry_run=dry_run)
    try:
        hand = Hand(stream)
        yield hand
        stream.finish(hand.rest)
    except BaseException as error:
        with suppress(DeviceError):
            stream.stop("stopped by hand")
            stream.finish()
        if isinstance(error, KeyboardInterrupt):
            error.add_note("All motors were stopped where they were.")
        raise
