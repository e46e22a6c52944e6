"""MeshTopology, and the base of topologies that make their meshes."""

from __future__ import annotations

import numpy as np
from typing_extensions import override

from sofa_softctl.runtime.components.topology.base import Topology
from sofa_softctl.runtime.core.data.data import Data
from sofa_softctl.runtime.core.data.types import Bool, Text, Vectors
from sofa_softctl.runtime.mesh.mesh import ELEMENTS


class MeshTopology(Topology):
    """Keeps exactly the elements that it is given, or those of a mesh file."""

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
        """Read the file, if there is one; then see Topology.

        Raises:
            SceneError: the file is missing, unreadable or broken.
        """
        if self.filename.get():
            from sofa_softctl.runtime.components.loader.by_ending import loaded

            loader = loaded(self, self.filename)
            for name in ("position", *ELEMENTS):
                self._data[name].set(loader._data[name].get().copy())
        super().init()

    def nodes(self) -> np.ndarray:
        """See Topology; without the vertices after the last one that an element uses, as in SOFA.

        Those of its own file count all.
        """
        points = super().nodes()
        elements = [self._data[kind].get() for kind in ELEMENTS]
        used = max((int(entry.max()) + 1 for entry in elements if len(entry)), default=len(points))
        return points if self.filename.get() else points[:used]


class MadeTopology(MeshTopology):
    """Makes vertices and elements once, when somebody first needs them, and derives no others."""

    _made = False

    @override
    def make_ready(self) -> None:
        if not self._made:
            self._made = True
            for data in self._data.values():
                data.follow_link(must=True)
            self.make()

    def data_changed(self, data: Data) -> None:
        """What is set before the initialisation counts, though somebody asked already."""
        super().data_changed(data)
        self._made = self._made and self._initialised

    def make(self) -> None:
        """Make vertices and elements."""

    def derive(self) -> None:
        """See Topology: it has what it made."""

    def elements(self, kind: str) -> np.ndarray:
        """See Topology: it has what it made."""
        found: np.ndarray = self._data[kind].get()
        return found
