"""What scripts ask of a topology, in SOFA's words: how many elements, their vertices and parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sofa_softctl.runtime.components.topology import parts
from sofa_softctl.runtime.core.component import Component

_PARTS: dict[tuple[str, str], Sequence[tuple[int, ...]]] = {
    ("triangles", "edges"): parts.EDGES_OF_TRIANGLE,
    ("quads", "edges"): parts.EDGES_OF_QUAD,
    ("tetrahedra", "edges"): parts.EDGES_OF_TETRAHEDRON,
    ("tetrahedra", "triangles"): parts.FACES_OF_TETRAHEDRON,
    ("hexahedra", "edges"): parts.EDGES_OF_HEXAHEDRON,
    ("hexahedra", "quads"): parts.QUADS_OF_HEXAHEDRON,
}
"""Local vertices of the parts of an element, in SOFA's order."""
_SINGULAR = {
    "edges": "edge",
    "triangles": "triangle",
    "quads": "quad",
    "tetrahedra": "tetrahedron",
    "hexahedra": "hexahedron",
}


class TopologyQueries(Component):
    """Number of elements, their vertices, and which share a vertex or part.

    An element or vertex that does not exist is a SceneError.
    """

    if TYPE_CHECKING:  # of the topologies that derive from it

        def elements(self, kind: str) -> np.ndarray:
            """Elements of a kind."""

        @property
        def count(self) -> int:
            """Number of vertices."""

    def make_ready(self) -> None:
        """Make vertices and elements, where the scene did not give them; once."""

    def _queried(self, kind: str) -> np.ndarray:
        self.make_ready()
        return self.elements(kind)

    def _checked(self, kind: str, index: int, count: int) -> int:
        if not 0 <= index < count:
            raise self.fault(f"has no element {index} among its {count} {kind}.")
        return index

    def vertices_of(self, kind: str, index: int) -> list[int]:
        """Vertices of one element."""
        every = self._queried(kind)
        return [int(vertex) for vertex in every[self._checked(kind, index, len(every))]]

    def parts_of(self, outer: str, inner: str) -> np.ndarray:
        """Numbers of the edges, triangles or quads of each element, shape (n, parts).

        -1 where the topology does not list the part.
        """
        elements, listed = self._queried(outer), self._queried(inner)
        counters = tuple(self._data[kind].getCounter() for kind in _SINGULAR)
        cache: dict[Any, Any] = self.__dict__.setdefault("_parts", {})
        if (found := cache.get((outer, inner))) is not None and found[0] == counters:
            return found[1]  # type: ignore[no-any-return]
        local = _PARTS[outer, inner]
        sides = np.sort(elements[:, local], axis=2).reshape(-1, len(local[0]))
        both = np.concatenate([np.sort(listed, axis=1), sides])
        kinds = np.unique(both, axis=0, return_inverse=True)[1].reshape(-1)
        first = np.full(len(both), -1)
        first[kinds[: len(listed)][::-1]] = np.arange(len(listed))[::-1]
        numbers = first[kinds[len(listed) :]].reshape(len(elements), len(local))
        cache[outer, inner] = (counters, numbers)
        return numbers

    def getNbPoints(self) -> int:
        """Number of vertices; without positions those that elements name."""
        self.make_ready()
        named = [int(found.max()) + 1 for kind in _SINGULAR if len(found := self.elements(kind))]
        return len(self.position.get()) or max(named, default=0) or self.count

    def getVerticesAroundVertex(self, index: int) -> list[int]:
        """Vertices that share an edge with one."""
        self._checked("points", index, self.getNbPoints())
        edges = self._queried("edges")
        ends = edges[(edges == index).any(axis=1)]
        return [int(vertex) for vertex in ends[ends != index]]

    def getLocalEdgesInTetrahedron(self, index: int) -> list[int]:
        """Local vertices (0 to 3) of an edge (0 to 5) of any tetrahedron."""
        return list(parts.EDGES_OF_TETRAHEDRON[index])


def _method(name: str, function: Callable[..., Any], help: str) -> None:
    function.__name__, function.__doc__ = name, help
    setattr(TopologyQueries, name, function)


def _add_of_kind(kind: str) -> None:
    title, singular = kind.capitalize(), _SINGULAR[kind]
    _method(f"getNb{title}", lambda self: len(self._queried(kind)), f"Number of {kind}.")
    _method(
        f"get{singular.capitalize()}",
        lambda self, index: self.vertices_of(kind, index),
        f"Vertices of one {singular}.",
    )

    def around_vertex(self: TopologyQueries, index: int) -> list[int]:
        self._checked("points", index, self.getNbPoints())
        return np.flatnonzero((self._queried(kind) == index).any(axis=1)).tolist()

    _method(f"get{title}AroundVertex", around_vertex, f"Numbers of the {kind} with a vertex.")


def _add_of_parts(outer: str, inner: str) -> None:
    def within(self: TopologyQueries, index: int) -> list[int]:
        numbers = self.parts_of(outer, inner)
        return numbers[self._checked(outer, index, len(numbers))].tolist()  # type: ignore[no-any-return]

    def around(self: TopologyQueries, index: int) -> list[int]:
        self._checked(inner, index, len(self._queried(inner)))
        return np.flatnonzero((self.parts_of(outer, inner) == index).any(axis=1)).tolist()

    one, part = _SINGULAR[outer], _SINGULAR[inner]
    _method(
        f"get{inner.capitalize()}In{one.capitalize()}",
        within,
        f"Numbers of the {inner} of a {one}.",
    )
    _method(
        f"get{outer.capitalize()}Around{part.capitalize()}",
        around,
        f"Numbers of the {outer} with that {part}.",
    )


for _kind in _SINGULAR:
    _add_of_kind(_kind)
for _outer, _inner in _PARTS:
    _add_of_parts(_outer, _inner)
for _old, _new in (("getNbLines", "getNbEdges"), ("getNbTetras", "getNbTetrahedra")):
    setattr(TopologyQueries, _old, getattr(TopologyQueries, _new))
