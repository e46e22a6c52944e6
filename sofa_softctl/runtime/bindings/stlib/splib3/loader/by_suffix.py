"""Loaders of mesh files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

LOADERS = {
    ".msh": "MeshGmshLoader",
    ".gidmsh": "GIDMeshLoader",
    ".vtk": "MeshVTKLoader",
    ".vtu": "MeshVTKLoader",
    ".obj": "MeshOBJLoader",
    ".stl": "MeshSTLLoader",
}
VOLUMES = (".msh", ".gidmsh", ".vtk", ".vtu")


def addLoader(
    parent: Any,
    filename: str,
    name: str = "loader",
    translation: Sequence[float] = (0.0, 0.0, 0.0),
    eulerRotation: Sequence[float] = (0.0, 0.0, 0.0),
) -> Any:
    """Add the loader of a volume mesh.

    Raises:
        ValueError: There is no loader for such a file.
    """
    suffix = next((end for end in VOLUMES if filename.endswith(end)), None)
    if suffix is None:
        raise ValueError(f"'{filename}' is no volume mesh: it must end in {', '.join(VOLUMES)}.")
    return parent.addObject(
        LOADERS[suffix],
        name=name,
        filename=filename,
        rotation=list(eulerRotation),
        translation=list(translation),
    )
