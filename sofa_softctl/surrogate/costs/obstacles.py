"""Obstacles of points with a hinge cost, convex solids, and their distance from segments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from sofa_softctl.surrogate.costs.costs import Probe


@dataclass(frozen=True, eq=False)
class Obstacle:
    """Cost weight * max(0, margin - distance) at every instant.

    The hinge is an exact penalty: a weight above the gain of the other terms by entering keeps the
    point out. With `between`, straight segments between instants also cost weight times their depth
    in the solid, so that no point jumps through a wall.

    Source: Schulman et al. 2014, "Motion planning with sequential convex optimization and convex
        collision checking", eq. (4), and section V for the segments between instants.
    """

    probe: Probe
    """Point to keep away."""
    shape: Solid
    """Solid that is the obstacle."""
    weight: float
    """Cost of depth inside the margin [cost / length]."""
    margin: float = 0.0
    """Distance to keep [length]."""
    between: bool = False
    """Whether segments between instants also cost; planning sets it if a plan would pass
    through."""

    def __post_init__(self) -> None:
        if not (0.0 < self.weight < np.inf and 0.0 <= self.margin < np.inf):
            raise ValueError(
                "an Obstacle needs a positive weight, and a margin that is not negative. Got: "
                f"weight {self.weight}, margin {self.margin}"
            )

    @property
    def rows(self) -> tuple[int, ...]:
        """Rows of the outputs."""
        return self.probe.rows

    def violation(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return margin - distance [length], shape (K,), positive if near, and derivatives."""
        p, p_y = self.probe.locate(y)
        distance, normal = self.shape.distance(p)
        return self.margin - distance, -np.einsum("ki,kim->km", normal, p_y)

    def violation_between(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the depth of the straight segments between instants in the solid.

        Returns:
            -distance [length], shape (K - 1,), positive inside; derivatives by the outputs at the
            start of each segment, (K - 1, m), and at its end, (K - 1, m).
        """
        p, p_y = self.probe.locate(y)
        segments = measure_segments(self.shape, p[:-1], p[1:])
        by_start = -np.einsum("ki,kim->km", segments.by_start, p_y[:-1])
        return -segments.distance, by_start, -np.einsum("ki,kim->km", segments.by_end, p_y[1:])

    def depth(self, y: np.ndarray) -> np.ndarray:
        """Return the depths in the margin at instants 2 to K, then of segments if these cost."""
        depths = self.violation(y[1:])[0]
        return np.concatenate((depths, self.violation_between(y)[0])) if self.between else depths


class Solid(Protocol):
    """Convex solid; split other solids into several obstacles with convex parts."""

    def distance(self, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the signed distance of points (K, 3) and its gradient: (K,), (K, 3).

        Positive outside, negative inside.
        """
        ...


@dataclass(frozen=True)
class Sphere:
    """Ball."""

    center: tuple[float, float, float]
    """Centre [length]."""
    radius: float
    """Radius [length]."""

    def __post_init__(self) -> None:
        if not (np.isfinite(self.center).all() and 0.0 < self.radius < np.inf):
            raise ValueError(f"a Sphere needs a finite centre and a positive radius. Got: {self}")

    def distance(self, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the signed distance and its gradient, which is +x at the centre."""
        from_centre = p - np.asarray(self.center)
        centre_distance = np.linalg.norm(from_centre, axis=1)
        normal = np.where(centre_distance[:, None] > 0.0, from_centre, [1.0, 0.0, 0.0])
        return centre_distance - self.radius, normal / np.linalg.norm(normal, axis=1, keepdims=True)


@dataclass(frozen=True)
class HalfSpace:
    """All points with normal . x <= offset |normal|, such as a floor or a wall."""

    normal: tuple[float, float, float]
    """Outward direction, of any length but 0."""
    offset: float
    """Distance of its surface from the origin along the normal [length]."""

    def __post_init__(self) -> None:
        if not (np.isfinite((*self.normal, self.offset)).all() and np.any(self.normal)):
            raise ValueError(
                f"a HalfSpace needs a normal that is not 0 and finite numbers. Got: {self}"
            )

    def distance(self, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the signed distance of points (K, 3) and its gradient: (K,), (K, 3)."""
        n = np.asarray(self.normal, float)
        n = n / np.linalg.norm(n)
        return p @ n - self.offset, np.broadcast_to(n, p.shape)


@dataclass(frozen=True)
class Box:
    """Box along the axes."""

    lower: tuple[float, float, float]
    """Corner of the smallest coordinates [length]."""
    upper: tuple[float, float, float]
    """Corner of the largest coordinates [length]."""

    def __post_init__(self) -> None:
        if not np.all(np.asarray(self.lower) <= np.asarray(self.upper)):
            raise ValueError(f"lower must not be above upper. Got: {self}")

    def distance(self, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the signed distance to the nearest point outside, or nearest face inside."""
        lower, upper = np.asarray(self.lower), np.asarray(self.upper)
        from_box = p - np.clip(p, lower, upper)
        box_distance = np.linalg.norm(from_box, axis=1)
        faces = np.concatenate((lower - p, p - upper), axis=1)  # (K, 6), negative inside
        face = faces.argmax(axis=1)
        inner_normal = np.concatenate((-np.eye(3), np.eye(3)))[face]
        is_outside = box_distance > 0.0
        normal = np.where(
            is_outside[:, None],
            from_box / np.where(is_outside, box_distance, 1.0)[:, None],
            inner_normal,
        )
        return np.where(is_outside, box_distance, faces.max(axis=1)), normal


HALVINGS = 40  # of a way, to its nearest point: to 1e-12 of its length
_FACES = np.concatenate((np.eye(3), -np.eye(3)))  # normals of a box
_EDGES = np.eye(3)  # directions of its edges


class NearestPoints(NamedTuple):
    """Points of m segments that are nearest to a solid, or deepest in it."""

    fraction: np.ndarray
    """Position on the segment, 0 at the start, 1 at the end [-], shape (m,)."""
    distance: np.ndarray
    """Signed distance of each point [length], shape (m,)."""
    normal: np.ndarray
    """Gradient of the distance at each point [-], shape (m, 3)."""


class SegmentDistance(NamedTuple):
    """Signed distance of m segments; inside, minus the shortest displacement that frees one."""

    distance: np.ndarray
    """Distance [length], shape (m,)."""
    by_start: np.ndarray
    """Gradient of the distance by the starts [-], shape (m, 3)."""
    by_end: np.ndarray
    """Gradient of the distance by the ends [-], shape (m, 3)."""


def find_nearest_points(shape: Solid, start: np.ndarray, end: np.ndarray) -> NearestPoints:
    """Find the points nearest to a solid on segments from `start` to `end`, shape (m, 3) each.

    The slope of the distance along a segment increases for convex solids, and is bisected.
    """
    way = end - start
    low, high = np.zeros(len(way)), np.ones(len(way))
    for _ in range(HALVINGS):
        fraction = 0.5 * (low + high)
        _, normal = shape.distance(start + fraction[:, None] * way)
        approaches = np.einsum("mi,mi->m", normal, way) < 0.0
        low, high = np.where(approaches, fraction, low), np.where(approaches, high, fraction)
    fractions = np.stack((np.zeros(len(way)), np.ones(len(way)), 0.5 * (low + high)))
    samples = [shape.distance(start + fraction[:, None] * way) for fraction in fractions]
    distance = np.stack([distance_k for distance_k, _ in samples])  # (3, m)
    best, indices = distance.argmin(axis=0), np.arange(len(way))
    normal = np.stack([normal for _, normal in samples])[best, indices]
    return NearestPoints(fractions[best, indices], distance[best, indices], normal)


def measure_segments(shape: Solid, start: np.ndarray, end: np.ndarray) -> SegmentDistance:
    """Signed distance of the way between two points, shape (m, 3) each, with its gradient.

    Source: Schulman et al. 2014, section V: the distance of the points' convex hull, here a
        segment, and its gradient shared among the points as they support the nearest one.
    """
    fraction, distance, normal = find_nearest_points(shape, start, end)
    by_end = fraction[:, None] * normal
    by_start = normal - by_end
    if isinstance(shape, Box) and (distance < 0.0).any():
        # Between two faces of a thin wall the nearest one changes: the way has to leave as a whole.
        separation = _way_out(shape, start, end)
        inside = (distance < 0.0)[:, None]
        distance = np.where(inside[:, 0], separation.distance, distance)
        by_start = np.where(inside, separation.by_start, by_start)
        by_end = np.where(inside, separation.by_end, by_end)
    return SegmentDistance(distance, by_start, by_end)


def _way_out(box: Box, start: np.ndarray, end: np.ndarray) -> SegmentDistance:
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
    separation = np.einsum("mci,emci->emc", n, ends - corner)  # (2, m, 12)
    best = np.nan_to_num(separation.min(axis=0), nan=-np.inf).argmax(axis=1)
    indices = np.arange(m)
    distance, normal = separation.min(axis=0)[indices, best], n[indices, best]
    # On an edge the way is met at the foot of the corner, seen along the edge.
    flat = np.where(_EDGES[best % 3] > 0.0, 0.0, way)
    along = np.einsum("mi,mi->m", corner[indices, best] - start, flat)
    length = np.einsum("mi,mi->m", flat, flat)
    foot = np.clip(along / np.where(length > 0.0, length, 1.0), 0.0, 1.0)
    fraction = np.where(best < 6, separation[:, indices, best].argmin(axis=0), foot)[:, None]
    return SegmentDistance(distance, (1.0 - fraction) * normal, fraction * normal)
