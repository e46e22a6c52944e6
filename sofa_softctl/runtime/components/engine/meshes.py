"""Engines that make, cut or measure meshes."""

from __future__ import annotations

import numpy as np
from typing_extensions import override

from sofa_softctl.runtime.components.engine.base import Engine
from sofa_softctl.runtime.components.topology.mappings import six_tetrahedra
from sofa_softctl.runtime.core.data.types import Bool, Counts, Elements, Integers, Vector, Vectors
from sofa_softctl.runtime.mesh.faces import vertex_normals
from sofa_softctl.runtime.mesh.mesh import ELEMENTS


class GenerateGrid(Engine):
    """A box of cells with six tetrahedra each, or a flat grid if there are no cells along z."""

    inputs = ("min", "max", "resolution")

    output_position = Vectors(
        3, [], "Vertices.", unit="length", aliases=("position",), computed=True
    )
    tetrahedra = Elements(4, [], "Tetrahedra.", computed=True)
    quads = Elements(4, [], "Quads of a flat grid.", computed=True)
    triangles = Elements(3, [], "Triangles of a flat grid.", computed=True)
    hexahedra = Elements(8, [], "Hexahedra.", computed=True)
    min = Vector(3, [0.0, 0.0, 0.0], "One corner.", unit="length")
    max = Vector(3, [0.0, 0.0, 0.0], "The opposite corner.", unit="length")
    resolution = Counts(3, [3, 3, 3], "Cells along x, y and z.")

    def compute(self) -> None:
        """Generate the mesh.

        Raises:
            SceneError: The resolution is negative.
        """
        cells = self.resolution.get()
        if cells.min() < 0:
            raise self.fault(f"needs a 'resolution' from 0 on, got {cells.tolist()}.")
        cells = np.maximum(cells, [1, 1, 0])
        size = (self.max.get() - self.min.get()) / np.maximum(cells, 1)
        steps = np.indices((cells[::-1] + 1).tolist()).reshape(3, -1).T[:, ::-1]  # x runs first
        self.output_position.set(self.min.get() + steps * size)
        number = np.arange(len(steps)).reshape(cells[::-1] + 1).transpose(2, 1, 0)
        low = [number[:-1, :-1], number[1:, :-1], number[1:, 1:], number[:-1, 1:]]
        if cells[2] == 0:
            quads = np.stack([corner.ravel() for corner in low], axis=1)
            self.quads.set(quads)
            self.triangles.set(quads[:, [[0, 1, 3], [3, 1, 2]]].reshape(-1, 3))
            return
        corners = [corner[..., :-1] for corner in low] + [corner[..., 1:] for corner in low]
        hexahedra = np.stack([corner.ravel() for corner in corners], axis=1)
        self.hexahedra.set(hexahedra)
        self.tetrahedra.set(six_tetrahedra(hexahedra))


class NormalsFromPoints(Engine):
    """Normal at each vertex, from the faces around it.

    Departure from SOFA: normals are recomputed each time; SOFA adds to the previous ones.
    """

    inputs = ("position", "triangles", "quads", "invertNormals", "useAngles")

    position = Vectors(3, [], "Vertices.", unit="length")
    triangles = Elements(3, [], "Triangles.", of="position")
    quads = Elements(4, [], "Quads.", of="position")
    normals = Vectors(3, [], "Normals at the vertices.", computed=True)
    invertNormals = Bool(False, "Turn the normals round.")
    useAngles = Bool(False, "Weigh each face by its angle at the vertex.")

    @override
    def compute(self) -> None:
        self.check_own_numbers()
        faces = self.triangles.get(), self.quads.get()
        normals = vertex_normals(self.position.get(), *faces, by_angle=self.useAngles.get())
        self.normals.set(-normals if self.invertNormals.get() else normals)


class MeshSubsetEngine(Engine):
    """Vertices at the indices, and the elements whose vertices are all among them."""

    inputs = ("inputPosition", *(f"input{kind.capitalize()}" for kind in ELEMENTS), "indices")

    inputPosition = Vectors(3, [], "Vertices.", unit="length")
    inputEdges = Elements(2, [], "Edges.", of="inputPosition")
    inputTriangles = Elements(3, [], "Triangles.", of="inputPosition")
    inputQuads = Elements(4, [], "Quads.", of="inputPosition")
    inputTetrahedra = Elements(4, [], "Tetrahedra.", of="inputPosition")
    inputHexahedra = Elements(8, [], "Hexahedra.", of="inputPosition")
    indices = Integers([], "Vertices to keep, in their new order.", of="inputPosition")
    position = Vectors(3, [], "Vertices that are kept.", unit="length", computed=True)
    edges = Elements(2, [], "Edges that are kept, in the new numbers.", computed=True)
    triangles = Elements(3, [], "Triangles that are kept, in the new numbers.", computed=True)
    quads = Elements(4, [], "Quads that are kept, in the new numbers.", computed=True)
    tetrahedra = Elements(4, [], "Tetrahedra that are kept, in the new numbers.", computed=True)
    hexahedra = Elements(8, [], "Hexahedra that are kept, in the new numbers.", computed=True)

    @override
    def compute(self) -> None:
        points, indices = self.inputPosition.get(), self.indices.get()
        self.check_own_numbers()
        number = np.full(len(points), -1)
        number[indices] = np.arange(len(indices))
        self.position.set(points[indices])
        for kind in ELEMENTS:
            elements = number[self._data[f"input{kind.capitalize()}"].get()]
            self._data[kind].set(elements[(elements >= 0).all(axis=1)])
