"""Cavity that is inflated by a pressure, or to a volume."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import Sofa
from softrobots.actuators.cable import add_mapping

LOADERS = {".stl": "MeshSTLLoader", ".obj": "MeshOBJLoader"}


def PneumaticCavity(
    surfaceMeshFileName: str | None = None,
    attachedAsAChildOf: Any = None,
    attachedTo: Any = None,
    name: str | None = "PneumaticCavity",
    rotation: Sequence[float] = (0.0, 0.0, 0.0),
    translation: Sequence[float] = (0.0, 0.0, 0.0),
    uniformScale: float = 1,
    initialValue: float = 0,
    valueType: str = "volumeGrowth",
) -> Any:
    """Add a cavity in a deformable body.

    Args:
        surfaceMeshFileName: Closed surface of the cavity: .stl or .obj.
        attachedAsAChildOf: Node of the body, to which a child is added.
        attachedTo: Alternatively, an existing child for the cavity; `name` is then None.
        name: Name of the child.
        rotation: Angles about x, y and z [degree].
        translation: Translation [length].
        uniformScale: Scale.
        initialValue: Pressure, or volume growth.
        valueType: 'volumeGrowth' or 'pressure'.

    Returns:
        The node of the cavity, with `SurfacePressureConstraint`; without a node or a mesh None,
        with a message.
    """
    cavity = add_cavity(
        "PneumaticCavity",
        surfaceMeshFileName,
        attachedAsAChildOf,
        attachedTo,
        name,
        {"rotation": rotation, "translation": translation, "scale": uniformScale},
    )
    if cavity is not None:
        cavity.addObject("SurfacePressureConstraint", value=initialValue, valueType=valueType)
        add_mapping(cavity)
    return cavity


def add_cavity(
    caller: str, file: str | None, parent: Any, node: Any, name: str | None, pose: dict[str, Any]
) -> Any:
    """Return a node with the points and triangles of a surface mesh, or None, with a message.

    Args:
        caller: Name of the calling function, for messages.
        file: Mesh file.
        parent: Node to which a child is added.
        node: Alternatively, the node of the cavity.
        name: Name of the child.
        pose: rotation, translation and scale of the mesh.
    """
    if parent is None and node is None:
        Sofa.msg_error(caller, "It must be given the node of the body that has the cavity.")
        return None
    suffix = next((end for end in LOADERS if (file or "").endswith(end)), None)
    if file is None or suffix is None:
        Sofa.msg_error(caller, f"surfaceMeshFileName must be a .stl or .obj file, got {file!r}.")
        return None
    if node is not None and (name is not None or parent is not None):
        Sofa.msg_error(
            node, "With attachedTo, give name=None and no attachedAsAChildOf: they have no effect."
        )
    cavity = parent.addChild(name) if node is None else node
    pose = {key: value if key == "scale" else list(value) for key, value in pose.items()}
    cavity.addObject(LOADERS[suffix], name="MeshLoader", filename=file, **pose)
    cavity.addObject("MeshTopology", name="topology", src="@MeshLoader")
    cavity.addObject("MechanicalObject", src="@topology")
    return cavity


def warn_unused(caller: str, initialValue: float, valueType: str) -> None:
    """Warn of an initial value for a cavity on which no imposed pressure or volume acts."""
    if initialValue != 0 or valueType != "volumeGrowth":
        Sofa.msg_warning(
            caller,
            f"initialValue={initialValue} and valueType='{valueType}' have no effect here: a "
            "PneumaticCavity blows a cavity up; the goal of a VolumeEffector is its desiredVolume.",
        )
