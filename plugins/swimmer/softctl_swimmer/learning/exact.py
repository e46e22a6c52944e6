"""The flow itself as the mass matrix of a step: one solution per step, with help of the map."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from sofa_softctl.surrogate import Jet
from softctl_swimmer.planning.motion_map import MassMap

REUSE_DISTANCE = 2e-3
"""Largest distance at which a solution is reused for another pose [rad]."""


@dataclass(eq=False)
class NearbySolutions:
    """The exact `MassMap`, which reuses its last solutions at close poses.

    Newton's method evaluates very close poses. There the exact mass matrix is the map's value plus
    the map's error at the solution and the derivative of that error. The remaining error is the
    error of the map's curvature times the squared distance, far below the map's own error.
    """

    exact: MassMap
    """Map that solves the flow, such as `MassEntries`."""
    map: MassMap
    """Map that interpolates the flow's solutions."""
    solutions: int = 0
    """Number of solutions with slopes so far."""
    _known: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = field(default_factory=list)

    def at(self, points: np.ndarray) -> Jet:
        """Return entries and slopes at angles (m, n)."""
        pairs = [self._evaluate(point) for point in points]
        return Jet(*(np.array(arrays) for arrays in zip(*pairs, strict=True)))

    def curvature(self, points: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return the curvature of the map."""
        return self.map.curvature(points, weights)

    def _evaluate(self, point: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        mapped = self.map.at(point[None])
        if not np.isfinite(mapped.value).all():  # outside
            return mapped.value[0], mapped.gradient[0]
        for known_point, value, gradient in reversed(self._known):
            if (
                np.abs(point - known_point).max() <= REUSE_DISTANCE
            ):  # the map, corrected by its error at that point
                mapped_there = self.map.at(known_point[None])
                gradient_error = gradient - mapped_there.gradient[0]
                value_error = value - mapped_there.value[0] + gradient_error @ (point - known_point)
                return mapped.value[0] + value_error, mapped.gradient[0] + gradient_error
        jet = self.exact.at(point[None])
        self.solutions += 1
        self._known = [*self._known[-8:], (point.copy(), jet.value[0], jet.gradient[0])]
        return jet.value[0], jet.gradient[0]
