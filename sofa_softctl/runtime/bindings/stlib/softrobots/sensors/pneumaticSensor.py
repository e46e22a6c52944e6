"""Cavity whose volume is measured."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from softrobots.actuators.cable import add_mapping
from softrobots.actuators.pneumatic import add_cavity, warn_unused


def PneumaticSensor(
    surfaceMeshFileName: str | None = None,
    attachedAsAChildOf: Any = None,
    attachedTo: Any = None,
    name: str | None = "PneumaticSensor",
    rotation: Sequence[float] = (0.0, 0.0, 0.0),
    translation: Sequence[float] = (0.0, 0.0, 0.0),
    uniformScale: float = 1,
    initialValue: float = 0,
    valueType: str = "volumeGrowth",
) -> Any:
    """Add a cavity in a deformable body whose volume is measured, without pressure.

    Arguments as for `PneumaticCavity`; initialValue and valueType have no effect, with a message.

    Returns:
        The node of the cavity, with `SurfacePressureSensor`; without a node or a mesh None, with a
        message.
    """
    warn_unused("PneumaticSensor", initialValue, valueType)
    cavity = add_cavity(
        "PneumaticSensor",
        surfaceMeshFileName,
        attachedAsAChildOf,
        attachedTo,
        name,
        {"rotation": rotation, "translation": translation, "scale": uniformScale},
    )
    if cavity is not None:
        add_mapping(cavity)
        cavity.addObject("SurfacePressureSensor", triangles="@topology.triangles")
    return cavity
