"""Base class of topologies: positions, elements, derived elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from sofa_softctl.runtime.core.component import Component
from sofa_softctl.runtime.core.data.types import Elements, Vectors


class Topology(Component):
    """Vertices and elements. Kinds that were not given are derived when somebody asks."""

    category: ClassVar[str] = "topology"

    position = Vectors(3, [], "Vertices.", unit="length", aliases=("points", "vertices"))
    edges = Elements(2, [], "Edges.", aliases=("lines",))
    triangles = Elements(3, [], "Triangles.")
    quads = Elements(4, [], "Quadrilaterals.")
    tetrahedra = Elements(4, [], "Tetrahedra.", aliases=("tetras",))
    hexahedra = Elements(8, [], "Hexahedra.", aliases=("hexas",))

    def init(self) -> None:
        """Check that every element names vertices that exist."""
        count = self.count
        for name in ("edges", "triangles", "quads", "tetrahedra", "hexahedra"):
            elements = self._data[name].get()
            bad = ((elements < 0) | (elements >= count)).any(axis=1)
            if bad.any():
                first = int(np.flatnonzero(bad)[0])
                raise self.fault(
                    f"has {int(bad.sum())} of {len(elements)} {name} that name a vertex which does "
                    f"not exist, first {name}[{first}] = {elements[first].tolist()}; there are "
                    f"{count} vertices."
                )

    @property
    def count(self) -> int:
        """Number of vertices; that of the node's state when the topology has no positions."""
        points = self._data["position"].get()
        if not len(points) and self._context is not None:
            for state in self._context.of("state"):
                return len(state._data["position"].get())
        return len(points)

    def elements(self, kind: str) -> np.ndarray:
        """Elements of a kind, from the scene or else from those of higher dimension."""
        given = self._data[kind].get()
        if len(given):
            return given
        if kind == "triangles" and len(self._data["tetrahedra"].get()):
            return faces_of_tetrahedra(self._data["tetrahedra"].get())[0]
        if kind == "edges":
            if len(self._data["tetrahedra"].get()):
                return unique_parts(self._data["tetrahedra"].get(), _EDGES_OF_TETRAHEDRON)
            if len(self._data["triangles"].get()):
                return unique_parts(self._data["triangles"].get(), _EDGES_OF_TRIANGLE)
        return given

    def getNbPoints(self) -> int:
        """Number of vertices."""
        return self.count

    def getNbTetrahedra(self) -> int:
        """Number of tetrahedra."""
        return len(self._data["tetrahedra"].get())

    def getNbTriangles(self) -> int:
        """Number of triangles."""
        return len(self.elements("triangles"))

    def getNbEdges(self) -> int:
        """Number of edges."""
        return len(self.elements("edges"))


_EDGES_OF_TETRAHEDRON = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
_FACES_OF_TETRAHEDRON = [(1, 2, 3), (0, 3, 2), (1, 3, 0), (0, 2, 1)]
"""In SOFA's order, normals pointing out of a tetrahedron of positive volume."""
_EDGES_OF_TRIANGLE = [(0, 1), (1, 2), (2, 0)]


def unique_parts(elements: np.ndarray, parts: Sequence[tuple[int, ...]]) -> np.ndarray:
    """Parts of the elements, each once, in order of first appearance."""
    every = elements[:, parts].reshape(-1, len(parts[0]))
    _, first = np.unique(np.sort(every, axis=1), axis=0, return_index=True)
    return every[np.sort(first)]


def faces_of_tetrahedra(tetrahedra: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The faces, each once, as SOFA lists them: of the first tetrahedron, smallest vertex first.

    Returns:
        Triangles (n, 3), and how many tetrahedra each belongs to (n,).
    """
    every = tetrahedra[:, _FACES_OF_TETRAHEDRON].reshape(-1, 3)
    turn = (every.argmin(axis=1)[:, None] + np.arange(3)) % 3
    every = np.take_along_axis(every, turn, axis=1)
    _, first, counts = np.unique(
        np.sort(every, axis=1), axis=0, return_index=True, return_counts=True
    )
    order = np.argsort(first)
    return every[first[order]], counts[order]


def boundary_triangles(tetrahedra: np.ndarray) -> np.ndarray:
    """The faces of one tetrahedron only, as SOFA lists them, shape (n, 3)."""
    triangles, counts = faces_of_tetrahedra(tetrahedra)
    return triangles[counts == 1]
