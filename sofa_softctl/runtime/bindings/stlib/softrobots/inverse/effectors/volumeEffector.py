"""A cavity that is to have a certain volume."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from softrobots.actuators.cable import add_mapping
from softrobots.actuators.pneumatic import add_cavity, say_unused


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
    """Add a cavity in a deformable body that is to have a certain volume.

    Its arguments are those of `PneumaticCavity`; initialValue and valueType have no
    effect, and a message says so.

    Returns:
        The node of the cavity, with `VolumeEffector`; None, with a message, without a node or a
        mesh.
    """
    say_unused("VolumeEffector", initialValue, valueType)
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
