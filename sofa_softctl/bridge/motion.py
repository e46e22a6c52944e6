"""Motions of recordings for a robot: converted to its units, and checked against its limits."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sofa_softctl.base.suggestions import did_you_mean
from sofa_softctl.bridge.config.robot import ActuatorConfig, RobotConfig
from sofa_softctl.bridge.course.checks import LIMIT_TOLERANCE
from sofa_softctl.bridge.quantities import scene_factor
from sofa_softctl.errors import RecordError
from sofa_softctl.record.record import Record
from sofa_softctl.units import Units

DISPLACEMENTS, EFFORTS = ("length", "angle", "volume"), ("force", "torque", "pressure")
"""Quantities that channels hold: displacements of actuators, or their efforts."""


@dataclass(frozen=True)
class Motion:
    """Targets of a robot over time."""

    time: np.ndarray
    """Time of each target, from 0 [s], shape (n,)."""
    targets: np.ndarray
    """Targets in the order of the robot's actuators [their units], shape (n, n_actuators)."""


def motion_of(
    robot: RobotConfig,
    record: Record,
    *,
    channel: str | None = None,
    columns: Sequence[str] = (),
    units: Units | None = None,
    speed: float = 1.0,
) -> Motion:
    """Read the motion of a recording.

    Args:
        robot: The robot's configuration.
        record: The recording.
        channel: Channel with a column for each actuator; by default `inverse.displacement` for
            actuators in lengths, angles or volumes, `inverse.effort` for others.
        columns: Name of the actuator in each column; by default from the recording.
        units: Units of the recorded scene; by default from the recording.
        speed: Factor on the recorded speed [-].

    Raises:
        RecordError: A channel, an actuator or units are missing, or the channel is wrong.
    """
    if units is None:
        if "units" not in record.metadata:
            raise RecordError(
                "The recording names no units, as its scene declared none. Give those of the "
                "scene: --units 'mm, kg, s'."
            )
        units = Units.parse(record.metadata["units"])
    if not len(record.time):
        raise RecordError("The recording has no steps.")
    columns_by_actuator = []
    for actuator in robot.actuators:
        name = channel or (
            "inverse.displacement" if actuator.quantity in DISPLACEMENTS else "inverse.effort"
        )
        table = _table(record, name, actuator, units)
        names = list(columns) or _names(record, name)
        column = _column(names, name, table.shape[1], actuator)
        columns_by_actuator.append(
            table[:, column] * scene_factor(actuator.quantity, actuator.unit, units)
        )
    time = (record.time - record.time[0]) * units.in_si("time") / speed
    return Motion(time, np.column_stack(columns_by_actuator))


def _table(record: Record, name: str, actuator: ActuatorConfig, units: Units) -> np.ndarray:
    """Return a channel, shape (n, m), which must have the quantity of the actuator's commands."""
    if name not in record.channels:
        raise RecordError(
            f"The recording has no channel '{name}'.{did_you_mean(name, record.channels)} It has: "
            f"{', '.join(sorted(record.channels))}. Give one with a column for each actuator as "
            "--channel."
        )
    values, unit = record.channels[name], record.units[name]
    if unit == "lambda":
        raise RecordError(
            f"The channel '{name}' holds SOFA's multipliers, which are not efforts. Take an "
            "effort, such as inverse.effort, or a displacement."
        )
    if values.dtype.kind != "U" and values.ndim == 1:  # a Data with a single number
        values = values[:, None]
    if values.dtype.kind == "U" or values.ndim != 2:
        raise RecordError(
            f"The channel '{name}' has shape {values.shape}: expected a column for each actuator."
        )
    units_by_family = {
        family: {word for quantity in family for word in (quantity, units.symbol(quantity))}
        for family in (DISPLACEMENTS, EFFORTS)
    }
    valid_units, other_units = (DISPLACEMENTS, EFFORTS)[
        :: 1 if actuator.quantity in DISPLACEMENTS else -1
    ]
    if unit in units_by_family[other_units] - units_by_family[valid_units]:
        raise RecordError(
            f"The channel '{name}' is in {unit}, but '{actuator.name}' of the robot is commanded "
            f"in {actuator.quantity}. Take another channel, or another quantity."
        )
    return values


def _names(record: Record, channel: str) -> list[str]:
    """Return names of a channel's columns, from its controller or a bridge that followed it."""
    path = channel.rpartition(".")[0]
    if names := json.loads(record.metadata.get(f"{path}.actuators", "[]")):
        return list(names)
    for key, source in record.metadata.items():
        if key.endswith(".source") and source == path:
            return list(json.loads(record.metadata[f"{key.removesuffix('.source')}.actuators"]))
    return []


