"""Sign and zero of an actuator from a person's observation."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sofa_softctl.bridge.config.robot import ActuatorConfig, RobotConfig

ZERO_DIGITS = 5
"""Digits of a zero, relative to the range of the device's values."""


@dataclass(frozen=True)
class Calibration:
    """Sign and zero of an actuator, as its table in the file has them."""

    sign: int
    """1 or -1."""
    zero: float
    """Value at position 0 [device unit]."""


def calibrations_of(robot: RobotConfig) -> dict[str, Calibration]:
    """Return signs and zeros of all actuators in a robot's file, by name."""
    tables: Mapping[str, Any] = tomllib.loads(robot.text)["actuators"]
    return {
        name: Calibration(int(table.get("sign", 1)), float(table.get("zero", 0.0)))
        for name, table in tables.items()
    }


def recalibrate(
    actuator: ActuatorConfig, old: Calibration, position: float, *, reversed_: bool
) -> Calibration:
    """Return the calibration of an actuator that is at its rest pose.

    Args:
        actuator: The actuator, with its old calibration.
        old: Old calibration.
        position: Present position by the old calibration [its unit].
        reversed_: Whether it moves in the opposite direction to the old calibration.
    """
    present_value, rest = actuator.map.to_device(np.array([position, actuator.rest])).tolist()
    sign = -old.sign if reversed_ else old.sign
    to_rest = (rest - old.zero) * old.sign  # what the map adds to zero at rest, but for the sign
    zero = present_value - sign * to_rest
    ends = actuator.map.to_device(np.array([actuator.position_min, actuator.position_max]))
    return Calibration(sign, _round_zero(zero, abs(float(ends[1] - ends[0]))))


def _round_zero(zero: float, span: float) -> float:
    return round(zero, ZERO_DIGITS - math.ceil(math.log10(span)))


QUESTIONS = {
    "length": "Did the cable get shorter",
    "angle": "Did the angle grow",
    "force": "Did the force grow",
    "torque": "Did the torque grow",
    "pressure": "Did the pressure rise",
    "volume": "Did fluid go into the robot",
}
"""Questions on a move towards greater positions, by quantity."""
