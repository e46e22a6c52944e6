"""Reads the table `map` of an actuator or sensor: a factor or a curve, with sign and zero."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from sofa_softctl.base.toml.fields import Fields
from sofa_softctl.bridge.config.maps import LinearMap, PolynomialMap, TableMap
from sofa_softctl.bridge.config.robot import UnitMap
from sofa_softctl.bridge.quantities import UNITS

COEFFICIENTS_MAX = 8
"""Greatest number of coefficients of a polynomial."""


def read_polynomial(
    fields: Fields, sign: float, zero: float, unit: str, limits: tuple[float, float] | None
) -> UnitMap | None:
    """Read a map of type 'polynomial'; return None if it is wrong."""
    c = fields.numbers(
        "coefficients",
        "numbers: factors of x, x^2, ...",
        "The constant is 'zero'.",
        example="coefficients = [30.0, 0.2]",
    )
    if len(c) > COEFFICIENTS_MAX or ("coefficients" in fields.values and not c):
        if len(c) > COEFFICIENTS_MAX or fields.values["coefficients"] == []:
            expected = f"1 to {COEFFICIENTS_MAX} factors of x, x^2, ..."
            fields.wrong("coefficients", expected, "Use a table instead.")
        return None
    if limits is None:
        fields.add(
            "type",
            "expected a map without limits for a sensor, got 'polynomial'. Use a table instead.",
        )
        return None
    low, high = limits
    if not c or not low < high:
        return None
    map_ = PolynomialMap(c, low, high, sign, zero)
    slopes = map_.slopes(low, high)
    if not (np.all(slopes > 0.0) or np.all(slopes < 0.0)):
        fields.wrong(
            "coefficients",
            f"a polynomial that only rises, or only falls, from {low:g} to {high:g} {unit}",
            "Fit it again, or narrow the limits.",
        )
        return None
    return map_


def read_table(
    fields: Fields, sign: float, zero: float, unit: str, limits: tuple[float, float] | None
) -> UnitMap | None:
    """Read a map of type 'table'; return None if it is wrong."""
    x = fields.numbers(
        "positions",
        f"numbers: positions in {unit}",
        "List at least two, increasing.",
        example="positions = [0.0, 30.0, 60.0]",
    )
    y = fields.numbers(
        "values",
        "numbers: what the device has there",
        "List one for each position.",
        example="values = [1000, 1400, 1900]",
    )
    if not x or not y:
        for key in ("positions", "values"):
            if fields.values.get(key) == []:
                fields.wrong(key, "at least two numbers", "List them.")
        return None
    if len(x) != len(y) or len(x) < 2:
        fields.add(
            "values",
            "expected one value per position, at least two, got "
            f"{len(x)} positions and {len(y)} values. List one for each.",
        )
        return None
    steps = np.diff(x)
    if not np.all(steps > 0.0):
        i = int(np.argmin(steps > 0.0))
        fields.add(
            "positions",
            f"expected increasing positions, got {x[i + 1]:g} after {x[i]:g}. Sort the pairs.",
        )
        return None
    map_ = TableMap(x, y, sign, zero)
    rises = np.diff(map_.values) * (1.0 if map_.values[-1] > map_.values[0] else -1.0)
    if not np.all(rises > 0.0):
        i = int(np.argmin(rises > 0.0))
        fields.add(
            "values",
            f"expected values that only rise, or only fall, got {y[i]:g} and then {y[i + 1]:g}. "
            "Measure these points again, or leave one out.",
        )
        return None
    if limits is not None and (limits[0] < x[0] or limits[1] > x[-1]):
        fields.add(
            "positions",
            f"expected positions that cover the limits, {limits[0]:g} to {limits[1]:g} {unit}; got "
            f"{x[0]:g} to {x[-1]:g}. Measure further points, or narrow the limits.",
        )
        return None
    return map_


def read_map(
    fields: Fields, quantity: str, unit: str, limits: tuple[float, float] | None
) -> UnitMap | None:
    """Read the map of an actuator or sensor.

    Args:
        fields: Table with the keys `map`, `sign` and `zero`.
        quantity: Quantity of its commands or measurements, or '' if it is wrong.
        unit: Unit of the quantity.
        limits: Limits on its position [unit], NaN if they are wrong, or None for a sensor.

    Returns:
        The map, or None if it is wrong.
    """
    before = len(fields.faults.found)
    table = (
        fields.table("map", 'map = { type = "linear", factor = 1.0 }')
        if limits is not None
        else fields.table("map", default=None)
    )
    sign = fields.whole(
        "sign", "1 or -1", "Write 1 or -1.", fits=lambda value: value in (1, -1), default=1
    )
    zero = fields.number(
        "zero", "a number", "Write what the device has at position 0.", default=0.0
    )
    if table is None:
        missing = limits is None and "map" not in fields.values
        return LinearMap(float(sign), zero) if missing else None
    kind = table.text("type", "a type of map", known=list(KINDS), example='type = "spool"')
    if not kind:
        if "type" not in table.values:
            table.add("type", "expected the key 'type', got none. Add: type = \"spool\"")
        return None
    quantities, read = KINDS[kind]
    if quantities and quantity and quantity not in quantities:
        table.add(
            "type",
            f"expected a map for quantity = '{quantity}', got '{kind}', which is for "
            f"{' or '.join(quantities)}. Use another map, or set quantity = '{quantities[0]}'.",
        )
    with np.errstate(all="ignore"):
        map_ = read(table, float(sign), zero, unit, limits)
    table.close(f"a map of type '{kind}'")
    return map_ if len(table.faults.found) == before else None


def _positive(
    fields: Fields, key: str, meaning: str, example: str, default: float = np.nan
) -> float:
    return fields.number(
        key,
        f"a number above 0: {meaning}",
        "Measure it, or look it up in the data sheet.",
        fits=lambda value: value > 0.0,
        example=example,
        **({} if math.isnan(default) else {"default": default}),
    )


def _not_zero(
    fields: Fields, key: str, meaning: str, example: str, default: float = np.nan
) -> float:
    return fields.number(
        key,
        f"a number other than 0: {meaning}",
        "Write a number other than 0.",
        fits=lambda value: value != 0.0,
        example=example,
        **({} if math.isnan(default) else {"default": default}),
    )


Limits = tuple[float, float] | None
Reader = Callable[[Fields, float, float, str, Limits], UnitMap | None]


def _linear(fields: Fields, sign: float, zero: float, unit: str, limits: Limits) -> UnitMap:
    factor = _not_zero(fields, "factor", f"device units for 1 {unit}", "factor = 1.0")
    return LinearMap(sign * factor, zero)


def _counts_per_turn(fields: Fields) -> float:
    """Read the device's counts for one turn behind the gear."""
    counts = _positive(
        fields, "counts_per_turn", "device units for one turn", "counts_per_turn = 4096"
    )
    gear = _positive(fields, "gear", "turns of the motor for one turn behind its gear", "", 1.0)
    return counts * gear