def _column(names: Sequence[str], channel: str, count: int, actuator: ActuatorConfig) -> int:
    if not names and count == 1:
        names = [actuator.name]
    if len(names) != count:
        description = f"{len(names)} names" if names else "none of their names"
        raise RecordError(
            f"The channel '{channel}' has {count} columns, and {description} are known. Name the "
            "actuator of each column: --columns upper,lower."
        )
    if actuator.name not in names:
        raise RecordError(
            f"The recording has no actuator '{actuator.name}'."
            f"{did_you_mean(actuator.name, names)} '{channel}' has: {', '.join(names)}."
        )
    return names.index(actuator.name)


def check_motion(robot: RobotConfig, motion: Motion) -> list[str]:
    """Check a whole motion against a robot's limits, before anything moves.

    Returns:
        Warnings: accelerations that are exceeded, which the device process smooths.

    Raises:
        RecordError: Positions, jumps or rates are exceeded; one line each, with times.
    """
    errors: list[str] = []
    warnings: list[str] = []
    steps = np.diff(motion.time)
    for actuator, x in zip(robot.actuators, motion.targets.T, strict=True):
        unit, change = actuator.unit, np.abs(np.diff(x))
        speed = change / steps
        acceleration = np.abs(np.diff(np.diff(x) / steps)) / (0.5 * (steps[1:] + steps[:-1]))
        low, high = actuator.position_min, actuator.position_max
        slack = LIMIT_TOLERANCE * (high - low)
        is_outside = (x < low - slack) | (x > high + slack)
        checks = (
            (~np.isfinite(x), x, "is", "", f"from {low:g} to {high:g} {unit}"),
            (is_outside, x, "is at", unit, f"from {low:g} to {high:g} {unit}"),
            (
                _exceeds(change, actuator.jump),
                change,
                "jumps by",
                unit,
                f"{actuator.jump:g} {unit}",
            ),
            (_exceeds(speed, actuator.rate), speed, "moves at", f"{unit}/s", f"{actuator.rate:g}"),
        )
        for is_exceeded, values, verb, unit_text, limit in checks:
            text = _describe_excess(
                actuator.name, motion.time, is_exceeded, values, verb, unit_text
            )
            errors += [f"{text}; allowed: {limit}."] if text else []
        is_exceeded, limit = (
            _exceeds(acceleration, actuator.acceleration),
            f"{actuator.acceleration:g}",
        )
        text = _describe_excess(
            actuator.name, motion.time, is_exceeded, acceleration, "accelerates by", f"{unit}/s2"
        )
        warnings += [f"{text}; allowed: {limit}. The robot rounds this off."] if text else []
    if not np.isfinite(motion.targets).all():
        advice = (
            "Choose a --channel that has a number in every row: what a controller asked for, such "
            "as inverse.displacement, not what a bridge sent."
        )
    else:
        advice = "Play it slower (--speed 0.5) where it is too fast, or change the limits."
    if errors:
        listed = "\n".join(errors)
        raise RecordError(
            f"The recording exceeds the limits of {robot.path}, nothing was moved:\n{listed}\n"
            f"{advice}"
        )
    return warnings


def _exceeds(values: np.ndarray, limit: float) -> np.ndarray:
    is_over: np.ndarray = values > limit * (1.0 + LIMIT_TOLERANCE)
    return is_over


def _describe_excess(
    name: str, time: np.ndarray, is_exceeded: np.ndarray, values: np.ndarray, verb: str, unit: str
) -> str:
    """Describe the largest excess and its time, or return ""."""
    rows: Sequence[int] = np.flatnonzero(is_exceeded).tolist()
    if not rows:
        return ""
    later = len(time) - len(values)  # differences belong to the later time
    middle = 0.5 * (np.nanmin(values) + np.nanmax(values)) if np.isfinite(values).any() else 0.0
    worst = max(rows, key=lambda row: np.nan_to_num(abs(values[row] - middle), nan=np.inf))
    when = f"at t = {time[worst + later]:.4g} s"
    if len(rows) > 1:
        when += (
            f", in {len(rows)} rows from t = {time[rows[0] + later]:.4g} to "
            f"{time[rows[-1] + later]:.4g} s"
        )
    return f"'{name}' {verb} {values[worst]:.4g} {unit}".rstrip() + f" {when}"
