"""Regular refinement: each tetrahedron into eight, each triangle into four, each edge into two."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np

from sofa_softctl.errors import MeshError
from sofa_softctl.runtime.mesh.mesh import Mesh

_EDGES = np.array([(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)])
"""Edges of a tetrahedron; their middles count as its corners 4 to 9."""
_CORNERS = np.array([(0, 4, 5, 6), (4, 1, 7, 8), (5, 7, 2, 9), (6, 8, 9, 3)])
"""The four parts at the corners, wound as the tetrahedron is."""
_DIAGONALS = np.array([(4, 9), (5, 8), (6, 7)])
"""Diagonals of the remaining octahedron: middles of opposite edges."""
_RINGS = np.array([(7, 5, 6, 8, 7), (4, 7, 9, 6, 4), (4, 5, 9, 8, 4)])
"""Closed ring of corners around each diagonal."""


def split(mesh: Mesh) -> Mesh:
    """Split tetrahedra in eight, triangles in four and edges in two.

    Points keep their numbers; new ones, in the middle of each edge, follow. Parts of element k are
    elements 8 k to 8 k + 7 (4 k to 4 k + 3, 2 k and 2 k + 1), all of the same volume and winding as
    element k. The octahedron in the middle is cut along its shortest diagonal.

    Raises:
        MeshError: There are quadrilaterals or hexahedra.

    Source: Bey 1995, "Tetrahedral grid refinement"; the shortest diagonal after Zhang 1995.
    """
    for name, count in (("quads", len(mesh.quads)), ("hexahedra", len(mesh.hexahedra))):
        if count:
            raise MeshError(f"Only tetrahedra can be split in eight; the mesh has {count} {name}.")
    ends = _edges_of(mesh)  # (k, 2), sorted
    middles = mesh.positions[ends].mean(axis=1)
    numbers = _Middles(ends, len(mesh.positions))
    return replace(
        mesh,
        positions=np.concatenate([mesh.positions, middles]),
        edges=_edges(mesh.edges, numbers),
        triangles=_triangles(mesh.triangles, numbers),
        tetrahedra=_tetrahedra(mesh.tetrahedra, numbers, mesh.positions),
    )


def split_edges(mesh: Mesh) -> np.ndarray:
    """Return the edges in whose middles `split` adds points, in their order, shape (k, 2)."""
    return _edges_of(mesh)


def _edges_of(mesh: Mesh) -> np.ndarray:
    """Return each edge of all elements once, smaller end first, shape (k, 2)."""
    edges = [mesh.edges, mesh.tetrahedra[:, _EDGES].reshape(-1, 2)]
    edges += [mesh.triangles[:, [a, b]] for a, b in pairwise((0, 1, 2, 0))]
    return np.unique(np.sort(np.concatenate(edges), axis=1), axis=0)


class _Middles:
    """Point numbers of the middles of edges."""

    def __init__(self, ends: np.ndarray, count: int) -> None:
        self.count = count
        self.keys = ends[:, 0] * count + ends[:, 1]  # sorted, as the ends are

    def __call__(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        key = np.minimum(a, b) * self.count + np.maximum(a, b)
        return self.count + np.searchsorted(self.keys, key)


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
    middles = [middle(tetrahedra[:, a], tetrahedra[:, b]) for a, b in _EDGES]
    ten = np.column_stack([tetrahedra, *middles])  # (m, 10)
    x = positions[tetrahedra]
    half = 0.5 * (x[:, _EDGES[:, 0]] + x[:, _EDGES[:, 1]])  # (m, 6, 3)
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
