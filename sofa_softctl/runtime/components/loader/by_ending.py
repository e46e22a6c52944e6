"""The loader that reads a mesh file, by the ending of its name."""

from __future__ import annotations

from sofa_softctl.runtime.components.loader import mesh_loader
from sofa_softctl.runtime.core.component import Component
from sofa_softctl.runtime.core.data.data import Data

_LOADERS = {
    "obj": "MeshOBJLoader",
    "stl": "MeshSTLLoader",
    "vtk": "MeshVTKLoader",
    "vtu": "MeshVTKLoader",
    "msh": "MeshGmshLoader",
}


def load_mesh(owner: Component, filename: Data) -> mesh_loader.MeshLoader:
    """Return a loader that has read the file named by a component's Data.

    It has only the elements of the file, without their faces and edges.

    Raises:
        SceneError: The ending is unknown, or the file is missing, unreadable or broken.
    """
    name = filename.get()
    loader_class = _LOADERS.get(name.rpartition(".")[2].lower())
    if loader_class is None:
        raise owner.fault(f"reads meshes of kinds {', '.join(_LOADERS)}, got '{name}'.")
    loader: mesh_loader.MeshLoader = getattr(mesh_loader, loader_class)(
        filename=name, createSubelements=False
    )
    loader._context, loader.filename.where = owner._context, filename.where
    loader.load()
    return loader
