"""Areas of a surface over which a cable spreads its force, around each of its points."""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heappop, heappush

import numpy as np


@dataclass(frozen=True)
class Surface:
    """Vertices of a surface, and what joins them."""

    x: np.ndarray
    """Positions [length], shape (n, 3)."""
    edges: np.ndarray
    """Vertices of each edge, shape (e, 2)."""
    triangles: np.ndarray
    """Vertices of each triangle, shape (t, 3)."""

    def nearest(self, points: np.ndarray) -> np.ndarray:
        """The vertex nearest to each of the points (m, 3), shape (m,)."""
        away = np.linalg.norm(self.x[None] - points[:, None], axis=2)  # (m, n)
        return away.argmin(axis=1)

    def projected(self, point: np.ndarray, vertex: int) -> tuple[np.ndarray, np.ndarray, float]:
        """The point's place on the triangles at a vertex.

        Returns:
            Vertices of the nearest of these triangles (3,), distance of each from the point's place
            on it (3,), and the point's distance from there.
        """
        around = self.triangles[(self.triangles == vertex).any(axis=1)]
        places = np.array([_place(point, self.x[triangle]) for triangle in around])
        away = np.linalg.norm(places - point, axis=1)
        found = int(away.argmin())
        along = np.linalg.norm(self.x[around[found]] - places[found], axis=1)
        return around[found], along, float(away[found])


def area_around(
    surface: Surface,
    vertex: int,
    radius: float,
    *,
    along: bool,
    origin: np.ndarray,
    center: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Vertices nearer than a radius that edges join to a vertex, and their shares of a force.

    A share falls from the vertex to 0 at the radius: proportional to radius - distance.

    Args:
        surface: The surface.
        vertex: Where the search starts.
        radius: The radius [length].
        along: Whether distances count along edges, from a given centre on over its place on the
            surface; otherwise straight from the origin.
        origin: Position of the vertex [length], shape (3,).
        center: A point beside the surface [length], shape (3,). As in SoftRobots, other corners of
            its triangle are passed through only where another way there is shorter.

    Returns:
        Vertices (k,) and shares (k,), which add up to 1; none where the radius is too short.

    Source: SoftRobots' CableModel.
    """
    distance = np.full(len(surface.x), radius)
    straight = np.linalg.norm(surface.x - origin, axis=1)
    if center is None:
        distance[vertex] = 0.0
    else:
        corners, from_place, away = surface.projected(center, vertex)
        distance[corners] = away + from_place if along else straight[corners]
    joined = _joined(surface.edges, len(surface.x))
    queue = [(float(distance[vertex]), vertex)]
    while queue:
        _, v = heappop(queue)
        for w in joined[v]:
            step = float(np.linalg.norm(surface.x[v] - surface.x[w]))
            d = float(distance[v]) + step if along else float(straight[w])
            if d < distance[w]:
                distance[w] = d
                heappush(queue, (d, w))
    inside = np.flatnonzero(distance < radius)
    shares = radius - distance[inside]
    return inside, shares / shares.sum() if len(inside) else shares


def _joined(edges: np.ndarray, count: int) -> list[list[int]]:
    found: list[list[int]] = [[] for _ in range(count)]
    for a, b in edges.tolist():
        found[a].append(b)
        found[b].append(a)
    return found


def _place(point: np.ndarray, corners: np.ndarray) -> np.ndarray:
    """The place of a triangle, corners (3, 3), that is nearest to a point (3,)."""
    origin, sides = corners[0], corners[1:] - corners[0]
    weights = np.linalg.lstsq(sides.T, point - origin, rcond=None)[0]
    if weights.min() >= 0.0 and weights.sum() <= 1.0:
        inside: np.ndarray = origin + weights @ sides
        return inside
    places = []
    for a, b in ((0, 1), (1, 2), (2, 0)):
        side = corners[b] - corners[a]
        length = side @ side
        part = (point - corners[a]) @ side / length if length else 0.0
        places.append(corners[a] + min(max(part, 0.0), 1.0) * side)
    return min(places, key=lambda place: float(np.linalg.norm(place - point)))
