"""Regions of interest: nodes and elements inside a shape."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from sofa_softctl.runtime.core.component import Component
from sofa_softctl.runtime.core.data.data import Data
from sofa_softctl.runtime.core.data.types import Bool, Elements, Integers, Real, Vectors
from sofa_softctl.runtime.helper import message
from sofa_softctl.runtime.helper.source_line import describe


class RegionOfInterest(Component):
    """Computes which nodes and elements lie inside, again whenever an input changed.

    Positions: those given, else the rest position of the node's state, else a loader's, else
    those of a state above.
    """

    category: ClassVar[str] = "region"
    inputs: ClassVar[tuple[str, ...]] = ()

    position = Vectors(3, [], "Points to look at.", unit="length", auto_link=False)
    edges = Elements(2, [], "Edges to look at.")
    triangles = Elements(3, [], "Triangles to look at.")
    tetrahedra = Elements(4, [], "Tetrahedra to look at.")
    strict = Bool(True, "Elements with all vertices inside; otherwise those whose centre is.")
    doUpdate = Bool(True, "Compute again when an input changed.")
    computeEdges = Bool(True, "Look at edges.")
    computeTriangles = Bool(True, "Look at triangles.")
    computeTetrahedra = Bool(True, "Look at tetrahedra.")
    drawBoxes = Bool(False, "Draw the region.")
    drawPoints = Bool(False, "Draw the points inside.")
    drawEdges = Bool(False, "Draw the edges inside.")
    drawTriangles = Bool(False, "Draw the triangles inside.")
    drawTetrahedra = Bool(False, "Draw the tetrahedra inside.")
    drawROI = Bool(False, "Draw the region.")
    drawSize = Real(0.0, "Size of what is drawn.")
    indices = Integers([0], "Nodes inside.", computed=True)
    edgeIndices = Integers([], "Edges inside.", computed=True)
    triangleIndices = Integers([], "Triangles inside.", computed=True)
    tetrahedronIndices = Integers([], "Tetrahedra inside.", computed=True)
    pointsInROI = Vectors(3, [], "Positions of the nodes inside.", computed=True)
    edgesInROI = Elements(2, [], "Edges inside.", computed=True)
    trianglesInROI = Elements(3, [], "Triangles inside.", computed=True)
    tetrahedraInROI = Elements(4, [], "Tetrahedra inside.", computed=True)
    nbIndices = Integers([0], "Number of nodes inside.", computed=True)

    def __init__(self, *args: Any, **values: Any) -> None:
        self._ready = False
        self._seen: tuple[int, ...] = ()
        super().__init__(*args, **values)

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
        sources = [source, *(self._data[name] for name in self.inputs)]
        seen = tuple(data.getCounter() for data in sources)
        if seen == self._seen or (self._seen and not self.doUpdate.get()):
            return
        self._seen = seen
        points = source.get()[:, :3]
        nodes = np.flatnonzero(self.contains(points))
        self._data["indices"].set(nodes)
        self._data["nbIndices"].set(np.array([len(nodes)]))
        self._data["pointsInROI"].set(points[nodes].copy())
        for kind, numbers in (
            ("edges", "edgeIndices"),
            ("triangles", "triangleIndices"),
            ("tetrahedra", "tetrahedronIndices"),
        ):
            every = self._elements(kind)
            chosen = self.contains_elements(points, every)
            chosen &= self._data[f"compute{kind.capitalize()}"].get()
            self._data[numbers].set(np.flatnonzero(chosen))
            self._data[f"{kind}InROI"].set(every[chosen])

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

    def _elements(self, kind: str) -> np.ndarray:
        given = self._data[kind].get()
        assert self._context is not None
        if len(given):
            return given
        topology: Any = self._context.find_upward("topology")
        return given if topology is None else topology._data[kind].get()
