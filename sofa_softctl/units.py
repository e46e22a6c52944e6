"""Unit system of a scene: names of units. Nothing is converted.

A scene file declares `UNITS = "mm, kg, s"`; SOFA itself knows no units.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from sofa_softctl.errors import SceneError

LENGTHS = {"m": 1.0, "dm": 1e-1, "cm": 1e-2, "mm": 1e-3}
MASSES = {"t": 1e3, "kg": 1.0, "g": 1e-3}
TIMES = {"s": 1.0, "ms": 1e-3}
PREFIXES = {9: "G", 6: "M", 3: "k", 0: "", -3: "m", -6: "u", -9: "n"}
DIMENSIONS = {
    "force": ("N", 1, 1, -2),
    "pressure": ("Pa", -1, 1, -2),
    "energy": ("J", 2, 1, -2),
    "torque": ("N m", 2, 1, -2),
}
"""SI unit of each quantity, and its exponents of length, mass and time."""
QUANTITIES = ("length", "mass", "time", "angle", "volume", *DIMENSIONS)
"""Quantities whose unit follows from a scene's units."""
SEPARATOR = ", "
"""Separator between the quantities, or units, of a channel's columns if they differ."""


@dataclass(frozen=True)
class Units:
    """Units of length, mass and time, and units derived from them."""

    length: str
    """Unit of length, such as 'mm'."""
    mass: str
    """Unit of mass, such as 'kg'."""
    time: str
    """Unit of time, such as 's'."""

    @staticmethod
    def parse(text: str) -> Units:
        """Return the units of a declaration such as 'mm, kg, s'.

        Raises:
            SceneError: The text is not a unit of length, one of mass and one of time.
        """
        names = [name.strip() for name in str(text).split(",")]
        tables = (LENGTHS, MASSES, TIMES)
        if len(names) != 3 or any(n not in t for n, t in zip(names, tables, strict=True)):
            raise SceneError(
                f"UNITS must be a length ({', '.join(LENGTHS)}), a mass ({', '.join(MASSES)}) and "
                f"a time ({', '.join(TIMES)}), such as 'mm, kg, s'. Got: '{text}'."
            )
        return Units(*names)

    def __str__(self) -> str:
        return f"{self.length}, {self.mass}, {self.time}"

    def symbol(self, quantity: str) -> str:
        """Return the unit of a quantity of `QUANTITIES`, or of several that `together` has joined.

        Any other text is returned unchanged, so that a quantity without a unit names itself.
        """
        if SEPARATOR in quantity:
            return SEPARATOR.join(map(self.symbol, quantity.split(SEPARATOR)))
        base_units = {"length": self.length, "mass": self.mass, "time": self.time, "angle": "rad"}
        base_units["volume"] = f"{self.length}^3"
        if quantity in base_units:
            return base_units[quantity]
        if quantity not in DIMENSIONS:
            return quantity
        unit, *_ = DIMENSIONS[quantity]
        exponent = round(math.log10(self.in_si(quantity)))
        if exponent in PREFIXES:
            return f"{PREFIXES[exponent]}{unit}"
        return f"1e{exponent} {unit}"

    def in_si(self, quantity: str) -> float:
        """Return one unit of a quantity in SI units."""
        base = {
            "length": LENGTHS[self.length],
            "mass": MASSES[self.mass],
            "time": TIMES[self.time],
            "volume": LENGTHS[self.length] ** 3,
            "angle": 1.0,
        }
        if quantity in base:
            return base[quantity]
        _, length, mass, time = DIMENSIONS[quantity]
        return base["length"] ** length * base["mass"] ** mass * base["time"] ** time


def symbol(units: Units | None, quantity: str) -> str:
    """Return the unit of a quantity, or the quantity itself if a scene declares no units."""
    return quantity if units is None else units.symbol(quantity)


def together(quantities: Sequence[str]) -> str:
    """Join the quantities, or units, of columns in one text; a single one if all are equal."""
    return SEPARATOR.join(quantities if len(set(quantities)) > 1 else quantities[:1])


def of_columns(unit: str, count: int) -> list[str]:
    """Return the units of `count` columns that `together` has joined."""
    units = unit.split(SEPARATOR)
    return units if len(units) == count else [unit] * count
