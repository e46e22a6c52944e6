"""RegularGridSpringForceField: springs along the edges and diagonals of a grid."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from sofa_softctl.runtime.components.spring.linear import SpringForceField, Springs
from sofa_softctl.runtime.components.spring.mesh import for_every_kind
from sofa_softctl.runtime.components.topology.base import topology_of
from sofa_softctl.runtime.components.topology.regular_grid import RegularGridTopology
from sofa_softctl.runtime.core.data.types import Real

_STEPS = {
    "lines": [(1, 0, 0), (0, 1, 0), (0, 0, 1)],
    "quads": [(1, 1, 0), (-1, 1, 0), (1, 0, 1), (-1, 0, 1), (0, 1, 1), (0, -1, 1)],
    "cubes": [(1, 1, 1), (-1, 1, 1), (1, -1, 1), (1, 1, -1)],
}
"""Ways from one point of a grid to another that a spring joins."""


class RegularGridSpringForceField(SpringForceField):
    """Springs of stiffness k / L between neighbours of a RegularGridTopology, besides `spring`.

    Their rest lengths L are those of the grid. As in SOFA a direct solver's matrix knows of
    `spring` alone, so that the grid's act explicitly there; and one diagonal of the faces across
    y and z has the stiffness of the other's length.
    """

    linesStiffness = Real(100.0, "k along the edges.", unit="force")
    linesDamping = Real(5.0, "Damping along the edges, times length.")
    quadsStiffness = Real(100.0, "k along diagonals of faces.", unit="force")
    quadsDamping = Real(5.0, "Damping along diagonals of faces, times length.")
    cubesStiffness = Real(100.0, "k along diagonals of cells.", unit="force")
    cubesDamping = Real(5.0, "Damping along diagonals of cells, times length.")

    def __init__(self, *args: Any, **values: Any) -> None:
        super().__init__(*args, **for_every_kind(values, list(_STEPS)))

    def _read(self) -> Springs:
        own = super()._read()
        self._own_count = len(own.ones)
        if self.between_two:
            return own
        grid = topology_of(self.first._context)
        if not isinstance(grid, RegularGridTopology):
            return own
        made = self._made(grid)
        count = len(made)
        return Springs(
            np.concatenate([own.ones, made[:, 0].astype(np.int64)]),
            np.concatenate([own.twos, made[:, 1].astype(np.int64)]),
            np.concatenate([own.stiffness, made[:, 2]]),
            np.concatenate([own.damping, made[:, 3]]),
            np.concatenate([own.length, made[:, 4]]),
            np.concatenate([own.pulls_only, np.zeros(count, dtype=bool)]),
            np.concatenate([own.enabled, np.ones(count, dtype=bool)]),
        )

    def _made(self, grid: RegularGridTopology) -> np.ndarray:
        counts, edges = grid._data["n"].get().astype(int), np.diag(grid._size)
        found = [
            spring
            for kind, steps in _STEPS.items()
            for step in steps
            for spring in self._along(kind, np.array(step), counts, edges)
        ]
        return np.array(found).reshape(-1, 5)

    def _along(
        self, kind: str, step: np.ndarray, counts: np.ndarray, edges: np.ndarray
    ) -> list[tuple[float, ...]]:
        """The springs of one direction: two nodes, stiffness, damping, length."""
        k, d = self._data[f"{kind}Stiffness"].get(), self._data[f"{kind}Damping"].get()
        if k == 0.0 and d == 0.0:
            return []
        length = float(np.linalg.norm(step @ edges))
        # SOFA divides those of the step (0, -1, 1) by the length of (0, 1, 1).
        part = float(np.linalg.norm(np.abs(step) @ edges)) if tuple(step) == (0, -1, 1) else length
        found: list[tuple[float, ...]] = []
        for z, y, x in itertools.product(*(range(n) for n in counts[::-1])):
            other = np.array([x, y, z]) + step
            if (other >= 0).all() and (other < counts).all():
                a, b = (
                    p[0] + counts[0] * (p[1] + counts[1] * p[2]) for p in ((x, y, z), tuple(other))
                )
                found.append((a, b, k / part, d / part, length))
        return found

    def add_matrix(self, values: np.ndarray, slots: np.ndarray, factor: float) -> None:
        """See Contribution; of the springs of `spring` alone."""
        row, column, blocks = self._row, self._column, self._blocks
        every, own = len(row) // 3, self._own_count
        chosen = np.concatenate([np.arange(own) + part * every for part in range(3)])
        self.set_blocks(row[chosen], column[chosen], blocks[chosen])
        super().add_matrix(values, slots, factor)
        self.set_blocks(row, column, blocks)
