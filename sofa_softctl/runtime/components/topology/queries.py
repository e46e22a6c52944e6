"""Queries of scripts about a topology, in SOFA's words: number of elements, vertices, parts."""

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
    """Number of elements, their vertices, and elements with a common vertex or part.

    An element or vertex that does not exist is a SceneError.
    """

    if TYPE_CHECKING:  # of the topologies that derive from it

        def elements(self, kind: str) -> np.ndarray:
            """Elements of a kind."""

        @property
        def count(self) -> int:
            """Number of vertices."""

    def make_ready(self) -> None:
        """Generate, once, vertices and elements that the scene does not give."""

    def _generated_elements(self, kind: str) -> np.ndarray:
        self.make_ready()
        return self.elements(kind)

    def _check_index(self, kind: str, index: int, count: int) -> int:
        if not 0 <= index < count:
            raise self.fault(f"has no element {index} among its {count} {kind}.")
        return index

    def vertices_of(self, kind: str, index: int) -> list[int]:
        """Return the vertices of an element."""
        elements = self._generated_elements(kind)
        return [int(vertex) for vertex in elements[self._check_index(kind, index, len(elements))]]

    def parts_of(self, outer: str, inner: str) -> np.ndarray:
        """Return the numbers of edges, triangles or quads of each element, shape (n, parts).

        A part that the topology does not list has the number -1.
        """
        elements, listed = self._generated_elements(outer), self._generated_elements(inner)
        counters = tuple(self._data[kind].getCounter() for kind in _SINGULAR)
        cache: dict[Any, Any] = self.__dict__.setdefault("_parts", {})
        if (cached := cache.get((outer, inner))) is not None and cached[0] == counters:
            return cached[1]
        local = _PARTS[outer, inner]
        sides = np.sort(elements[:, local], axis=2).reshape(-1, len(local[0]))
        rows = np.concatenate([np.sort(listed, axis=1), sides])
        kinds = np.unique(rows, axis=0, return_inverse=True)[1].reshape(-1)
        first = np.full(len(rows), -1)
        first[kinds[: len(listed)][::-1]] = np.arange(len(listed))[::-1]
        numbers = first[kinds[len(listed) :]].reshape(len(elements), len(local))
        cache[outer, inner] = (counters, numbers)
        return numbers

    def getNbPoints(self) -> int:
        """Return the number of vertices; without positions, of vertices that elements name."""
        self.make_ready()
        counts = [
            int(elements.max()) + 1 for kind in _SINGULAR if len(elements := self.elements(kind))
        ]
        return len(self.position.get()) or max(counts, default=0) or self.count

    def getVerticesAroundVertex(self, index: int) -> list[int]:
        """Return the vertices that share an edge with a vertex."""
        self._check_index("points", index, self.getNbPoints())
        edges = self._generated_elements("edges")
        ends = edges[(edges == index).any(axis=1)]
        return [int(vertex) for vertex in ends[ends != index]]

    def getLocalEdgesInTetrahedron(self, index: int) -> list[int]:
        """Return the local vertices (0 to 3) of an edge (0 to 5) of any tetrahedron."""
        return list(parts.EDGES_OF_TETRAHEDRON[index])


def _add_method(name: str, function: Callable[..., Any], help: str) -> None:
    function.__name__, function.__doc__ = name, help
    setattr(TopologyQueries, name, function)


def _add_of_kind(kind: str) -> None:
    title, singular = kind.capitalize(), _SINGULAR[kind]
    _add_method(
        f"getNb{title}", lambda self: len(self._generated_elements(kind)), f"Number of {kind}."
    )
    _add_method(
        f"get{singular.capitalize()}",
        lambda self, index: self.vertices_of(kind, index),
        f"Vertices of one {singular}.",
    )

    def around_vertex(self: TopologyQueries, index: int) -> list[int]:
        self._check_index("points", index, self.getNbPoints())
        return np.flatnonzero((self._generated_elements(kind) == index).any(axis=1)).tolist()

    _add_method(f"get{title}AroundVertex", around_vertex, f"Numbers of the {kind} with a vertex.")


def _add_of_parts(outer: str, inner: str) -> None:
    def parts_in_element(self: TopologyQueries, index: int) -> list[int]:
        numbers = self.parts_of(outer, inner)
        return numbers[self._check_index(outer, index, len(numbers))].tolist()

    def elements_around_part(self: TopologyQueries, index: int) -> list[int]:
        self._check_index(inner, index, len(self._generated_elements(inner)))
        return np.flatnonzero((self.parts_of(outer, inner) == index).any(axis=1)).tolist()

    element, part = _SINGULAR[outer], _SINGULAR[inner]
    _add_method(
        f"get{inner.capitalize()}In{element.capitalize()}",
        parts_in_element,
        f"Numbers of the {inner} of a {element}.",
    )
    _add_method(
        f"get{outer.capitalize()}Around{part.capitalize()}",
        elements_around_part,
        f"Numbers of the {outer} with that {part}.",
    )


for _kind in _SINGULAR:
    _add_of_kind(_kind)
for _outer, _inner in _PARTS:
    _add_of_parts(_outer, _inner)
for _old, _new in (("getNbLines", "getNbEdges"), ("getNbTetras", "getNbTetrahedra")):
    setattr(TopologyQueries, _old, getattr(TopologyQueries, _new))
