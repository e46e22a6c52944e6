"""MeshTopology."""

from __future__ import annotations

from sofa_softctl.runtime.components.topology.base import Topology
from sofa_softctl.runtime.core.data.types import Bool, Vectors


class MeshTopology(Topology):
    """Keeps exactly the elements that it is given."""

    aliases = ("Mesh",)

    uv = Vectors(2, [], "Texture coordinates: for drawing.", aliases=("texcoords",))
    computeAllBuffers = Bool(False, "Unused: neighbours are found where they are needed.")
    drawEdges = Bool(False, "Draw the edges.")
    drawTriangles = Bool(False, "Draw the triangles.")
    drawQuads = Bool(False, "Draw the quadrilaterals.")
    drawTetrahedra = Bool(False, "Draw the tetrahedra.")
    drawHexahedra = Bool(False, "Draw the hexahedra.")