def _spool(fields: Fields, sign: float, zero: float, unit: str, limits: Limits) -> UnitMap:
    radius = _positive(fields, "radius", f"radius of the spool in {unit}", "radius = 12.0")
    return LinearMap(sign * _counts_per_turn(fields) / (2.0 * math.pi * radius), zero)


def _turn(fields: Fields, sign: float, zero: float, unit: str, limits: Limits) -> UnitMap:
    return LinearMap(sign * _counts_per_turn(fields) * _radians(unit) / (2.0 * math.pi), zero)


def _radians(unit: str) -> float:
    return UNITS["angle"].get(unit, math.nan)


def _servo(fields: Fields, sign: float, zero: float, unit: str, limits: Limits) -> UnitMap | None:
    advice = "Look both up in the servo's data sheet, such as [500, 2400]."
    ends = fields.numbers(
        "pulse", "the shortest and longest pulse", advice, example="pulse = [500, 2400]"
    )
    if ends and not (len(ends) == 2 and ends[0] < ends[1]):
        fields.wrong("pulse", "the shortest and longest pulse in microseconds", advice)
        ends = []
    angle = _positive(fields, "angle", "degrees between these pulses", "angle = 180.0", 180.0)
    radius = 1.0 / _radians(unit)
    if unit in UNITS["length"]:
        radius = _positive(fields, "radius", f"radius of the spool in {unit}", "radius = 12.0")
    if not ends:
        return None
    map_ = LinearMap(sign * (ends[1] - ends[0]) / (math.radians(angle) * radius), zero)
    if limits is not None:
        pulses = sorted(map_.to_device(np.array(limits)))
        if pulses[0] < ends[0] - 1e-6 or pulses[1] > ends[1] + 1e-6:
            fields.add(
                "pulse",
                f"expected limits within the servo's pulses, {ends[0]:g} to {ends[1]:g} us; got "
                f"{limits[0]:g} to {limits[1]:g} {unit}, which are {pulses[0]:.0f} to "
                f"{pulses[1]:.0f} us. Narrow the limits, move 'zero', or take another radius.",
            )
    return map_


def _syringe(fields: Fields, sign: float, zero: float, unit: str, limits: Limits) -> UnitMap:
    area = _positive(fields, "area", "area of the piston in mm2", "area = 165.0")
    lead = _positive(fields, "lead", "travel of the piston for one turn in mm", "lead = 2.0")
    volume = UNITS["volume"].get(unit, math.nan) * 1e9  # in mm3
    return LinearMap(sign * _counts_per_turn(fields) * volume / (area * lead), zero)


KINDS: dict[str, tuple[tuple[str, ...], Reader]] = {
    "linear": ((), _linear),
    "spool": (("length",), _spool),
    "turn": (("angle",), _turn),
    "servo": (("length", "angle"), _servo),
    "syringe": (("volume",), _syringe),
    "polynomial": ((), read_polynomial),
    "table": ((), read_table),
}
"""Types of maps: their quantities (none for all), and their readers."""
