"""Cavity whose pressure is computed by the inverse problem."""

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
    """Add a child with a cavity in a deformable body; the original fails to do it.

    Args:
        surfaceMeshFileName: Closed surface of the cavity: .stl or .obj.
        attachedTo: Node of the body.
        name: Name of the child.
        minPressure: Minimum pressure.
        maxPressure: Maximum pressure.
        minVolumeGrowth: Minimum volume growth.
        maxVolumeGrowth: Maximum volume growth.
        maxVolumeGrowthVariation: Maximum change of the volume growth in one step.
        rotation: Angles about x, y and z [degree].
        translation: Translation [length].
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
        set_limits = {limit: value for limit, value in limits.items() if value is not None}
        cavity.addObject("SurfacePressureActuator", **set_limits)
        add_mapping(cavity)
    return cavity
