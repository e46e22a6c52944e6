"""Gravity in other units than the meshes; sag under it, and natural period."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from sofa_softctl.base.source_line import describe
from sofa_softctl.base.versions import one_blas_thread
from sofa_softctl.runtime.equilibrium.rest_response import rest_response
from sofa_softctl.scene.backend.backend import find_backend
from sofa_softctl.scene.graph.nodes import box_size
from sofa_softctl.scene.plausibility.bodies import Body, StartWarning, at, gravity_of
from sofa_softctl.scene.plausibility.holding import piece_warnings
from sofa_softctl.units import LENGTHS, Units

GRAVITY = 9.81
"""Gravity of the Earth [m/s^2]."""
ROUNDING_TOLERANCE = 0.03
"""Relative deviation that rounding explains, as of 9.8 or 10 [-]."""
SIZES = (1e-3, 50.0)
"""Sizes of robots [m] that are plausible."""

SAG_RATIO_MAX = 1.0
"""Largest plausible static sag by the robot's size [-]. Long silicone trunks come to 0.7 by the
stiffness of their straight shape; wrong units give a hundred times more."""
PRESSURE_RATIO_MAX = 0.3
"""Pressure of a body's weight by its modulus, above which it is flattened [-]."""
STATIC_PERIODS_MIN = 1e5
"""Natural periods per step above which a step to the equilibrium is intended [-]."""


def gravity_warnings(root: Any, bodies: Sequence[Body], units: Units | None) -> list[StartWarning]:
    """Warn of gravity in another unit than `UNITS`, or than the size of the bodies."""
    gravity = gravity_of(root)
    size = max((body.size for body in bodies if body.masses), default=0.0)
    if not (gravity > 0.0 and size > 0.0):
        return []
    if units is not None:
        text = _fault_by_units(gravity, units)
    else:
        text = _fault_by_size(gravity, size)
    location = getattr(root.gravity, "where", None)  # SOFA does not know the line
    line = f"{describe(location)}: " if location else ""
    return [StartWarning(root, f"{line}{text}")] if text else []


def _fault_by_units(gravity: float, units: Units) -> str:
    """Return a sentence if gravity is the Earth's times a power of ten, else ''."""
    earth = GRAVITY * units.in_si("time") ** 2 / units.in_si("length")
    power = round(math.log10(gravity / earth))
    if power == 0 or not _is(gravity, earth * 10.0**power):
        return ""
    unit = f"{units.length}/{units.time}^2"
    return (
        f"gravity is {gravity:g} {unit} with UNITS '{units}', "
        f"and the Earth's is {earth:.4g} {unit}. Correct gravity, or UNITS."
    )


def _fault_by_size(gravity: float, size: float) -> str:
    """Return a sentence if the bodies have no robot's size in the unit of gravity, else ''."""
    for name, metres in LENGTHS.items():
        if _is(gravity * metres, GRAVITY) and not SIZES[0] <= size * metres <= SIZES[1]:
            fitting = "mm" if size * metres > SIZES[1] else "m"
            return (
                f"gravity is {gravity:g}, the Earth's in {name} and s, and the largest body is "
                f"{size:.4g} long, which would be {name} too. Is the mesh in {fitting}? Then "
                f"gravity is {GRAVITY / LENGTHS[fitting]:g}; declare UNITS = '{fitting}, "
                "kg, s'."
            )
    return ""


def _is(value: float, expected: float) -> bool:
    return abs(value / expected - 1.0) <= ROUNDING_TOLERANCE


def response_warnings(root: Any, bodies: Sequence[Body]) -> list[StartWarning]:
    """Warn of bodies that sag by more than their size, are in pieces, or vibrate faster than dt."""
    if find_backend().name != "embedded":
        return []
    warnings: list[StartWarning] = []
    body_of_state = {id(body.state): body for body in bodies}
    for system in getattr(root.of("animation loop")[0], "systems", ()):
        if not system.states:
            continue
        with one_blas_thread():
            response = rest_response(system, np.asarray(root.gravity.value, dtype=float))
        node = system.states[0].getContext()
        size, dt = box_size(node), float(root.dt.value)
        members = [body_of_state[id(s)] for s in system.states if id(s) in body_of_state]
        if response is None or response.sag > SAG_RATIO_MAX * size:
            if pieces := [warning for body in members for warning in piece_warnings(root, body)]:
                warnings += pieces
                continue
        if response is None:
            warnings += [w for body in members for w in _flattening_warnings(root, body)]
            continue
        values = _values_text(system)
        if response.sag > SAG_RATIO_MAX * size:
            warnings.append(
                StartWarning(
                    node,
                    f"{at(system.states[0])}: under gravity {gravity_of(root):g} the body sags by "
                    f"{response.sag:.3g} by its stiffness at the start, and it is {size:.4g} long "
                    f"({values}); with 1000 times the stiffness by {response.sag / 1000.0:.3g}. Is "
                    "the modulus, the mass or gravity in other units, or are too few nodes fixed?",
                )
            )
        first_order = system.solver.findData("firstOrder")
        inertia = system.solver.has_free_motion and not (first_order and first_order.value)
        if inertia and 0.0 < response.period < dt < STATIC_PERIODS_MIN * response.period:
            warnings.append(
                StartWarning(
                    node,
                    f"{at(system.states[0])}: the longest natural period of the body is "
                    f"{response.period:.3g}, less than dt={dt:g} ({values}). Is the modulus, the "
                    "mass or dt in other units?",
                )
            )
    return warnings


def _flattening_warnings(root: Any, body: Body) -> Iterator[StartWarning]:
    """Warn of a free body that its weight would press flat on any floor."""
    fields = [field for field in body.node.objects if field.findData("youngModulus") is not None]
    masses = [mass for mass in body.masses if mass.findData("totalMass") is not None]
    if not (fields and masses and body.volume > 0.0):
        return
    gravity = np.asarray(root.gravity.value, dtype=float)
    height = float(np.ptp(body.rest @ gravity))  # times gravity
    pressure = float(masses[0].totalMass.value) / body.volume * height
    modulus = float(np.max(fields[0].youngModulus.value))
    if pressure > PRESSURE_RATIO_MAX * modulus > 0.0:
        yield StartWarning(
            fields[0],
            f"{at(fields[0])} has youngModulus={modulus:g}, and the body's own weight presses on "
            f"its underside with {pressure:.3g}: no floor keeps it from being flattened. Is the "
            "modulus in another unit (MPa, kPa, Pa)?",
        )


def _values_text(system: Any) -> str:
    """Return moduli and masses for a message."""
    fields = [field for field in system.force_fields if field.findData("youngModulus")]
    parts = [f"youngModulus={np.ravel(field.youngModulus.value)[0]:g}" for field in fields[:1]]
    masses = [mass for mass in system.masses if mass.findData("totalMass")]
    parts += [f"totalMass={mass.totalMass.value:g}" for mass in masses[:1]]
    return ", ".join(parts) or "modulus and mass of its components"
