"""Sag under gravity and natural period, against the size of the robot and dt."""

from __future__ import annotations

from typing import Any

import numpy as np

from sofa_softctl._internal.blas_threads import one_blas_thread
from sofa_softctl.runtime.equilibrium.rest_response import rest_response
from sofa_softctl.scene.backend import find_backend
from sofa_softctl.scene.body import box_size
from sofa_softctl.scene.plausibility.bodies import gravity_of
from sofa_softctl.scene.plausibility.warning import StartWarning, at

SAG = 1.0
"""A static sag above this fraction of the robot's size is implausible. Long trunks of silicone
come to 0.7 by the stiffness of their straight shape; in other units it is a hundred times more."""
STATIC = 1e5
"""A step of more natural periods than this is meant: it goes to the equilibrium."""


def response_warnings(root: Any) -> list[StartWarning]:
    """Bodies that hang down by more than their size, or vibrate faster than dt."""
    if find_backend().name != "embedded":
        return []
    found = []
    for system in getattr(root.of("animation loop")[0], "systems", ()):
        with one_blas_thread():
            response = rest_response(system, np.asarray(root.gravity.value, dtype=float))
        if response is None:
            continue
        node = system.states[0].getContext()
        size, dt = box_size(node), float(root.dt.value)
        about = _about(system)
        if response.sag > SAG * size:
            found.append(
                StartWarning(
                    node,
                    f"{at(system.states[0])}: under gravity {gravity_of(root):g} the body sags by "
                    f"{response.sag:.3g} by its stiffness at the start, and it is {size:.4g} long "
                    f"({about}). Is the modulus, the mass or gravity in other units, or "
                    "are too few nodes fixed?",
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


def _about(system: Any) -> str:
    """Moduli and masses, for the message."""
    fields = [field for field in system.force_fields if field.findData("youngModulus")]
    parts = [f"youngModulus={np.ravel(field.youngModulus.value)[0]:g}" for field in fields[:1]]
    masses = [mass for mass in system.masses if mass.findData("totalMass")]
    parts += [f"totalMass={mass.totalMass.value:g}" for mass in masses[:1]]
    return ", ".join(parts) or "modulus and mass of its components"
