"""Base class of grid topologies: vertices in rows along three directions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sofa_softctl.runtime.components.topology.base import Topology
from sofa_softctl.runtime.components.topology.made import MadeTopology
from sofa_softctl.runtime.components.topology.parts import EDGES_OF_TRIANGLE, unique_parts
from sofa_softctl.runtime.core.data.types import Bool, Integers
from sofa_softctl.runtime.helper.strictness import complain


class GridTopology(MadeTopology):
    """Vertices, edges, triangles, quads and hexahedra of a grid, in SOFA's order.

    Vertex (i, j, k) has the number i + n_x (j + n_y k). Quads, each of two triangles, are those of
    every cell, inside the grid as well. Scenes give n, or nx, ny and nz.
    """

    n = Integers([2, 2, 2], "Vertices along each direction.")
    computeHexaList = Bool(True, "Make hexahedra.")
    computeQuadList = Bool(True, "Make quads.")
    computeTriangleList = Bool(True, "Make triangles, and quads with them.")
    computeEdgeList = Bool(True, "Make edges: of the triangles, or else along the directions.")
    computePointList = Bool(True, "Give the vertices.")
    createTexCoords = Bool(False, "Unused: for drawing.")

    def assign(self, values: Mapping[str, Any]) -> None:
        """See Base; nx, ny and nz count where all three are given, as in SOFA."""
        values = dict(values)
        counts = [values.pop(f"n{axis}", None) for axis in "xyz"]
        if all(count is not None for count in counts):
            values["n"] = [int(float(count)) for count in counts]
        super().assign(values)

    def init(self) -> None:
        """Make the grid, and check it."""
        self.make_ready()
        self.check_elements()

    def make(self) -> None:
        """Make vertices and elements."""
        n = self.resolution()
        if self.computePointList.get():
            position = self._data["position"]
            position.get()  # what it links to, such as a state that gets its nodes from here
            position.set(self.points(_steps(n)))
        self._make_elements(np.arange(int(n.prod())).reshape(n[::-1]))

    def resolution(self) -> np.ndarray:
        """Vertices along each direction, shape (3,); where that makes no sense 2, as in SOFA."""
        n = self.n.get()
        if n.shape != (3,) or n.min() < 1:
            problem = f"needs n of three numbers from 1 on, got {n.tolist()}: 2 2 2 is used."
            complain(self, self.fault(problem))
            self.n.set(np.array([2, 2, 2]))
        return self.n.get()

    def points(self, steps: np.ndarray) -> np.ndarray:
        """Vertices at these steps (i, j, k), shape (v, 3) each."""
        del steps
        return self._data["position"].get()

    @property
    def count(self) -> int:
        """Number of vertices."""
        return int(self.n.get().prod())

    def _make_elements(self, number: np.ndarray) -> None:
        """Fill in the kinds of elements; `number` of each vertex, shape (n_z, n_y, n_x)."""
        quads = np.concatenate(
            [_cells(number, [(0, 0, 0), u, tuple(np.add(u, v)), v]) for u, v in _PLANES]
        )
        triangles = quads[:, [[0, 1, 2], [0, 2, 3]]].reshape(-1, 3)
        if not self.computeTriangleList.get():
            triangles = triangles[:0]
            quads = quads if self.computeQuadList.get() else quads[:0]
        if len(triangles):
            edges = unique_parts(triangles, EDGES_OF_TRIANGLE)
        else:
            edges = np.concatenate([_cells(number, [(0, 0, 0), u]) for u in _AXES])
        self._data["quads"].set(quads)
        self._data["triangles"].set(triangles)
        if self.computeEdgeList.get():
            self._data["edges"].set(edges)
        if self.computeHexaList.get():
            self._data["hexahedra"].set(_cells(number, _HEXAHEDRON))


def cells_across(topology: Topology) -> tuple[int, int]:
    """Cells along the first two directions; 2 and 1 where the topology is no grid, as in SOFA."""
    if not isinstance(topology, GridTopology):
        return 2, 1
    n = topology.n.get()
    return int(n[0]) - 1, int(n[1]) - 1


_AXES = ((0, 0, 1), (0, 1, 0), (1, 0, 0))
"""Steps along x, y and z, as (z, y, x)."""
_PLANES = ((_AXES[0], _AXES[1]), (_AXES[0], _AXES[2]), (_AXES[1], _AXES[2]))
_HEXAHEDRON = [
    (z, y, x) for z in (0, 1) for y, x in ((0, 0), (0, 1), (1, 1), (1, 0))
]  # lower side all round, then upper side


def _steps(n: np.ndarray) -> np.ndarray:
    """Steps (i, j, k) of each vertex, i running first, shape (v, 3)."""
    return np.indices(n[::-1].tolist()).reshape(3, -1).T[:, ::-1]


def _cells(number: np.ndarray, corners: Sequence[tuple[int, ...]]) -> np.ndarray:
    """One element a cell: the vertices that lie `corners` (z, y, x) from the cell's first vertex.

    Returns:
        Vertices, shape (cells, corners), x running first.
    """
    reach = np.max(corners, axis=0)
    parts = [
        number[
            tuple(
                slice(c, length - r + c)
                for c, r, length in zip(corner, reach, number.shape, strict=True)
            )
        ]
        for corner in corners
    ]
    return np.stack([part.ravel() for part in parts], axis=1)
