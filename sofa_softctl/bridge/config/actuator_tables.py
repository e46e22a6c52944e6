"""Reads the tables [actuators.NAME] and [sensors.NAME]."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from sofa_softctl.base.suggestions import did_you_mean
from sofa_softctl.base.toml.faults import Faults
from sofa_softctl.base.toml.fields import GREATEST, Fields
from sofa_softctl.bridge.config.map_tables import read_map
from sofa_softctl.bridge.config.robot import ActuatorConfig, DeviceConfig, SensorConfig, UnitMap
from sofa_softctl.bridge.quantities import UNITS
from sofa_softctl.bridge.registry import find

Devices = Mapping[str, DeviceConfig | None]
"""Devices of the file by name; None if the table is wrong."""


def read_actuator(
    faults: Faults, name: str, values: Any, devices: Devices
) -> ActuatorConfig | None:
    """Read a table [actuators.NAME]; return None if it is wrong."""
    before = len(faults.found)
    fields = Fields(faults, ("actuators", name), values)
    device = _device(fields, devices)
    channel = fields.whole(
        "channel",
        "a whole number from 0: a channel, or the id of a motor",
        "Write the number of the output it is connected to.",
        fits=lambda value: 0 <= value < 2**31,
        example="channel = 0",
    )
    quantity, unit = _quantity(fields, tuple(UNITS))
    if quantity and isinstance(device_config := devices.get(device), DeviceConfig):
        _check_quantity(fields, quantity, device_config)
    low, high = _limits(fields, unit)
    map_ = read_map(fields, quantity, unit, (low, high))
    rate, acceleration, jump, effort_max = (
        fields.number(
            key,
            f"a number above 0: {meaning} [{unit}{per}]",
            "Write what the motor and the robot stand.",
            fits=lambda value: value > 0.0,
            example=f"{key} = {example}",
            **({"default": math.inf} if key == "effort_max" else {}),
        )
        for key, meaning, per, example in _POSITIVE
    )
    rest = fields.number(
        "rest",
        f"a number: the position at rest [{unit}]",
        "Write the position in which the robot is relaxed.",
        example="rest = 0.0",
    )
    if rest < low or rest > high:
        fields.wrong(
            "rest",
            f"a position within the limits, {low:g} to {high:g} {unit}",
            "Move the limits or the rest pose: the robot goes there when something is wrong.",
        )
    soft_start = fields.number(
        "soft_start",
        "a number from 0: time to the first target [s]",
        "Write a time in seconds.",
        fits=lambda value: value >= 0.0,
        default=2.0,
    )
    fields.close("an actuator")
    if map_ is not None:
        _check_device_values(fields, map_, (low, rest, high), rate)
    if map_ is None or len(faults.found) > before:
        return None
    return ActuatorConfig(
        name, device, channel, quantity, unit, map_, low, high, rate, acceleration, jump,
        effort_max, rest, soft_start, fields.line,
    )  # fmt: skip


_POSITIVE = (
    ("rate", "the greatest speed", "/s", "40.0"),
    ("acceleration", "the greatest acceleration", "/s2", "400.0"),
    ("jump", "the greatest difference of two successive targets", "", "10.0"),
    ("effort_max", "the greatest measured effort, as the device measures it;", "", "500.0"),
)


RESERVED_NAMES = (
    "target", "command", "measured", "effort", "age", "sensor_age", "state", "robot_time", "name",
)  # fmt: skip
"""Names of a bridge's own Data and streams in recordings."""


