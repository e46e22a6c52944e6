"""Cavity that should reach a volume."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from softrobots.actuators.cable import add_mapping
from softrobots.actuators.pneumatic import add_cavity, warn_unused


def VolumeEffector(
    surfaceMeshFileName: str | None = None,
    attachedAsAChildOf: Any = None,
    attachedTo: Any = None,
    name: str | None = "VolumeEffector",
    rotation: Sequence[float] = (0.0, 0.0, 0.0),
    translation: Sequence[float] = (0.0, 0.0, 0.0),
    uniformScale: float = 1,
    initialValue: float = 0,
    valueType: str = "volumeGrowth",
) -> Any:
    """Add a cavity in a deformable body that should reach a volume.

    Arguments as for `PneumaticCavity`; initialValue and valueType have no effect, with a message.

    Returns:
        The node of the cavity, with `VolumeEffector`; None, with a message, without a mesh.
    """
    warn_unused("VolumeEffector", initialValue, valueType)
    cavity = add_cavity(
        "VolumeEffector",
        surfaceMeshFileName,
        attachedAsAChildOf,
        attachedTo,
        name,
        {"rotation": rotation, "translation": translation, "scale": uniformScale},
    )
    if cavity is not None:
        cavity.addObject("VolumeEffector", template="Vec3", triangles="@topology.triangles")
        add_mapping(cavity)
    return cavity
