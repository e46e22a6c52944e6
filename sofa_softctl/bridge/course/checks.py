"""Checks of a robot's limits, of what its devices said, and of every target before it is used."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from sofa_softctl.bridge.config.robot import ActuatorConfig, RobotConfig
from sofa_softctl.bridge.config.text import why_never
from sofa_softctl.bridge.device import Capabilities, ChannelSetup, capability_fault
from sofa_softctl.errors import ConfigError, DeviceOpenError

TOLERANCE = 1e-6
"""Share of a limit by which the rounding of what computes a target may exceed it."""


def check_robot(robot: RobotConfig) -> None:
    """Check the numbers on which the limits rest, wherever the configuration came from.

    Raises:
        ConfigError: One is not finite or contradicts another.
    """
    for actuator in robot.actuators:
        place = f"actuator '{actuator.name}' of '{robot.path}'"
        low, high = actuator.position_min, actuator.position_max
        if not (math.isfinite(low) and math.isfinite(high) and low < high):
            raise ConfigError(f"{place}: position must be [least, greatest], got [{low}, {high}].")
        if not low <= actuator.rest <= high:
            raise ConfigError(
                f"{place}: rest = {actuator.rest} is outside position = [{low}, {high}]."
            )
        for name in ("rate", "acceleration", "jump"):
            value = getattr(actuator, name)
            if not (math.isfinite(value) and value > 0.0):
                raise ConfigError(f"{place}: {name} must be a number above 0, got {value}.")
        if not (math.isfinite(actuator.soft_start) and actuator.soft_start >= 0.0):
            raise ConfigError(f"{place}: soft_start must be 0 s or more: {actuator.soft_start}.")
    stream = robot.stream
    if not (math.isfinite(stream.rate) and stream.rate > 0.0):
        raise ConfigError(f"'{robot.path}': rate must be a number above 0, got {stream.rate}.")
    for name in ("stop_file", "dead_man_file"):
        file = getattr(robot.safety, name)
        if file and (why := why_never(file)):
            raise ConfigError(
                f"'{robot.path}': {name} = '{file}' can never be there: {why}. Make its folder, or "
                "name another file, so that it can stop the robot."
            )
    for name, value, known in (
        ("interpolation", stream.interpolation, ("linear", "hold")),
        ("slow_scene", stream.slow_scene, ("wait", "refuse")),
    ):
        if value not in known:
            raise ConfigError(f"'{robot.path}': {name} is {known[0]} or {known[1]}, got '{value}'.")


def check_capabilities(
    name: str, found: Capabilities, channels: Sequence[ChannelSetup], rate: float
) -> None:
    """Check that a device can do what the configuration asks of it.

    Raises:
        DeviceOpenError: They are not as `Capabilities` wants them.
        ConfigError: Values beyond its range, more commands than its line carries, or so few that
            its watchdog stops it.
    """
    if fault := capability_fault(found):
        raise DeviceOpenError(
            f"device '{name}': {fault}. This is an error of its class, which "
            "sofa_softctl.testing.check_device checks."
        )
    where = f"device '{name}' ({found.description})"
    for channel in channels:
        low, high = found.range
        if channel.low < low or channel.high > high:
            raise ConfigError(
                f"{where} takes {low:g} to {high:g} {found.unit}; actuator '{channel.name}' needs "
                f"{channel.low:g} to {channel.high:g}. Change its position, its map or its zero."
            )
    if channels and rate > found.rate_max:
        raise ConfigError(
            f"{where} takes at most {found.rate_max:.4g} commands a second, but rate = {rate:g}. "
            "Lower rate in [stream], or use a faster line."
        )
    if channels and found.watchdog is not None and found.watchdog * rate < 2.0:
        raise ConfigError(
            f"{where} stops by itself after {found.watchdog:g} s without a command, but commands "
            f"come every {1.0 / rate:g} s. Raise rate in [stream] to {2.0 / found.watchdog:g} or "
            "more."
        )


def effort_note(device: str, actuators: Iterable[ActuatorConfig]) -> list[str]:
    """That no efforts of actuators come from a device; empty: none of them needs any."""
    names = [one.name for one in actuators if math.isfinite(one.effort_max)]
    if not names:
        return []
    which = f"no effort of {', '.join(names)} comes from device '{device}'"
    return [f"{which}: effort_max has no effect."]


class TargetCheck:
    """Finds what is wrong with a target.

    Args:
        actuators: In the order of the targets' values.
        tolerance: How far a target may be outside its range, for the rounding of what computes
            it: half of a device's resolution [unit], shape (n,).
    """

    def __init__(self, actuators: Sequence[ActuatorConfig], tolerance: np.ndarray) -> None:
        self.actuators = actuators
        self.low = np.array([actuator.position_min for actuator in actuators])
        self.high = np.array([actuator.position_max for actuator in actuators])
        self._lowest, self._highest = self.low - tolerance, self.high + tolerance
        self._jump = np.array([actuator.jump for actuator in actuators])
        self._time = -math.inf
        self._last: np.ndarray | None = None

    def refusal(self, time: float, target: np.ndarray) -> str:
        """Why a target is refused; empty: it is not, and is the last one from now on."""
        at = f"at {time:.6g} s of the scene"
        if target.shape != self.low.shape:
            return f"a target {at} has {target.size} values; expected {len(self.actuators)}"
        if not math.isfinite(time):
            return f"a target came with the time {time}"
        if time <= self._time:
            return (
                f"a target came {at}, after that of {self._time:.6g} s: times must increase "
                "(a scene that was reset needs a new start)"
            )
        for bad, what in (
            (~np.isfinite(target), "is {value}"),
            (target < self._lowest, "is {value:.6g} {unit}, below the least position, {low:g}"),
            (
                target > self._highest,
                "is {value:.6g} {unit}, above the greatest position, {high:g}",
            ),
        ):
            if bad.any():
                return self._of(int(np.argmax(bad)), target, what, at)
        if self._last is not None:
            moved = np.abs(target - self._last)
            if (moved > self._jump * (1.0 + TOLERANCE)).any():
                worst = int(np.argmax(moved / self._jump))
                return self._of(
                    worst,
                    target,
                    f"jumps from {self._last[worst]:.6g} to {{value:.6g}} {{unit}}, "
                    "by more than jump = {jump:g}",
                    at,
                )
        self._time, self._last = time, target
        return ""

    def _of(self, index: int, target: np.ndarray, what: str, at: str) -> str:
        actuator = self.actuators[index]
        said = what.format(
            value=float(target[index]),
            unit=actuator.unit,
            low=actuator.position_min,
            high=actuator.position_max,
            jump=actuator.jump,
        )
        return f"the target of '{actuator.name}' {said}, {at}"
