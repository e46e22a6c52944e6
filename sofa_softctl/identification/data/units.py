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
"""Size of each unit in the first unit of the same dimension."""


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
"""Unit by the spelling of other programs, in lower case."""
_COUNTS = ("count", "counts", "pulse", "pulses", "tick", "ticks", "step", "steps")


def standard_spelling(unit: str) -> str:
    """Return a unit in standard spelling: 'Degrees' and '°' become 'deg'; unknown units stay."""
    unit = " ".join(unit.split())
    return unit if dimension(unit) else _SPELLINGS.get(unit.lower(), unit)


def quantity(number: str, unit: str) -> str:
    """Return a number with its unit, without one for pure numbers, of unit '-'."""
    return number if unit in ("", "-", "1") else f"{number} {unit}"


def factor(declared: str, target: str, location: str) -> float:
    """Return the conversion factor from unit `declared` to unit `target`.

    Args:
        declared: Unit in a file.
        target: Unit in memory; a unit that is not in `SIZES` converts only from itself.
        location: Column of the file, for the message: "data.csv: column 'b1'".

    Raises:
        IdentificationError: The unit is unknown, or of another dimension.
    """
    declared, target = standard_spelling(declared), " ".join(target.split()) or "-"
    if not declared:
        raise IdentificationError(
            f"{location} has no unit. Write it after the name: '... [{target}]', or one of: "
            f"{', '.join(convertible_units(target))}."
        )
    if declared == target:
        return 1.0
    from_, to = dimension(declared), dimension(target)
    if to is not None and from_ == to:
        return SIZES[to][declared] / SIZES[to][target]
    fitting = ", ".join(convertible_units(target))
    if from_ is not None:
        raise IdentificationError(
            f"{location} is in [{declared}], a {from_}; expected [{target}], or one of: {fitting}."
        )
    if declared.lower() in _COUNTS and dimension(target) == "angle":
        raise IdentificationError(
            f"{location} is in [{declared}] of an encoder; expected [{target}]. Convert it: a "
            "Dynamixel of the X series has 4096 a turn, so 1 is 0.0879 deg, and 2048 the middle."
        )
    known_units = ", ".join(unit for units in SIZES.values() for unit in units)
    raise IdentificationError(
        f"{location} has the unit [{declared}], which is not known. Expected one of: {fitting}. "
        f"Known units: {known_units}."
    )


def dimension(unit: str) -> str | None:
    """Dimension of a unit, or None if the unit is unknown."""
    return next((name for name, units in SIZES.items() if unit in units), None)


def convertible_units(unit: str) -> tuple[str, ...]:
    """All units that convert to this one, which comes first."""
    name = dimension(unit)
    return (
        (unit, *(other_unit for other_unit in SIZES[name] if other_unit != unit))
        if name
        else (unit,)
    )


def nearest_unit(ratio: float, unit: str) -> str | None:
    """Return the unit that explains values `ratio` times too large for `unit`.

    Return None if no other unit does within a factor of 3.
    """
    name = dimension(unit)
    if name is None or not (math.isfinite(ratio) and ratio > 0.0):
        return None
    sizes = SIZES[name]
    log_errors = {
        other_unit: abs(math.log(ratio * sizes[other_unit] / sizes[unit]))
        for other_unit in sizes
        if other_unit != unit
    }
    best_unit = min(log_errors, key=lambda other_unit: log_errors[other_unit], default=None)
    return best_unit if best_unit is not None and log_errors[best_unit] < math.log(3.0) else None


def mistaken_units(ratio: float, unit: str, within: float) -> list[tuple[str, str]]:
    """Return pairs of declared and true unit that explain values `ratio` times too large.

    Args:
        ratio: Measured divided by expected values, after conversion.
        unit: Unit after conversion; pairs without it are used only if no pair with it fits.
        within: Tolerance of the ratio, as a factor.

    Returns:
        Equally good pairs of units that differ by a factor of ten or more, or [] if none fits.
    """
    sizes = SIZES.get(dimension(unit) or "", {})
    if not (math.isfinite(ratio) and ratio > 0.0):
        return []
    log_errors = {
        (a, b): abs(math.log(ratio * sizes[b] / sizes[a]))
        for a in sizes
        for b in sizes
        if not 0.11 < sizes[a] / sizes[b] < 9.0
    }
    for contains_unit in (True, False):
        errors = {
            pair: size for pair, size in log_errors.items() if (unit in pair) is contains_unit
        }
        error_min = min(errors.values(), default=math.inf)
        if error_min < math.log(within):
            return [pair for pair, size in errors.items() if size < error_min + 1e-9]
    return []


def usual_mistakes(ratio: float, unit: str) -> list[tuple[str, str]]:
    """Return pairs like `mistaken_units`, but only units that are often mistaken for each other.

    These are degrees and radians, and units that differ by powers of a thousand, within a factor of
    3; `unit` is the declared one.
    """
    sizes = SIZES.get(dimension(unit) or "", {})
    if not (math.isfinite(ratio) and ratio > 0.0):
        return []
    log_errors = {
        (unit, true_unit): abs(math.log(ratio * sizes[true_unit] / sizes[unit]))
        for true_unit in sizes
        if is_usual_mistake(unit, true_unit)
    }
    best = min(log_errors, key=lambda pair: log_errors[pair], default=None)
    return [best] if best is not None and log_errors[best] < math.log(3.0) else []


def is_usual_mistake(unit: str, other_unit: str) -> bool:
    """Return True if two units of a dimension are often mistaken for each other."""
    if {unit, other_unit} == {"deg", "rad"}:
        return True
    sizes = SIZES.get(dimension(unit) or "", {})
    if unit == other_unit or other_unit not in sizes or "deg" in (unit, other_unit):
        return False
    thousands = math.log10(sizes[unit] / sizes[other_unit]) / 3.0
    return abs(thousands - round(thousands)) < 1e-6 and unit not in ("hPa", "mbar")
