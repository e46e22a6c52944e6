"""Grids: vertices in rows along three directions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from typing_extensions import override

from sofa_softctl.runtime.components.topology.base import Topology
from sofa_softctl.runtime.components.topology.mesh_topology import GeneratedTopology
from sofa_softctl.runtime.components.topology.parts import EDGES_OF_TRIANGLE, unique_parts
from sofa_softctl.runtime.core.data.reading import attribute
from sofa_softctl.runtime.core.data.types import Bool, Counts, Real, Vector
from sofa_softctl.runtime.helper.message import complain


class GridTopology(GeneratedTopology):
    """Vertices, edges, triangles, quads and hexahedra of a grid, in SOFA's order.

    Vertex (i, j, k) has the number i + n_x (j + n_y k). Each cell has its quads of two triangles,
    inside the grid as well. Of the elements that a scene gives only quads count, as in SOFA.
    Scenes give n, or nx, ny and nz.
    """

    n = Counts(3, [2, 2, 2], "Vertices along each direction.", follows="start")
    computeHexaList = Bool(True, "Make hexahedra.", follows="start")
    computeQuadList = Bool(True, "Make quads.", follows="start")
    computeTriangleList = Bool(True, "Make triangles, and quads with them.", follows="start")
    computeEdgeList = Bool(
        True,
        "Make edges: of the triangles, or else along the directions; False: of the hexahedra.",
        follows="start",
    )
    computePointList = Bool(True, "Show the vertices in `position`; a state gets them anyway.")
    createTexCoords = Bool(False, "Unused: for drawing.")

    def assign(self, values: Mapping[str, Any]) -> None:
        """Set Data; nx, ny and nz count if all three are given, as in SOFA."""
        values = dict(values)
        counts = [values.pop(f"n{axis}", None) for axis in "xyz"]
        if all(count is not None for count in counts):
            values["n"] = [int(float(count)) for count in counts]
        super().assign(values)

    def init(self) -> None:
        """Generate the grid and check it."""
        self.make_ready()
        self.check_elements()

    def generate(self) -> None:
        """Generate vertices and elements."""
        n = self.resolution()
        position = self.position
        position.get()  # follow its link first, such as to a state that gets its nodes from here
        self._nodes = self.points(_steps(n))
        position.set(self._nodes if self.computePointList.get() else self._nodes[:0])
        self._make_elements(np.arange(int(n.prod())).reshape(n[::-1]))

    def resolution(self) -> np.ndarray:
        """Return the vertices along each direction, shape (3,); 2 if `n` is invalid, as in SOFA."""
        n = self.n.get()
        if n.min() < 1:
            problem = f"needs n of three positive numbers, got {n.tolist()}"
            complain(self, self.fault(f"{problem}: 2 2 2 is used."))
            self.n.set(np.array([2, 2, 2]))
        return self.n.get()

    def points(self, steps: np.ndarray) -> np.ndarray:
        """Return the vertices at these steps (i, j, k), shape (v, 3) each."""
        del steps
        return self.position.get()

    @override
    def nodes(self) -> np.ndarray:
        return self._nodes if hasattr(self, "_nodes") else super().nodes()

    @property
    def count(self) -> int:
        """Number of vertices."""
        return int(self.n.get().prod())

    def _make_elements(self, number: np.ndarray) -> None:
        """Fill in the elements, given the number of each vertex, shape (n_z, n_y, n_x)."""
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
        hexahedra = _cells(number, _HEXAHEDRON)
        self.hexahedra.set(hexahedra if self.computeHexaList.get() else hexahedra[:0])
        self.triangles.set(triangles)
        if not self.quads.isSet():
            self.quads.set(quads)
        elif not len(self.quads.get()):
            self.quads.set(Topology.elements(self, "quads"))
        self.edges.set(edges if self.computeEdgeList.get() else edges[:0])
        self.edges.set(Topology.elements(self, "edges"))


def cells_across(topology: Topology) -> tuple[int, int]:
    """Return the cells along the first two directions, 2 and 1 without a grid, as in SOFA."""
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
    """Return the steps (i, j, k) of each vertex, i running first, shape (v, 3)."""
    return np.indices(n[::-1].tolist()).reshape(3, -1).T[:, ::-1]


def _cells(number: np.ndarray, corners: Sequence[tuple[int, ...]]) -> np.ndarray:
    """Return one element per cell: vertices at offsets `corners` (z, y, x) from its first vertex.

    Returns:
        Vertices, shape (cells, corners), x running first.
    """
    extent = np.max(corners, axis=0)
    parts = [
        number[
            tuple(slice(c, n - r + c) for c, r, n in zip(corner, extent, number.shape, strict=True))
        ]
        for corner in corners
    ]
    return np.stack([part.ravel() for part in parts], axis=1)


_ENDS = {"min": ("xmin", "ymin", "zmin"), "max": ("xmax", "ymax", "zmax")}


def with_limits(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values with `min` and `max` in place of xmin, ymin, ... zmax.

    These count if all are given. SOFA reads them with single precision, and multiplies them by
    `scale`.
    """
    result = dict(values)
    scale = result.pop("scale", None)
    ends = {end: [result.pop(name, None) for name in names] for end, names in _ENDS.items()}
    if all(value is not None for row in ends.values() for value in row):
        factor = attribute(1.0 if scale is None else scale)
        for end, row in ends.items():
            result[end] = [attribute(value) * factor for value in row]
    return result


