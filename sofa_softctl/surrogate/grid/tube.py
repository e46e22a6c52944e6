"""The region around a motion: all points that are near it in every coordinate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Tube:
    """Points no further than `width` from a motion, in each coordinate."""

    motion: np.ndarray
    """Points of the motion, in order [input], shape (K, d)."""
    width: float
    """Half the edge of the box around each [input]."""

    def distance(self, points: np.ndarray) -> np.ndarray:
        """Distance of points (m, d) from the motion's nearest point, the largest of coordinates."""
        apart = np.empty((len(points), len(self.motion)))
        for k, point in enumerate(points):
            apart[k] = np.abs(self.motion - point).max(axis=1)
        found: np.ndarray = apart.min(axis=1)
        return found

    def covers(self, points: np.ndarray, factor: float = 1.0) -> np.ndarray:
        """Whether points (m, d) are within `factor` times the width, shape (m,)."""
        inside: np.ndarray = self.distance(points) <= factor * self.width * (1.0 + 1e-9)
        return inside

    def draw(self, count: int, rng: np.random.Generator) -> np.ndarray:
        """Random points (count, d): spread over the motion's length, in balls of the width around.

        In many dimensions a box is almost all corners, which motions do not come to.
        """
        d = self.motion.shape[1]
        step = np.linalg.norm(np.diff(self.motion, axis=0), axis=1)
        length = np.concatenate(([0.0], np.cumsum(step)))
        along = (rng.permutation(count) + rng.uniform(size=count)) / count * length[-1]
        center = np.stack([np.interp(along, length, each) for each in self.motion.T], axis=1)
        way = rng.normal(size=(count, d))
        way *= (rng.uniform(size=count) ** (1.0 / d) / np.linalg.norm(way, axis=1))[:, None]
        return center + self.width * way
