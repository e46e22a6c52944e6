"""Geometry of flat triangles that share edges: what the closed-form integrals need."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class TriangleTables(NamedTuple):
    """Corners, edges and in-plane normals of T triangles with P vertices and E edges.

    A named tuple of arrays, since compiled functions take it as it is.
    """

    vertices: np.ndarray
    """Positions of the vertices [m], shape (P, 3)."""
    triangles: np.ndarray
    """Vertices of each triangle, counter-clockwise seen from outside, shape (T, 3)."""
    normals: np.ndarray
    """Unit normal of each triangle, shape (T, 3)."""
    double_areas: np.ndarray
    """Twice the area of each triangle [m^2], shape (T,)."""
    edges: np.ndarray
    """First and last vertex of each edge, shape (E, 2)."""
    tangents: np.ndarray
    """Unit vector from the first to the last vertex of each edge, shape (E, 3)."""
    lengths: np.ndarray
    """Length of each edge [m], shape (E,)."""
    triangle_edges: np.ndarray
    """Edge opposite each corner, shape (T, 3)."""
    senses: np.ndarray
    """1 where that edge runs counter-clockwise in the triangle, otherwise -1, shape (T, 3)."""
    conormals: np.ndarray
    """Unit vector in the triangle's plane, out of it across that edge, shape (T, 3, 3)."""
    slopes: np.ndarray
    """Length of that edge over twice the area: slope of the corner's hat [1/m], shape (T, 3)."""


def triangle_tables(vertices: np.ndarray, triangles: np.ndarray) -> TriangleTables:
    """Tables of a list of triangles, closed or not, none of zero area. Read-only.

    Args:
        vertices: Positions [m], shape (P, 3).
        triangles: Vertices of each triangle, shape (T, 3).
    """
    vertices = np.ascontiguousarray(vertices, dtype=float)
    triangles = np.ascontiguousarray(triangles, dtype=np.int64)
    y = vertices[triangles]  # (T, 3, 3)
    cross = np.cross(y[:, 1] - y[:, 0], y[:, 2] - y[:, 0])
    double_areas = np.linalg.norm(cross, axis=1)
    normals = cross / double_areas[:, None]

    directed = np.stack([triangles[:, [1, 2, 0]], triangles[:, [2, 0, 1]]], axis=-1)  # (T, 3, 2)
    edges, triangle_edges = np.unique(
        np.sort(directed, axis=-1).reshape(-1, 2), axis=0, return_inverse=True
    )
    triangle_edges = triangle_edges.reshape(-1, 3)
    along = vertices[edges[:, 1]] - vertices[edges[:, 0]]
    lengths = np.linalg.norm(along, axis=1)
    tangents = along / lengths[:, None]
    senses = np.where(directed[..., 0] == edges[triangle_edges, 0], 1.0, -1.0)
    conormals = senses[..., None] * np.cross(tangents[triangle_edges], normals[:, None])
    tables = TriangleTables(
        vertices,
        triangles,
        normals,
        double_areas,
        edges,
        tangents,
        lengths,
        triangle_edges,
        senses,
        conormals,
        lengths[triangle_edges] / double_areas[:, None],
    )
    for array in tables:
        array.setflags(write=False)
    return tables
