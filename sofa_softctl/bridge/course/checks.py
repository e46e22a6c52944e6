"""Checks of a robot's limits, of its devices' capabilities, and of each target before its use."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from sofa_softctl.bridge.config.robot import ActuatorConfig, RobotConfig
from sofa_softctl.bridge.config.text import unreachable_reason
from sofa_softctl.bridge.device import Capabilities, ChannelSetup, capability_fault
from sofa_softctl.errors import ConfigError, DeviceOpenError

LIMIT_TOLERANCE = 1e-6
"""Fraction of a limit by which rounding errors of a target may exceed it [-]."""


def check_robot(robot: RobotConfig) -> None:
    """Check the limits of a robot, from a file or made in Python.

    Raises:
        ConfigError: A number is not finite or contradicts another.
    """
    for actuator in robot.actuators:
        label = f"actuator '{actuator.name}' of '{robot.path}'"
        low, high = actuator.position_min, actuator.position_max
        if not (math.isfinite(low) and math.isfinite(high) and low < high):
            raise ConfigError(f"{label}: position must be [least, greatest], got [{low}, {high}].")
        if not low <= actuator.rest <= high:
            raise ConfigError(
                f"{label}: rest = {actuator.rest} is outside position = [{low}, {high}]."
            )
        for name in ("rate", "acceleration", "jump"):
            value = getattr(actuator, name)
            if not (math.isfinite(value) and value > 0.0):
                raise ConfigError(f"{label}: {name} must be a number above 0, got {value}.")
        if not (math.isfinite(actuator.soft_start) and actuator.soft_start >= 0.0):
            raise ConfigError(f"{label}: soft_start must be 0 s or more: {actuator.soft_start}.")
    stream = robot.stream
    if not (math.isfinite(stream.rate) and stream.rate > 0.0):
        raise ConfigError(f"'{robot.path}': rate must be a number above 0, got {stream.rate}.")
    for name in ("stop_file", "dead_man_file"):
        file = getattr(robot.safety, name)
        if file and (reason := unreachable_reason(file)):
            raise ConfigError(
                f"'{robot.path}': {name} = '{file}' cannot be created: {reason}. Make its folder, "
                "or name another file, so that it can stop the robot."
            )
    for name, value, valid in (
        ("interpolation", stream.interpolation, ("linear", "hold")),
        ("slow_scene", stream.slow_scene, ("wait", "refuse")),
    ):
        if value not in valid:
            raise ConfigError(f"'{robot.path}': {name} is {valid[0]} or {valid[1]}, got '{value}'.")


def check_capabilities(
    name: str, device: Capabilities, channels: Sequence[ChannelSetup], rate: float
) -> None:
    """Check that a device can do what the configuration asks of it.

    Raises:
        DeviceOpenError: The capabilities contradict `Capabilities`.
        ConfigError: Values outside its range, more commands than its line carries, or so few that
            its watchdog stops it.
    """
    if fault := capability_fault(device):
        raise DeviceOpenError(
            f"device '{name}': {fault}. This is an error of its class, which "
            "sofa_softctl.testing.check_device checks."
        )
    label = f"device '{name}' ({device.description})"
    for channel in channels:
        low, high = device.range
        if channel.low < low or channel.high > high:
            raise ConfigError(
                f"{label} takes {low:g} to {high:g} {device.unit}; actuator '{channel.name}' needs "
                f"{channel.low:g} to {channel.high:g}. Change its position, its map or its zero."
            )
    if channels and rate > device.rate_max:
        raise ConfigError(
            f"{label} takes at most {device.rate_max:.4g} commands a second, but rate = {rate:g}. "
            "Lower rate in [stream], or use a faster line."
        )
    if channels and device.watchdog is not None and device.watchdog * rate < 2.0:
        raise ConfigError(
            f"{label} stops by itself after {device.watchdog:g} s without a command, but commands "
            f"come every {1.0 / rate:g} s. Raise rate in [stream] to {2.0 / device.watchdog:g} or "
            "more."
        )


def effort_note(device: str, actuators: Iterable[ActuatorConfig]) -> list[str]:
    """Return a note on actuators whose `effort_max` a device cannot check, or []."""
    names = [actuator.name for actuator in actuators if math.isfinite(actuator.effort_max)]
    if not names:
        return []
    text = f"no effort of {', '.join(names)} comes from device '{device}'"
    return [f"{text}: effort_max has no effect."]


class TargetCheck:
    """Finds faults of targets.

    Args:
        actuators: In the order of the targets' values.
        tolerance: Distance by which a target may be out of range, for rounding errors: half of a
            device's resolution [unit], shape (n,).
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
        """Return the reason for refusing a target, or "" after storing it as the last one."""
        when = f"at {time:.6g} s of the scene"
        if target.shape != self.low.shape:
            return f"a target {when} has {target.size} values; expected {len(self.actuators)}"
        if not math.isfinite(time):
            return f"a target came with the time {time}"
        if time <= self._time:
            return (
                f"a target came {when}, after one at {self._time:.6g} s: times must increase "
                "(a scene that was reset needs a new start)"
            )
        for bad, form in (
            (~np.isfinite(target), "is {value}"),
            (target < self._lowest, "is {value:.6g} {unit}, below the least position, {low:g}"),
            (
                target > self._highest,
                "is {value:.6g} {unit}, above the greatest position, {high:g}",
            ),
        ):
            if bad.any():
                return self._fault(int(np.argmax(bad)), target, form, when)
        if self._last is not None:
            moved = np.abs(target - self._last)
            if (moved > self._jump * (1.0 + LIMIT_TOLERANCE)).any():
                worst = int(np.argmax(moved / self._jump))
                return self._fault(
                    worst,
                    target,
                    f"jumps from {self._last[worst]:.6g} to {{value:.6g}} {{unit}}, "
                    "by more than jump = {jump:g}",
                    when,
                )
        self._time, self._last = time, target
        return ""

    def _fault(self, index: int, target: np.ndarray, form: str, when: str) -> str:
        actuator = self.actuators[index]
        fault = form.format(
            value=float(target[index]),
            unit=actuator.unit,
            low=actuator.position_min,
            high=actuator.position_max,
            jump=actuator.jump,
        )
        return f"the target of '{actuator.name}' {fault}, {when}"
