"""Surface mesh that collides."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import Sofa
from splib3.loader.by_suffix import LOADERS

MODELS = ("PointCollisionModel", "LineCollisionModel", "TriangleCollisionModel")


def loaderFor(name: str) -> str | None:
    """Return the loader of a surface mesh, or None."""
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
        attachedTo: Node with the degrees of freedom.
        surfaceMeshFileName: Mesh: .obj, .stl or .vtk.
        name: Name of the child.
        rotation: Angles about x, y and z [degree].
        translation: Translation [length].
        scale: Scales along x, y and z.
        collisionGroup: Number or numbers; surfaces with a common number do not collide.
        mappingType: Mapping by which the surface moves, or None for no mapping.

    Returns:
        The child; without a node or a mesh None, with a message.
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
