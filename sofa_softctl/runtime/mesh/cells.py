"""Conversion of mixed cell lists, as VTK and Gmsh store them, to elements."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sofa_softctl.runtime.mesh.formats.cursor import Path, fault
from sofa_softctl.runtime.mesh.mesh import ELEMENTS, TETRAHEDRON_EDGES, Mesh

# VTK's number of a cell type: number of points, kind of the element, and its points among them.
FIXED: dict[int, tuple[int, str, tuple[int, ...]]] = {
    3: (2, "edges", (0, 1)),
    5: (3, "triangles", (0, 1, 2)),
    8: (4, "quads", (0, 1, 3, 2)),  # pixel: its points lie along the axes, not round
    9: (4, "quads", (0, 1, 2, 3)),
    10: (4, "tetrahedra", (0, 1, 2, 3)),
    11: (8, "hexahedra", (0, 1, 3, 2, 4, 5, 7, 6)),  # voxel, likewise
    12: (8, "hexahedra", (0, 1, 2, 3, 4, 5, 6, 7)),
    21: (3, "edges", (0, 1)),
    22: (6, "triangles", (0, 1, 2)),
    24: (10, "tetrahedra", (0, 1, 2, 3)),
}
STRIP, POLYGON = 6, 7
NO_ELEMENTS = {0, 1, 2, 4}  # empty, vertex, vertices, polyline (which SOFA keeps apart from edges)

QUADRATIC_TRIANGLE_EDGES = ((0, 1), (1, 2), (2, 0))
VTK_TETRAHEDRON_EDGES = ((0, 1), (1, 2), (0, 2), (0, 3), (1, 3), (2, 3))
GMSH_TETRAHEDRON_EDGES = ((0, 1), (1, 2), (0, 2), (0, 3), (2, 3), (1, 3))


@dataclass(frozen=True, eq=False)
class MixedCells:
    """Cells of mixed types: cell c has the points connectivity[start[c] : start[c] + size[c]]."""

    type: np.ndarray
    """VTK's number of the type of each cell, shape (n,)."""
    start: np.ndarray
    """Index in `connectivity` of the first point of each cell, shape (n,)."""
    size: np.ndarray
    """Number of points of each cell, shape (n,)."""
    connectivity: np.ndarray
    """Point indices of all cells, shape (m,)."""
    tetrahedron_edges: tuple[tuple[int, int], ...] = VTK_TETRAHEDRON_EDGES
    """Edges of a quadratic tetrahedron, in the order of their middle points."""


def mesh_of_cells(positions: np.ndarray, cells: MixedCells, path: Path) -> Mesh:
    """Return the mesh of these cells, each kind of element in the order of the file.

    Pixels and voxels are reordered, strips and polygons cut into triangles, quadratic cells
    reduced to their corners; the middle points of tetrahedra are kept apart. As in SOFA, quadratic
    triangles and tetrahedra also give the edges between their corners, lower index first and each
    once, and the triangles of a strip are wound the other way round than VTK has them.

    Args:
        positions: Coordinates of the points, shape (n_points, 3).
        cells: Cells of the file.
        path: File of the cells, for messages.
    """
    _check_cells(cells, path)
    parts: dict[str, list[tuple[np.ndarray, np.ndarray]]] = {kind: [] for kind in ELEMENTS}
    quadratic, middles = [], []
    shape = cells.type.astype(np.int64) << 40 | cells.size
    for key in np.unique(shape):
        cell_type, size = int(key >> 40), int(key & (1 << 40) - 1)
        chosen = np.flatnonzero(shape == key)
        if cell_type not in NO_ELEMENTS:
            kind, corners = _corners(cell_type, size)
            parts[kind].append(_gather(cells, chosen, corners))
        if cell_type == 10:
            middles.append((chosen, np.full((len(chosen), 6), -1)))
        if cell_type == 24:
            columns = middle_columns(cells.tetrahedron_edges)
            middles.append(_gather(cells, chosen, columns[None]))
        if cell_type in (22, 24):
            pairs = QUADRATIC_TRIANGLE_EDGES if cell_type == 22 else cells.tetrahedron_edges
            quadratic.append(_gather(cells, chosen, np.array(pairs)))
    if quadratic:
        parts["edges"].append(_each_once(*_in_file_order(quadratic)))
    if (cells.type == 24).any():
        parts["middles"] = middles
    return Mesh(positions, **{kind: _in_file_order(p)[1] for kind, p in parts.items() if p})


def middle_columns(edges: tuple[tuple[int, int], ...]) -> np.ndarray:
    """Return the columns of 10-node tetrahedra with the middles of TETRAHEDRON_EDGES, shape (6,).

    Args:
        edges: Edges of a tetrahedron in the order of its columns 4 to 9.
    """
    return np.array([4 + edges.index((a, b)) for a, b in TETRAHEDRON_EDGES.tolist()])


def _check_cells(cells: MixedCells, path: Path) -> None:
    usable = np.isin(cells.type, [*FIXED, *NO_ELEMENTS, STRIP, POLYGON])
    if not usable.all():
        types, counts = np.unique(cells.type[~usable], return_counts=True)
        listed = ", ".join(f"{c} of type {t}" for t, c in zip(types[:5], counts[:5], strict=True))
        raise fault(
            path,
            f"{len(cells.type) - usable.sum()} of {len(usable)} cells cannot be used ({listed})",
            "Usable are lines, triangles, quads, tetrahedra, hexahedra and their quadratic forms"
            " (3, 5-12, 21, 22, 24): mesh again with these, or convert.",
        )
    end = cells.start + cells.size
    if np.any((cells.size < 0) | (cells.start < 0) | (end > len(cells.connectivity))):
        raise fault(path, "the sizes of the cells do not match their list of points")
    for cell_type, (size, _, _) in FIXED.items():
        wrong = np.flatnonzero((cells.type == cell_type) & (cells.size != size))
        if len(wrong):
            raise fault(
                path,
                f"cell {wrong[0]} has type {cell_type}: expected {size} points, "
                f"got {cells.size[wrong[0]]}",
            )


def _corners(cell_type: int, size: int) -> tuple[str, np.ndarray]:
    """Return the kind of the elements of a cell, and their points, shape (k, vertices)."""
    if cell_type in FIXED:
        _, kind, corners = FIXED[cell_type]
        return kind, np.array([corners])
    j = np.arange(max(size - 2, 0))
    if cell_type == STRIP:
        odd = j % 2
        return "triangles", np.stack([j, j + 2 - odd, j + 1 + odd], axis=1)
    return "triangles", np.stack([np.zeros_like(j), j + 1, j + 2], axis=1)


def _gather(
    cells: MixedCells, which: np.ndarray, corners: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the cell that each element comes from, and the elements of these cells."""
    points = cells.start[which, None, None] + corners  # (cells, k, vertices)
    rows = cells.connectivity[points].reshape(-1, corners.shape[1])
    return np.repeat(which, len(corners)), rows


def _in_file_order(parts: list[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    cell = np.concatenate([cell for cell, _ in parts])
    order = np.argsort(cell, kind="stable")
    return cell[order], np.concatenate([rows for _, rows in parts])[order]


def _each_once(cell: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    _, first = np.unique(np.sort(rows, axis=1), axis=0, return_index=True)
    first.sort()
    return cell[first], np.sort(rows[first], axis=1)
