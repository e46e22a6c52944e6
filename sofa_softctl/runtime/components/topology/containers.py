"""Topology containers of one kind of element, with modifiers and algorithms."""

from __future__ import annotations

from typing import ClassVar

from sofa_softctl.runtime.components.topology.base import Topology
from sofa_softctl.runtime.core.component import Component
from sofa_softctl.runtime.core.data.types import Bool, Int


class TopologyContainer(Topology):
    """Vertices and elements of one kind; lower kinds are derived."""

    checkConnexity = Bool(False, "Unused.")
    checkTopology = Bool(False, "Unused.")
    createTriangleArray = Bool(False, "Unused: derived when needed.")
    createTetrahedronArray = Bool(False, "Unused.")
    nbPoints = Int(0, "Unused: the number of positions.")


class PointSetTopologyContainer(TopologyContainer):
    """Points."""


class EdgeSetTopologyContainer(TopologyContainer):
    """Edges."""


class TriangleSetTopologyContainer(TopologyContainer):
    """Triangles."""


class QuadSetTopologyContainer(TopologyContainer):
    """Quadrilaterals."""


class TetrahedronSetTopologyContainer(TopologyContainer):
    """Tetrahedra."""


class HexahedronSetTopologyContainer(TopologyContainer):
    """Hexahedra."""


class _Beside(Component):
    """Stands beside a topology in SOFA; the embedded runtime needs none of it."""

    category: ClassVar[str] = "beside a topology"

    listening = Bool(False, "Receive events.")


class TriangleSetTopologyModifier(_Beside):
    """Accepted, without effect: the mesh does not change."""


class TetrahedronSetTopologyModifier(_Beside):
    """Accepted, without effect: the mesh does not change."""

    removeIsolated = Bool(True, "Unused.")


class EdgeSetTopologyModifier(_Beside):
    """Accepted, without effect: the mesh does not change."""


class TriangleSetGeometryAlgorithms(_Beside):
    """Accepted, without effect: geometry is computed where it is needed."""

    drawEdges = Bool(False, "Draw the edges.")
    drawTriangles = Bool(False, "Draw the triangles.")


class TetrahedronSetGeometryAlgorithms(_Beside):
    """Accepted, without effect: geometry is computed where it is needed."""

    drawEdges = Bool(False, "Draw the edges.")
    drawTetrahedra = Bool(False, "Draw the tetrahedra.")


class EdgeSetGeometryAlgorithms(_Beside):
    """Accepted, without effect: geometry is computed where it is needed."""

    drawEdges = Bool(False, "Draw the edges.")
