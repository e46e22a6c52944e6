"""Areas and volumes of surfaces, and their derivatives by the points.

A surface has patches: triangles (p, q, r) whose weighted area vectors act on receivers. A triangle
is one patch and gives 1/6 of (q - p) x (r - p), a third of its area, to each vertex; a quad is two
patches, (a, b, d) and (c, d, b), that give 1/8 to each of its vertices, as in `volume`.
"""

from __future__ import annotations

import numpy as np

from sofa_softctl.base.jit import njit


@njit
def _cross(a: np.ndarray, b: np.ndarray, factor: float, out: np.ndarray) -> None:
    """out += factor a x b."""
    out[0] += factor * (a[1] * b[2] - a[2] * b[1])
    out[1] += factor * (a[2] * b[0] - a[0] * b[2])
    out[2] += factor * (a[0] * b[1] - a[1] * b[0])


@njit
def add_areas(
    x: np.ndarray,
    patches: np.ndarray,
    receivers: np.ndarray,
    weights: np.ndarray,
    out: np.ndarray,
) -> None:
    """Add the area vectors that each point receives to out.

    Args:
        x: Points, shape (n, 3).
        patches: Points of the patches, shape (f, 3).
        receivers: Points that receive the area, shape (f, 4), -1 for none.
        weights: Weights of the areas, shape (f,), negative for flipped normals.
        out: Output, shape (n, 3).
    """
    area = np.empty(3)
    for f in range(patches.shape[0]):
        p, q, r = x[patches[f, 0]], x[patches[f, 1]], x[patches[f, 2]]
        area[:] = 0.0
        _cross(q - p, r - p, weights[f], area)
        for v in receivers[f]:
            if v >= 0:
                out[v] += area


@njit
def add_areas_change(
    x: np.ndarray,
    dx: np.ndarray,
    patches: np.ndarray,
    receivers: np.ndarray,
    weights: np.ndarray,
    out: np.ndarray,
) -> None:
    """Add the change of the areas of `add_areas` with the points by dx to out, shape (n, 3)."""
    area = np.empty(3)
    for f in range(patches.shape[0]):
        i, j, k = patches[f, 0], patches[f, 1], patches[f, 2]
        area[:] = 0.0
        _cross(dx[j] - dx[i], x[k] - x[i], weights[f], area)
        _cross(x[j] - x[i], dx[k] - dx[i], weights[f], area)
        for v in receivers[f]:
            if v >= 0:
                out[v] += area


@njit
def add_areas_transposed(
    x: np.ndarray,
    y: np.ndarray,
    patches: np.ndarray,
    receivers: np.ndarray,
    weights: np.ndarray,
    out: np.ndarray,
) -> None:
    """Add the derivative of sum(y . areas) by the points to out; y of shape (n, 3)."""
    total, by_q, by_r = np.empty(3), np.empty(3), np.empty(3)
    for f in range(patches.shape[0]):
        i, j, k = patches[f, 0], patches[f, 1], patches[f, 2]
        total[:] = 0.0
        for v in receivers[f]:
            if v >= 0:
                total += y[v]
        by_q[:] = 0.0
        by_r[:] = 0.0
        _cross(x[k] - x[i], total, weights[f], by_q)
        _cross(total, x[j] - x[i], weights[f], by_r)
        out[j] += by_q
        out[k] += by_r
        out[i] -= by_q + by_r


@njit
def add_volumes(
    x: np.ndarray, triangles: np.ndarray, owner: np.ndarray, out: np.ndarray, by_x: np.ndarray
) -> None:
    """Add signed volumes between surfaces and the plane x = 0 to out, derivatives to by_x.

    Args:
        x: Points, each of one surface, shape (n, 3).
        triangles: Triangles of all surfaces, shape (f, 3).
        owner: Surface of each triangle, shape (f,).
        out: Volumes, shape (k,); see `volume.enclosed_volume`.
        by_x: Derivatives of the volume of each point's surface, shape (n, 3).
    """
    for f in range(triangles.shape[0]):
        i, j, k = triangles[f, 0], triangles[f, 1], triangles[f, 2]
        y1, z1 = x[j, 1] - x[i, 1], x[j, 2] - x[i, 2]
        y2, z2 = x[k, 1] - x[i, 1], x[k, 2] - x[i, 2]
        shadow = (y1 * z2 - y2 * z1) / 6.0
        total = x[i, 0] + x[j, 0] + x[k, 0]
        out[owner[f]] += shadow * total
        total /= 6.0
        by_x[i, 0] += shadow
        by_x[j, 0] += shadow
        by_x[k, 0] += shadow
        by_x[i, 1] += total * (z1 - z2)
        by_x[i, 2] += total * (y2 - y1)
        by_x[j, 1] += total * z2
        by_x[j, 2] -= total * y2
        by_x[k, 1] -= total * z1
        by_x[k, 2] += total * y1
