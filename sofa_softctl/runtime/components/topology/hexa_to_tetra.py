"""Hexahedra cut into six tetrahedra each."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from sofa_softctl.runtime.components.topology.base import Topology
from sofa_softctl.runtime.components.topology.grid import cells_across
from sofa_softctl.runtime.components.topology.topological_mapping import TopologicalMapping
from sofa_softctl.runtime.core.data.types import Bool

PARTS = [(0, 5, 1, 6), (0, 1, 3, 6), (1, 3, 6, 2), (6, 3, 0, 7), (6, 7, 0, 5), (7, 5, 4, 0)]
"""SOFA's six tetrahedra of a hexahedron."""
_SWAPS = ([1, 0, 3, 2, 5, 4, 7, 6], [3, 2, 1, 0, 7, 6, 5, 4], [4, 5, 6, 7, 0, 1, 2, 3])
"""The hexahedron mirrored along its first, second and third direction."""


def six_tetrahedra(hexahedra: np.ndarray) -> np.ndarray:
    """Six tetrahedra of each hexahedron, one after the other, shape (6 m, 4)."""
    return hexahedra[:, PARTS].reshape(-1, 4)


def mirrored(hexahedra: np.ndarray, across: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """Hexahedra mirrored so that neighbours in a grid are cut the same way on their common side.

    Each along a direction where its number is even along the first, or odd along the others.

    Args:
        hexahedra: Shape (m, 8), in the order of a grid.
        across: Cells of the grid along its first two directions.

    Returns:
        The hexahedra, shape (m, 8), and which are turned inside out, bool (m,).
    """
    number = np.arange(len(hexahedra))
    n_x, n_y = max(across[0], 1), max(across[1], 1)
    odd = [number % n_x % 2 == 0, number // n_x % n_y % 2 == 1, number // (n_x * n_y) % 2 == 1]
    cells, turned = hexahedra.copy(), np.zeros(len(hexahedra), dtype=bool)
    for mirror, which in zip(_SWAPS, odd, strict=True):
        cells[which] = cells[which][:, mirror]
        turned ^= which
    return cells, turned


class Hexa2TetraTopologicalMapping(TopologicalMapping):
    """Fills a topology with six tetrahedra for each hexahedron, in SOFA's order."""

    needs: ClassVar[str] = "hexahedra"

    swapping = Bool(False, "Mirror every other cell, so that no side is favoured.")

    def mapped(self, source: Topology) -> dict[str, np.ndarray]:
        """See TopologicalMapping."""
        hexahedra = source._data["hexahedra"].get()
        found = six_tetrahedra(hexahedra)
        if self.swapping.get():
            cells, turned = mirrored(hexahedra, cells_across(source))
            found = six_tetrahedra(cells)
            turned = np.repeat(turned, len(PARTS))
            found[turned] = found[turned][:, [0, 1, 3, 2]]
        none = np.empty((0, 3), dtype=np.int64)
        return {"edges": none[:, :2], "triangles": none, "tetrahedra": found}
