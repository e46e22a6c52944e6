"""Obstacles by signed distance, with a hinge cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from sofa_softctl.surrogate.planning.probes import Probe


class Solid(Protocol):
    """A solid: positive distance outside, negative inside."""

    def distance(self, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Signed distance of points, shape (K, 3), and its gradient: (K,), (K, 3)."""
        ...


@dataclass(frozen=True)
class Sphere:
    """A ball."""

    center: tuple[float, float, float]
    """Centre [length]."""
    radius: float
    """Radius [length]."""

    def distance(self, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """See `Solid`. At the centre the direction is +x."""
        out = p - np.asarray(self.center)
        far = np.linalg.norm(out, axis=1)
        normal = np.where(far[:, None] > 0.0, out, [1.0, 0.0, 0.0])
        return far - self.radius, normal / np.linalg.norm(normal, axis=1, keepdims=True)


@dataclass(frozen=True)
class HalfSpace:
    """All points with normal . x <= offset |normal|: a floor or a wall."""

    normal: tuple[float, float, float]
    """Outward direction, of any length but 0."""
    offset: float
    """Distance of its surface from the origin along the normal [length]."""

    def distance(self, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """See `Solid`."""
        n = np.asarray(self.normal, float)
        n = n / np.linalg.norm(n)
        return p @ n - self.offset, np.broadcast_to(n, p.shape)


@dataclass(frozen=True)
class Box:
    """A box along the axes."""

    lower: tuple[float, float, float]
    """Corner of the smallest coordinates [length]."""
    upper: tuple[float, float, float]
    """Corner of the largest coordinates [length]."""

    def distance(self, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """See `Solid`. Outside, to the nearest point; inside, to the nearest face."""
        lower, upper = np.asarray(self.lower), np.asarray(self.upper)
        out = p - np.clip(p, lower, upper)
        far = np.linalg.norm(out, axis=1)
        faces = np.concatenate((lower - p, p - upper), axis=1)  # (K, 6), negative inside
        face = faces.argmax(axis=1)
        inside = np.concatenate((-np.eye(3), np.eye(3)))[face]
        outside = far > 0.0
        normal = np.where(outside[:, None], out / np.where(outside, far, 1.0)[:, None], inside)
        return np.where(outside, far, faces.max(axis=1)), normal


@dataclass(frozen=True, eq=False)
class Obstacle:
    """Cost weight * max(0, margin - distance) at every instant.

    The hinge is an exact penalty: a weight above the other terms' gain by entering keeps the point
    out. It acts at the K instants, not on the path between.

    Source: Schulman et al. 2014, "Motion planning with sequential convex optimization and convex
        collision checking", eq. (4), without its swept volumes.
    """

    probe: Probe
    """The point."""
    shape: Solid
    """The solid."""
    weight: float
    """Cost of depth inside the margin [cost / length]."""
    margin: float = 0.0
    """Distance to keep [length]."""

    @property
    def rows(self) -> tuple[int, ...]:
        """Rows of its outputs."""
        return self.probe.rows

    def violation(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """margin - distance [length], shape (K,), positive where too near; derivatives, (K, m)."""
        p, p_y = self.probe.locate(y)
        far, normal = self.shape.distance(p)
        return self.margin - far, -np.einsum("ki,kim->km", normal, p_y)
