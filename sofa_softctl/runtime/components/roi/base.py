"""Regions of interest: nodes and elements inside a shape."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from sofa_softctl.base.source_line import describe
from sofa_softctl.runtime.components.engine.base import Engine
from sofa_softctl.runtime.core.component import Component
from sofa_softctl.runtime.core.data.data import Data
from sofa_softctl.runtime.core.data.types import Bool, Coords, Elements, Integers, Real, UInt
from sofa_softctl.runtime.helper import message

UNIT_FACTORS = (1000.0, 10.0, 0.1, 0.001)
"""Factors between units of length to try for the warning of an empty region [-]."""
KINDS = {
    "edges": ("edgeIndices", "edgeOutIndices", "computeEdges"),
    "triangles": ("triangleIndices", "triangleOutIndices", "computeTriangles"),
    "quads": ("quadIndices", "quadOutIndices", "computeQuads"),
    "tetrahedra": ("tetrahedronIndices", "tetrahedronOutIndices", "computeTetrahedra"),
    "hexahedra": ("hexahedronIndices", "hexahedronOutIndices", "computeHexahedra"),
}
"""Data of the numbers inside and outside, and of the switch, for each kind of element."""


class RegionOfInterest(Engine):
    """Computes the nodes and elements inside a shape.

    Positions default to the rest position of the node's state, then to a loader's, then to the rest
    position of a state above; elements to the node's topology. They are computed at init, and again
    when these change, or Data of a subclass that its `inputs` name.
    """

    inputs: ClassVar[tuple[str, ...]] = ("position", *KINDS)

    position = Coords([], "Points to test.", unit="length", optional_link=True)
    edges = Elements(2, [], "Edges to test.", optional_link=True)
    triangles = Elements(3, [], "Triangles to test.", optional_link=True)
    quads = Elements(4, [], "Quads to test.", optional_link=True)
    tetrahedra = Elements(4, [], "Tetrahedra to test.", optional_link=True)
    hexahedra = Elements(8, [], "Hexahedra to test.", optional_link=True)
    strict = Bool(
        True, "Elements with all vertices inside; otherwise by their centre.", follows="reinit"
    )
    doUpdate = Bool(True, "Compute again when an input changed.")
    computeEdges = Bool(True, "Test edges.", follows="reinit")
    computeTriangles = Bool(True, "Test triangles.", follows="reinit")
    computeQuads = Bool(True, "Test quads.", follows="reinit")
    computeTetrahedra = Bool(True, "Test tetrahedra.", follows="reinit")
    computeHexahedra = Bool(True, "Test hexahedra.", follows="reinit")
    drawROI = Bool(False, "Draw the region.")
    drawPoints = Bool(False, "Draw the points inside.")
    drawEdges = Bool(False, "Draw the edges inside.")
    drawTriangles = Bool(False, "Draw the triangles inside.")
    drawQuads = Bool(False, "Draw the quads inside.")
    drawTetrahedra = Bool(False, "Draw the tetrahedra inside.")
    drawHexahedra = Bool(False, "Draw the hexahedra inside.")
    drawSize = Real(1.0, "Size of what is drawn.")
    indices = Integers([0], "Nodes inside.", computed=True)
    edgeIndices = Integers([], "Edges inside.", computed=True)
    triangleIndices = Integers([], "Triangles inside.", computed=True)
    quadIndices = Integers([], "Quads inside.", computed=True)
    tetrahedronIndices = Integers([], "Tetrahedra inside.", computed=True)
    hexahedronIndices = Integers([], "Hexahedra inside.", computed=True)
    pointsInROI = Coords([], "Positions of the nodes inside.", unit="length", computed=True)
    edgesInROI = Elements(2, [], "Edges inside.", computed=True)
    trianglesInROI = Elements(3, [], "Triangles inside.", computed=True)
    quadsInROI = Elements(4, [], "Quads inside.", computed=True)
    tetrahedraInROI = Elements(4, [], "Tetrahedra inside.", computed=True)
    hexahedraInROI = Elements(8, [], "Hexahedra inside.", computed=True)
    nbIndices = UInt(0, "Number of nodes inside.", computed=True)
    indicesOut = Integers([], "Nodes outside.", computed=True)
    edgeOutIndices = Integers([], "Edges outside.", computed=True)
    triangleOutIndices = Integers([], "Triangles outside.", computed=True)
    quadOutIndices = Integers([], "Quads outside.", computed=True)
    tetrahedronOutIndices = Integers([], "Tetrahedra outside.", computed=True)
    hexahedronOutIndices = Integers([], "Hexahedra outside.", computed=True)
    pointsOutROI = Coords([], "Positions of the nodes outside.", unit="length", computed=True)
    edgesOutROI = Elements(2, [], "Edges outside.", computed=True)
    trianglesOutROI = Elements(3, [], "Triangles outside.", computed=True)
    quadsOutROI = Elements(4, [], "Quads outside.", computed=True)
    tetrahedraOutROI = Elements(4, [], "Tetrahedra outside.", computed=True)
    hexahedraOutROI = Elements(8, [], "Hexahedra outside.", computed=True)

    def init(self) -> None:
        """Find positions and elements, and compute."""
        if not has_input(self.position):
            self.position.setParent(self.find_points())
        topology = self.find_topology()
        for kind, (_, _, flag) in KINDS.items():
            if topology is not None and self._data[flag].get() and not has_input(self._data[kind]):
                self._data[kind].setParent(topology._data[kind])
        super().init()
        self.update_outputs()

    def bwdInit(self) -> None:
        """Warn of an empty region, once all states have their nodes."""
        if not len(self.indices.get()):
            message.warning(
                self,
                f"{describe(self._where)}: {self.describe()} holds no node{self._explain_empty()}",
            )

    def _explain_empty(self) -> str:
        """Return the range of the points, and the unit of length that would put some inside."""
        points = np.asarray(self.position.get(), dtype=float)[:, :3]
        if not len(points) or not self.has_shape():
            return "."
        low, high = (
            ", ".join(f"{value:.4g}" for value in corner)
            for corner in (points.min(axis=0), points.max(axis=0))
        )
        text = f" of {len(points)}, which lie from [{low}] to [{high}]."
        for factor in UNIT_FACTORS:
            if self.contains(points * factor).any():
                return f"{text} Times {factor:g} some are inside: are they in another unit?"
        return text

    @property
    def reads_its_node(self) -> bool:  # type: ignore[override]
        """True if the scene gives no positions."""
        return not has_input(self.position)

    def find_points(self) -> Data:
        """Return the points to test."""
        assert self._context is not None
        if states := self._context.of("state"):
            return states[0].rest_position
        if loaders := self._context.of("loader"):
            return loaders[0].position
        above = self._context.find_upward("state")
        if above is None:
            raise self.fault("finds no positions: add a MechanicalObject before it.")
        return above.rest_position

    def find_topology(self) -> Component | None:
        """Return the topology of the elements, or None."""
        return next(iter([] if self._context is None else self._context.of("topology")), None)

    def has_shape(self) -> bool:
        """Return True if the Data define a region."""
        return True

    def contains(self, points: np.ndarray) -> np.ndarray:
        """Return True for points inside, shape (n,)."""
        raise NotImplementedError

    def contains_elements(self, points: np.ndarray, elements: np.ndarray) -> np.ndarray:
        """Return True for elements inside, shape (m,)."""
        if self.strict.get():
            return self.contains(points)[elements].all(axis=1)
        return self.contains(points[elements].mean(axis=1))

    def compute(self) -> None:
        """Sort nodes and elements; without positions or a region all outputs are empty."""
        if not has_input(self.position) or (
            self._input_counters is not None and not self.doUpdate.get()
        ):
            return
        points = self.position.get()
        if not self.has_shape():
            points = points[:0]
        positions = points[:, :3]
        inside = self.contains(positions)
        nodes, nodes_outside = np.flatnonzero(inside), np.flatnonzero(~inside)
        self.indices.set(nodes)
        self.indicesOut.set(nodes_outside)
        self.nbIndices.set(len(nodes))
        self.pointsInROI.set(points[nodes])
        self.pointsOutROI.set(points[nodes_outside])
        for kind, (numbers, outside, flag) in KINDS.items():
            elements = self._data[kind].get()
            if not (len(points) and self._data[flag].get()):
                elements = elements[:0]
            self._check(kind, elements, len(points))
            is_inside = self.contains_elements(positions, elements)
            self._data[numbers].set(np.flatnonzero(is_inside))
            self._data[outside].set(np.flatnonzero(~is_inside))
            self._data[f"{kind}InROI"].set(elements[is_inside])
            self._data[f"{kind}OutROI"].set(elements[~is_inside])

    def _check(self, kind: str, elements: np.ndarray, count: int) -> None:
        if (is_invalid := (elements < 0) | (elements >= count)).any():
            raise self.fault(
                f"looks at {kind} of vertex {elements.flat[np.argmax(is_invalid)]}, but at {count} "
                "positions only."
            )


def has_input(data: Data) -> bool:
    """Return True if the scene gives a value or a link."""
    return data.isSet() or data.hasParent()
