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


def loaded(owner: Component, filename: Data) -> mesh_loader.MeshLoader:
    """A loader that has read the file which a Data of a component names.

    Elements of the file alone: faces and edges of others are not listed.

    Raises:
        SceneError: the ending is unknown, or the file is missing, unreadable or broken.
    """
    name = filename.get()
    known = _LOADERS.get(name.rpartition(".")[2].lower())
    if known is None:
        raise owner.fault(f"reads meshes of kinds {', '.join(_LOADERS)}, got '{name}'.")
    loader: mesh_loader.MeshLoader = getattr(mesh_loader, known)(
        filename=name, createSubelements=False
    )
    loader._context, loader.filename.where = owner._context, filename.where
    loader.load()
    return loader
