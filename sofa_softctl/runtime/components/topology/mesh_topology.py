"""MeshTopology."""

from __future__ import annotations

from sofa_softctl.runtime.components.loader.by_ending import loaded
from sofa_softctl.runtime.components.topology.base import Topology
from sofa_softctl.runtime.core.data.types import Bool, Text, Vectors
from sofa_softctl.runtime.mesh.mesh import ELEMENTS


class MeshTopology(Topology):
    """Keeps exactly the elements that it is given, or those of a mesh file."""

    aliases = ("Mesh",)

    filename = Text("", "Mesh file: vtk, obj, msh or stl.", aliases=("fileTopology",))
    uv = Vectors(2, [], "Texture coordinates: for drawing.", aliases=("texcoords",))
    computeAllBuffers = Bool(False, "Unused: neighbours are found where they are needed.")
    drawEdges = Bool(False, "Draw the edges.")
    drawTriangles = Bool(False, "Draw the triangles.")
    drawQuads = Bool(False, "Draw the quadrilaterals.")
    drawTetrahedra = Bool(False, "Draw the tetrahedra.")
    drawHexahedra = Bool(False, "Draw the hexahedra.")

    def init(self) -> None:
        """Read the file, if there is one; then see Topology.

        Raises:
            SceneError: the file is missing, unreadable or broken.
        """
        if self.filename.get():
            loader = loaded(self, self.filename)
            for name in ("position", *ELEMENTS):
                self._data[name].set(loader._data[name].get().copy())
        super().init()
