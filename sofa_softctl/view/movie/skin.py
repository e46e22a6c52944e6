"""Surface of a body for display: normals that break at sharp edges, and its outline."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components

SHARP = np.cos(np.radians(35.0))
"""Cosine of the angle between two faces from which on their edge is visible."""


class Skin:
    """Surface whose vertices are split where faces meet at sharp edges.

    Args:
        positions: Vertices by which edges are judged [length], shape (n, 3).
        triangles: Vertex numbers, counterclockwise from outside, shape (k, 3).
    """

    def __init__(self, positions: np.ndarray, triangles: np.ndarray) -> None:
        self.triangles = np.asarray(triangles).reshape(-1, 3)
        edges, self.neighbours, corners = _shared_edges(self.triangles)
        self.edges = edges
        """Vertices of the edges between two faces, (e, 2); `neighbours`: the faces, (e, 2)."""
        normals = _unit(self.face_normals(positions))
        first, second = normals[self.neighbours].transpose(1, 0, 2)
        is_smooth = np.einsum("ij,ij->i", first, second) > SHARP
        links = corners[is_smooth].reshape(-1, 2)  # corners that share a vertex and its normal
        count = self.triangles.size
        graph = csr_matrix((np.ones(len(links)), links.T), shape=(count, count))
        groups, self.split = connected_components(graph, directed=False)
        face = np.arange(count) // 3
        self._sum = csr_matrix((np.ones(count), (self.split, face)), shape=(groups, count // 3))

    def face_normals(self, positions: np.ndarray) -> np.ndarray:
        """Return the normals of the faces, twice as long as the faces are large, shape (k, 3)."""
        a, b, c = positions[self.triangles].transpose(1, 0, 2)
        normals: np.ndarray = np.cross(b - a, c - a)
        return normals

    def corner_normals(self, face_normals: np.ndarray) -> np.ndarray:
        """Return unit normals: of the corners of the triangles in turn, shape (3 k, 3)."""
        return _unit(self._sum @ face_normals)[self.split]

    def outline(self, is_front: np.ndarray) -> np.ndarray:
        """Return the vertices of edges between faces seen from outside and others, (e, 2)."""
        first, second = is_front[self.neighbours].T
        return self.edges[first != second]


def _shared_edges(triangles: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return edges between two faces: vertices (e, 2), faces (e, 2), pairs of corners (e, 2, 2)."""
    corner = np.arange(triangles.size).reshape(-1, 3)
    ends = np.concatenate([corner[:, [0, 1]], corner[:, [1, 2]], corner[:, [2, 0]]])
    vertices = triangles.ravel()[ends]
    order = np.argsort(vertices, axis=1)
    vertices, ends = (np.take_along_axis(array, order, axis=1) for array in (vertices, ends))
    order = np.lexsort(vertices.T)
    vertices, ends = vertices[order], ends[order]
    is_next_equal = (vertices[1:] == vertices[:-1]).all(axis=1)
    in_two = is_next_equal.copy()  # and in no third face
    in_two[1:] &= ~is_next_equal[:-1]
    in_two[:-1] &= ~is_next_equal[1:]
    (k,) = np.nonzero(in_two)
    pairs = np.stack([ends[k], ends[k + 1]], axis=2)  # (e, 2 vertices, 2 faces)
    return vertices[k], ends[:, 0][np.stack([k, k + 1], axis=1)] // 3, pairs


def _unit(vectors: np.ndarray) -> np.ndarray:
    """Return the vectors with length 1, or 0 where they have none."""
    length = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
    return vectors / np.maximum(length, 1e-300)[:, None]