class RegularGridTopology(GridTopology):
    """A box from min to max, flat where n is 1: in the middle along x and y, at min along z.

    With `cellWidth`, n follows from it, but cells keep the size of the scene's n, as in SOFA.
    """

    min = Vector(3, [0.0, 0.0, 0.0], "One corner.", unit="length", follows="start")
    max = Vector(3, [1.0, 1.0, 1.0], "The opposite corner.", unit="length", follows="start")
    p0 = Vector(
        3, [0.0] * 3, "First vertex; by default the corner at min.", unit="length", follows="start"
    )
    cellWidth = Real(
        0.0, "Makes n, as the box divided by it; unused at 0.", unit="length", follows="start"
    )

    def assign(self, values: Mapping[str, Any]) -> None:
        """Set Data, with the corners also as xmin, ymin, ... zmax."""
        super().assign(with_limits(values))

    @override
    def generate(self) -> None:
        low, high = self.min.get(), self.max.get()
        n = self.n.get()
        self._size = (high - low) / np.maximum(n - 1, 1)
        if not self.p0.isSet():
            middle = (n <= 1) & [True, True, False]
            self.p0.set(np.where(middle, 0.5 * (low + high), low))
        if self.cellWidth.get():
            self.n.set(np.ceil((high - low) / self.cellWidth.get()).astype(np.int64) + 1)
            if self.n.get().min() < 1:  # the 2 2 2 that are used then span the box
                self._size = high - low
        super().generate()

    def cells_at(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the cell of each point, or the nearest one, and coordinates in it, 0 to 1 inside.

        Args:
            points: Shape (k, 3); the grid must have cells along all three directions.
        """
        steps = (points - self.p0.get()) / self._size
        n = self.n.get()
        first = np.clip(np.floor(steps), 0, n - 2).astype(np.int64)
        i, j, k = first.T
        return i + (n[0] - 1) * (j + (n[1] - 1) * k), steps - first

    @override
    def points(self, steps: np.ndarray) -> np.ndarray:
        return self.p0.get() + self._size * steps


class CylinderGridTopology(GridTopology):
    """A cylinder along an axis; squares around the axis become circles."""

    center = Vector(3, [0.0, 0.0, 0.0], "Centre of the first disc.", unit="length", follows="start")
    axis = Vector(3, [0.0, 0.0, 1.0], "Direction of the cylinder.", follows="start")
    radius = Real(1.0, "Radius of the cylinder.", unit="length", follows="start")
    length = Real(1.0, "Length along the axis.", unit="length", follows="start")

    @override
    def points(self, steps: np.ndarray) -> np.ndarray:
        n, radius = self.n.get(), self.radius.get()
        square = steps[:, :2] * 2.0 * radius / _intervals(n[:2]) - radius
        offsets = np.zeros((len(steps), 3))
        offsets[:, :2] = _cube_to_ball(square)
        if n[2] > 1:
            offsets[:, 2] = steps[:, 2] * self.length.get() / (n[2] - 1)
        return self.center.get() + offsets @ _frame(self)


class SphereGridTopology(GridTopology):
    """A ball; cubes around the centre become spheres."""

    center = Vector(3, [0.0, 0.0, 0.0], "Centre of the ball.", unit="length", follows="start")
    axis = Vector(3, [0.0, 0.0, 1.0], "Third direction of the grid.", follows="start")
    radius = Real(1.0, "Radius of the ball.", unit="length", follows="start")

    @override
    def points(self, steps: np.ndarray) -> np.ndarray:
        radius = self.radius.get()
        cube = steps * 2.0 * radius / _intervals(self.n.get()) - radius
        return self.center.get() + _cube_to_ball(cube) @ _frame(self)


def _intervals(n: np.ndarray) -> np.ndarray:
    """Return the cells along each direction, at least 1, to not divide by 0 as SOFA does."""
    return np.maximum(n - 1, 1)


def _cube_to_ball(points: np.ndarray) -> np.ndarray:
    """Move points (n, d) along their rays from the origin to their largest coordinate."""
    lengths = np.linalg.norm(points, axis=1)
    distances = np.abs(points).max(axis=1)
    factors = np.where(lengths > 1e-7, distances / np.where(lengths > 1e-7, lengths, 1.0), 1.0)
    return points * factors[:, None]


def _frame(grid: GridTopology) -> np.ndarray:
    """Return the directions of a grid as rows, the third along its axis."""
    axis = grid.axis.get()
    if not axis.any():
        problem = grid.fault("needs an 'axis' that is not 0.")
        complain(grid, problem, " All its vertices are at its center, as in SOFA.")
        return np.zeros((3, 3))
    z = axis / np.linalg.norm(axis)
    x = np.array([1.0, 0.0, 0.0])
    if np.linalg.norm(z - x) < 1e-6:
        x = np.array([0.0, 1.0, 0.0])
    y = np.cross(z, x)
    x = np.cross(y, z)
    return np.array([x / np.linalg.norm(x), y / np.linalg.norm(y), z])
