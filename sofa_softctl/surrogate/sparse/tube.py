"""The region around a motion: all points within a distance of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Tube:
    """Points no further than `width` from the line through a motion's points."""

    motion: np.ndarray
    """Points of the motion, in order [input], shape (K, d)."""
    width: float
    """Largest distance [input]."""

    def same(self, other: Tube | None) -> bool:
        """Whether another one is the same."""
        return (
            other is not None
            and self.width == other.width
            and np.array_equal(self.motion, other.motion)
        )

    def distance(self, points: np.ndarray) -> np.ndarray:
        """Distance of points (m, d) from the line, shape (m,)."""
        first = self.motion[:-1] if len(self.motion) > 1 else self.motion
        way = np.diff(self.motion, axis=0) if len(self.motion) > 1 else 0.0 * first
        squares = np.maximum(np.sum(way**2, axis=1), 1e-300)  # instants at rest have no way
        apart = points[:, None] - first  # (m, K - 1, d)
        along = np.clip(np.einsum("mkd,kd->mk", apart, way) / squares, 0.0, 1.0)
        found: np.ndarray = np.linalg.norm(apart - along[..., None] * way, axis=2).min(axis=1)
        return found

    def covers(self, points: np.ndarray, factor: float = 1.0) -> np.ndarray:
        """Whether points (m, d) are within `factor` times the width, shape (m,)."""
        inside: np.ndarray = self.distance(points) <= factor * self.width * (1.0 + 1e-9)
        return inside

    def draw(self, count: int, rng: np.random.Generator) -> np.ndarray:
        """Random points in the tube, shape (count, d), spread over the length of the motion."""
        d = self.motion.shape[1]
        step = np.linalg.norm(np.diff(self.motion, axis=0), axis=1)
        length = np.concatenate(([0.0], np.cumsum(step)))
        along = (rng.permutation(count) + rng.uniform(size=count)) / count * length[-1]
        center = np.stack([np.interp(along, length, each) for each in self.motion.T], axis=1)
        way = rng.normal(size=(count, d))
        way *= (rng.uniform(size=count) ** (1.0 / d) / np.linalg.norm(way, axis=1))[:, None]
        return center + self.width * way