def read_sensor(faults: Faults, name: str, values: Any, devices: Devices) -> SensorConfig | None:
    """Read a table [sensors.NAME]; return None if it is wrong."""
    before = len(faults.found)
    fields = Fields(faults, ("sensors", name), values)
    if name in RESERVED_NAMES:
        faults.add(
            ("sensors", name),
            f"expected a name of its own, got '{name}', which the bridge has itself, as it has "
            f"{', '.join(reserved for reserved in RESERVED_NAMES if reserved != name)}. Rename it.",
        )
    device = _device(fields, devices)
    signal = fields.text("signal", "a signal of the device", example='signal = "tip"')
    if signal == "" and fields.values.get("signal") == "":
        fields.wrong("signal", "a signal of the device", "Its page lists them.")
    quantity, unit = _quantity(fields, (*UNITS, "number"))
    size = fields.whole(
        "size",
        "a whole number from 1 to 4096: how many numbers it has",
        "A position in space has 3.",
        fits=lambda value: 1 <= value <= 4096,
        default=1,
    )
    map_ = read_map(fields, "" if quantity == "number" else quantity, unit, None)
    fields.close("a sensor")
    if map_ is None or len(faults.found) > before:
        return None
    return SensorConfig(name, device, signal, quantity, unit, size, map_, fields.line)


def _device(fields: Fields, devices: Devices) -> str:
    name = fields.text("device", "the name of a device", example='device = "board"')
    if isinstance(fields.values.get("device"), str) and name not in devices:
        hint = did_you_mean(name, devices).strip() or f"Add a table [devices.{name or 'board'}]."
        names = ", ".join(devices) or "none"
        fields.wrong("device", f"a device of this file: {names}", hint)
        return ""
    return name


def _quantity(fields: Fields, quantities: tuple[str, ...]) -> tuple[str, str]:
    quantity = fields.text(
        "quantity", "a quantity", known=quantities, example='quantity = "length"'
    )
    if quantity == "number":
        return quantity, fields.text("unit", "a unit, for messages", default="")
    units = UNITS.get(quantity, {})
    unit = fields.text("unit", f"a unit of {quantity}", known=list(units), example='unit = "mm"')
    return quantity, unit


def _check_quantity(fields: Fields, quantity: str, device: DeviceConfig) -> None:
    meant = find(device.type).quantities
    if meant and quantity not in meant:
        fields.wrong(
            "quantity",
            f"a quantity for which '{device.type}' is meant: {', '.join(meant)}",
            f"Use another device than '{device.name}', or another quantity.",
        )


def _limits(fields: Fields, unit: str) -> tuple[float, float]:
    expected = f"[least, greatest] position in {unit or 'its unit'}, two numbers"
    advice = "Write the range in which the robot may be moved."
    limits = fields.numbers("position", expected, advice, example="position = [0.0, 60.0]")
    if isinstance(fields.values.get("position"), list) and len(fields.values["position"]) != 2:
        fields.wrong("position", expected, advice)
        return math.nan, math.nan
    if len(limits) != 2:
        return math.nan, math.nan
    if limits[0] >= limits[1]:
        fields.wrong("position", "the least position first, then a greater one", "Swap them.")
        return math.nan, math.nan
    return limits[0], limits[1]


def _check_device_values(
    fields: Fields, map_: UnitMap, positions: tuple[float, float, float], rate: float
) -> None:
    """Check that the map turns limits and rate into distinct finite numbers."""
    low, _, high = positions
    if any(map(math.isnan, (*positions, rate))):
        return
    with np.errstate(all="ignore"):
        values = map_.to_device(np.array(positions))
        back = map_.from_device(values)
        slopes = map_.slope_range(-math.inf, math.inf)
        fine = (
            np.all(np.isfinite(values))
            and values[0] != values[2]
            and np.allclose(back, positions, rtol=0.0, atol=1e-6 * (high - low))
            and 1.0 / GREATEST < slopes[0] <= slopes[1] < GREATEST
            and 1.0 / GREATEST < rate * slopes[1] < GREATEST
        )
    if not fine:
        fields.add(
            "map",
            f"expected limits that the map turns into values that can be told apart, got "
            f"{values[0]:g} to {values[2]:g}. Check the numbers of 'map' and 'zero'.",
        )
