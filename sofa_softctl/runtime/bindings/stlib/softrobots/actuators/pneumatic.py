"""A cavity that a pressure, or a volume, blows up."""

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
        surfaceMeshFileName: Its wall, a closed surface: .stl or .obj.
        attachedAsAChildOf: Node of the body, to which a child is added.
        attachedTo: Instead of it, a child of the body that takes the cavity; `name` is then None.
        name: Of the child.
        rotation: Angles about x, y and z [degree].
        translation: [length].
        uniformScale: Scale.
        initialValue: Pressure, or volume that is added.
        valueType: 'volumeGrowth' or 'pressure'.

    Returns:
        The node of the cavity, with `SurfacePressureConstraint`; None, with a message, without a
        node or a mesh.
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
    what: str, file: str | None, parent: Any, node: Any, name: str | None, placed: dict[str, Any]
) -> Any:
    """A node with the points and triangles of a surface mesh; None, with a message, without them.

    Args:
        what: For messages: the function that is called.
        file: The mesh.
        parent: Node to which a child is added.
        node: Instead of it, the node itself.
        name: Of the child.
        placed: rotation, translation and scale of the mesh.
    """
    if parent is None and node is None:
        Sofa.msg_error(what, "It must be given the node of the body that has the cavity.")
        return None
    suffix = next((end for end in LOADERS if (file or "").endswith(end)), None)
    if file is None or suffix is None:
        Sofa.msg_error(what, f"surfaceMeshFileName must be a .stl or .obj file, got {file!r}.")
        return None
    if node is not None and (name is not None or parent is not None):
        Sofa.msg_error(
            node, "With attachedTo, give name=None and no attachedAsAChildOf: they have no effect."
        )
    cavity = parent.addChild(name) if node is None else node
    placed = {key: value if key == "scale" else list(value) for key, value in placed.items()}
    cavity.addObject(LOADERS[suffix], name="MeshLoader", filename=file, **placed)
    cavity.addObject("MeshTopology", name="topology", src="@MeshLoader")
    cavity.addObject("MechanicalObject", src="@topology")
    return cavity


def say_unused(what: str, initialValue: float, valueType: str) -> None:
    """Warn of values that a cavity cannot have on which no given pressure or volume acts."""
    if initialValue != 0 or valueType != "volumeGrowth":
        Sofa.msg_warning(
            what,
            f"initialValue={initialValue} and valueType='{valueType}' have no effect here: a "
            "PneumaticCavity blows a cavity up; the goal of a VolumeEffector is its desiredVolume.",
        )
