"""Regions of interest: nodes and elements inside a shape."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from sofa_softctl.runtime.core.component import Component
from sofa_softctl.runtime.core.data.data import Data
from sofa_softctl.runtime.core.data.types import Bool, Elements, Integers, Real, Vectors
from sofa_softctl.runtime.helper import message
from sofa_softctl.runtime.helper.source_line import describe

KINDS = {
    "edges": ("edgeIndices", "edgeOutIndices", "computeEdges"),
    "triangles": ("triangleIndices", "triangleOutIndices", "computeTriangles"),
    "quads": ("quadIndices", "quadOutIndices", "computeQuads"),
    "tetrahedra": ("tetrahedronIndices", "tetrahedronOutIndices", "computeTetrahedra"),
    "hexahedra": ("hexahedronIndices", "hexahedronOutIndices", "computeHexahedra"),
}
"""Of each kind of element: Data of the numbers inside and outside, and whether to look at them."""


class RegionOfInterest(Component):
    """Computes which nodes and elements lie inside, again whenever an input changed.

    Positions: those given, else the rest position of the node's state, else a loader's, else
    those of a state above. Elements: those given, else those of the node's topology.
    """

    category: ClassVar[str] = "region"
    inputs: ClassVar[tuple[str, ...]] = ()

    position = Vectors(3, [], "Points to look at.", unit="length")
    edges = Elements(2, [], "Edges to look at.")
    triangles = Elements(3, [], "Triangles to look at.")
    quads = Elements(4, [], "Quads to look at.")
    tetrahedra = Elements(4, [], "Tetrahedra to look at.")
    hexahedra = Elements(8, [], "Hexahedra to look at.")
    strict = Bool(True, "Elements with all vertices inside; otherwise those whose centre is.")
    doUpdate = Bool(True, "Compute again when an input changed.")
    computeEdges = Bool(True, "Look at edges.")
    computeTriangles = Bool(True, "Look at triangles.")
    computeQuads = Bool(True, "Look at quads.")
    computeTetrahedra = Bool(True, "Look at tetrahedra.")
    computeHexahedra = Bool(True, "Look at hexahedra.")
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
    pointsInROI = Vectors(3, [], "Positions of the nodes inside.", unit="length", computed=True)
    edgesInROI = Elements(2, [], "Edges inside.", computed=True)
    trianglesInROI = Elements(3, [], "Triangles inside.", computed=True)
    quadsInROI = Elements(4, [], "Quads inside.", computed=True)
    tetrahedraInROI = Elements(4, [], "Tetrahedra inside.", computed=True)
    hexahedraInROI = Elements(8, [], "Hexahedra inside.", computed=True)
    nbIndices = Integers([0], "Number of nodes inside.", computed=True)
    indicesOut = Integers([], "Nodes outside.", computed=True)
    edgeOutIndices = Integers([], "Edges outside.", computed=True)
    triangleOutIndices = Integers([], "Triangles outside.", computed=True)
    quadOutIndices = Integers([], "Quads outside.", computed=True)
    tetrahedronOutIndices = Integers([], "Tetrahedra outside.", computed=True)
    hexahedronOutIndices = Integers([], "Hexahedra outside.", computed=True)
    pointsOutROI = Vectors(3, [], "Positions of the nodes outside.", unit="length", computed=True)
    edgesOutROI = Elements(2, [], "Edges outside.", computed=True)
    trianglesOutROI = Elements(3, [], "Triangles outside.", computed=True)
    quadsOutROI = Elements(4, [], "Quads outside.", computed=True)
    tetrahedraOutROI = Elements(4, [], "Tetrahedra outside.", computed=True)
    hexahedraOutROI = Elements(8, [], "Hexahedra outside.", computed=True)

    def __init__(self, *args: Any, **values: Any) -> None:
        self._ready = False
        self._seen: tuple[int, ...] = ()
        super().__init__(*args, **values)

    def assign(self, values: Mapping[str, Any]) -> None:
        """See Base; outputs are computed, also where a scene gives them, as saved ones do."""
        computed = {name for name, entry in self.data_types.items() if entry.computed}
        given = [name for name in values if self.data_names.get(name) not in computed]
        super().assign({name: values[name] for name in given})

    def init(self) -> None:
        """Compute for the first time."""
        self._ready = True
        self.update_outputs()
        if not len(self._data["indices"].get()):
            message.warning(self, f"{describe(self._where)}: holds no node.")

    def reinit(self) -> None:
        """Compute again."""
        self._seen = ()

    def contains(self, points: np.ndarray) -> np.ndarray:
        """Which points lie inside, bool (n,)."""
        raise NotImplementedError

    def contains_elements(self, points: np.ndarray, elements: np.ndarray) -> np.ndarray:
        """Which elements lie inside, bool (m,)."""
        if self.strict.get():
            return self.contains(points)[elements].all(axis=1)
        return self.contains(points[elements].mean(axis=1))

    def update_outputs(self) -> None:
        """See Base."""
        if not self._ready:
            return
        source = self._points()
        sources = [source, *(self._data[name] for name in self.inputs), *self._elements().values()]
        seen = tuple(data.getCounter() for data in sources)
        if seen == self._seen or (self._seen and not self.doUpdate.get()):
            return
        self._seen = seen
        points = source.get()[:, :3]
        inside = self.contains(points)
        nodes, others = np.flatnonzero(inside), np.flatnonzero(~inside)
        self._data["indices"].set(nodes)
        self._data["indicesOut"].set(others)
        self._data["nbIndices"].set(np.array([len(nodes)]))
        self._data["pointsInROI"].set(points[nodes])
        self._data["pointsOutROI"].set(points[others])
        for kind, data in self._elements().items():
            numbers, outside, wanted = KINDS[kind]
            every = data.get()
            if not self._data[wanted].get():
                every = every[:0]
            chosen = self.contains_elements(points, self._check(kind, every, len(points)))
            self._data[numbers].set(np.flatnonzero(chosen))
            self._data[outside].set(np.flatnonzero(~chosen))
            self._data[f"{kind}InROI"].set(every[chosen])
            self._data[f"{kind}OutROI"].set(every[~chosen])

    def _check(self, kind: str, elements: np.ndarray, count: int) -> np.ndarray:
        if len(elements) and (elements.min() < 0 or elements.max() >= count):
            raise self.fault(
                f"looks at {kind} of vertex {elements.max()}, but at {count} positions only."
            )
        return elements

    def _points(self) -> Data:
        assert self._context is not None
        if self.position.isSet() or self.position.hasParent():
            return self.position
        states = self._context.of("state")
        if states:
            rest = states[0]._data["rest_position"]
            return rest if len(rest.get()) else states[0]._data["position"]
        loaders = self._context.of("loader")
        if loaders:
            return loaders[0]._data["position"]
        above = self._context.find_upward("state")
        if above is None:
            raise self.fault("finds no positions: add a MechanicalObject before it.")
        return above._data["rest_position"]

    def _elements(self) -> dict[str, Data]:
        """The Data with the elements of each kind."""
        topologies = [] if self._context is None else self._context.of("topology")
        found = {}
        for kind in KINDS:
            own = self._data[kind]
            given = own.isSet() or own.hasParent() or not topologies
            found[kind] = own if given else topologies[0]._data[kind]
        return found
