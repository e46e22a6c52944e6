"""Counts of a planner's evaluations of the mass matrix: its cost without a map."""

from __future__ import annotations

import numpy as np
from typing_extensions import override

from sofa_softctl.surrogate import Jet
from softctl_swimmer.planning.motion_map import MassMap

POSE_TOLERANCE = 1e-4
"""Largest distance of poses that count as one, such as in finite differences [rad]."""


class CountedMasses:
    """A map of the mass matrix that counts the poses at which it is evaluated."""

    def __init__(self, masses: MassMap) -> None:
        self.masses = masses
        self.queries = 0
        """Number of all evaluations, each a solution for a planner that stores none."""
        self._poses: set[bytes] = set()
        self._curved: set[bytes] = set()

    @property
    def distinct(self) -> int:
        """Number of poses for a planner that stores them, without differences of slopes."""
        return len(self._poses)

    @property
    def curvature_poses(self) -> int:
        """Number of poses at which it needs second derivatives."""
        return len(self._curved)

    @override
    def at(self, points: np.ndarray) -> Jet:
        self._count(points, self._poses)
        return self.masses.at(points)

    @override
    def curvature(self, points: np.ndarray, weights: np.ndarray) -> np.ndarray:
        self._count(points, self._curved)
        return self.masses.curvature(points, weights)

    def _count(self, points: np.ndarray, poses: set[bytes]) -> None:
        self.queries += len(points)
        poses.update(pose.tobytes() for pose in np.round(points / POSE_TOLERANCE).astype(np.int32))
