"""Regular refinement: each tetrahedron into eight, each triangle into four, each edge into two."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from sofa_softctl.errors import MeshError
from sofa_softctl.runtime.mesh.mesh import TETRAHEDRON_EDGES, Mesh

_CORNERS = np.array([(0, 4, 5, 6), (4, 1, 7, 8), (5, 7, 2, 9), (6, 8, 9, 3)])
"""The four parts at the corners, wound as the tetrahedron is."""
_DIAGONALS = np.array([(4, 9), (5, 8), (6, 7)])
"""Diagonals of the remaining octahedron: middles of opposite edges."""
_RINGS = np.array([(7, 5, 6, 8, 7), (4, 7, 9, 6, 4), (4, 5, 9, 8, 4)])
"""Closed ring of corners around each diagonal."""


def split(mesh: Mesh) -> Mesh:
    """Split tetrahedra in eight, triangles in four and edges in two.

    Points keep their numbers; new ones, in the middle of each edge without a point in `middles`,
    follow. Parts of element k are elements 8 k to 8 k + 7 (4 k to 4 k + 3, 2 k and 2 k + 1), all
    wound as element k, and of the same volume if new points are in its middles. The octahedron in
    the middle is cut along its shortest diagonal.

    Raises:
        MeshError: There are quadrilaterals or hexahedra, or an edge has two points in its middle.

    Source: Bey 1995, "Tetrahedral grid refinement"; the shortest diagonal after Zhang 1995.
    """
    for name, count in (("quads", len(mesh.quads)), ("hexahedra", len(mesh.hexahedra))):
        if count:
            raise MeshError(f"Only tetrahedra can be split in eight; the mesh has {count} {name}.")
    ends = _edges_of(mesh)  # (k, 2), sorted
    numbers = _Middles(mesh, ends)
    middles = mesh.positions[ends[numbers.is_new]].mean(axis=1)
    positions = np.concatenate([mesh.positions, middles])
    return Mesh(
        positions,
        edges=_edges(mesh.edges, numbers),
        triangles=_triangles(mesh.triangles, numbers),
        tetrahedra=_tetrahedra(mesh.tetrahedra, numbers, positions),
    )


def split_edges(mesh: Mesh) -> np.ndarray:
    """Return the edges in whose middles `split` adds points, in their order, shape (k, 2)."""
    ends = _edges_of(mesh)
    return np.asarray(ends[_Middles(mesh, ends).is_new])


def quadratic_nodes(tetrahedra: np.ndarray) -> np.ndarray | None:
    """Return the 10 nodes of each tetrahedron that is split in eight, shape (m, 10), or None.

    Corners come first, then the middles of TETRAHEDRON_EDGES.

    Args:
        tetrahedra: Parts of tetrahedron k at 8 k to 8 k + 7, as `split` orders them.
    """
    if not len(tetrahedra) or len(tetrahedra) % 8:
        return None
    parts = tetrahedra.reshape(-1, 8, 4)
    corners = np.stack([parts[:, c, c] for c in range(4)], axis=1)
    middles = [parts[:, a, b] for a, b in TETRAHEDRON_EDGES]
    opposite = [parts[:, b, a] for a, b in TETRAHEDRON_EDGES]
    nodes = np.column_stack([corners, *middles])
    is_split = (np.column_stack(middles) == np.column_stack(opposite)).all()
    inner = parts[:, 4:].reshape(-1, 16)
    is_inside = (inner[:, :, None] == nodes[:, None, 4:]).any(axis=2).all()
    return nodes if is_split and is_inside else None


def _edges_of(mesh: Mesh) -> np.ndarray:
    """Return each edge of all elements once, smaller end first, shape (k, 2)."""
    edges = [mesh.edges, mesh.tetrahedra[:, TETRAHEDRON_EDGES].reshape(-1, 2)]
    edges += [mesh.triangles[:, [a, b]] for a, b in pairwise((0, 1, 2, 0))]
    return np.unique(np.sort(np.concatenate(edges), axis=1), axis=0)


class _Middles:
    """Point numbers of the middles of edges: those of 10-node tetrahedra, then new ones."""

    def __init__(self, mesh: Mesh, ends: np.ndarray) -> None:
        self.count = len(mesh.positions)
        self.keys = ends[:, 0] * self.count + ends[:, 1]  # sorted, as the ends are
        self.numbers = np.full(len(ends), -1)
        if len(mesh.middles):
            self._set_numbers(mesh, ends)
        self.is_new = self.numbers < 0
        self.numbers[self.is_new] = self.count + np.arange(self.is_new.sum())

    def __call__(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.asarray(self.numbers[self._edge(a, b)])

    def _edge(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        key = np.minimum(a, b) * self.count + np.maximum(a, b)
        return np.searchsorted(self.keys, key)

    def _set_numbers(self, mesh: Mesh, ends: np.ndarray) -> None:
        is_quadratic = mesh.middles[:, 0] >= 0
        corners = mesh.tetrahedra[is_quadratic][:, TETRAHEDRON_EDGES]
        edge, middles = self._edge(corners[..., 0], corners[..., 1]), mesh.middles[is_quadratic]
        self.numbers[edge] = middles
        is_torn = self.numbers[edge] != middles
        if is_torn.any():
            torn = edge[is_torn][0]
            points = sorted(set(middles[edge == torn].tolist()))
            raise MeshError(
                f"{int(is_torn.sum())} edges of 10-node tetrahedra have different points in their "
                f"middle, first that from point {ends[torn, 0]} to {ends[torn, 1]}: {points}. "
                "Merge points, and export the mesh again."
            )


def _edges(edges: np.ndarray, middle: _Middles) -> np.ndarray:
    a, b = edges.T
    m = middle(a, b)
    return np.stack([a, m, m, b], axis=1).reshape(-1, 2)


def _triangles(triangles: np.ndarray, middle: _Middles) -> np.ndarray:
    a, b, c = triangles.T
    ab, bc, ca = middle(a, b), middle(b, c), middle(c, a)
    return np.stack([a, ab, ca, ab, b, bc, ca, bc, c, ab, bc, ca], axis=1).reshape(-1, 3)


def _tetrahedra(tetrahedra: np.ndarray, middle: _Middles, positions: np.ndarray) -> np.ndarray:
    if not len(tetrahedra):
        return tetrahedra
    middles = [middle(tetrahedra[:, a], tetrahedra[:, b]) for a, b in TETRAHEDRON_EDGES]
    ten = np.column_stack([tetrahedra, *middles])  # (m, 10)
    half = positions[ten[:, 4:]]  # (m, 6, 3)
    across = half[:, _DIAGONALS[:, 0] - 4] - half[:, _DIAGONALS[:, 1] - 4]
    shortest = np.einsum("mdk,mdk->md", across, across).argmin(axis=1)
    inner = np.array(
        [
            [(p, q, a, b) for a, b in pairwise(ring)]
            for (p, q), ring in zip(_DIAGONALS, _RINGS, strict=True)
        ]
    )  # (3, 4, 4)
    pattern = np.concatenate([np.broadcast_to(_CORNERS, (len(ten), 4, 4)), inner[shortest]], axis=1)
    return np.take_along_axis(ten[:, None, :], pattern, axis=2).reshape(-1, 4)
