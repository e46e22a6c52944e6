"""SparseGridTopology: the cells of a grid that a closed surface meets or encloses."""

from __future__ import annotations

import numpy as np

from sofa_softctl.runtime.components.loader.by_ending import load_mesh
from sofa_softctl.runtime.components.topology.mesh_topology import GeneratedTopology
from sofa_softctl.runtime.core.data.types import Bool, Counts, Int, Real, Text, UInt, Vector
from sofa_softctl.runtime.helper.message import complain
from sofa_softctl.runtime.mesh.voxels import BOUNDARY, INSIDE, OUTSIDE, VoxelGrid, coarser, voxelize

CELLS_MAX = 10_000_000
"""A larger grid is taken for a mistake: it costs half a minute and some GB."""


class SparseGridTopology(GeneratedTopology):
    """Hexahedra of a regular grid that a surface meets (first) or encloses.

    The surface comes from the file, or from `position` with `triangles` and `quads`, which a link
    to a loader gives (`src="@loader"`). After init only the grid's vertices and hexahedra
    remain; in SOFA the surface's triangles and quads stay, which name other vertices. A
    HexahedronFEMForceField halves the stiffness of cells that the surface meets (`fillWeighted`).

    Source: Nesme, Payan, Faure 2006; SOFA's component of the same name.
    """

    filename = Text(
        "",
        "Surface: obj, stl, vtk or msh; by default position, triangles and quads.",
        aliases=("fileTopology",),
        follows="start",
    )
    n = Counts(3, [2, 2, 2], "Vertices along each direction, from 2 on.", follows="start")
    min = Vector(
        3, [0.0] * 3, "One corner; by default around the surface.", unit="length", follows="start"
    )
    max = Vector(3, [0.0, 0.0, 0.0], "The opposite corner.", unit="length", follows="start")
    cellWidth = Real(
        0.0, "Makes n, as the box divided by it; unused at 0.", unit="length", follows="start"
    )
    nbVirtualFinerLevels = Int(
        0, "Times that finer cells are halved, whose material counts.", follows="start"
    )
    fillWeighted = Bool(
        True, "Cells that the surface meets have half the stiffness.", follows="start"
    )
    onlyInsideCells = Bool(False, "Leave out the cells that the surface meets.", follows="start")
    dataResolution = Counts(3, [0, 0, 0], "Unused: files of voxels are not read.")
    voxelSize = Vector(3, [1.0, 1.0, 1.0], "Unused: files of voxels are not read.")
    marchingCubeStep = UInt(1, "Unused: files of voxels are not read.")
    convolutionSize = UInt(0, "Unused: files of voxels are not read.")

    def init(self) -> None:
        """Generate the grid.

        Raises:
            SceneError: No surface, or one that cannot be read, or n or the box is not valid.
        """
        self.make_ready()

    def cells_at(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the hexahedron of each point and the coordinates in it, 0 to 1 inside.

        Points outside of all get the boundary hexahedron with the nearest center, as in SOFA.

        Args:
            points: Shape (k, 3).
        """
        steps = self._cells.steps(points)
        index = np.floor(steps).astype(np.int64)
        is_inside = ((index >= 0) & (index < self._cells.counts)).all(axis=1)
        hexahedra = np.full(len(points), -1)
        hexahedra[is_inside] = self._hexahedron_of[self._cells.numbers(index[is_inside])]
        inner = steps - index
        corners = self.position.get()[self.hexahedra.get()[:, [0, 6]]]
        boundary = np.flatnonzero(self._kinds == BOUNDARY)
        centers = corners[boundary].mean(axis=1)
        for point in np.flatnonzero(hexahedra < 0):
            if len(boundary):
                distances = np.linalg.norm(points[point] - centers, axis=1)
                hexahedra[point] = boundary[
                    distances.astype(np.float32).argmin()
                ]  # ties as in SOFA
            else:
                hexahedra[point] = 0
            low, high = corners[hexahedra[point]]
            inner[point] = (points[point] - low) / (high - low)
        return hexahedra, inner

    def stiffness_factors(self) -> np.ndarray:
        """Return the factor on the stiffness of each hexahedron, shape (m,)."""
        self.make_ready()
        return self._factors

    def generate(self) -> None:
        """Generate hexahedra only."""
        points, triangles = self._surface()
        n, low, high = self._box(points)
        levels = self._levels()
        finest = (n - 1) * 2**levels + 1
        if np.prod(finest - 1.0) > CELLS_MAX:
            raise self.fault(
                f"would have {np.prod(finest - 1.0):.3g} cells, with n = {finest.tolist()}; more "
                f"than {CELLS_MAX:.0e} are taken for a mistake. Give a smaller n, a larger "
                "cellWidth or fewer nbVirtualFinerLevels."
            )
        cells = VoxelGrid(low, (high - low) / (finest - 1), finest - 1)
        kinds = voxelize(points, triangles, cells)
        if not levels and self.onlyInsideCells.get():
            kinds[kinds == BOUNDARY] = OUTSIDE
        weighted = self.fillWeighted.get()
        factors = np.where(
            kinds == OUTSIDE, 0.0, np.where((kinds == BOUNDARY) & weighted, 0.5, 1.0)
        )
        order = np.concatenate([np.flatnonzero(kinds == kind) for kind in (BOUNDARY, INSIDE)])
        for _ in range(levels):
            cells, kinds, factors = coarser(cells, kinds, factors)
            i, j, k = cells.indices().T
            order = np.lexsort((k, j, i))
            order = order[kinds[order] != OUTSIDE]
        if not len(order):
            raise self.fault(
                "has no cell that its surface meets or encloses: check n, min and max, and whether "
                "the surface is closed."
            )
        self._fill(cells, order)
        self._kinds, self._factors = kinds[order], factors[order]

    def _surface(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the vertices (v, 3) and triangles (t, 3) of the surface."""
        name = self.filename.get()
        if name.lower().endswith((".raw", ".voxel")):
            raise self.fault(f"reads surfaces, not files of voxels such as '{name}'.")
        source = load_mesh(self, self.filename) if name else self
        points: np.ndarray = source.position.get()
        triangles, quads = source.triangles.get(), source.quads.get()
        surface = np.concatenate([triangles, quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]])
        if not len(points):
            raise self.fault(
                "needs a surface: a fileTopology, or position and triangles, such as those of "
                "src='@loader'."
            )
        if len(surface) and not 0 <= surface.min() <= surface.max() < len(points):
            raise self.fault(f"has a surface with a vertex that none of its {len(points)} is.")
        if not np.isfinite(points).all():
            raise self.fault("has a surface with a vertex that is not finite.")
        return points.copy(), surface

    def _box(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the vertices along each direction, and the two corners."""
        if not self.min.get().any() and not self.max.get().any():
            low, high = points.min(axis=0), points.max(axis=0)
            margin = (high - low) / 100.0  # on each side, as in SOFA
            self.min.set(low - margin)
            self.max.set(high + margin)
        low, high = self.min.get(), self.max.get()
        if not (high > low).all():
            raise self.fault(
                f"has no volume between min {low.tolist()} and max {high.tolist()}: give both."
            )
        width = self.cellWidth.get()
        if width and self.nbVirtualFinerLevels.get():
            problem = "has finer levels: its cellWidth does not count, in SOFA neither. Give n."
            complain(self, self.fault(problem))
        elif width:
            if not 0.0 < width < np.inf:
                raise self.fault(f"needs a cellWidth above 0, got {width:g}.")
            n = np.ceil((high - low) / width) + 1
            if n.max() > CELLS_MAX:
                raise self.fault(
                    f"would have {n.max():.3g} cells in a row: give a larger cellWidth."
                )
            self.n.set(n.astype(np.int64))
        self.n.set(np.maximum(self.n.get(), 2))
        return self.n.get(), low.copy(), high.copy()

    def _levels(self) -> int:
        levels: int = self.nbVirtualFinerLevels.get()
        if not 0 <= levels <= 10:
            raise self.fault(f"needs nbVirtualFinerLevels from 0 to 10, got {levels}.")
        return levels

    def _fill(self, cells: VoxelGrid, order: np.ndarray) -> None:
        """Set vertices and hexahedra of these cells in this order."""
        position, hexahedra = cells.hexahedra(order)
        self._cells = cells
        self._hexahedron_of = np.full(int(np.prod(cells.counts)), -1)
        self._hexahedron_of[order] = np.arange(len(order))
        for name, value in (
            ("position", position),
            ("triangles", np.empty((0, 3), np.int64)),
            ("quads", np.empty((0, 4), np.int64)),
            ("hexahedra", hexahedra),
        ):
            self._data[name].get()  # follow links first: the value set now must last
            self._data[name].set(value)
