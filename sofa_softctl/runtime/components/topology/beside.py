"""Components that stand beside a topology in SOFA: modifiers and geometry algorithms."""

from __future__ import annotations

from typing import ClassVar

from sofa_softctl.runtime.core.component import Component
from sofa_softctl.runtime.core.data.types import Bool, Color, Real, Text
from sofa_softctl.runtime.core.link import LinkType
from sofa_softctl.runtime.helper.strictness import complain


class Beside(Component):
    """Stands beside a topology in SOFA; the embedded runtime needs none of it."""

    category: ClassVar[str] = "beside a topology"


class PointSetTopologyModifier(Beside):
    """Accepted, without effect: the mesh does not change."""

    propagateToDOF = Bool(True, "Unused: the mesh does not change.")


class EdgeSetTopologyModifier(PointSetTopologyModifier):
    """Accepted, without effect: the mesh does not change."""


class TriangleSetTopologyModifier(EdgeSetTopologyModifier):
    """Accepted, without effect: the mesh does not change."""

    list_Out = Text("", "Unused: the mesh does not change.")


class QuadSetTopologyModifier(EdgeSetTopologyModifier):
    """Accepted, without effect: the mesh does not change."""


class TetrahedronSetTopologyModifier(TriangleSetTopologyModifier):
    """Accepted, without effect: the mesh does not change."""

    removeIsolated = Bool(True, "Unused: the mesh does not change.")


class HexahedronSetTopologyModifier(QuadSetTopologyModifier):
    """Accepted, without effect: the mesh does not change."""

    removeIsolated = Bool(True, "Unused: the mesh does not change.")


class PointSetGeometryAlgorithms(Beside):
    """Accepted, without effect: geometry is computed where it is needed."""

    topology = LinkType("Unused: the topology of the node.")
    showIndicesScale = Real(0.02, "Size of the numbers that are drawn.")
    showPointIndices = Bool(False, "Draw the numbers of the points.")
    tagMechanics = Text("", "Unused.")


class EdgeSetGeometryAlgorithms(PointSetGeometryAlgorithms):
    """Accepted, without effect: geometry is computed where it is needed."""

    showEdgeIndices = Bool(False, "Draw the numbers of the edges.")
    drawEdges = Bool(False, "Draw the edges.")
    drawColorEdges = Color([0.4, 1.0, 0.3, 1.0], "Color of the edges.")


class TriangleSetGeometryAlgorithms(EdgeSetGeometryAlgorithms):
    """Accepted, without effect: geometry is computed where it is needed."""

    showTriangleIndices = Bool(False, "Draw the numbers of the triangles.")
    drawTriangles = Bool(False, "Draw the triangles.")
    drawColorTriangles = Color([0.3, 0.5, 0.8, 1.0], "Color of the triangles.")
    drawNormals = Bool(False, "Draw the normals of the triangles.")
    drawNormalLength = Real(10.0, "Length of the normals that are drawn.")
    recomputeTrianglesOrientation = Bool(
        False, "Not supported: only False; triangles keep their winding."
    )
    flipNormals = Bool(False, "Unused without recomputeTrianglesOrientation.")

    def init(self) -> None:
        """Say that triangles keep their winding, where they shall not."""
        if self.recomputeTrianglesOrientation.get():
            problem = (
                "does not support recomputeTrianglesOrientation=True: triangles keep their "
                "winding. Turn them in the mesh, or with flipNormals=True of the loader."
            )
            complain(self, self.fault(problem))


class QuadSetGeometryAlgorithms(EdgeSetGeometryAlgorithms):
    """Accepted, without effect: geometry is computed where it is needed."""

    showQuadIndices = Bool(False, "Draw the numbers of the quads.")
    drawQuads = Bool(False, "Draw the quads.")
    drawColorQuads = Color([0.0, 0.4, 0.4, 1.0], "Color of the quads.")


class TetrahedronSetGeometryAlgorithms(TriangleSetGeometryAlgorithms):
    """Accepted, without effect: geometry is computed where it is needed."""

    showTetrahedraIndices = Bool(
        False, "Draw the numbers of the tetrahedra.", aliases=("showTetrasIndices",)
    )
    drawTetrahedra = Bool(False, "Draw the tetrahedra.", aliases=("drawTetra", "drawTetrahedron"))
    drawScaleTetrahedra = Real(1.0, "Size of the tetrahedra that are drawn, 1 without gaps.")
    drawColorTetrahedra = Color([1.0, 1.0, 0.0, 1.0], "Color of the tetrahedra.")


class HexahedronSetGeometryAlgorithms(QuadSetGeometryAlgorithms):
    """Accepted, without effect: geometry is computed where it is needed."""

    showHexaIndices = Bool(False, "Draw the numbers of the hexahedra.")
    drawHexahedra = Bool(False, "Draw the hexahedra.", aliases=("drawHexa", "drawHexahedron"))
    drawScaleHexahedra = Real(1.0, "Size of the hexahedra that are drawn, 1 without gaps.")
    drawColorHexahedra = Color([1.0, 0.5, 0.0, 1.0], "Color of the hexahedra.")


class TopologyAlgorithms(Beside):
    """Was removed from SOFA in v20.12; accepted with a warning, without effect."""

    aliases = (
        "EdgeSetTopologyAlgorithms",
        "HexahedronSetTopologyAlgorithms",
        "PointSetTopologyAlgorithms",
        "QuadSetTopologyAlgorithms",
        "TetrahedronSetTopologyAlgorithms",
        "TriangleSetTopologyAlgorithms",
    )

    def init(self) -> None:
        """Say that it does nothing."""
        problem = "does nothing: SOFA has no such component since v20.12. Remove its line."
        complain(self, self.fault(problem))
