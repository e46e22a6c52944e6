"""Mesh loaders: mesh files as Data that topologies and states link to."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from sofa_softctl.base.source_line import describe, scene_line
from sofa_softctl.errors import MeshError, SceneError
from sofa_softctl.runtime.core.component import Component
from sofa_softctl.runtime.core.data.data import Data
from sofa_softctl.runtime.core.data.reading import attribute
from sofa_softctl.runtime.core.data.types import Bool, Elements, Text, Texts, UInt, Vector, Vectors
from sofa_softctl.runtime.helper import message, repository
from sofa_softctl.runtime.helper.message import complain, keeps_sofa_defects
from sofa_softctl.runtime.mesh.faces import vertex_normals, with_subelements, without_free_points
from sofa_softctl.runtime.mesh.formats.read import SUFFIXES, read_mesh
from sofa_softctl.runtime.mesh.mesh import ELEMENTS, Mesh, times
from sofa_softctl.runtime.mesh.rotation import rotation_zyx

_OF_FILE: dict[str, Any] = {"auto_link": False, "follows": "start"}
"""Options of reading a file: a change makes the loader read it again."""
_splits: ContextVar[int] = ContextVar("_splits", default=0)


@contextmanager
def volumes_split(count: int) -> Iterator[None]:
    """Make loaders created in the block split each tetrahedron of their files in eight.

    All that a scene derives from the mesh, such as regions, fixed nodes and mappings, then follows
    the finer one. Meshes without tetrahedra stay unchanged.

    Args:
        count: Number of splits.
    """
    token = _splits.set(count)
    try:
        yield
    finally:
        _splits.reset(token)


class MeshLoader(Component):
    """Reads a mesh file when it is created; scale3d, rotation, translation act in this order.

    A file name is relative to the scene file's folder, then to the working folder, then to the
    folders of SOFTCTL_DATA, of SofaRuntime.DataRepository and of an installed SOFA. Some simple
    meshes that come with SOFA are generated if their files are missing.
    """

    category: ClassVar[str] = "loader"
    kind: ClassVar[str] = ""
    turns_faces: ClassVar[bool] = True

    filename = Text("", "Mesh file.", required=True, follows="start")
    position = Vectors(3, [], "Vertices.", unit="length", aliases=("vertices",), follows="start")
    edges = Elements(2, [], "Edges.", follows="start")
    triangles = Elements(3, [], "Triangles.", follows="start")
    quads = Elements(4, [], "Quadrilaterals.", follows="start")
    tetrahedra = Elements(4, [], "Tetrahedra.", aliases=("tetras",), follows="start")
    hexahedra = Elements(8, [], "Hexahedra.", aliases=("hexas",), follows="start")
    normals = Vectors(3, [], "Normals at the vertices, from the faces around each.")
    translation = Vector(3, [0.0] * 3, "Translation.", unit="length", **_OF_FILE)
    rotation = Vector(3, [0.0] * 3, "Angles about x, y and z.", unit="degree", **_OF_FILE)
    scale3d = Vector(3, [1.0, 1.0, 1.0], "Scale along x, y and z.", **_OF_FILE)
    scale = Vector(1, [1.0], "Scale along all axes, in single precision as in SOFA.", **_OF_FILE)
    transformation = Vector(
        16,
        np.eye(4).ravel(),
        "Matrix with translation, row by row, in place of scale3d, rotation and translation.",
        **_OF_FILE,
    )
    flipNormals = Bool(False, "Turn the triangles and quadrilaterals over.", **_OF_FILE)
    triangulate = Bool(False, "Split quadrilaterals into triangles.", **_OF_FILE)
    createSubelements = Bool(False, "Add the edges and triangles of higher elements.", **_OF_FILE)
    onlyAttachedPoints = Bool(False, "Leave out vertices that belong to no element.", **_OF_FILE)
    pentahedra = Elements(6, [], "Unused: no such elements are read.", aliases=("pentas",))
    pyramids = Elements(5, [], "Unused: no such elements are read.")
    polylines = Texts([], "Unused.")
    polygons = Texts([], "Unused: polygons are cut into triangles.")
    highOrderEdgePositions = Texts([], "Unused.")
    highOrderTrianglePositions = Texts([], "Unused.")
    highOrderQuadPositions = Texts([], "Unused.")
    highOrderTetrahedronPositions = Texts([], "Unused.")
    highOrderHexahedronPositions = Texts([], "Unused.")
    edgesGroups = Texts([], "Unused.")
    trianglesGroups = Texts([], "Unused.")
    quadsGroups = Texts([], "Unused.")
    polygonsGroups = Texts([], "Unused.")
    tetrahedraGroups = Texts([], "Unused.")
    hexahedraGroups = Texts([], "Unused.")
    pentahedraGroups = Texts([], "Unused.")
    pyramidsGroups = Texts([], "Unused.")

    def on_added(self) -> None:
        """Load the file."""
        if self.filename.get():
            self.load()

    def data_changed(self, data: Data) -> None:
        """Load again if the file name or an option changes in a node."""
        is_option = data.type.name == "filename" or not data.type.auto_link
        if is_option and len(self.position.get()):
            self.load()

    def reinit(self) -> None:
        """Load the file again."""
        self.load()

    def load(self) -> None:
        """Read the file and fill the Data.

        Raises:
            SceneError: The file is missing, unreadable or broken.
        """
        try:
            mesh = self._split_tetrahedra(self._reduce_to_corners(self.read()))
        except MeshError as error:
            hint = self._missing_file_hint()
            raise SceneError(f"{describe(self.filename.where)}: {error}{hint}") from error
        mesh = self._place_mesh(mesh)
        triangles, quads = mesh.triangles, mesh.quads
        if self.turns_faces and self.flipNormals.get():  # before quads are split
            triangles, quads = triangles[:, ::-1], quads[:, ::-1]
        if self.triangulate.get() and len(quads):
            pairs = np.concatenate([quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]], axis=1)
            triangles = np.concatenate([triangles, pairs.reshape(-1, 3)])
            quads = quads[:0]
        mesh = replace(mesh, triangles=triangles, quads=quads)
        if self.createSubelements.get():
            mesh = with_subelements(mesh)
        if self.onlyAttachedPoints.get():
            mesh = without_free_points(mesh)
        self.position.set(np.array(self._apply_sofa_defect(mesh).positions))
        for name in ELEMENTS:
            self._data[name].set(np.array(getattr(mesh, name)))
        self.normals.set(vertex_normals(mesh.positions, mesh.triangles, mesh.quads))

    def read(self) -> Mesh:
        """Return the unchanged mesh of the file.

        Raises:
            MeshError: The file is missing, unreadable or broken.
        """
        path = self._find_file()
        if not os.path.exists(path):
            from sofa_softctl.runtime.mesh.made import made_mesh

            if (mesh := made_mesh(self.filename.get())) is not None:
                message.info(self, f"there is no '{path}': it is made.")
                return mesh
        return self.parse(path)

    def parse(self, path: str) -> Mesh:
        """Parse a file.

        Raises:
            MeshError: The file is missing, unreadable or broken.
        """
        return read_mesh(path, self.kind, triangulate=self.triangulate.get())

    def _reduce_to_corners(self, mesh: Mesh) -> Mesh:
        """Return a mesh of 4-node tetrahedra, as SOFA does, and complain of free nodes."""
        if not len(mesh.middles):
            return mesh
        linear = replace(mesh, middles=mesh.middles[:0])
        elements = np.concatenate([getattr(linear, kind).ravel() for kind in ELEMENTS])
        free = np.setdiff1d(mesh.middles, [-1, *elements.tolist()])
        if len(free) and not self.onlyAttachedPoints.get():
            count, name = int((mesh.middles[:, 0] >= 0).sum()), self.filename.get()
            problem = (
                f"reads '{name}', whose {count} tetrahedra have 10 nodes: as in SOFA only their "
                f"corners count, and {len(free)} nodes in the middle of edges belong to no element."
                f" Run `softctl mesh quadratic {name} OUT.vtk`, load OUT.vtk, and take "
                "add_elasticity(quadratic=True); or leave them out by onlyAttachedPoints=True."
            )
            complain(self, self.fault(problem))
        return linear

    def _place_mesh(self, mesh: Mesh) -> Mesh:
        matrix, translation = self._placement()
        if (matrix == np.eye(3)).all() and not translation.any():
            return mesh
        mesh_placed, inverse = mesh.mapped(matrix, translation), _inverse(matrix)
        if inverse is None:
            return mesh_placed
        # SOFA places the mesh, undoes that at init, and places it again. The lost bits decide
        # which nodes lie in a region whose side is a face of the mesh.
        return mesh_placed.mapped(inverse, times(-inverse, translation)).mapped(matrix, translation)

    def _apply_sofa_defect(self, mesh: Mesh) -> Mesh:
        """Reproduce a defect of SOFA: the inverse of an invalid 'transformation' acts once."""
        matrix = self.transformation.get().reshape(4, 4)
        if (matrix[3] == [0.0, 0.0, 0.0, 1.0]).all() or not keeps_sofa_defects():
            return mesh
        inverse = np.linalg.pinv(matrix[:3, :3])
        return mesh.mapped(inverse, times(-inverse, matrix[:3, 3]))

    def _placement(self) -> tuple[np.ndarray, np.ndarray]:
        """Return matrix (3, 3) and translation (3,)."""
        matrix = self.transformation.get().reshape(4, 4)
        if (matrix != np.eye(4)).any():
            if np.allclose(matrix[3], [0.0, 0.0, 0.0, 1.0], rtol=0.0, atol=1e-6):
                return matrix[:3, :3], matrix[:3, 3]
            row = matrix[3].tolist()
            problem = f"has the last row {row} in 'transformation', where 0 0 0 1 is expected."
            complain(self, self.fault(f"{problem} The mesh stays as it is in its file."))
            return np.eye(3), np.zeros(3)
        scale = self.scale3d.get() * attribute(self.scale.get()[0])
        place = [scale, self.rotation.get(), self.translation.get()]
        if not np.isfinite(place).all():
            raise self.fault(f"has no finite scale, scale3d, rotation and translation: {place}.")
        return rotation_zyx(self.rotation.get()) * scale, self.translation.get()

    def _split_tetrahedra(self, mesh: Mesh) -> Mesh:
        """Split the mesh as `volumes_split` demands.

        `split_ends` holds, per split, the number of the first new point and the ends of the edges
        that have the new points at their middles.
        """
        self.split_ends: list[tuple[int, np.ndarray]] = []
        if not _splits.get() or not (len(mesh.tetrahedra) or len(mesh.hexahedra)):
            return mesh
        from sofa_softctl.runtime.mesh.split import split, split_edges

        for _ in range(_splits.get()):
            self.split_ends.append((len(mesh.positions), split_edges(mesh)))
            mesh = split(mesh)
        return mesh

    def _find_file(self) -> str:
        name = self.filename.get()
        line = self.filename.where or scene_line()
        if not os.path.isabs(name) and line is not None:
            path = os.path.join(os.path.dirname(os.path.abspath(line[0])), name)
            if os.path.exists(path):
                return path
        return name if os.path.exists(name) else repository.data.getFile(name)

    def _missing_file_hint(self) -> str:
        """Return a hint for messages about meshes that come with SOFA."""
        name = self.filename.get()
        if os.path.isabs(name) or os.path.exists(self._find_file()):
            return ""
        return (
            " Scenes often name meshes that come with SOFA, such as mesh/liver.msh: set SOFA_ROOT "
            "to the folder of a SOFA, which has them in share/sofa or share, or SOFTCTL_DATA to a "
            f"folder in which {name} lies."
        )


def _inverse(matrix: np.ndarray) -> np.ndarray | None:
    """Return the inverse of a matrix (3, 3) by its cofactors, or None if it is singular."""
    a, b, c = matrix
    cofactors = np.column_stack([np.cross(b, c), np.cross(c, a), np.cross(a, b)])
    determinant = (
        a[0] * b[1] * c[2]
        + b[0] * c[1] * a[2]
        + c[0] * a[1] * b[2]
        - a[0] * c[1] * b[2]
        - b[0] * a[1] * c[2]
        - c[0] * b[1] * a[2]
    )
    return None if abs(determinant) <= np.finfo(float).eps else cofactors / determinant


class MeshVTKLoader(MeshLoader):
    """VTK files: legacy (ASCII, binary) and XML."""

    kind = "vtk"


class MeshOBJLoader(MeshLoader):
    """Wavefront OBJ files."""

    aliases = ("MeshObjLoader",)
    kind = "obj"

    handleSeams = Bool(False, "Not supported: vertices along seams of textures are not split.")
    loadMaterial = Bool(True, "Unused: for drawing.")
    defaultMaterial = Text("", "Unused: for drawing.", aliases=("material",))
    materials = Texts([], "Unused: for drawing.")
    faceList = Texts([], "Unused.")
    texcoordsIndex = Texts([], "Unused: for drawing.")
    positionsDefinition = Vectors(3, [], "Unused.")
    texcoordsDefinition = Vectors(2, [], "Unused: for drawing.")
    normalsIndex = Texts([], "Unused: for drawing.")
    normalsDefinition = Vectors(3, [], "Unused: for drawing.")
    texcoords = Vectors(2, [], "Unused: for drawing.")
    computeMaterialFaces = Bool(False, "Unused: for drawing.")
    vertPosIdx = Texts([], "Unused.")
    vertNormIdx = Texts([], "Unused.")

    def load(self) -> None:
        """Load the file, with a warning about `handleSeams`."""
        if self.handleSeams.get():
            problem = "does not read 'handleSeams', with which SOFA has other vertices"
            complain(self, self.fault(f"{problem} where textures or normals differ: leave it out."))
        super().load()

    def parse(self, path: str) -> Mesh:
        """Parse an OBJ file; a file of another loader gives an empty mesh, as in SOFA."""
        try:
            return super().parse(path)
        except MeshError:
            kind = SUFFIXES.get(os.path.splitext(path)[1].lower(), self.kind)
            if kind == self.kind or not os.path.exists(path):
                raise
            problem = (
                f"reads OBJ files alone, and nothing from '{self.filename.get()}'; as in SOFA the "
                f"mesh is empty. Use {_LOADER_OF[kind]}."
            )
            complain(self, self.fault(problem))
            return Mesh(np.empty((0, 3)))


class MeshGmshLoader(MeshLoader):
    """Gmsh files."""

    kind = "gmsh"

    createSubelements = Bool(
        True, "Add the edges and triangles of higher elements.", auto_link=False, follows="start"
    )


class MeshSTLLoader(MeshLoader):
    """STL files."""

    kind = "stl"

    mergePositionUsingMap = Bool(True, "Unused: vertices at the same place are always merged.")
    headerSize = UInt(80, "Unused.")
    forceBinary = Bool(False, "Unused: the file says what it is.")


class MeshOffLoader(MeshLoader):
    """OFF files."""

    kind = "off"


class GIDMeshLoader(MeshLoader):
    """Meshes of GiD, of one kind of elements."""

    kind = "gid"


_LOADER_OF = {loader.kind: loader.__name__ for loader in MeshLoader.__subclasses__()}
"""Name of the loader of each kind of file."""
