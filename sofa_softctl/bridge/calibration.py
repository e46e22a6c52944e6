"""Sign and zero of an actuator from what a person saw of it."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sofa_softctl.bridge.config.robot import ActuatorConfig, RobotConfig

DIGITS = 5
"""Digits of a zero, relative to the range of the device's values."""


@dataclass(frozen=True)
class Calibration:
    """Sign and zero of an actuator, as its table in the file has them."""

    sign: int
    """1 or -1."""
    zero: float
    """Value at position 0 [device unit]."""


def present(robot: RobotConfig) -> dict[str, Calibration]:
    """Signs and zeros of all actuators in a robot's file, by name."""
    tables: Mapping[str, Any] = tomllib.loads(robot.text)["actuators"]
    return {
        name: Calibration(int(table.get("sign", 1)), float(table.get("zero", 0.0)))
        for name, table in tables.items()
    }


def calibrated(
    actuator: ActuatorConfig, old: Calibration, position: float, *, reversed_: bool
) -> Calibration:
    """Calibration of an actuator that is at its rest pose now.

    Args:
        actuator: The actuator, with its old calibration.
        old: That calibration.
        position: Where it is now by the old calibration [its unit].
        reversed_: Whether it moves the other way round than by the old calibration.
    """
    here, rest = actuator.map.to_device(np.array([position, actuator.rest])).tolist()
    sign = -old.sign if reversed_ else old.sign
    to_rest = (rest - old.zero) * old.sign  # what the map adds to zero at rest, but for the sign
    zero = here - sign * to_rest
    ends = actuator.map.to_device(np.array([actuator.position_min, actuator.position_max]))
    return Calibration(sign, _rounded(zero, abs(float(ends[1] - ends[0]))))


def _rounded(zero: float, span: float) -> float:
    return round(zero, DIGITS - math.ceil(math.log10(span)))


QUESTIONS = {
    "length": "Did the cable get shorter",
    "angle": "Did the angle grow",
    "force": "Did the force grow",
    "torque": "Did the torque grow",
    "pressure": "Did the pressure rise",
    "volume": "Did fluid go into the robot",
}
"""What a person sees of a move towards greater positions, by quantity."""
