"""How often a planner asks for the mass matrix: what it would cost without a map of it."""

from __future__ import annotations

import numpy as np
from typing_extensions import override

from sofa_softctl.surrogate import Jet
from softctl_swimmer.planning.motion_map import MassMap

APART = 1e-4
"""Poses closer than this are one: those of differences [rad]."""


class CountedMasses:
    """A map of the mass matrix that counts the poses at which it is asked."""

    def __init__(self, masses: MassMap) -> None:
        self.masses = masses
        self.queries = 0
        """All, each a solution for a planner that keeps none."""
        self._known: set[bytes] = set()
        self._curved: set[bytes] = set()

    @property
    def distinct(self) -> int:
        """Poses for a planner that keeps them all, and has differences of slopes for nothing."""
        return len(self._known)

    @property
    def curved(self) -> int:
        """Those of them whose second derivatives it needs."""
        return len(self._curved)

    @override
    def at(self, points: np.ndarray) -> Jet:
        self._count(points, self._known)
        return self.masses.at(points)

    @override
    def curvature(self, points: np.ndarray, weights: np.ndarray) -> np.ndarray:
        self._count(points, self._curved)
        return self.masses.curvature(points, weights)

    def _count(self, points: np.ndarray, known: set[bytes]) -> None:
        self.queries += len(points)
        known.update(each.tobytes() for each in np.round(points / APART).astype(np.int32))
