"""Units of recorded columns and their conversion."""

from __future__ import annotations

import math

from sofa_softctl.errors import IdentificationError

SIZES = {
    "time": {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "min": 60.0},
    "length": {"m": 1.0, "cm": 1e-2, "mm": 1e-3, "um": 1e-6},
    "speed": {"m/s": 1.0, "cm/s": 1e-2, "mm/s": 1e-3},
    "acceleration": {"m/s^2": 1.0, "mm/s^2": 1e-3},
    "angle": {"rad": 1.0, "mrad": 1e-3, "deg": math.pi / 180.0, "turn": 2.0 * math.pi},
    "angular velocity": {"rad/s": 1.0, "deg/s": math.pi / 180.0, "rpm": math.pi / 30.0},
    "force": {"N": 1.0, "mN": 1e-3, "kN": 1e3},
    "torque": {"N m": 1.0, "mN m": 1e-3, "N mm": 1e-3, "mN mm": 1e-6},
    "pressure": {"Pa": 1.0, "hPa": 1e2, "mbar": 1e2, "kPa": 1e3, "bar": 1e5, "MPa": 1e6},
    "volume": {"m^3": 1.0, "dm^3": 1e-3, "l": 1e-3, "cm^3": 1e-6, "ml": 1e-6, "mm^3": 1e-9},
    "mass": {"kg": 1.0, "g": 1e-3},
    "voltage": {"V": 1.0, "mV": 1e-3},
    "current": {"A": 1.0, "mA": 1e-3},
    "temperature difference": {"K": 1.0, "mK": 1e-3},
    "number": {"-": 1.0, "1": 1.0, "%": 1e-2},
}
"""Size of each unit in the first unit of its dimension."""


_SPELLINGS = {
    "seconds": "s", "second": "s", "sec": "s", "milliseconds": "ms", "millimeters": "mm",
    "millimetres": "mm", "centimeters": "cm", "meters": "m", "metres": "m", "degrees": "deg",
    "degree": "deg", "°": "deg", "º": "deg", "radians": "rad", "radian": "rad", "pascal": "Pa",
    "pascals": "Pa", "kilopascal": "kPa", "newton": "N", "newtons": "N", "n·m": "N m",
    "n*m": "N m", "n.m": "N m", "nm": "N m", "mnm": "mN m", "nmm": "N mm", "n.mm": "N mm",
    "n·mm": "N mm", "volt": "V", "volts": "V", "ampere": "A", "amps": "A", "°/s": "deg/s",
    "m/s²": "m/s^2", "m/s2": "m/s^2", "mm/s²": "mm/s^2", "mm/s2": "mm/s^2", "m³": "m^3",
    "mm³": "mm^3", "µm": "um", "μm": "um", "rev/min": "rpm",
}  # fmt: skip
"""Units as other programs write them, in lower case."""
_COUNTS = ("count", "counts", "pulse", "pulses", "tick", "ticks", "step", "steps")


def spelled(unit: str) -> str:
    """A unit as it is written here: 'Degrees' and '°' are 'deg'; others stay."""
    unit = " ".join(unit.split())
    return unit if dimension(unit) else _SPELLINGS.get(unit.lower(), unit)


def quantity(number: str, unit: str) -> str:
    """A number with its unit; pure numbers, of unit '-', stand alone."""
    return number if unit in ("", "-", "1") else f"{number} {unit}"


