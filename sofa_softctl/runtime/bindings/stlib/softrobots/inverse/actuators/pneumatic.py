"""A cavity whose pressure is sought."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from softrobots.actuators.cable import add_mapping
from softrobots.actuators.pneumatic import add_cavity


def PneumaticCavity(
    surfaceMeshFileName: str | None = None,
    attachedTo: Any = None,
    name: str = "PneumaticCavity",
    minPressure: float | None = None,
    maxPressure: float | None = None,
    minVolumeGrowth: float | None = None,
    maxVolumeGrowth: float | None = None,
    maxVolumeGrowthVariation: float | None = None,
    rotation: Sequence[float] = (0.0, 0.0, 0.0),
    translation: Sequence[float] = (0.0, 0.0, 0.0),
    uniformScale: float = 1,
) -> Any:
    """Add a child with a cavity in a deformable body, which the original fails to do.

    Args:
        surfaceMeshFileName: Its wall, a closed surface: .stl or .obj.
        attachedTo: Node of the body.
        name: Of the child.
        minPressure: Least pressure.
        maxPressure: Largest pressure.
        minVolumeGrowth: Least volume that is added.
        maxVolumeGrowth: Largest volume that is added.
        maxVolumeGrowthVariation: Most that this volume changes in one step.
        rotation: Angles about x, y and z [degree].
        translation: [length].
        uniformScale: Scale.

    Returns:
        The child, with `SurfacePressureActuator`; None, with a message, without a node or a mesh.
    """
    limits = {
        "minPressure": minPressure,
        "maxPressure": maxPressure,
        "minVolumeGrowth": minVolumeGrowth,
        "maxVolumeGrowth": maxVolumeGrowth,
        "maxVolumeGrowthVariation": maxVolumeGrowthVariation,
    }
    cavity = add_cavity(
        "PneumaticCavity",
        surfaceMeshFileName,
        attachedTo,
        None,
        name,
        {"rotation": rotation, "translation": translation, "scale": uniformScale},
    )
    if cavity is not None:
        given = {limit: value for limit, value in limits.items() if value is not None}
        cavity.addObject("SurfacePressureActuator", **given)
        add_mapping(cavity)
    return cavity
