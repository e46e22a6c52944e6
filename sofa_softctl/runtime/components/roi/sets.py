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

    As in SOFA, a changed set counts only once the points or `nbSet` change.
    """

    numbered: ClassVar[dict[str, DataType]] = {"setIndices": Integers([], "Points of a set.")}
    counted_by = "nbSet"
    inputs = ("position", "nbSet")

    position = Coords([], "Points.", unit="length")
    nbSet = Int(0, "Number of sets.")
    indices = Integers([], "Points in none of the sets.", computed=True)
    pointsInROI = Coords([], "Positions of these points.", unit="length", computed=True)

    @override
    def sources(self) -> list[Data]:
        return [self.position, self.nbSet]

    @override
    def compute(self) -> None:
        points = self.position.get()
        sets = [data.get() for data in self.numbered_data("setIndices")]
        remaining = np.setdiff1d(np.arange(len(points)), np.concatenate([np.array([], int), *sets]))
        self.indices.set(remaining)
        self.pointsInROI.set(points[remaining])


class MeshBoundaryROI(Engine):
    """Vertices of sides that belong to one triangle or quad only, ascending."""

    inputs = ("triangles", "quads", "inputROI")

    triangles = Elements(3, [], "Triangles.")
    quads = Elements(4, [], "Quads.")
    inputROI = Integers([], "Vertices to test; all by default.")
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
    """Nearest point of a first state for each point of a second, within the radius.

    Computed when positions change; changes of other Data count only then, as in SOFA.
    """

    object1 = LinkType("First state; the node's own by default.", kind="state")
    object2 = LinkType("Second state; the node's own by default.", kind="state")
    inputIndices1 = Integers(
        [], "Points of the first state to compare; all by default.", of="object1"
    )
    inputIndices2 = Integers(
        [], "Points of the second state to compare; all by default.", of="object2"
    )
    radius = Real(1.0, "Largest distance of a pair.", unit="length")
    useRestPosition = Bool(True, "Compare the rest positions.")
    indices1 = Integers([], "Points of the first state in pairs.", computed=True)
    indices2 = Integers([], "Points of the second state in pairs.", computed=True)
    edges = Elements(2, [], "2 k and 2 k + 1 for each point k in indices2.", computed=True)
    indexPairs = Integers([], "0, first, 1, second for each pair.", computed=True)
    distances = Reals([], "Distance of each pair.", unit="length", computed=True)
    drawPairs = Bool(False, "Draw the pairs.")

    @override
    def sources(self) -> list[Data]:
        return self._positions()

    def compute(self) -> None:
        """Find the pairs.

        Raises:
            SceneError: there is no state.
        """
        if not self.radius.get() > 0.0:
            complain(self, self.fault(f"needs a positive 'radius', got {self.radius.get():g}."))
        data = self._positions()
        if len(data) < 2:
            raise self.fault("finds no two states: link them with object1 and object2.")
        self.check_own_numbers()
        first, second = (source.get()[:, :3] for source in data)
        indices, points = self.inputIndices1.get(), self.inputIndices2.get()
        indices = indices if len(indices) else np.arange(len(first))
        points = points if len(points) else np.arange(len(second))
        pairs = []
        for point in points if len(first) else []:
            squares = ((first[indices] - second[point]) ** 2).sum(axis=1)
            nearest = int(squares.argmin())
            if squares[nearest] < self.radius.get() ** 2:
                pairs.append((int(indices[nearest]), int(point), float(np.sqrt(squares[nearest]))))
        firsts = np.array([pair[0] for pair in pairs], dtype=np.int64)
        seconds = np.array([pair[1] for pair in pairs], dtype=np.int64)
        self.indices1.set(firsts)
        self.indices2.set(seconds)
        self.edges.set(np.stack([2 * seconds, 2 * seconds + 1], axis=1))
        rows = np.stack([np.zeros_like(firsts), firsts, np.ones_like(firsts), seconds], axis=1)
        self.indexPairs.set(rows.ravel())
        self.distances.set(np.array([pair[2] for pair in pairs]))

    def linked_state(self, link: str) -> Any:
        """Return the target of a link, by default the node's state, or None."""
        state: Any = self._links[link].getLinkedBase()
        if state is None and self._context is not None:
            state = self._context.find_upward("state")
        return state

    def _positions(self) -> list[Data]:
        positions = []
        for name in ("object1", "object2"):
            if (state := self.linked_state(name)) is not None:
                vector = "rest_position" if self.useRestPosition.get() else "position"
                positions.append(state._data[vector])
        return positions
