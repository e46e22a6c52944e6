"""Regions that follow from sets of indices, from boundaries or from distances."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from typing_extensions import override

from sofa_softctl.runtime.components.engine.base import Engine
from sofa_softctl.runtime.core.data.data import Data
from sofa_softctl.runtime.core.data.types import (
    Bool,
    Coords,
    DataType,
    Elements,
    Int,
    Integers,
    Real,
    Reals,
)
from sofa_softctl.runtime.core.link import LinkType
from sofa_softctl.runtime.helper.message import complain


class ComplementaryROI(Engine):
    """Points in none of the sets setIndices1, setIndices2 and so on.

    As in SOFA a set that changes counts when the points or `nbSet` change, not at once.
    """

    numbered: ClassVar[dict[str, DataType]] = {"setIndices": Integers([], "Points of a set.")}
    counted_by = "nbSet"
    inputs = ("position", "nbSet")

    position = Coords([], "Points.", unit="length")
    nbSet = Int(0, "How many sets.")
    indices = Integers([], "Points in none of the sets.", computed=True)
    pointsInROI = Coords([], "Their positions.", unit="length", computed=True)

    @override
    def sources(self) -> list[Data]:
        return [self.position, self.nbSet]

    @override
    def compute(self) -> None:
        points = self.position.get()
        taken = [data.get() for data in self.numbered_data("setIndices")]
        rest = np.setdiff1d(np.arange(len(points)), np.concatenate([np.array([], int), *taken]))
        self.indices.set(rest)
        self.pointsInROI.set(points[rest])


class MeshBoundaryROI(Engine):
    """Vertices of sides that belong to one triangle or quad only, ascending."""

    inputs = ("triangles", "quads", "inputROI")

    triangles = Elements(3, [], "Triangles.")
    quads = Elements(4, [], "Quads.")
    inputROI = Integers([], "Vertices to look at; all by default.")
    indices = Integers([], "Vertices of the boundary.", computed=True)

    @override
    def compute(self) -> None:
        sides, region = [np.empty((0, 2), np.int64)], self.inputROI.get()
        for faces in (self.triangles.get(), self.quads.get()):
            if len(region):
                faces = faces[np.isin(faces, region).all(axis=1)]
            sides.append(np.stack([faces, np.roll(faces, -1, axis=1)], axis=2).reshape(-1, 2))
        edges, counts = np.unique(
            np.sort(np.concatenate(sides), axis=1), axis=0, return_counts=True
        )
        self.indices.set(np.unique(edges[counts == 1]))


class NearestPointROI(Engine):
    """To each point of a second state the nearest of a first, if nearer than the radius.

    Computed when positions change; what else changes counts then, as in SOFA.
    """

    object1 = LinkType("First state; the node's own by default.", kind="state")
    object2 = LinkType("Second state; the node's own by default.", kind="state")
    inputIndices1 = Integers(
        [], "Points of the first state to look at; all by default.", of="object1"
    )
    inputIndices2 = Integers(
        [], "Points of the second state to look at; all by default.", of="object2"
    )
    radius = Real(1.0, "How near they must be.", unit="length")
    useRestPosition = Bool(True, "Compare the rest positions.")
    indices1 = Integers([], "Points of the first state that were found.", computed=True)
    indices2 = Integers([], "The points of the second state that they belong to.", computed=True)
    edges = Elements(2, [], "2 k and 2 k + 1 for each such point k of the second.", computed=True)
    indexPairs = Integers([], "0, first, 1, second for each pair.", computed=True)
    distances = Reals([], "Distance of each pair.", unit="length", computed=True)
    drawPairs = Bool(False, "Draw the pairs.")

    @override
    def sources(self) -> list[Data]:
        return self._positions()

    def compute(self) -> None:
        """See Engine.

        Raises:
            SceneError: there is no state.
        """
        if not self.radius.get() > 0.0:
            complain(self, self.fault(f"needs a positive 'radius', got {self.radius.get():g}."))
        data = self._positions()
        if len(data) < 2:
            raise self.fault("finds no two states: link them with object1 and object2.")
        self.check_own_numbers()
        first, second = (entry.get()[:, :3] for entry in data)
        among = self.inputIndices1.get() if len(self.inputIndices1.get()) else np.arange(len(first))
        asked = self.inputIndices2.get()
        asked = asked if len(asked) else np.arange(len(second))
        pairs = []
        for point in asked if len(first) else []:
            squares = ((first[among] - second[point]) ** 2).sum(axis=1)
            nearest = int(squares.argmin())
            if squares[nearest] < self.radius.get() ** 2:
                pairs.append((int(among[nearest]), int(point), float(np.sqrt(squares[nearest]))))
        one = np.array([pair[0] for pair in pairs], dtype=np.int64)
        two = np.array([pair[1] for pair in pairs], dtype=np.int64)
        self.indices1.set(one)
        self.indices2.set(two)
        self.edges.set(np.stack([2 * two, 2 * two + 1], axis=1))
        together = np.stack([np.zeros_like(one), one, np.ones_like(one), two], axis=1)
        self.indexPairs.set(together.ravel())
        self.distances.set(np.array([pair[2] for pair in pairs]))

    def linked_state(self, link: str) -> Any:
        """Where a link leads, or the state of the node; None where there is none."""
        state: Any = self._links[link].getLinkedBase()
        if state is None and self._context is not None:
            state = self._context.find_upward("state")
        return state

    def _positions(self) -> list[Data]:
        found = []
        for name in ("object1", "object2"):
            if (state := self.linked_state(name)) is not None:
                wanted = "rest_position" if self.useRestPosition.get() else "position"
                found.append(state._data[wanted])
        return found
