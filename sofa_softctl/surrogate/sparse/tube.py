"""Region within a distance of a trajectory."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Tube:
    """Points within `width` of the polygonal line through the points of a trajectory."""

    motion: np.ndarray
    """Points of the trajectory, in order [input], shape (K, d)."""
    width: float
    """Largest distance [input]."""

    def is_same(self, tube: Tube | None) -> bool:
        """Return True if another tube is the same."""
        return (
            tube is not None
            and self.width == tube.width
            and np.array_equal(self.motion, tube.motion)
        )

    def distance(self, points: np.ndarray) -> np.ndarray:
        """Return the distance of points (m, d) from the line, shape (m,)."""
        first = self.motion[:-1] if len(self.motion) > 1 else self.motion
        segments = np.diff(self.motion, axis=0) if len(self.motion) > 1 else 0.0 * first
        squares = np.maximum(np.sum(segments**2, axis=1), 1e-300)  # instants at rest have no way
        offsets = points[:, None] - first  # (m, K - 1, d)
        along = np.clip(np.einsum("mkd,kd->mk", offsets, segments) / squares, 0.0, 1.0)
        distances: np.ndarray = np.linalg.norm(offsets - along[..., None] * segments, axis=2).min(
            axis=1
        )
        return distances

    def covers(self, points: np.ndarray, factor: float = 1.0) -> np.ndarray:
        """Return a mask of points (m, d) within `factor` times the width, shape (m,)."""
        inside: np.ndarray = self.distance(points) <= factor * self.width * (1.0 + 1e-9)
        return inside

    def draw(self, count: int, rng: np.random.Generator) -> np.ndarray:
        """Draw random points in the tube, shape (count, d), spread over the length of the line."""
        d = self.motion.shape[1]
        step = np.linalg.norm(np.diff(self.motion, axis=0), axis=1)
        length = np.concatenate(([0.0], np.cumsum(step)))
        along = (rng.permutation(count) + rng.uniform(size=count)) / count * length[-1]
        center = np.stack(
            [np.interp(along, length, coordinate) for coordinate in self.motion.T], axis=1
        )
        offset = rng.normal(size=(count, d))
        offset *= (rng.uniform(size=count) ** (1.0 / d) / np.linalg.norm(offset, axis=1))[:, None]
        return center + self.width * offset
