"""Neighbourhood of points, lines and triangles on a surface."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sparse

_EDGES = ((0, 1), (1, 2), (2, 0))


class Neighbours(NamedTuple):
    """Triangles, edges and adjacency of a surface; see Surface in kernels/contact/proximity."""

    triangles: np.ndarray
    edges: np.ndarray
    triangles_at: np.ndarray
    triangles_start: np.ndarray
    edges_at: np.ndarray
    edges_start: np.ndarray
    sides: np.ndarray


def neighbours(count: int, triangles: np.ndarray, edges: np.ndarray) -> Neighbours:
    """Find the triangles and edges at each node, and the triangles on both sides of each edge.

    Args:
        count: Number of nodes.
        triangles: Triangles of the surface, shape (t, 3).
        edges: Edges of the surface, shape (e, 2).
    """
    triangles = np.ascontiguousarray(triangles, dtype=np.int64).reshape(-1, 3)
    edges = np.ascontiguousarray(edges, dtype=np.int64).reshape(-1, 2)
    return Neighbours(
        triangles,
        edges,
        *_at_nodes(count, triangles),
        *_at_nodes(count, edges),
        _both_sides(triangles, edges),
    )


def _at_nodes(count: int, elements: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the elements at each node, one list after the other, and the start of each list."""
    nodes = elements.ravel()
    order = np.argsort(nodes, kind="stable")
    start = np.zeros(count + 1, dtype=np.int64)
    np.cumsum(np.bincount(nodes, minlength=count), out=start[1:])
    return order // max(elements.shape[1], 1), start


def _both_sides(triangles: np.ndarray, edges: np.ndarray) -> np.ndarray:
    triangles_by_edge: dict[tuple[int, int], list[int]] = {}
    for number, triangle in enumerate(triangles.tolist()):
        for i, j in _EDGES:
            pair = (min(triangle[i], triangle[j]), max(triangle[i], triangle[j]))
            triangles_by_edge.setdefault(pair, []).append(number)
    sides = np.full((len(edges), 2), -1, dtype=np.int64)
    for number, (a, b) in enumerate(edges.tolist()):
        around = triangles_by_edge.get((min(a, b), max(a, b)), [])
        if len(around) == 2:
            sides[number] = around
    return sides


def corner_flags(count: int, triangles: np.ndarray) -> np.ndarray:
    """Return the corners (bits 0-2) and edges (bits 3-5) that each triangle owns, shape (t,).

    A corner or edge of several triangles belongs to the first of them, so that it touches once.
    """
    flags = np.zeros(len(triangles), dtype=np.int64)
    has_owner = np.zeros(count, dtype=bool)
    edge_taken: set[tuple[int, int]] = set()
    for number, triangle in enumerate(triangles.tolist()):
        for k, node in enumerate(triangle):
            if not has_owner[node]:
                has_owner[node] = True
                flags[number] |= 1 << k
        for k, (i, j) in enumerate(_EDGES):
            pair = (min(triangle[i], triangle[j]), max(triangle[i], triangle[j]))
            if pair not in edge_taken:
                edge_taken.add(pair)
                flags[number] |= 8 << k
    return flags


def is_closed(triangles: np.ndarray) -> bool:
    """Return True if each edge has a triangle on both sides, oriented the same way."""
    starts = triangles[:, [0, 1, 2]].ravel()
    ends = triangles[:, [1, 2, 0]].ravel()
    count = int(triangles.max(initial=0)) + 1
    forth, back = np.sort(starts * count + ends), np.sort(ends * count + starts)
    return len(forth) > 0 and bool((np.diff(forth) > 0).all()) and np.array_equal(forth, back)


def joined_nodes(count: int, edges: np.ndarray, chain: int) -> np.ndarray:
    """Return pairs of nodes joined by at most `chain` edges, as i count + j, sorted.

    Args:
        count: Number of nodes.
        edges: Edges of the surface, shape (e, 2).
        chain: Largest number of edges in between.
    """
    ones = np.ones(2 * len(edges), dtype=bool)
    ends = (edges.T.ravel(), edges[:, ::-1].T.ravel())
    step = sparse.csr_array((ones, ends), shape=(count, count)) + sparse.eye_array(
        count, dtype=bool
    )
    reached = sparse.eye_array(count, dtype=bool, format="csr")
    for _ in range(chain):
        reached = reached @ step
    i, j = reached.nonzero()
    return np.unique(i.astype(np.int64) * count + j)


def degenerate(x: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """Return the triangles without area: below 1e-12 of the square of their longest edge."""
    a, b, c = (x[triangles[:, k], :3] for k in range(3))
    area = np.linalg.norm(np.cross(b - a, c - a), axis=1)
    longest = np.max([((p - q) ** 2).sum(axis=1) for p, q in ((a, b), (b, c), (c, a))], axis=0)
    return np.flatnonzero(area <= 1e-12 * longest)
