"""Reads maps that are curves: polynomials and tables, which must be strictly monotonic."""

from __future__ import annotations

import numpy as np

from sofa_softctl.base.toml.fields import Fields
from sofa_softctl.bridge.config.maps import PolynomialMap, TableMap
from sofa_softctl.bridge.config.robot import UnitMap

COEFFICIENTS = 8
"""Most coefficients of a polynomial."""


def read_polynomial(
    fields: Fields, sign: float, zero: float, unit: str, limits: tuple[float, float] | None
) -> UnitMap | None:
    """A map of type 'polynomial'; None: something is wrong with it. See `map_tables.read_map`."""
    c = fields.numbers(
        "coefficients",
        "numbers: factors of x, x^2, ...",
        "The constant is 'zero'.",
        example="coefficients = [30.0, 0.2]",
    )
    if len(c) > COEFFICIENTS or ("coefficients" in fields.values and not c):
        if len(c) > COEFFICIENTS or fields.values["coefficients"] == []:
            expected = f"1 to {COEFFICIENTS} factors of x, x^2, ..."
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
    found = PolynomialMap(c, low, high, sign, zero)
    slopes = found.slopes(low, high)
    if not (np.all(slopes > 0.0) or np.all(slopes < 0.0)):
        fields.wrong(
            "coefficients",
            f"a polynomial that only rises, or only falls, from {low:g} to {high:g} {unit}",
            "Fit it anew, or narrow the limits.",
        )
        return None
    return found


def read_table(
    fields: Fields, sign: float, zero: float, unit: str, limits: tuple[float, float] | None
) -> UnitMap | None:
    """A map of type 'table'; None: something is wrong with it. See `map_tables.read_map`."""
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
            "expected as many values as positions, at least two, got "
            f"{len(x)} positions and {len(y)} values. List one for each.",
        )
        return None
    steps = np.diff(x)
    if not np.all(steps > 0.0):
        at = int(np.argmin(steps > 0.0))
        fields.add(
            "positions",
            f"expected increasing positions, got {x[at + 1]:g} after {x[at]:g}. Sort the pairs.",
        )
        return None
    found = TableMap(x, y, sign, zero)
    rises = np.diff(found.values) * (1.0 if found.values[-1] > found.values[0] else -1.0)
    if not np.all(rises > 0.0):
        at = int(np.argmin(rises > 0.0))
        fields.add(
            "values",
            f"expected values that only rise, or only fall, got {y[at]:g} and then {y[at + 1]:g}. "
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
    return found
