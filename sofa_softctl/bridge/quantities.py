"""Quantities that actuators and sensors have, and their units; conversion by factors to SI."""

from __future__ import annotations

import math

from sofa_softctl.base.suggestions import did_you_mean
from sofa_softctl.errors import ConfigError
from sofa_softctl.units import Units

UNITS: dict[str, dict[str, float]] = {
    "length": {"m": 1.0, "dm": 1e-1, "cm": 1e-2, "mm": 1e-3, "um": 1e-6},
    "angle": {"rad": 1.0, "deg": math.pi / 180.0},
    "force": {"N": 1.0, "mN": 1e-3, "kN": 1e3},
    "torque": {"N m": 1.0, "mN m": 1e-3, "N mm": 1e-3, "uN m": 1e-6},
    "pressure": {"Pa": 1.0, "kPa": 1e3, "MPa": 1e6, "mbar": 1e2, "bar": 1e5, "psi": 6894.757293168},
    "volume": {"m3": 1.0, "l": 1e-3, "ml": 1e-6, "ul": 1e-9, "cm3": 1e-6, "mm3": 1e-9},
}
"""Units of each quantity, with their size in SI units."""


def si_factor(quantity: str, unit: str) -> float:
    """Return the size of a unit in SI units.

    Raises:
        ConfigError: The quantity or the unit is unknown; the known ones are listed.
    """
    for name, valid in ((quantity, UNITS), (unit, UNITS.get(quantity, {}))):
        if name not in valid:
            kind = "quantity" if valid is UNITS else f"unit of {quantity}"
            raise ConfigError(
                f"there is no {kind} '{name}'.{did_you_mean(name, valid)} Known: {', '.join(valid)}"
            )
    return UNITS[quantity][unit]


def scene_factor(quantity: str, unit: str, scene: Units) -> float:
    """Return the factor from a scene's unit of a quantity to another unit of it.

    Angles are in radians in every scene; volumes in its unit of length to the third power.
    """
    return scene.in_si(quantity) / si_factor(quantity, unit)
