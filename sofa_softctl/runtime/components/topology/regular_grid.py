"""RegularGridTopology: a box of equal cells."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sofa_softctl.runtime.components.topology.base import Topology, unique_parts
from sofa_softctl.runtime.core.data.types import Bool, Integers, Real, Text, Vector


class RegularGridTopology(Topology):
    """Vertices, edges, triangles, quads and hexahedra of a box from min to max, in SOFA's order.

    Vertex (i, j, k) has the number i + n_x (j + n_y k). Where n is 1 the box is flat: in the middle
    of min and max along x and y, at min along z. Quads, each of two triangles, are those of every
    cell, inside the box as well.
    """

    n = Integers([2, 2, 2], "Vertices along x, y and z.")
    min = Vector(3, [0.0, 0.0, 0.0], "One corner.", unit="length")
    max = Vector(3, [1.0, 1.0, 1.0], "The opposite corner.", unit="length")
    p0 = Vector(3, [0.0, 0.0, 0.0], "First vertex; by default the corner at min.", unit="length")
    cellWidth = Real(0.0, "Size of the cells, which then make n; unused at 0.", unit="length")
    computeHexaList = Bool(True, "Make hexahedra.")
    computeQuadList = Bool(True, "Unused, as in SOFA.")
    computeTriangleList = Bool(True, "Unused, as in SOFA.")
    computeEdgeList = Bool(True, "Unused, as in SOFA.")
    computePointList = Bool(True, "Unused: the vertices are always made.")
    createTexCoords = Bool(False, "Unused.")
    filename = Text("", "Unused.")

    def init(self) -> None:
        """Make the grid.

        Raises:
            SceneError: n is not three numbers from 1 on.
        """
        low, high = self.min.get(), self.max.get()
        if self.cellWidth.get():
            self.n.set(np.ceil((high - low) / self.cellWidth.get()).astype(np.int64) + 1)
        n = self.n.get()
        if n.shape != (3,) or n.min() < 1:
            raise self.fault(f"needs n of three numbers from 1 on, got {n.tolist()}.")
        size = (high - low) / np.maximum(n - 1, 1)
        if not self.p0.isSet():
            middle = (n == 1) & [True, True, False]
            self.p0.set(np.where(middle, 0.5 * (low + high), low))
        steps = np.indices(n[::-1]).reshape(3, -1).T[:, ::-1]  # x runs first
        self._data["position"].set(self.p0.get() + size * steps)
        self._make_elements(np.arange(len(steps)).reshape(n[::-1]))
        super().init()

    def _make_elements(self, number: np.ndarray) -> None:
        """Fill in all kinds of elements; `number` of each vertex, shape (n_z, n_y, n_x)."""
        quads = np.concatenate(
            [_cells(number, [(0, 0, 0), u, tuple(np.add(u, v)), v]) for u, v in _PLANES]
        )
        triangles = quads[:, [[0, 1, 2], [0, 2, 3]]].reshape(-1, 3)
        if len(triangles):
            edges = unique_parts(triangles, [(1, 2), (2, 0), (0, 1)])
        else:
            edges = np.concatenate([_cells(number, [(0, 0, 0), u]) for u in _AXES])
        self._data["quads"].set(quads)
        self._data["triangles"].set(triangles)
        self._data["edges"].set(edges)
        if self.computeHexaList.get():
            self._data["hexahedra"].set(_cells(number, _HEXAHEDRON))


_AXES = ((0, 0, 1), (0, 1, 0), (1, 0, 0))
"""Steps along x, y and z, as (z, y, x)."""
_PLANES = ((_AXES[0], _AXES[1]), (_AXES[0], _AXES[2]), (_AXES[1], _AXES[2]))
_HEXAHEDRON = [
    (z, y, x) for z in (0, 1) for y, x in ((0, 0), (0, 1), (1, 1), (1, 0))
]  # lower side all round, then upper side


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
