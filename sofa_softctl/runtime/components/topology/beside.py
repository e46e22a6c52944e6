"""Components that stand beside a topology in SOFA: modifiers and geometry algorithms."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

import numpy as np

from sofa_softctl.runtime.components.topology.base import topology_of
from sofa_softctl.runtime.core.component import Component
from sofa_softctl.runtime.core.data.types import Bool, Color, Real, Text
from sofa_softctl.runtime.core.link import LinkType
from sofa_softctl.runtime.helper.message import complain


class Beside(Component):
    """Companion of a topology in SOFA; the embedded runtime does not need it."""

    category: ClassVar[str] = "beside a topology"


_OF_NODES = ("constraint", "force field", "mapping", "mass", "projective constraint")
"""Categories of components that keep values per node, whose number must not change."""


class PointSetTopologyModifier(Beside):
    """Adds and removes points when a script calls it."""

    propagateToDOF = Bool(True, "Unused: addPoints and removePoints say so.")

    def addPoints(self, nPoints: int, addDOF: bool = True) -> None:
        """Add points at zero to the topology, and nodes to the states in its node.

        Raises:
            SceneError: Something in the node keeps values for each node of its state.
        """
        count = self._topology().getNbPoints()
        self._select(np.append(np.arange(count), np.full(nPoints, -1)), addDOF)

    def removePoints(self, indices: Iterable[int], removeDOF: bool = True) -> None:
        """Remove points, and the nodes of the states with them; the last ones fill the gaps.

        Raises:
            SceneError: Something in the node keeps values for each node of its state, or an
                element names one of the points.
        """
        points = list(range(self._topology().getNbPoints()))
        for index in sorted(set(indices), reverse=True):  # as SOFA: each is swapped with the last
            points[index] = points[-1]
            points.pop()
        self._select(np.array(points, dtype=np.int64), removeDOF)

    def _topology(self) -> Any:
        topology = topology_of(self._context)
        if topology is None:
            raise self.fault("stands beside no topology: add a container to its node.")
        return topology

    def _select(self, points: np.ndarray, with_states: bool) -> None:
        """Keep the points of these indices; -1 adds a point at zero."""
        assert self._context is not None
        topology, states = self._topology(), self._context.of("state")
        dependents = [component for kind in _OF_NODES for component in self._context.of(kind)]
        if dependents and with_states and states:
            raise self.fault(
                f"cannot change the number of nodes under {dependents[0].describe()}, which keeps "
                "values for each of them. Make the mesh whole before the scene starts."
            )
        used = [topology.elements(kind) for kind in ("edges", "triangles", "quads")]
        if any(np.setdiff1d(elements, points).size for elements in used):
            raise self.fault("cannot remove points that elements name.")
        position = topology.position.get()
        if len(position):
            topology.position.set(_select_rows(position, points, np.zeros(3)))
        for state in states if with_states else ():
            velocity = state.velocity.get()
            state.resize(_select_rows(state.position.get(), points, state.kind.identity))
            state.velocity.set(_select_rows(velocity, points, np.zeros(state.deriv_size)))


def _select_rows(rows: np.ndarray, points: np.ndarray, new: np.ndarray) -> np.ndarray:
    result = np.tile(np.asarray(new, dtype=float), (len(points), 1))
    result[points >= 0] = rows[points[points >= 0]]
    return result


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
    """Accepted, without effect: geometry is computed on demand."""

    topology = LinkType("Unused: the topology of the node.")
    showIndicesScale = Real(0.02, "Size of the numbers that are drawn.")
    showPointIndices = Bool(False, "Draw the numbers of the points.")
    tagMechanics = Text("", "Unused.")


class EdgeSetGeometryAlgorithms(PointSetGeometryAlgorithms):
    """Accepted, without effect: geometry is computed on demand."""

    showEdgeIndices = Bool(False, "Draw the numbers of the edges.")
    drawEdges = Bool(False, "Draw the edges.")
    drawColorEdges = Color([0.4, 1.0, 0.3, 1.0], "Color of the edges.")


class TriangleSetGeometryAlgorithms(EdgeSetGeometryAlgorithms):
    """Accepted, without effect: geometry is computed on demand."""

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
        """Warn if recomputeTrianglesOrientation is set, since triangles keep their winding."""
        if self.recomputeTrianglesOrientation.get():
            problem = (
                "does not support recomputeTrianglesOrientation=True: triangles keep their "
                "winding. Turn them in the mesh, or with flipNormals=True of the loader."
            )
            complain(self, self.fault(problem))


class QuadSetGeometryAlgorithms(EdgeSetGeometryAlgorithms):
    """Accepted, without effect: geometry is computed on demand."""

    showQuadIndices = Bool(False, "Draw the numbers of the quads.")
    drawQuads = Bool(False, "Draw the quads.")
    drawColorQuads = Color([0.0, 0.4, 0.4, 1.0], "Color of the quads.")


class TetrahedronSetGeometryAlgorithms(TriangleSetGeometryAlgorithms):
    """Accepted, without effect: geometry is computed on demand."""

    showTetrahedraIndices = Bool(
        False, "Draw the numbers of the tetrahedra.", aliases=("showTetrasIndices",)
    )
    drawTetrahedra = Bool(False, "Draw the tetrahedra.", aliases=("drawTetra", "drawTetrahedron"))
    drawScaleTetrahedra = Real(1.0, "Size of the tetrahedra that are drawn, 1 without gaps.")
    drawColorTetrahedra = Color([1.0, 1.0, 0.0, 1.0], "Color of the tetrahedra.")


class HexahedronSetGeometryAlgorithms(QuadSetGeometryAlgorithms):
    """Accepted, without effect: geometry is computed on demand."""

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
        """Warn that the component does nothing."""
        problem = "does nothing: SOFA has no such component since v20.12. Remove its line."
        complain(self, self.fault(problem))
