"""All checks of a scene as it starts."""

from __future__ import annotations

from typing import Any

from sofa_softctl.scene.plausibility.bodies import bodies_of
from sofa_softctl.scene.plausibility.doubt import Doubt
from sofa_softctl.scene.plausibility.gravity import doubts_of_gravity
from sofa_softctl.scene.plausibility.holding import doubts_of_holding
from sofa_softctl.scene.plausibility.materials import doubts_of_materials
from sofa_softctl.scene.plausibility.points import doubts_of_points
from sofa_softctl.scene.plausibility.response import doubts_of_response
from sofa_softctl.units import Units


def implausible(root: Any, units: Units | None = None) -> list[Doubt]:
    """What is implausible in a scene as it starts; nothing is changed.

    By Data and graph alone, so the same on both backends, but for the sag and the period: they take
    a linear solve, which the embedded runtime has.

    Args:
        root: Root of an initialised scene.
        units: What the scene declares.
    """
    bodies = bodies_of(root)
    return [
        *doubts_of_gravity(root, bodies, units),
        *doubts_of_materials(bodies),
        *(held := doubts_of_holding(root, bodies)),
        *doubts_of_points(root),
        *([] if held else doubts_of_response(root)),
    ]
