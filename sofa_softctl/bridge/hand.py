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
FIRST_MEASUREMENT_TIMEOUT = 0.5
"""Timeout of the first measured positions [s]."""


def slow_robot(robot: RobotConfig, speed: float) -> RobotConfig:
    """Return the robot with lower rates, for motion by hand.

    Args:
        robot: The robot.
        speed: Fraction of each actuator's rate, above 0, up to 1 [-].
    """
    actuators = tuple(replace(actuator, rate=speed * actuator.rate) for actuator in robot.actuators)
    stream = replace(robot.stream, interpolation="linear", lookahead=2, slow_scene="wait")
    return replace(robot, actuators=actuators, stream=stream)


def with_wider_limits(
    robot: RobotConfig, excess_fraction: float, capabilities: Mapping[str, Capabilities]
) -> RobotConfig:
    """Return the robot with wider limits, before its zeros are calibrated.

    Args:
        robot: The robot.
        excess_fraction: Excess at both ends, as a fraction of each actuator's range [-],
            limited by the range of its device.
        capabilities: Capabilities of each device, by name.
    """
    return replace(
        robot,
        actuators=tuple(
            _with_wider_limits(actuator, excess_fraction, capabilities[actuator.device])
            for actuator in robot.actuators
        ),
    )


def _with_wider_limits(
    actuator: ActuatorConfig, excess_fraction: float, device: Capabilities
) -> ActuatorConfig:
    low, high = actuator.position_min, actuator.position_max
    excess = excess_fraction * (high - low)
    wide = np.array([low - excess, high + excess])
    values = actuator.map.to_device(wide)
    clipped = np.clip(values, *device.range)
    inside = 1e-6 * excess * np.array([1.0, -1.0])  # rounding must not lead out of the range again
    wide = np.where(clipped == values, wide, actuator.map.from_device(clipped) + inside)
    lower, upper = min(low, float(wide[0])), max(high, float(wide[1]))
    return replace(actuator, position_min=lower, position_max=upper)


class ManualControl:
    """Moves actuators by hand; `tick` must be called repeatedly, also while nothing moves.

    Args:
        stream: Device process of a `slow_robot`.
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
        """Last sample of the device process."""
        self.measured_at_start = self._measure()
        """Measured positions before the motion [unit], NaN if unknown, shape (n,)."""
        rest = np.array([actuator.rest for actuator in self.actuators])
        is_measured = np.isfinite(self.measured_at_start)
        start = np.where(is_measured, self.measured_at_start, rest)
        self.goal = np.clip(start, self.low, self.high)
        """Goals of the actuators [unit], shape (n,)."""
        self.rest = rest
        """Positions at the end [unit], shape (n,)."""
        self._target = self.goal.copy()
        self._count = 0

    def _measure(self) -> np.ndarray:
        positions = np.full(len(self.actuators), np.nan)
        end = monotonic() + FIRST_MEASUREMENT_TIMEOUT
        while monotonic() < end and not np.isfinite(positions).all():
            for sample in self.stream.poll():
                positions = np.where(np.isfinite(sample.measured), sample.measured, positions)
            sleep(self.period)
        return positions

    def tick(self) -> None:
        """Send the next target towards the goal, and wait for the robot: about `period`.

        Raises:
            DeviceError: The robot was held or stopped; the message has the reason.
        """
        step = np.clip(self.goal - self._target, -self._step, self._step)
        self._target = self._target + step
        self.stream.send(self._count * self.period, self._target)
        self._count += 1
        self.stream.pace()
        for sample in self.stream.poll():
            self.last = sample

    @property
    def command(self) -> np.ndarray:
        """Last command [unit], NaN before the first one, shape (n,)."""
        if self.last is None:
            return np.full(len(self.goal), np.nan)
        return self.last.command

    @property
    def arrived(self) -> bool:
        """True if the last command equals all goals."""
        return bool((np.abs(self.command - self.goal) <= 1e-9 * (self.high - self.low)).all())

    def go(self, index: int, position: float) -> float:
        """Set the goal of an actuator, clipped to its limits. It moves with `tick`.

        Returns:
            The goal [its unit].
        """
        goal = self.goal.copy()
        goal[index] = min(max(position, float(self.low[index])), float(self.high[index]))
        self.goal = goal
        return float(goal[index])


@contextmanager
def hand_on(robot: RobotConfig, *, dry_run: bool = False) -> Iterator[ManualControl]:
    """Control a `slow_robot` by hand; it goes to `Hand.rest` at the end.

    Any error of the block, and Ctrl-C during the return, stops all devices immediately, where
    they are.

    Args:
        robot: The robot.
        dry_run: Whether loopback devices replace all devices.

    Raises:
        DeviceError: See `Stream`.
        ConfigError: See `Stream`.
    """
    stream = Stream(robot, dry_run=dry_run)
    try:
        hand = ManualControl(stream)
        yield hand
        stream.finish(hand.rest)
    except BaseException as error:
        with suppress(DeviceError):
            stream.stop("stopped by hand")
            stream.finish()
        if isinstance(error, KeyboardInterrupt):
            error.add_note("All motors were stopped where they were.")
        raise
