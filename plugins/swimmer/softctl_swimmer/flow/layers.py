"""Single and double layer potentials of triangles at field points, and their gradients.

Summed over all triangles of a list; each edge and vertex is evaluated once for each field point.
Kernels: 1 / (4 pi R) and its derivative along the normal at the source.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from softctl_swimmer.flow.tables import TriangleTables
from softctl_swimmer.flow.triangle import (
    corner_weight_gradients,
    corner_weights,
    edge_gradients,
    edge_integrals,
    height_and_angle,
    seen_from,
)

_FACTOR = 1.0 / (4.0 * math.pi)


@njit(cache=True, error_model="numpy")
def layer_potentials(
    tables: TriangleTables, points: np.ndarray, densities: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Potentials of single and double layers at field points, exact up to rounding.

    Args:
        tables: The triangles (`triangle_tables`).
        points: Field points [m], shape (n, 3), anywhere; on a triangle: principal values.
        densities: Densities of the single layers at each triangle's corners, which may jump
            from triangle to triangle, shape (T, 3, m).

    Returns:
        Potential of each single layer [m density], shape (n, m).
        Potential of the double layer whose density is the hat function of each vertex [-], shape
        (n, P). Outside a closed surface its rows sum to 0, inside to -1.
    """
    flat = np.ascontiguousarray(densities).reshape(-1, densities.shape[2])
    weights = np.empty(len(flat))
    single = np.empty((len(points), flat.shape[1]))
    double = np.zeros((len(points), len(tables.vertices)))
    a, r = np.empty_like(tables.vertices), np.empty(len(tables.vertices))
    L, E = np.empty(len(tables.edges)), np.empty(len(tables.edges))
    S, D = np.empty(3), np.empty(3)
    for x in range(len(points)):
        seen_from(points[x], tables.vertices, a, r)
        edge_integrals(tables, a, r, L, E)
        for t in range(len(tables.triangles)):
            h, omega = height_and_angle(tables, t, a, r)
            corner_weights(tables, t, a, L, E, h, omega, S, D)
            for k in range(3):
                double[x, tables.triangles[t, k]] += _FACTOR * D[k]
                weights[3 * t + k] = _FACTOR * S[k]
        single[x] = weights @ flat
    return single, double


@njit(cache=True, error_model="numpy")
def layer_gradients(
    tables: TriangleTables, points: np.ndarray, densities: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Gradients by the field point of what `layer_potentials` returns; same arguments.

    Not defined on an edge (the double layer's is infinite there) nor, for the normal component of
    the single layer, on a triangle.

    Returns:
        Gradients of the single layers [density], shape (n, 3, m).
        Gradients of the double layers [1/m], shape (n, 3, P).
    """
    flat = np.ascontiguousarray(densities).reshape(-1, densities.shape[2])
    weights = np.empty((3, len(flat)))
    single = np.empty((len(points), 3, flat.shape[1]))
    double = np.zeros((len(points), 3, len(tables.vertices)))
    a, r = np.empty_like(tables.vertices), np.empty(len(tables.vertices))
    L, E = np.empty(len(tables.edges)), np.empty(len(tables.edges))
    dL, curl, dE = np.empty((len(L), 3)), np.empty((len(L), 3)), np.empty((len(L), 3))
    dS, dD = np.empty((3, 3)), np.empty((3, 3))
    for x in range(len(points)):
        seen_from(points[x], tables.vertices, a, r)
        edge_integrals(tables, a, r, L, E)
        edge_gradients(tables, a, r, L, dL, curl, dE)
        for t in range(len(tables.triangles)):
            h, omega = height_and_angle(tables, t, a, r)
            corner_weight_gradients(tables, t, a, L, E, dL, curl, dE, h, omega, dS, dD)
            for k in range(3):
                p = tables.triangles[t, k]
                for i in range(3):
                    double[x, i, p] += _FACTOR * dD[k, i]
                    weights[i, 3 * t + k] = _FACTOR * dS[k, i]
        single[x] = weights @ flat
    return single, double
