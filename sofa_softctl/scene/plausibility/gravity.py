"""Gravity in other units than the meshes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from sofa_softctl.runtime.helper.source_line import describe
from sofa_softctl.scene.plausibility.bodies import Body, gravity_of
from sofa_softctl.scene.plausibility.warning import StartWarning
from sofa_softctl.units import LENGTHS, Units

EARTH = 9.81
"""Gravity [m/s^2]."""
ROUNDED = 0.03
"""Relative deviation from it that rounding explains: 9.8, 10."""
SIZES = (1e-3, 50.0)
"""Sizes of robots [m] that are plausible."""


def gravity_warnings(root: Any, bodies: Sequence[Body], units: Units | None) -> list[StartWarning]:
    """Gravity that is the Earth's in another unit: than `UNITS`, or than the size of the bodies."""
    gravity = gravity_of(root)
    size = max((body.size for body in bodies if body.masses), default=0.0)
    if not (gravity > 0.0 and size > 0.0):
        return []
    if units is not None:
        text = _beside_units(gravity, units)
    else:
        text = _beside_size(gravity, size)
    where = getattr(root.gravity, "where", None)  # SOFA does not know the line
    return [StartWarning(root, f"{describe(where)}: {text}" if where else text)] if text else []


def _beside_units(gravity: float, units: Units) -> str:
    """Whether it is the Earth's times a power of ten."""
    own = EARTH * units.in_si("time") ** 2 / units.in_si("length")
    power = round(math.log10(gravity / own))
    if power == 0 or not _is(gravity, own * 10.0**power):
        return ""
    unit = f"{units.length}/{units.time}^2"
    return (
        f"gravity is {gravity:g} {unit} with UNITS '{units}', "
        f"and the Earth's is {own:.4g} {unit}. Correct gravity, or UNITS."
    )


def _beside_size(gravity: float, size: float) -> str:
    """Whether bodies have a robot's size in the unit in which it is the Earth's."""
    for name, metres in LENGTHS.items():
        if _is(gravity * metres, EARTH) and not SIZES[0] <= size * metres <= SIZES[1]:
            fitting = "mm" if size * metres > SIZES[1] else "m"
            return (
                f"gravity is {gravity:g}, the Earth's in {name} and s, and the largest body is "
                f"{size:.4g} long, which would be {name} too. Is the mesh in {fitting}? Then "
                f"gravity is {EARTH / LENGTHS[fitting]:g}; declare UNITS = '{fitting}, kg, s'."
            )
    return ""


def _is(value: float, expected: float) -> bool:
    return abs(value / expected - 1.0) <= ROUNDED
