"""Mesh loaders: mesh files as Data that topologies and states link to."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import ClassVar

import numpy as np

from sofa_softctl.errors import MeshError, SceneError
from sofa_softctl.runtime.core.component import Component
from sofa_softctl.runtime.core.data.data import Data
from sofa_softctl.runtime.core.data.types import Bool, Elements, Text, Vector, Vectors
from sofa_softctl.runtime.helper import repository
from sofa_softctl.runtime.helper.source_line import describe, scene_line
from sofa_softctl.runtime.mesh.mesh import Mesh
from sofa_softctl.runtime.mesh.read import read_mesh
from sofa_softctl.runtime.mesh.split import split, split_edges
from sofa_softctl.runtime.mesh.subelements import with_subelements

_splits: ContextVar[int] = ContextVar("_splits", default=0)


@contextmanager
def volumes_split(times: int) -> Iterator[None]:
    """Loaders that are created meanwhile split each tetrahedron of their files in eight.

    Scenes that compute from the mesh what depends on it, such as regions, fixed nodes and mappings,
    do so from the finer one. Meshes without tetrahedra stay as they are.

    Args:
        times: How often they are split.
    """
    token = _splits.set(times)
    try:
        yield
    finally:
        _splits.reset(token)


class MeshLoader(Component):
    """Reads a mesh file when it is created; scale3d, rotation, translation act in this order.

    A file name is taken relative to the scene file's folder, then to the working folder, then to
    those of SofaRuntime.DataRepository.
    """

    category: ClassVar[str] = "loader"
    kind: ClassVar[str] = ""

    filename = Text("", "Mesh file.", required=True)
    position = Vectors(3, [], "Vertices.", unit="length", aliases=("vertices",))
    edges = Elements(2, [], "Edges.")
    triangles = Elements(3, [], "Triangles.")
    quads = Elements(4, [], "Quadrilaterals.")
    tetrahedra = Elements(4, [], "Tetrahedra.", aliases=("tetras",))
    hexahedra = Elements(8, [], "Hexahedra.", aliases=("hexas",))
    translation = Vector(3, [0.0, 0.0, 0.0], "Translation.", unit="length")
    rotation = Vector(3, [0.0, 0.0, 0.0], "Angles about x, y and z.", unit="degree")
    scale3d = Vector(3, [1.0, 1.0, 1.0], "Scale along x, y and z.")
    scale = Vector(1, [1.0], "The same scale along all axes.")
    flipNormals = Bool(False, "Turn the triangles and quadrilaterals over.")
    triangulate = Bool(False, "Split quadrilaterals into triangles.")
    createSubelements = Bool(False, "Add the edges and triangles of higher elements.")
    onlyAttachedPoints = Bool(False, "Unused.")

    def added(self) -> None:
        """Load the file."""
        if self.filename.get():
            self.load()

    def data_changed(self, data: Data) -> None:
        """Another file name, once in a node, loads that file."""
        if data.type.name == "filename" and len(self.position.get()):
            self.load()

    def reinit(self) -> None:
        """Load the file again."""
        self.load()

    def load(self) -> None:
        """Read the file and fill the Data.

        Raises:
            SceneError: the file is missing, unreadable or broken; the message says how.
        """
        try:
            mesh = self._split(read_mesh(self._find_file(), self.kind))
        except MeshError as error:
            raise SceneError(f"{describe(self.filename.where)}: {error}") from error
        scale = self.scale3d.get() * self.scale.get()[0]
        mesh = mesh.transformed(scale, self.rotation.get(), self.translation.get())
        if self.createSubelements.get():
            mesh = with_subelements(mesh)
        triangles, quads = mesh.triangles, mesh.quads
        if self.flipNormals.get():  # before quads are split: the other order cuts them otherwise
            triangles, quads = triangles[:, ::-1], quads[:, ::-1]
        if self.triangulate.get() and len(quads):
            halves = np.concatenate([quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]], axis=1)
            triangles = np.concatenate([triangles, halves.reshape(-1, 3)])
            quads = quads[:0]
        for name, value in (
            ("position", mesh.positions),
            ("edges", mesh.edges),
            ("triangles", triangles),
            ("quads", quads),
            ("tetrahedra", mesh.tetrahedra),
            ("hexahedra", mesh.hexahedra),
        ):
            self._data[name].set(np.array(value))

    def _split(self, mesh: Mesh) -> Mesh:
        """The mesh as `volumes_split` asks for.

        `split_ends`: of each time the number of the first new point, and the ends of the edges in
        whose middles they are.
        """
        self.split_ends: list[tuple[int, np.ndarray]] = []
        if not (len(mesh.tetrahedra) or len(mesh.hexahedra)):
            return mesh
        for _ in range(_splits.get()):
            self.split_ends.append((len(mesh.positions), split_edges(mesh)))
            mesh = split(mesh)
        return mesh

    def _find_file(self) -> str:
        name = self.filename.get()
        line = self.filename.where or scene_line()
        if not os.path.isabs(name) and line is not None:
            beside = os.path.join(os.path.dirname(os.path.abspath(line[0])), name)
            if os.path.exists(beside):
                return beside
        return name if os.path.exists(name) else repository.data.getFile(name)


class MeshVTKLoader(MeshLoader):
    """VTK files: legacy (ASCII, binary) and XML."""

    kind = "vtk"


class MeshOBJLoader(MeshLoader):
    """Wavefront OBJ files."""

    aliases = ("MeshObjLoader",)
    kind = "obj"

    loadMaterial = Bool(True, "Unused.")
    handleSeams = Bool(False, "Unused.")


class MeshGmshLoader(MeshLoader):
    """Gmsh files."""

    kind = "gmsh"

    createSubelements = Bool(True, "Add the edges and triangles of higher elements.")


class MeshSTLLoader(MeshLoader):
    """STL files."""

    kind = "stl"

    mergePositionUsingMap = Bool(True, "Unused: vertices at the same place are always merged.")
    headerSize = Vector(1, [80], "Unused.")
    forceBinary = Bool(False, "Unused.")
