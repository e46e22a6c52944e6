"""A surface mesh that collides."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import Sofa
from splib3.loader.by_suffix import LOADERS

MODELS = ("PointCollisionModel", "LineCollisionModel", "TriangleCollisionModel")


def loaderFor(name: str) -> str | None:
    """The loader of a surface mesh; None where there is none."""
    suffix = next((end for end in (".obj", ".stl", ".vtk") if name.endswith(end)), None)
    return None if suffix is None else LOADERS[suffix]


def CollisionMesh(
    attachedTo: Any = None,
    surfaceMeshFileName: str | None = None,
    name: str = "collision",
    rotation: Sequence[float] = (0.0, 0.0, 0.0),
    translation: Sequence[float] = (0.0, 0.0, 0.0),
    scale: Sequence[float] = (1.0, 1.0, 1.0),
    collisionGroup: Any = None,
    mappingType: str | None = "BarycentricMapping",
) -> Any:
    """Add a child with a surface that collides and moves with the node.

    Args:
        attachedTo: The node; it has the degrees of freedom.
        surfaceMeshFileName: Mesh: .obj, .stl or .vtk.
        name: Of the child.
        rotation: Angles about x, y and z [degree].
        translation: [length].
        scale: Along x, y and z.
        collisionGroup: Number or numbers; surfaces with one in common do not collide.
        mappingType: By which it moves; None for no mapping.

    Returns:
        The child; None, with a message, without a node or a mesh.
    """
    if attachedTo is None:
        Sofa.msg_error("CollisionMesh", "attachedTo must be the node that the surface moves with.")
        return None
    child = attachedTo.addChild(name)
    loader = loaderFor(surfaceMeshFileName or "")
    if loader is None:
        Sofa.msg_error(
            child,
            "surfaceMeshFileName must be a surface mesh: .obj, .stl or .vtk, got "
            f"{surfaceMeshFileName!r}.",
        )
        return None
    child.addObject(
        loader,
        name="loader",
        filename=surfaceMeshFileName,
        rotation=list(rotation),
        translation=list(translation),
        scale3d=list(scale),
    )
    child.addObject("MeshTopology", src="@loader")
    child.addObject("MechanicalObject")
    for model in MODELS:
        child.addObject(model, **({"group": collisionGroup} if collisionGroup else {}))
    if mappingType is not None:
        child.addObject(mappingType)
    return child
