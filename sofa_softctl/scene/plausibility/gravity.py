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

EARTH = 9.81
"""Gravity [m/s^2]."""
ROUNDED = 0.03
"""Relative deviation from it that rounding explains: 9.8, 10."""
SIZES = (1e-3, 50.0)
"""Sizes of robots [m] that are plausible."""

SAG = 1.0
"""A static sag above this fraction of the robot's size is implausible. Long trunks of silicone
come to 0.7 by the stiffness of their straight shape; in other units it is a hundred times more."""
FLATTENED = 0.3
"""Pressure of a body's own weight by its modulus, above which it is flattened [-]."""
STATIC = 1e5
"""A step of more natural periods than this is meant: it goes to the equilibrium."""


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
    """Return True if it is the Earth's times a power of ten."""
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
    """Return True if bodies have a robot's size in the unit in which it is the Earth's."""
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


def response_warnings(root: Any, bodies: Sequence[Body]) -> list[StartWarning]:
    """Bodies that hang down by more than their size, in pieces, or vibrate faster than dt."""
    if find_backend().name != "embedded":
        return []
    found: list[StartWarning] = []
    body_of_state = {id(body.state): body for body in bodies}
    for system in getattr(root.of("animation loop")[0], "systems", ()):
        if not system.states:
            continue
        with one_blas_thread():
            response = rest_response(system, np.asarray(root.gravity.value, dtype=float))
        node = system.states[0].getContext()
        size, dt = box_size(node), float(root.dt.value)
        if response is None or response.sag > SAG * size:
            own = [body_of_state[id(s)] for s in system.states if id(s) in body_of_state]
            if pieces := [warning for body in own for warning in piece_warnings(root, body)]:
                found += pieces
                continue
        if response is None:
            own = [body_of_state[id(s)] for s in system.states if id(s) in body_of_state]
            found += [warning for body in own for warning in _flattened(root, body)]
            continue
        about = _about(system)
        if response.sag > SAG * size:
            found.append(
                StartWarning(
                    node,
                    f"{at(system.states[0])}: under gravity {gravity_of(root):g} the body sags by "
                    f"{response.sag:.3g} by its stiffness at the start, and it is {size:.4g} long "
                    f"({about}); with 1000 times the stiffness by {response.sag / 1000.0:.3g}. Is "
                    "the modulus, the mass or gravity in other units, or are too few nodes fixed?",
                )
            )
        first_order = system.solver.findData("firstOrder")
        inertia = system.solver.has_free_motion and not (first_order and first_order.value)
        if inertia and 0.0 < response.period < dt < STATIC * response.period:
            found.append(
                StartWarning(
                    node,
                    f"{at(system.states[0])}: the longest natural period of the body is "
                    f"{response.period:.3g}, less than dt={dt:g} ({about}). Is the modulus, the "
                    "mass or dt in other units?",
                )
            )
    return found


def _flattened(root: Any, body: Body) -> Iterator[StartWarning]:
    """A body that nothing fixes, and that its own weight would press flat on any floor."""
    fields = [field for field in body.node.objects if field.findData("youngModulus") is not None]
    masses = [mass for mass in body.masses if mass.findData("totalMass") is not None]
    if not (fields and masses and body.volume > 0.0):
        return
    gravity = np.asarray(root.gravity.value, dtype=float)
    height = float(np.ptp(body.rest @ gravity))  # times gravity
    pressure = float(masses[0].totalMass.value) / body.volume * height
    modulus = float(np.max(fields[0].youngModulus.value))
    if pressure > FLATTENED * modulus > 0.0:
        yield StartWarning(
            fields[0],
            f"{at(fields[0])} has youngModulus={modulus:g}, and the body's own weight presses on "
            f"its underside with {pressure:.3g}: no floor keeps it from being flattened. Is the "
            "modulus in another unit (MPa, kPa, Pa)?",
        )


def _about(system: Any) -> str:
    """Moduli and masses, for the message."""
    fields = [field for field in system.force_fields if field.findData("youngModulus")]
    parts = [f"youngModulus={np.ravel(field.youngModulus.value)[0]:g}" for field in fields[:1]]
    masses = [mass for mass in system.masses if mass.findData("totalMass")]
    parts += [f"totalMass={mass.totalMass.value:g}" for mass in masses[:1]]
    return ", ".join(parts) or "modulus and mass of its components"