def factor(declared: str, wanted: str, where: str) -> float:
    """Conversion factor from unit `declared` to unit `wanted`.

    Args:
        declared: Unit in a file.
        wanted: Unit in memory; one that is not in `SIZES` converts only from itself.
        where: Place in the file, for the message: "data.csv: column 'b1'".

    Raises:
        IdentificationError: The unit is unknown, or of another dimension.
    """
    declared, wanted = spelled(declared), " ".join(wanted.split()) or "-"
    if not declared:
        raise IdentificationError(
            f"{where} has no unit. Write it after the name: '... [{wanted}]', or one of: "
            f"{', '.join(alike(wanted))}."
        )
    if declared == wanted:
        return 1.0
    from_, to = dimension(declared), dimension(wanted)
    if to is not None and from_ == to:
        return SIZES[to][declared] / SIZES[to][wanted]
    fitting = ", ".join(alike(wanted))
    if from_ is not None:
        raise IdentificationError(
            f"{where} is in [{declared}], a {from_}; expected [{wanted}], or one of: {fitting}."
        )
    if declared.lower() in _COUNTS and dimension(wanted) == "angle":
        raise IdentificationError(
            f"{where} is in [{declared}] of an encoder; expected [{wanted}]. Convert it: a "
            "Dynamixel of the X series has 4096 a turn, so 1 is 0.0879 deg, and 2048 the middle."
        )
    known = ", ".join(unit for units in SIZES.values() for unit in units)
    raise IdentificationError(
        f"{where} has the unit [{declared}], which is not known. Expected one of: {fitting}. "
        f"Known units: {known}."
    )


def dimension(unit: str) -> str | None:
    """The dimension of a unit; None if the unit is unknown."""
    return next((name for name, units in SIZES.items() if unit in units), None)


def alike(unit: str) -> tuple[str, ...]:
    """All units that convert to this one, itself first."""
    found = dimension(unit)
    return (unit, *(one for one in SIZES[found] if one != unit)) if found else (unit,)


def nearest(ratio: float, unit: str) -> str | None:
    """The unit that explains values `ratio` times too large for `unit`.

    None if no other unit does within a factor of 3.
    """
    found = dimension(unit)
    if found is None or not (math.isfinite(ratio) and ratio > 0.0):
        return None
    sizes = SIZES[found]
    off = {
        other: abs(math.log(ratio * sizes[other] / sizes[unit])) for other in sizes if other != unit
    }
    best = min(off, key=lambda other: off[other], default=None)
    return best if best is not None and off[best] < math.log(3.0) else None


def mistaken(ratio: float, unit: str, within: float) -> list[tuple[str, str]]:
    """Pairs of declared and true unit that explain values `ratio` times too large.

    Args:
        ratio: Of measured to expected values, after conversion.
        unit: Unit after conversion; pairs without it are used only if no pair with it fits.
        within: Tolerance of the ratio, as a factor.

    Returns:
        Equally good pairs of units that differ by a factor of ten or more; empty if none fits.
    """
    sizes = SIZES.get(dimension(unit) or "", {})
    if not (math.isfinite(ratio) and ratio > 0.0):
        return []
    off = {
        (a, b): abs(math.log(ratio * sizes[b] / sizes[a]))
        for a in sizes
        for b in sizes
        if not 0.11 < sizes[a] / sizes[b] < 9.0
    }
    for own in (True, False):
        some = {pair: size for pair, size in off.items() if (unit in pair) is own}
        best = min(some.values(), default=math.inf)
        if best < math.log(within):
            return [pair for pair, size in some.items() if size < best + 1e-9]
    return []


def usual_mistakes(ratio: float, unit: str) -> list[tuple[str, str]]:
    """Pairs of declared and true unit that are often taken for each other, as of `mistaken`.

    Those are degrees and radians, and steps of a thousand, within a factor of 3; the declared one
    is `unit`.
    """
    sizes = SIZES.get(dimension(unit) or "", {})
    if not (math.isfinite(ratio) and ratio > 0.0):
        return []
    off = {
        (unit, true): abs(math.log(ratio * sizes[true] / sizes[unit]))
        for true in sizes
        if is_usual_mistake(unit, true)
    }
    best = min(off, key=lambda pair: off[pair], default=None)
    return [best] if best is not None and off[best] < math.log(3.0) else []


def is_usual_mistake(unit: str, other: str) -> bool:
    """Whether two units of a dimension are often taken for each other."""
    if {unit, other} == {"deg", "rad"}:
        return True
    sizes = SIZES.get(dimension(unit) or "", {})
    if unit == other or other not in sizes or "deg" in (unit, other):
        return False
    thousands = math.log10(sizes[unit] / sizes[other]) / 3.0
    return abs(thousands - round(thousands)) < 1e-6 and unit not in ("hPa", "mbar")
