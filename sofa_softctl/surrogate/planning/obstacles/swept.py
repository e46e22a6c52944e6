"""Distance of a solid from the straight way of a point between two instants."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sofa_softctl.surrogate.planning.obstacles.solids import Box, Solid

_HALVINGS = 40  # of a way, to its nearest point: to 1e-12 of its length
_FACES = np.concatenate((np.eye(3), -np.eye(3)))  # normals of a box
_EDGES = np.eye(3)  # directions of its edges


class Nearest(NamedTuple):
    """The points of m ways that are nearest to a solid, or deepest in it."""

    share: np.ndarray
    """How far on its way each is: 0 at the start, 1 at the end [-], shape (m,)."""
    distance: np.ndarray
    """Its signed distance [length], shape (m,)."""
    normal: np.ndarray
    """Gradient of the distance there [-], shape (m, 3)."""


class Swept(NamedTuple):
    """Signed distance of m ways: negative by the shortest displacement that frees a way."""

    distance: np.ndarray
    """Distance [length], shape (m,)."""
    by_start: np.ndarray
    """Its gradient by the starts [-], shape (m, 3)."""
    by_end: np.ndarray
    """Its gradient by the ends [-], shape (m, 3)."""


def nearest(shape: Solid, start: np.ndarray, end: np.ndarray) -> Nearest:
    """Nearest points of straight ways from `start` to `end`, shape (m, 3) each, to a solid.

    Bisection of the distance's slope along the way, which rises where the solid is convex.
    """
    way = end - start
    low, high = np.zeros(len(way)), np.ones(len(way))
    for _ in range(_HALVINGS):
        share = 0.5 * (low + high)
        _, normal = shape.distance(start + share[:, None] * way)
        approaches = np.einsum("mi,mi->m", normal, way) < 0.0
        low, high = np.where(approaches, share, low), np.where(approaches, high, share)
    shares = np.stack((np.zeros(len(way)), np.ones(len(way)), 0.5 * (low + high)))
    found = [shape.distance(start + share[:, None] * way) for share in shares]
    distance = np.stack([far for far, _ in found])  # (3, m)
    best, every = distance.argmin(axis=0), np.arange(len(way))
    normal = np.stack([normal for _, normal in found])[best, every]
    return Nearest(shares[best, every], distance[best, every], normal)


def swept(shape: Solid, start: np.ndarray, end: np.ndarray) -> Swept:
    """Signed distance of the way between two points, shape (m, 3) each, with its gradient.

    Source: Schulman et al. 2014, section V: the distance of the points' convex hull, here a
        segment, and its gradient shared among the points as they support the nearest one.
    """
    share, distance, normal = nearest(shape, start, end)
    by_end = share[:, None] * normal
    by_start = normal - by_end
    if isinstance(shape, Box) and (distance < 0.0).any():
        # Between two faces of a thin wall the nearest one changes: the way has to leave as a whole.
        apart = _way_out(shape, start, end)
        inside = (distance < 0.0)[:, None]
        distance = np.where(inside[:, 0], apart.distance, distance)
        by_start = np.where(inside, apart.by_start, by_start)
        by_end = np.where(inside, apart.by_end, by_end)
    return Swept(distance, by_start, by_end)


def _way_out(box: Box, start: np.ndarray, end: np.ndarray) -> Swept:
    """Signed distance of ways that meet a box: the largest separation along its possible normals.

    They are the box's faces, and the planes of the way with each edge (separating axis theorem).
    """
    way, m = end - start, len(start)
    across = np.cross(_EDGES, way[:, None])  # (m, 3, 3)
    size = np.linalg.norm(across, axis=2, keepdims=True)
    across = np.where(size > 0.0, across / np.where(size > 0.0, size, 1.0), np.nan)
    n = np.concatenate((np.broadcast_to(_FACES, (m, 6, 3)), across, -across), axis=1)  # (m, 12, 3)
    corner = np.where(n > 0.0, np.asarray(box.upper, float), np.asarray(box.lower, float))
    ends = np.stack((start, end))[:, :, None]  # (2, m, 1, 3)
    apart = np.einsum("mci,emci->emc", n, ends - corner)  # (2, m, 12)
    best = np.nan_to_num(apart.min(axis=0), nan=-np.inf).argmax(axis=1)
    every = np.arange(m)
    distance, normal = apart.min(axis=0)[every, best], n[every, best]
    # On an edge the way is met at the foot of the corner, seen along the edge.
    flat = np.where(_EDGES[best % 3] > 0.0, 0.0, way)
    along = np.einsum("mi,mi->m", corner[every, best] - start, flat)
    length = np.einsum("mi,mi->m", flat, flat)
    foot = np.clip(along / np.where(length > 0.0, length, 1.0), 0.0, 1.0)
    share = np.where(best < 6, apart[:, every, best].argmin(axis=0), foot)[:, None]
    return Swept(distance, (1.0 - share) * normal, share * normal)
