"""All checks of a scene as it starts."""

from __future__ import annotations

from typing import Any

from sofa_softctl.scene.plausibility.bodies import StartWarning, bodies_of
from sofa_softctl.scene.plausibility.contacts import contact_warnings
from sofa_softctl.scene.plausibility.gravity import gravity_warnings, response_warnings
from sofa_softctl.scene.plausibility.holding import holding_warnings
from sofa_softctl.scene.plausibility.leaving import leaving_warnings
from sofa_softctl.scene.plausibility.materials import material_warnings, mesh_warnings
from sofa_softctl.scene.plausibility.misread import misread_warnings
from sofa_softctl.scene.plausibility.names import name_warnings
from sofa_softctl.scene.plausibility.outputs import output_warnings
from sofa_softctl.scene.plausibility.places.placement import placement_warnings
from sofa_softctl.scene.plausibility.places.points import point_warnings
from sofa_softctl.scene.plausibility.rigid_bodies import rigid_body_warnings
from sofa_softctl.scene.plausibility.solvers import solver_warnings
from sofa_softctl.units import Units


def implausible(root: Any, units: Units | None = None) -> list[StartWarning]:
    """What is implausible in a scene as it starts; its state stays as it is.

    By Data and graph alone, so the same on both backends, but for the sag and the period: they take
    a linear solve, which the embedded runtime has.

    Args:
        root: Root of an initialised scene.
        units: What the scene declares.
    """
    bodies = bodies_of(root)
    return [
        *gravity_warnings(root, bodies, units),
        *material_warnings(bodies, units),
        *(held := holding_warnings(root, bodies)),
        *leaving_warnings(root, bodies),
        *mesh_warnings(bodies),
        *placement_warnings(bodies),
        *point_warnings(root),
        *rigid_body_warnings(bodies, units),
        *contact_warnings(root),
        *solver_warnings(root, bodies, units),
        *misread_warnings(root, units),
        *output_warnings(root),
        *name_warnings(root),
        *([] if held else response_warnings(root, bodies)),
    ]
