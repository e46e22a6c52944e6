"""Moduli and masses that are zero or negative."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sofa_softctl.scene.plausibility.bodies import Body
from sofa_softctl.scene.plausibility.warning import StartWarning, at


def material_warnings(bodies: Sequence[Body]) -> list[StartWarning]:
    """Young's moduli and total masses that are not positive."""
    return [one for body in bodies for one in (*_moduli(body), *_masses(body))]


def _moduli(body: Body) -> list[StartWarning]:
    found = []
    for field in body.having("youngModulus"):
        values = np.ravel(np.asarray(field.youngModulus.value, dtype=float))
        bad = np.flatnonzero(~(values > 0.0))
        if len(bad):
            count = f" in {len(bad)} of {len(values)} entries, first {bad[0]}"
            found.append(
                StartWarning(
                    field,
                    f"{at(field)} has youngModulus={values[bad[0]]:g}"
                    f"{count if len(values) > 1 else ''}: without stiffness nothing keeps the "
                    "elements in shape. Give a positive modulus, in force/length^2 of the scene.",
                )
            )
    return found


def _masses(body: Body) -> list[StartWarning]:
    """The embedded runtime refuses them; SOFA goes on."""
    found = []
    for mass in body.masses:
        total = mass.findData("totalMass")
        if total is not None and not float(total.value) > 0.0:
            found.append(
                StartWarning(
                    mass,
                    f"{at(mass)} has totalMass={float(total.value):g}: a body needs a positive "
                    "mass. Give totalMass, or massDensity in mass/length^3 of the scene.",
                )
            )
    return found
