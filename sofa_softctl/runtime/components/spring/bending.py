"""Springs across the edges of surfaces, against bending."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np
from typing_extensions import override

from sofa_softctl.runtime.components.spring.linear import LinearSpringField, Springs
from sofa_softctl.runtime.components.topology.base import complain_without_elements, linked_topology
from sofa_softctl.runtime.core.data.types import Bool, Real, Text
from sofa_softctl.runtime.core.link import LinkType
from sofa_softctl.runtime.helper.message import complain


class BendingSprings(LinearSpringField):
    """Springs between vertices on both sides of each edge that two elements share."""

    acts_on = ("Vec3",)
    elements_kind: ClassVar[str]
    """Kind of the surface's elements."""

    stiffness = Real(100000.0, "Stiffness of all.", unit="force/length", follows="reinit")
    damping = Real(1.0, "Damping of all.", unit="force*time/length", follows="reinit")
    topology = LinkType("Topology that holds the surface; the node's own by default.")
    edgeInfo = Text("", "Unused.", linkable=False)

    def init(self) -> None:
        """Find the springs.

        Raises:
            SceneError: there is no topology, or no surface in it.
        """
        for name in ("stiffness", "damping"):
            if (value := self._data[name].get()) < 0.0:
                complain(self, self.fault(f"has a '{name}' of {value:g}: give 0 or more."))
        topology = linked_topology(
            self, f"needs a topology with {self.elements_kind}, added before it."
        )
        elements = topology.elements(self.elements_kind)
        if not len(elements):
            complain_without_elements(self, self.elements_kind, topology)
        listed: list[list[int]] = elements.tolist()
        pairs = np.array(list(self.find_pairs(listed)), dtype=np.int64).reshape(-1, 2)
        rest = self.state.rest_position.get()
        length = np.linalg.norm(rest[pairs[:, 0]] - rest[pairs[:, 1]], axis=1)
        count = len(pairs)
        self._found = Springs(
            pairs[:, 0],
            pairs[:, 1],
            np.full(count, self.stiffness.get()),
            np.full(count, self.damping.get()),
            length,
            np.zeros(count, dtype=bool),
            np.ones(count, dtype=bool),
        )
        self.set_every_pair(pairs[:, 0], pairs[:, 1])

    def reinit(self) -> None:
        """Find the springs again."""
        self.init()

    @override
    def springs(self) -> Springs:
        return self._found

    def find_pairs(self, elements: list[list[int]]) -> Iterator[tuple[int, int]]:
        """Yield the ends of each spring."""
        raise NotImplementedError


def shared_edges(elements: list[list[int]]) -> Iterator[tuple[int, int, int, int]]:
    """Yield pairs of elements that share an edge with no third one, and its number in each.

    Edge j of an element goes from vertex j to the next one. The second element is the one whose
    edge comes first.
    """
    elements_by_edge: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for number, element in enumerate(elements):
        for j, vertex in enumerate(element):
            next_vertex = element[(j + 1) % len(element)]
            elements_by_edge.setdefault(
                (min(vertex, next_vertex), max(vertex, next_vertex)), []
            ).append((number, j))
    for owners in elements_by_edge.values():
        if len(owners) == 2:
            (second, j), (first, i) = owners
            yield first, i, second, j


class TriangularBendingSprings(BendingSprings):
    """A spring between the opposite vertices of any two triangles that share an edge."""

    acts_alone = False  # in SOFA it is no force between two objects
    elements_kind = "triangles"
    tiny = 1e-4

    showSprings = Bool(True, "Draw the springs.")

    @override
    def find_pairs(self, elements: list[list[int]]) -> Iterator[tuple[int, int]]:
        for first, i, second, j in shared_edges(elements):
            yield elements[first][(i + 2) % 3], elements[second][(j + 2) % 3]


class QuadularBendingSprings(BendingSprings):
    """Two springs across any edge that two quadrilaterals share, between opposite vertices.

    The vertex before the edge in one quad is joined to the second vertex after it in the other.
    """

    elements_kind = "quads"
    tiny = 1e-4

    @override
    def find_pairs(self, elements: list[list[int]]) -> Iterator[tuple[int, int]]:
        for first, i, second, j in shared_edges(elements):
            first_quad, second_quad = elements[first], elements[second]
            yield first_quad[(i + 3) % 4], second_quad[(j + 2) % 4]
            yield first_quad[(i + 2) % 4], second_quad[(j + 3) % 4]
