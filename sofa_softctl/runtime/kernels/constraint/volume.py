"""Volume inside a surface, with gradient."""

from __future__ import annotations

import numpy as np

from sofa_softctl.base.jit import njit


@njit
def _add_area(p: np.ndarray, q: np.ndarray, r: np.ndarray, factor: float, out: np.ndarray) -> None:
    """Add factor (q - p) x (r - p) to out: along the normal, twice the triangle's area long."""
    a0, a1, a2 = q[0] - p[0], q[1] - p[1], q[2] - p[2]
    b0, b1, b2 = r[0] - p[0], r[1] - p[1], r[2] - p[2]
    out[0] += factor * (a1 * b2 - a2 * b1)
    out[1] += factor * (a2 * b0 - a0 * b2)
    out[2] += factor * (a0 * b1 - a1 * b0)


@njit
def _volume_below(p: np.ndarray, q: np.ndarray, r: np.ndarray) -> float:
    """Return the volume between a triangle and the plane x = 0: projected area times mean x."""
    shadow = (q[1] - p[1]) * (r[2] - p[2]) - (r[1] - p[1]) * (q[2] - p[2])  # twice the area
    return shadow * (p[0] + q[0] + r[0]) / 6.0


@njit
def enclosed_volume(x: np.ndarray, triangles: np.ndarray, quads: np.ndarray) -> float:
    """Return the volume inside a closed surface, by the divergence theorem along x.

    Args:
        x: Positions, shape (n, 3).
        triangles: Vertices, shape (m, 3); outward normals (b - a) x (c - a) give positive volume.
        quads: Vertices, shape (k, 4), each cut along the diagonal from first to third vertex.

    Returns:
        Volume [length^3]; for an open surface the volume between it and the plane x = 0.

    Source: SoftRobots' SurfacePressureModel, there with its sign removed.
    """
    volume = 0.0
    for t in range(triangles.shape[0]):
        a, b, c = triangles[t, 0], triangles[t, 1], triangles[t, 2]
        volume += _volume_below(x[a], x[b], x[c])
    for t in range(quads.shape[0]):
        a, b, c, d = quads[t, 0], quads[t, 1], quads[t, 2], quads[t, 3]
        volume += _volume_below(x[a], x[b], x[c])
        volume += _volume_below(x[a], x[c], x[d])
    return volume


@njit
def volume_gradient(
    x: np.ndarray,
    nodes: np.ndarray,
    triangles: np.ndarray,
    quads: np.ndarray,
    sign: float,
    directions: np.ndarray,
) -> None:
    """Write the area of each node along the normal, the force of a unit pressure.

    A triangle gives a third of its area to each vertex, a quad a quarter. For closed triangles
    this is dV/dx; for quads only while they are parallelograms, as in SoftRobots.

    Args:
        x: Positions, shape (n, 3).
        nodes: Nodes of the surface, shape (k,).
        triangles, quads: Vertices as indices of `nodes`, shapes (m, 3), (l, 4).
        sign: 1, or -1 to flip all normals.
        directions: Output, shape (k, 3).

    Source: SoftRobots' SurfacePressureModel.
    """
    directions[:] = 0.0
    area = np.empty(3)
    for t in range(triangles.shape[0]):
        area[:] = 0.0
        i, j, k = triangles[t, 0], triangles[t, 1], triangles[t, 2]
        _add_area(x[nodes[i]], x[nodes[j]], x[nodes[k]], sign / 6.0, area)
        for v in range(3):
            directions[triangles[t, v]] += area
    for t in range(quads.shape[0]):
        area[:] = 0.0
        i, j, k, m = quads[t, 0], quads[t, 1], quads[t, 2], quads[t, 3]
        _add_area(x[nodes[i]], x[nodes[j]], x[nodes[m]], sign / 8.0, area)
        _add_area(x[nodes[k]], x[nodes[m]], x[nodes[j]], sign / 8.0, area)
        for v in range(4):
            directions[quads[t, v]] += area
