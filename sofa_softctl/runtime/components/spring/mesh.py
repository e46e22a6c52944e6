"""Springs along the edges and diagonals of a mesh or grid."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from typing_extensions import override

from sofa_softctl.runtime.components.spring.linear import SpringForceField, Springs
from sofa_softctl.runtime.components.topology.base import (
    linked_topology,
    say_without_elements,
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
"""Elements by the names in Data, and those of topologies, in the order in which they count."""
_EPS = float(np.finfo(float).eps)


def for_every_kind(values: dict[str, Any], kinds: list[str]) -> dict[str, Any]:
    """The values with `stiffness` and `damping` as those of all kinds.

    Of several names for one Data, SOFA takes the one that is last in the alphabet.
    """
    found: dict[str, Any] = {}
    for name in sorted(values):
        if name in ("stiffness", "damping") and reading.words(values[name]):
            found.update({f"{kind}{name.capitalize()}": values[name] for kind in kinds})
        found[name] = values[name]
    return found


def _spread(field: SpringForceField, data: Data, kinds: list[str]) -> None:
    """After the start as in the constructor: `stiffness` and `damping` are those of all kinds."""
    if field._initialised and data.name in ("stiffness", "damping"):
        for kind in kinds if len(data.get()) else ():
            field._data[f"{kind}{data.name.capitalize()}"].set(float(data.get()[0]))


class MeshSpringForceField(SpringForceField):
    """A spring of stiffness k / L between any two vertices of an element, L its length at rest.

    k is that of the first kind of element that joins them: lines, triangles, quads, tetrahedra,
    cubes. Dampings likewise. Springs of zero length have k itself.
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
        """Make the springs.

        Raises:
            SceneError: there is no topology.
        """
        super().init()
        self.reinit()

    def reinit(self) -> None:
        """Make the springs anew, of the present stiffnesses and rest positions."""
        if not self.between_two:
            self.spring.set(self._made())
            self.spring._set = True
            self.data_changed(self.spring)  # other springs, another pattern of the system
        super().reinit()

    @override
    def data_changed(self, data: Data) -> None:
        super().data_changed(data)
        _spread(self, data, list(_KINDS))

    def _made(self) -> np.ndarray:
        topology = linked_topology(self, "needs a topology in its node or above, added before it.")
        rest = self.first._data["rest_position"].get()[:, :3]
        low, high = self.localRange.get()
        known: set[tuple[int, int]] = set()
        made = []
        for name, kind in _KINDS.items():
            k, d = self._data[f"{name}Stiffness"].get(), self._data[f"{name}Damping"].get()
            if k == 0.0 and d == 0.0:
                continue
            elements = self.checked(topology.elements(kind), f"{kind} of {topology.getPathName()}")
            ways = list(itertools.combinations(range(elements.shape[1]), 2))
            for element in elements.tolist():
                for i, j in ways:
                    a, b = element[i], element[j]
                    outside = (0 <= low and min(a, b) < low) or (0 <= high < min(a, b))
                    pair = (min(a, b), max(a, b))
                    if outside or pair in known:
                        continue
                    known.add(pair)
                    length = float(np.linalg.norm(rest[b] - rest[a]))
                    part = length if length > _EPS else 1.0
                    made.append((a, b, k / part, d / part, length))
        if not made:
            say_without_elements(self, "elements of a kind that has a stiffness", topology)
        return np.array(made).reshape(-1, 5)

    def _read(self) -> Springs:
        found = super()._read()
        pulls = np.full(len(found.ones), self.noCompression.get())
        return found._replace(pulls_only=pulls) if self.spring.isSet() else found


class ParallelMeshSpringForceField(MeshSpringForceField):
    """MeshSpringForceField; here it uses one processor."""

    nbThreads = Int(0, "Unused.")
    taskSchedulerType = Text("_default", "Unused.")


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
