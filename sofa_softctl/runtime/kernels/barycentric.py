"""Finding the element that carries a point, with SOFA's rule for points in none or in several."""

from __future__ import annotations

import numpy as np

from sofa_softctl.runtime.kernels.jit import njit


@njit
def _inverse(m: np.ndarray, out: np.ndarray) -> None:
    """Cofactors, each divided by the determinant: the arithmetic that decides ties as in SOFA."""
    det = (
        m[0, 0] * m[1, 1] * m[2, 2]
        + m[1, 0] * m[2, 1] * m[0, 2]
        + m[2, 0] * m[0, 1] * m[1, 2]
        - m[0, 0] * m[2, 1] * m[1, 2]
        - m[1, 0] * m[0, 1] * m[2, 2]
        - m[2, 0] * m[1, 1] * m[0, 2]
    )
    out[0, 0] = (m[1, 1] * m[2, 2] - m[2, 1] * m[1, 2]) / det
    out[1, 0] = (m[1, 2] * m[2, 0] - m[2, 2] * m[1, 0]) / det
    out[2, 0] = (m[1, 0] * m[2, 1] - m[2, 0] * m[1, 1]) / det
    out[0, 1] = (m[2, 1] * m[0, 2] - m[0, 1] * m[2, 2]) / det
    out[1, 1] = (m[2, 2] * m[0, 0] - m[0, 2] * m[2, 0]) / det
    out[2, 1] = (m[2, 0] * m[0, 1] - m[0, 0] * m[2, 1]) / det
    out[0, 2] = (m[0, 1] * m[1, 2] - m[1, 1] * m[0, 2]) / det
    out[1, 2] = (m[0, 2] * m[1, 0] - m[1, 2] * m[0, 0]) / det
    out[2, 2] = (m[0, 0] * m[1, 1] - m[1, 0] * m[0, 1]) / det


@njit
def locate_in_tetrahedra(
    points: np.ndarray, x: np.ndarray, elements: np.ndarray, best: np.ndarray, weights: np.ndarray
) -> None:
    """The tetrahedron in which each point lies deepest; the one of nearest centroid outside.

    Args:
        points: Points to place, shape (k, 3).
        x: Vertices, shape (n, 3).
        elements: Tetrahedra, shape (m, 4).
        best: Output, tetrahedron of each point or -1, shape (k,).
        weights: Output, weights of the tetrahedron's second to fourth vertex, shape (k, 3).
    """
    inverse, edges = np.empty((3, 3)), np.empty((3, 3))
    distance = np.full(points.shape[0], 1e10)
    best[:] = -1
    for e in range(elements.shape[0]):
        t = elements[e]
        for i in range(3):
            for j in range(3):
                edges[i, j] = x[t[j + 1], i] - x[t[0], i]
        _inverse(edges, inverse)
        for p in range(points.shape[0]):
            d0, d1, d2 = (
                points[p, 0] - x[t[0], 0],
                points[p, 1] - x[t[0], 1],
                points[p, 2] - x[t[0], 2],
            )
            w0 = inverse[0, 0] * d0 + inverse[0, 1] * d1 + inverse[0, 2] * d2
            w1 = inverse[1, 0] * d0 + inverse[1, 1] * d1 + inverse[1, 2] * d2
            w2 = inverse[2, 0] * d0 + inverse[2, 1] * d1 + inverse[2, 2] * d2
            d = max(max(-w0, -w1), max(-w2, w0 + w1 + w2 - 1.0))
            if d > 0.0:
                d = 0.0
                for i in range(3):
                    center = (x[t[0], i] + x[t[1], i] + x[t[2], i] + x[t[3], i]) / 4.0
                    d += (points[p, i] - center) ** 2
            if d < distance[p]:
                distance[p] = d
                best[p] = e
                weights[p, 0], weights[p, 1], weights[p, 2] = w0, w1, w2


@njit
def locate_in_triangles(
    points: np.ndarray, x: np.ndarray, elements: np.ndarray, best: np.ndarray, weights: np.ndarray
) -> None:
    """The triangle in which each point lies deepest; the one of nearest centroid outside.

    The third axis is ab cross ac; a point counts as inside within 1 % of its length.

    Args:
        points: Points to place, shape (k, 3).
        x: Vertices, shape (n, 3).
        elements: Triangles, shape (m, 3).
        best: Output, triangle of each point or -1, shape (k,).
        weights: Output, weights of the triangle's second and third vertex, shape (k, 2).
    """
    inverse, edges = np.empty((3, 3)), np.empty((3, 3))
    distance = np.full(points.shape[0], 1e10)
    best[:] = -1
    for e in range(elements.shape[0]):
        t = elements[e]
        for i in range(3):
            for j in range(2):
                edges[i, j] = x[t[j + 1], i] - x[t[0], i]
        for i in range(3):
            j, k = (i + 1) % 3, (i + 2) % 3
            edges[i, 2] = edges[j, 0] * edges[k, 1] - edges[k, 0] * edges[j, 1]
        _inverse(edges, inverse)
        for p in range(points.shape[0]):
            d0, d1, d2 = (
                points[p, 0] - x[t[0], 0],
                points[p, 1] - x[t[0], 1],
                points[p, 2] - x[t[0], 2],
            )
            w0 = inverse[0, 0] * d0 + inverse[0, 1] * d1 + inverse[0, 2] * d2
            w1 = inverse[1, 0] * d0 + inverse[1, 1] * d1 + inverse[1, 2] * d2
            w2 = inverse[2, 0] * d0 + inverse[2, 1] * d1 + inverse[2, 2] * d2
            d = max(max(-w0, -w1), max(abs(w2) - 0.01, w0 + w1 - 1.0))
            if d > 0.0:
                d = 0.0
                for i in range(3):
                    center = (x[t[0], i] + x[t[1], i] + x[t[2], i]) / 3.0
                    d += (points[p, i] - center) ** 2
            if d < distance[p]:
                distance[p] = d
                best[p] = e
                weights[p, 0], weights[p, 1] = w0, w1
