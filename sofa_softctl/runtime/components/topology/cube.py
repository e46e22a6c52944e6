"""CubeTopology and SphereQuadTopology: the surface of a grid."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from typing_extensions import override

from sofa_softctl.runtime.components.topology.base import Topology
from sofa_softctl.runtime.components.topology.grid import with_limits
from sofa_softctl.runtime.components.topology.mesh_topology import MeshTopology
from sofa_softctl.runtime.core.data.types import Bool, Int, Real, Vector


class CubeTopology(MeshTopology):
    """Vertices, edges and quads of the surface of a box, in SOFA's order.

    Vertices: those at the lowest z, then those at the highest, then layer by layer the rims
    between. With `splitNormals` no vertex belongs to two sides.
    """

    nx = Int(0, "Vertices along x.", follows="start")
    ny = Int(0, "Vertices along y.", follows="start")
    nz = Int(0, "Vertices along z.", follows="start")
    internalPoints = Bool(
        False, "Vertices inside too, numbered as those of RegularGridTopology.", follows="start"
    )
    splitNormals = Bool(False, "Each side has vertices of its own.", follows="start")
    min = Vector(3, [0.0, 0.0, 0.0], "One corner.", unit="length", follows="start")
    max = Vector(3, [1.0, 1.0, 1.0], "The opposite corner.", unit="length", follows="start")

    nodes = Topology.nodes  # including vertices that no element uses

    def assign(self, values: Mapping[str, Any]) -> None:
        """Set Data, with the corners also as xmin, ymin, ... zmax."""
        super().assign(with_limits(values))

    def init(self) -> None:
        """Make the surface.

        Raises:
            SceneError: there is less than one vertex along a direction.
        """
        n = np.array([self.nx.get(), self.ny.get(), self.nz.get()])
        if n.min() < 1:
            raise self.fault(f"needs nx, ny and nz from 1 on, got {n.tolist()}.")
        order = self._order(n)
        sides = [(*side, s) for s, side in enumerate(_sides(n))]
        self.position.set(self.points(np.array(list(order)), n))
        self._numbers = {key: number for number, key in enumerate(order)}
        quads = [
            [self._number(corner, n, side) for corner in quad]
            for axis, end, side in sides
            for quad in _quads_of(axis, end, n)
        ]
        edges = [[self._number(a, n), self._number(b, n)] for a, b in _edges_of(n)]
        self.quads.set(np.array(quads, dtype=np.int64).reshape(-1, 4))
        self.edges.set(np.array(edges, dtype=np.int64).reshape(-1, 2))
        super().init()

    def points(self, steps: np.ndarray, n: np.ndarray) -> np.ndarray:
        """Return the vertices at these steps, shape (v, 3) each; a fourth column is ignored."""
        low, high = self.min.get(), self.max.get()
        return low + steps[:, :3] * np.where(n > 1, (high - low) / np.maximum(n - 1, 1), 0.0)

    def _order(self, n: np.ndarray) -> list[tuple[int, ...]]:
        """Return the steps of the vertices in order, followed by the side with `splitNormals`."""
        if self.splitNormals.get():
            return [
                (*_steps_at(axis, end * (n[axis] - 1), a, b), side)
                for side, (axis, end) in enumerate(_SPLIT)
                if end == 0 or n[axis] > 1
                for b in range(n[_ACROSS[axis][1]])
                for a in range(n[_ACROSS[axis][0]])
            ]
        nx, ny, nz = n
        if self.internalPoints.get() or n.min() == 1:
            return [(x, y, z) for z in range(nz) for y in range(ny) for x in range(nx)]
        ends: list[tuple[int, ...]] = [
            (x, y, z) for z in (0, nz - 1) for y in range(ny) for x in range(nx)
        ]
        rims: list[tuple[int, ...]] = [
            (x, y, z)
            for z in range(1, nz - 1)
            for x, y in [
                *((x, y) for y in (0, ny - 1) for x in range(nx)),
                *((x, y) for x in (0, nx - 1) for y in range(1, ny - 1)),
            ]
        ]
        return ends + rims

    def _number(self, corner: tuple[int, ...], n: np.ndarray, side: int | None = None) -> int:
        if not self.splitNormals.get():
            return self._numbers[corner]
        if side is not None:
            axis, end = _sides(n)[side]
            return self._numbers[(*corner, _SPLIT.index((axis, end)))]
        for axis in range(3):  # SOFA's choice for edges: the first side on which it lies
            for end in (0, 1):
                if corner[axis] == end * (n[axis] - 1) and (end == 0 or n[axis] > 1):
                    return self._numbers[(*corner, _SPLIT.index((axis, end)))]
        raise AssertionError("a vertex of an edge lies on a side")


class SphereQuadTopology(CubeTopology):
    """The surface of a box, each vertex moved along its ray onto a sphere."""

    center = Vector(3, [0.0, 0.0, 0.0], "Centre of the sphere.", unit="length", follows="start")
    radius = Real(0.0, "Radius of the sphere.", unit="length", follows="start")

    @override
    def points(self, steps: np.ndarray, n: np.ndarray) -> np.ndarray:
        rays = 2 * steps[:, :3] / np.maximum(n - 1, 1) - 1.0
        lengths = np.linalg.norm(rays, axis=1, keepdims=True)
        rays = rays / np.where(lengths > 0.0, lengths, 1.0)
        return self.center.get() + rays * self.radius.get()


_SPLIT = [(0, 0), (1, 0), (2, 0), (0, 1), (1, 1), (2, 1)]
"""Axis and end of each side, in the order of vertices with `splitNormals`."""
_ACROSS = ((1, 2), (0, 2), (0, 1))
"""The other two axes."""


def _sides(n: np.ndarray) -> list[tuple[int, int]]:
    """Return axis and end of each side, in the order of their quads."""
    return [(axis, end) for axis in (2, 1, 0) for end in (0, 1) if end == 0 or n[axis] > 1]


def _steps_at(axis: int, along: int, a: int, b: int) -> tuple[int, int, int]:
    """Return steps that are `along` on the axis, a and b on the other two."""
    steps = [a, b]
    steps.insert(axis, int(along))
    return steps[0], steps[1], steps[2]


def _quads_of(axis: int, end: int, n: np.ndarray) -> list[list[tuple[int, int, int]]]:
    """Return the corners of the quads of a side, counter-clockwise seen from outside."""
    along = end * (n[axis] - 1)
    first, second = _ACROSS[axis]
    round_a = [(0, 0), (1, 0), (1, 1), (0, 1)]
    round_b = [(0, 0), (0, 1), (1, 1), (1, 0)]
    offsets = round_a if (end == 1) != (axis == 1) else round_b
    return [
        [_steps_at(axis, along, a + da, b + db) for da, db in offsets]
        for b in range(n[second] - 1)
        for a in range(n[first] - 1)
    ]


def _edges_of(n: np.ndarray) -> list[tuple[tuple[int, int, int], tuple[int, int, int]]]:
    """Return the ends of the edges on the surface."""
    edges = []
    for z, y, x in np.ndindex(*n[::-1]):
        corner = (x, y, z)
        for axis in range(3):
            is_at_end = [corner[across] in (0, n[across] - 1) for across in _ACROSS[axis]]
            if corner[axis] < n[axis] - 1 and any(is_at_end):
                end = [x, y, z]
                end[axis] += 1
                edges.append((corner, (end[0], end[1], end[2])))
    return edges
