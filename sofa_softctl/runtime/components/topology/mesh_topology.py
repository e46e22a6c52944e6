"""MeshTopology, and the base of topologies that generate their meshes."""

from __future__ import annotations

import numpy as np
from typing_extensions import override

from sofa_softctl.runtime.components.topology.base import Topology
from sofa_softctl.runtime.core.data.data import Data
from sofa_softctl.runtime.core.data.types import Bool, Text, Vectors
from sofa_softctl.runtime.mesh.mesh import ELEMENTS


class MeshTopology(Topology):
    """Vertices and elements of the scene or of a mesh file."""

    aliases = ("Mesh",)

    filename = Text(
        "", "Mesh file: vtk, obj, msh or stl.", aliases=("fileTopology",), follows="start"
    )
    uv = Vectors(2, [], "Texture coordinates: for drawing.", aliases=("texcoords",))
    computeAllBuffers = Bool(False, "Unused: neighbours are found where they are needed.")
    drawEdges = Bool(False, "Draw the edges.")
    drawTriangles = Bool(False, "Draw the triangles.")
    drawQuads = Bool(False, "Draw the quadrilaterals.")
    drawTetrahedra = Bool(False, "Draw the tetrahedra.")
    drawHexahedra = Bool(False, "Draw the hexahedra.")

    def init(self) -> None:
        """Read the file, if there is one; then check and derive elements as in Topology.

        Raises:
            SceneError: The file is missing, unreadable or broken.
        """
        if self.filename.get():
            from sofa_softctl.runtime.components.loader.by_ending import load_mesh

            loader = load_mesh(self, self.filename)
            for name in ("position", *ELEMENTS):
                self._data[name].set(loader._data[name].get().copy())
        super().init()

    def nodes(self) -> np.ndarray:
        """Return the vertices up to the last that an element uses, as in SOFA; all with a file."""
        points = super().nodes()
        elements = [self._data[kind].get() for kind in ELEMENTS]
        count = max((int(rows.max()) + 1 for rows in elements if len(rows)), default=len(points))
        return points if self.filename.get() else points[:count]


class GeneratedTopology(MeshTopology):
    """Generates vertices and elements once, at the first use, and derives no others."""

    _is_generated = False

    @override
    def make_ready(self) -> None:
        if not self._is_generated:
            self._is_generated = True
            for data in self._data.values():
                data.follow_link(must=True)
            self.generate()

    def data_changed(self, data: Data) -> None:
        """Generate again if a Data changes before the initialisation."""
        super().data_changed(data)
        self._is_generated = self._is_generated and self._initialised

    def generate(self) -> None:
        """Generate vertices and elements."""

    def derive(self) -> None:
        """Leave the elements as generated."""

    @override
    def elements(self, kind: str) -> np.ndarray:
        return self._data[kind].get()
