"""The flow itself as the mass matrix of a step: one solution a step, where the map is near."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from sofa_softctl.surrogate import Jet
from softctl_swimmer.planning.motion_map import MassMap

NEAR = 2e-3
"""Distance within which a solution serves another pose [rad]."""


@dataclass(eq=False)
class NearbySolutions:
    """`MassMap`: the exact one, whose last solutions serve poses next to them.

    Newton's method asks for poses a hair apart. There the exact mass matrix is the map's, plus what
    the map lacks at the solution, plus the slopes of that: off by the error of the map's curvature
    times the square of the distance, far less than the map's own error.
    """

    exact: MassMap
    """Solves the flow, such as `MassEntries`."""
    map: MassMap
    """Interpolates it."""
    solutions: int = 0
    """Solutions with slopes so far."""
    _known: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = field(default_factory=list)

    def at(self, points: np.ndarray) -> Jet:
        """Entries and slopes at angles (m, n)."""
        found = [self._one(point) for point in points]
        return Jet(*(np.array(each) for each in zip(*found, strict=True)))

    def curvature(self, points: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """The map's."""
        return self.map.curvature(points, weights)

    def _one(self, point: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        mapped = self.map.at(point[None])
        if not np.isfinite(mapped.value).all():  # outside
            return mapped.value[0], mapped.gradient[0]
        for place, value, gradient in reversed(self._known):
            if np.abs(point - place).max() <= NEAR:  # the map, and what it lacks at that place
                there = self.map.at(place[None])
                lack = gradient - there.gradient[0]
                lacks = value - there.value[0] + lack @ (point - place)
                return mapped.value[0] + lacks, mapped.gradient[0] + lack
        jet = self.exact.at(point[None])
        self.solutions += 1
        self._known = [*self._known[-8:], (point.copy(), jet.value[0], jet.gradient[0])]
        return jet.value[0], jet.gradient[0]
