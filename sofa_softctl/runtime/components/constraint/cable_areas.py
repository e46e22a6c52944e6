"""Areas of a surface around the points of a cable, which share its force."""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heappop, heappush

import numpy as np


@dataclass(frozen=True)
class Surface:
    """Vertices, edges and triangles of a surface."""

    x: np.ndarray
    """Positions [length], shape (n, 3)."""
    edges: np.ndarray
    """Vertices of each edge, shape (e, 2)."""
    triangles: np.ndarray
    """Vertices of each triangle, shape (t, 3)."""

    def nearest_vertices(self, points: np.ndarray) -> np.ndarray:
        """Return the vertex nearest to each of the points (m, 3), shape (m,)."""
        distances = np.linalg.norm(self.x[None] - points[:, None], axis=2)  # (m, n)
        return distances.argmin(axis=1)

    def project(self, point: np.ndarray, vertex: int) -> tuple[np.ndarray, np.ndarray, float]:
        """Project a point onto the triangles at a vertex.

        Returns:
            Vertices of the nearest of these triangles (3,), their distances from the projection
            (3,), and the distance of the point from its projection.
        """
        around = self.triangles[(self.triangles == vertex).any(axis=1)]
        points = np.array([_closest_point(point, self.x[triangle]) for triangle in around])
        distances = np.linalg.norm(points - point, axis=1)
        closest = int(distances.argmin())
        edge_distances = np.linalg.norm(self.x[around[closest]] - points[closest], axis=1)
        return around[closest], edge_distances, float(distances[closest])


def area_around(
    surface: Surface,
    vertex: int,
    radius: float,
    *,
    along_edges: bool,
    origin: np.ndarray,
    center: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return vertices within a radius that edges join to a vertex, and their weights.

    Weights are proportional to radius - distance.

    Args:
        surface: The surface.
        vertex: Start of the search.
        radius: The radius [length].
        along_edges: Measure distances along edges, from a centre over its projection; otherwise
            straight from the origin.
        origin: Position of the vertex [length], shape (3,).
        center: A point near the surface [length], shape (3,). As in SoftRobots, paths cross other
            corners of its triangle only if another path to them is shorter.

    Returns:
        Vertices (k,) and weights (k,), of sum 1; none if the radius is too short.

    Source: SoftRobots' CableModel.
    """
    distance = np.full(len(surface.x), radius)
    straight = np.linalg.norm(surface.x - origin, axis=1)
    if center is None:
        distance[vertex] = 0.0
    else:
        corners, to_corners, height = surface.project(center, vertex)
        distance[corners] = height + to_corners if along_edges else straight[corners]
    neighbours = _neighbours(surface.edges, len(surface.x))
    queue = [(float(distance[vertex]), vertex)]
    while queue:
        _, v = heappop(queue)
        for w in neighbours[v]:
            step = float(np.linalg.norm(surface.x[v] - surface.x[w]))
            d = float(distance[v]) + step if along_edges else float(straight[w])
            if d < distance[w]:
                distance[w] = d
                heappush(queue, (d, w))
    inside = np.flatnonzero(distance < radius)
    weights = radius - distance[inside]
    return inside, weights / weights.sum() if len(inside) else weights


def _neighbours(edges: np.ndarray, count: int) -> list[list[int]]:
    neighbours: list[list[int]] = [[] for _ in range(count)]
    for a, b in edges.tolist():
        neighbours[a].append(b)
        neighbours[b].append(a)
    return neighbours


def _closest_point(point: np.ndarray, corners: np.ndarray) -> np.ndarray:
    """Return the point of a triangle, corners (3, 3), that is nearest to a point (3,)."""
    origin, sides = corners[0], corners[1:] - corners[0]
    weights = np.linalg.lstsq(sides.T, point - origin, rcond=None)[0]
    if weights.min() >= 0.0 and weights.sum() <= 1.0:
        return origin + weights @ sides
    candidates = []
    for a, b in ((0, 1), (1, 2), (2, 0)):
        side = corners[b] - corners[a]
        length = side @ side
        fraction = (point - corners[a]) @ side / length if length else 0.0
        candidates.append(corners[a] + min(max(fraction, 0.0), 1.0) * side)
    return min(candidates, key=lambda place: float(np.linalg.norm(place - point)))
