"""Convex solids by their signed distance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np


class Solid(Protocol):
    """A convex solid; give one that is not as several obstacles, its convex parts."""

    def distance(self, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Signed distance of points, shape (K, 3), and its gradient: (K,), (K, 3).

        Positive outside, negative inside.
        """
        ...


@dataclass(frozen=True)
class Sphere:
    """A ball."""

    center: tuple[float, float, float]
    """Centre [length]."""
    radius: float
    """Radius [length]."""

    def __post_init__(self) -> None:
        if not (np.isfinite(self.center).all() and 0.0 < self.radius < np.inf):
            raise ValueError(f"a Sphere needs a finite centre and a positive radius. Got: {self}")

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

    def __post_init__(self) -> None:
        if not (np.isfinite((*self.normal, self.offset)).all() and np.any(self.normal)):
            raise ValueError(
                f"a HalfSpace needs a normal that is not 0 and finite numbers. Got: {self}"
            )

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

    def __post_init__(self) -> None:
        if not np.all(np.asarray(self.lower) <= np.asarray(self.upper)):
            raise ValueError(f"lower must not be above upper. Got: {self}")

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
