"""Springs along the edges and diagonals of a mesh or grid."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from typing_extensions import override

from sofa_softctl.runtime.components.spring.linear import SpringForceField, Springs
from sofa_softctl.runtime.components.topology.base import (
    complain_without_elements,
    linked_topology,
    topology_of,
)
from sofa_softctl.runtime.components.topology.grid import RegularGridTopology
from sofa_softctl.runtime.core.data import reading
from sofa_softctl.runtime.core.data.data import Data
from sofa_softctl.runtime.core.data.types import Bool, Int, Real, Text, Vector
from sofa_softctl.runtime.core.link import LinkType

_KINDS = {
    "lines": "edges",
    "triangles": "triangles",
    "quads": "quads",
    "tetrahedra": "tetrahedra",
    "cubes": "hexahedra",
}
"""Kinds of elements: name in Data and name in topologies, in order of priority."""
_EPS = float(np.finfo(float).eps)


def for_every_kind(values: dict[str, Any], kinds: list[str]) -> dict[str, Any]:
    """Return the values, with `stiffness` and `damping` copied to all kinds.

    Of several names for one Data, SOFA takes the alphabetically last one.
    """
    values_of_kinds: dict[str, Any] = {}
    for name in sorted(values):
        if name in ("stiffness", "damping") and reading.words(values[name]):
            values_of_kinds.update({f"{kind}{name.capitalize()}": values[name] for kind in kinds})
        values_of_kinds[name] = values[name]
    return values_of_kinds


def _spread(field: SpringForceField, data: Data, kinds: list[str]) -> None:
    """Copy `stiffness` and `damping` to all kinds after init, as in the constructor."""
    if field._initialised and data.name in ("stiffness", "damping"):
        for kind in kinds if len(data.get()) else ():
            field._data[f"{kind}{data.name.capitalize()}"].set(float(data.get()[0]))


class MeshSpringForceField(SpringForceField):
    """A spring of stiffness k / L between any two vertices of an element, L its length at rest.

    k belongs to the first kind of element that joins them: lines, triangles, quads, tetrahedra,
    cubes. The same holds for dampings. Springs of zero length have the stiffness k.
    """

    aliases = ()

    linesStiffness = Real(0.0, "k of edges.", unit="force", follows="reinit")
    linesDamping = Real(0.0, "Damping of edges, times length.", follows="reinit")
    trianglesStiffness = Real(0.0, "k of triangles.", unit="force", follows="reinit")
    trianglesDamping = Real(0.0, "Damping of triangles, times length.", follows="reinit")
    quadsStiffness = Real(0.0, "k of quadrilaterals.", unit="force", follows="reinit")
    quadsDamping = Real(0.0, "Damping of quadrilaterals, times length.", follows="reinit")
    tetrahedraStiffness = Real(0.0, "k of tetrahedra.", unit="force", aliases=("tetrasStiffness",))
    tetrahedraDamping = Real(
        0.0, "Damping of tetrahedra, times length.", aliases=("tetrasDamping",)
    )
    cubesStiffness = Real(0.0, "k of hexahedra.", unit="force", follows="reinit")
    cubesDamping = Real(0.0, "Damping of hexahedra, times length.", follows="reinit")
    noCompression = Bool(False, "Springs only pull.", follows="reinit")
    drawMinElongationRange = Real(8.0, "Unused.")
    drawMaxElongationRange = Real(15.0, "Unused.")
    drawSpringSize = Real(8.0, "Size of the drawn springs.")
    localRange = Vector(
        2, [-1, -1], "First and last node between which springs are made.", follows="reinit"
    )
    topology = LinkType("Topology that holds the elements; the node's own by default.")

    def __init__(self, *args: Any, **values: Any) -> None:
        super().__init__(*args, **for_every_kind(values, list(_KINDS)))

    def init(self) -> None:
        """Create the springs.

        Raises:
            SceneError: there is no topology.
        """
        super().init()
        self.reinit()

    def reinit(self) -> None:
        """Create the springs again from the present stiffnesses and rest positions."""
        if not self.between_two:
            self.spring.set(self._create_springs())
            self.spring._set = True
            self.data_changed(self.spring)  # other springs, another pattern of the system
        super().reinit()

    @override
    def data_changed(self, data: Data) -> None:
        super().data_changed(data)
        _spread(self, data, list(_KINDS))

    def _create_springs(self) -> np.ndarray:
        topology = linked_topology(self, "needs a topology in its node or above, added before it.")
        rest = self.first.rest_position.get()[:, :3]
        low, high = self.localRange.get()
        joined_pairs: set[tuple[int, int]] = set()
        rows = []
        for name, kind in _KINDS.items():
            k, d = self._data[f"{name}Stiffness"].get(), self._data[f"{name}Damping"].get()
            if k == 0.0 and d == 0.0:
                continue
            elements = self.check_indices(
                topology.elements(kind), f"{kind} of {topology.getPathName()}"
            )
            index_pairs = list(itertools.combinations(range(elements.shape[1]), 2))
            for element in elements.tolist():
                for i, j in index_pairs:
                    a, b = element[i], element[j]
                    is_outside = (0 <= low and min(a, b) < low) or (0 <= high < min(a, b))
                    pair = (min(a, b), max(a, b))
                    if is_outside or pair in joined_pairs:
                        continue
                    joined_pairs.add(pair)
                    length = float(np.linalg.norm(rest[b] - rest[a]))
                    divisor = length if length > _EPS else 1.0
                    rows.append((a, b, k / divisor, d / divisor, length))
        if not rows:
            complain_without_elements(self, "elements of a kind that has a stiffness", topology)
        return np.array(rows).reshape(-1, 5)

    def _read(self) -> Springs:
        springs = super()._read()
        pulls_only = np.full(len(springs.ones), self.noCompression.get())
        return springs._replace(pulls_only=pulls_only) if self.spring.isSet() else springs


class ParallelMeshSpringForceField(MeshSpringForceField):
    """MeshSpringForceField; this runtime uses one processor."""

    nbThreads = Int(0, "Unused.")
    taskSchedulerType = Text("_default", "Unused.")


_STEPS = {
    "lines": [(1, 0, 0), (0, 1, 0), (0, 0, 1)],
    "quads": [(1, 1, 0), (-1, 1, 0), (1, 0, 1), (-1, 0, 1), (0, 1, 1), (0, -1, 1)],
    "cubes": [(1, 1, 1), (-1, 1, 1), (1, -1, 1), (1, 1, -1)],
}
"""Offsets between grid points that a spring joins."""


class RegularGridSpringForceField(SpringForceField):
    """Springs `spring`, and springs of stiffness k / L between neighbours of a RegularGridTopology.

    L is their length in the grid. As in SOFA, only `spring` is part of a direct solver's matrix, so
    that the grid's springs act explicitly there; and one diagonal of the faces across y and z has
    the stiffness for the other diagonal's length.
    """

    linesStiffness = Real(100.0, "k along the edges.", unit="force", follows="reinit")
    linesDamping = Real(5.0, "Damping along the edges, times length.", follows="reinit")
    quadsStiffness = Real(100.0, "k along diagonals of faces.", unit="force", follows="reinit")
    quadsDamping = Real(5.0, "Damping along diagonals of faces, times length.", follows="reinit")
    cubesStiffness = Real(100.0, "k along diagonals of cells.", unit="force", follows="reinit")
    cubesDamping = Real(5.0, "Damping along diagonals of cells, times length.", follows="reinit")

    def __init__(self, *args: Any, **values: Any) -> None:
        super().__init__(*args, **for_every_kind(values, list(_STEPS)))

    @override
    def data_changed(self, data: Data) -> None:
        super().data_changed(data)
        _spread(self, data, list(_STEPS))

    def _read(self) -> Springs:
        listed = super()._read()
        self._own_count = len(listed.ones)
        if self.between_two:
            return listed
        grid = topology_of(self.first._context)
        if not isinstance(grid, RegularGridTopology):
            return listed
        grid_springs = self._create_springs(grid)
        count = len(grid_springs)
        return Springs(
            np.concatenate([listed.ones, grid_springs[:, 0].astype(np.int64)]),
            np.concatenate([listed.twos, grid_springs[:, 1].astype(np.int64)]),
            np.concatenate([listed.stiffness, grid_springs[:, 2]]),
            np.concatenate([listed.damping, grid_springs[:, 3]]),
            np.concatenate([listed.length, grid_springs[:, 4]]),
            np.concatenate([listed.pulls_only, np.zeros(count, dtype=bool)]),
            np.concatenate([listed.enabled, np.ones(count, dtype=bool)]),
        )

    def _create_springs(self, grid: RegularGridTopology) -> np.ndarray:
        counts, edges = grid.n.get().astype(int), np.diag(grid._size)
        rows = [
            spring
            for kind, steps in _STEPS.items()
            for step in steps
            for spring in self._springs_along(kind, np.array(step), counts, edges)
        ]
        return np.array(rows).reshape(-1, 5)

    def _springs_along(
        self, kind: str, step: np.ndarray, counts: np.ndarray, edges: np.ndarray
    ) -> list[tuple[float, ...]]:
        """Return the springs along one direction: two nodes, stiffness, damping, length."""
        k, d = self._data[f"{kind}Stiffness"].get(), self._data[f"{kind}Damping"].get()
        if k == 0.0 and d == 0.0:
            return []
        length = float(np.linalg.norm(step @ edges))
        # SOFA divides stiffnesses along (0, -1, 1) by the length of (0, 1, 1).
        divisor = (
            float(np.linalg.norm(np.abs(step) @ edges)) if tuple(step) == (0, -1, 1) else length
        )
        rows: list[tuple[float, ...]] = []
        for z, y, x in itertools.product(*(range(n) for n in counts[::-1])):
            neighbour = np.array([x, y, z]) + step
            if (neighbour >= 0).all() and (neighbour < counts).all():
                a, b = (
                    p[0] + counts[0] * (p[1] + counts[1] * p[2])
                    for p in ((x, y, z), tuple(neighbour))
                )
                rows.append((a, b, k / divisor, d / divisor, length))
        return rows

    def add_matrix(self, values: np.ndarray, slots: np.ndarray, factor: float) -> None:
        """Add the stiffness of `spring` only."""
        row, column, blocks = self._row, self._column, self._blocks
        count, listed_count = len(row) // 3, self._own_count
        selection = np.concatenate([np.arange(listed_count) + part * count for part in range(3)])
        self.set_blocks(row[selection], column[selection], blocks[selection])
        super().add_matrix(values, slots, factor)
        self.set_blocks(row, column, blocks)
