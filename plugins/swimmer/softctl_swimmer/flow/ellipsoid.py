"""Triangle meshes of ellipsoids with any number of vertices, mirror-symmetric in y and z.

Rings of vertices around the x axis, each with a multiple of four vertices, four of them on the
planes y = 0 and z = 0. Each quarter between these planes is triangulated alike, so that both are
planes of mirror symmetry of the mesh, not only of the ellipsoid: a swimmer whose hinges all turn
about z then stays in the plane z = 0 to rounding. An end is closed by a pole, by a square or by an
edge, whichever makes the number of vertices come out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from sofa_softctl.errors import MeshError
from softctl_swimmer.flow.surface import Surface, checked_surface

VERTEX_COUNT = 353
"""Default number of vertices of a link; four links have the 1,412 of Jia, Pan, Manocha."""

RING_DENSITY = 1.0
"""Number of rings, relative to equal spacing of rings and of their vertices [-]."""

_ENDS = {0: ("square", "square"), 1: ("pole", "square"), 2: ("pole", "pole"), 3: ("edge", "pole")}
_END_SIZE = {"square": 0, "pole": 1, "edge": 2}


def ellipsoid_surface(
    semi_axes: Sequence[float], vertex_count: int = VERTEX_COUNT, *, same_volume: bool = True
) -> Surface:
    """Return a mesh of an ellipsoid centred at the origin, its axes along x, y and z.

    Args:
        semi_axes: Along x, y and z [m], shape (3,), positive.
        vertex_count: Number of vertices P, at least 6; there are 2 P - 4 triangles.
        same_volume: Scale the mesh to the ellipsoid's volume, so that vertices lie slightly outside
            of it; otherwise they lie on it. The error of the added mass is of second order either
            way, and several times smaller with the same volume.

    Raises:
        MeshError: There are fewer than 6 vertices, or the semi-axes are not three positive numbers.
    """
    axes = np.asarray(semi_axes, dtype=float)
    if axes.shape != (3,) or not (np.isfinite(axes) & (axes > 0)).all():
        raise MeshError(f"Semi-axes are {semi_axes}; expected three positive numbers [m].")
    if int(vertex_count) != vertex_count or vertex_count < 6:
        raise MeshError(f"An ellipsoid has {vertex_count} vertices; expected an integer >= 6.")
    points, triangles = _sphere(int(vertex_count))
    vertices = axes * points
    if same_volume:
        y = vertices[triangles]
        volume = np.einsum("ti,ti->", y[:, 0], np.cross(y[:, 1], y[:, 2])) / 6
        vertices = vertices * np.cbrt(4 / 3 * math.pi * axes.prod() / volume)
    return checked_surface(vertices, triangles, name="the ellipsoid's mesh")


def _sphere(count):
    """Return points on the unit sphere, of nearly equal areas, and their triangles."""
    first, last = _ENDS[count % 4]
    points = _end_points(first, count, 1.0)
    rings = []
    for k in _quarters((count - _END_SIZE[first] - _END_SIZE[last]) // 4):
        x = 1 - 2 * (len(points) + 2 * k) / count  # half of the ring's area lies before it
        rings.append(len(points) + np.arange(4 * k))
        points += _ring(x, k)
    end = len(points)
    points += _end_points(last, count, -1.0)
    triangles = _cap(first, 0, rings[0])
    for ring, next_ring in zip(rings, rings[1:], strict=False):
        triangles += _band(ring, next_ring)
    triangles += [(a, c, b) for a, b, c in _cap(last, end, rings[-1])]
    return np.array(points), np.array(triangles)


def _quarters(total):
    """Return the vertex count of each ring in one quarter, symmetric, with the sum `total`."""
    if total <= 2:
        return [1] * total
    count = max(3, 2 * round(math.sqrt(math.pi * total) / 2 * RING_DENSITY) + 1)
    if count > total:
        count -= 2
    half_count = count // 2
    weights = np.sin(math.pi * (np.arange(half_count) + 0.5) / count)
    ideal = total * weights / (2 * weights.sum() + 1)
    quarters = np.maximum(1, np.round(ideal)).astype(int)
    quarters[0] = 1  # as every kind of end expects
    middle = total - 2 * quarters.sum()
    while half_count > 1 and abs(middle - quarters[-1]) > 1:  # rounding has gone one way
        step = 1 if middle > quarters[-1] else -1
        change = 1 + np.argmax(step * (ideal - quarters)[1:])
        quarters[change] += step
        middle -= 2 * step
    return [*quarters.tolist(), int(middle), *quarters[::-1].tolist()]


def _ring(x, k):
    """Return the points of a ring around the x axis, exactly symmetric in y and z."""
    radius = math.sqrt(1 - x * x)
    c = [radius * math.cos(math.pi * j / (2 * k)) for j in range(k)] + [0.0]
    turns = ((1, 0, 0, 1), (0, -1, 1, 0), (-1, 0, 0, -1), (0, 1, -1, 0))
    return [
        (x, p * c[j] + q * c[k - j], r * c[j] + s * c[k - j])
        for p, q, r, s in turns
        for j in range(k)
    ]


def _band(first_ring, second_ring):
    """Return the triangles between two rings; each uses the shorter diagonal."""
    k, m = len(first_ring) // 4, len(second_ring) // 4
    i = j = 0
    quarter = []
    while i < k or j < m:
        if j == m or (i < k and (i + 1) * m - j * k <= (j + 1) * k - i * m):
            quarter.append(((0, i), (1, j), (0, i + 1)))
            i += 1
        else:
            quarter.append(((0, i), (1, j), (1, j + 1)))
            j += 1
    rings = (first_ring, second_ring)

    def vertex(corner, sense, start):
        ring, index = corner
        n = len(rings[ring])
        return rings[ring][(start * n // 2 + sense * index) % n]

    triangles = []
    for start in (0, 1):  # the quarters that meet at +y, then those that meet at -y
        for a, b, c in quarter:
            triangles.append(tuple(vertex(corner, 1, start) for corner in (a, b, c)))
            triangles.append(tuple(vertex(corner, -1, start) for corner in (a, c, b)))
    return triangles


def _end_points(end, count, sense):
    """Return the points outside of the outermost ring at the end x = sense."""
    if end == "pole":
        return [(sense, 0.0, 0.0)]
    if end == "edge":
        x = 1 - 2 / count
        y = math.sqrt(1 - x * x)
        return [(sense * x, y, 0.0), (sense * x, -y, 0.0)]
    return []


def _cap(end, start, ring):
    """Return the triangles outside of the outermost ring, counter-clockwise seen from +x."""
    if end == "pole":
        return [(start, a, b) for a, b in zip(ring, np.roll(ring, -1), strict=True)]
    r0, r1, r2, r3 = ring
    if end == "square":
        return [(r0, r1, r2), (r0, r2, r3)]
    p, q = start, start + 1
    return [(p, r0, r1), (p, r1, q), (q, r1, r2), (q, r2, r3), (q, r3, p), (p, r3, r0)]
