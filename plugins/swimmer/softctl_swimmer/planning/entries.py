"""The mass matrix as a costly map, for a `sofa_softctl.surrogate.Grid` in its place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sofa_softctl.errors import MapError, SceneError
from sofa_softctl.surrogate import Jet, MapSample
from softctl_swimmer.motion.inertia import Inertia

DIFFERENCE = 1e-4
"""Step of central differences of exact slopes, for curvatures [rad]."""


@dataclass(frozen=True)
class MassEntries:
    """Joint angles -> entries of M(q), the lower triangle, with their derivatives.

    `sofa_softctl.surrogate.CostlyMap` of a grid; and a map itself, exact at every point.
    """

    inertia: Inertia
    """Of bodies and fluid."""
    slopes: bool = True
    """Whether samples have derivatives; a `TensorSpline` needs none, and they take most time."""

    def __call__(self, angles: np.ndarray, near: Any = None) -> MapSample:
        """See `sofa_softctl.surrogate.CostlyMap`.

        Raises:
            MapError: Links touch there.
        """
        del near
        try:
            if not self.slopes:
                M = packed(self.inertia.mass(angles))
                return MapSample(M, np.empty((len(M), 0)))
            M, dM = self.inertia.at(angles)
        except SceneError as error:
            raise MapError(str(error)) from error
        return MapSample(packed(M), packed(dM))

    def at(self, points: np.ndarray) -> Jet:
        """Entries (m, e) and their derivatives (m, e, n) at angles (m, n)."""
        found = [self(each) for each in points]
        return Jet(np.array([s.value for s in found]), np.array([s.gradient for s in found]))

    def curvature(self, points: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Second derivatives of entries times weights (m, e), by differences, shape (m, n, n)."""
        columns = []
        for step in DIFFERENCE * np.eye(points.shape[1]):
            change = self.at(points + step).gradient - self.at(points - step).gradient
            columns.append(np.einsum("me,med->md", weights, change) / (2.0 * DIFFERENCE))
        total = np.stack(columns, axis=-1)
        found: np.ndarray = 0.5 * (total + total.transpose(0, 2, 1))
        return found


def packed(M: np.ndarray) -> np.ndarray:
    """Lower triangle of a symmetric matrix (k, k), row by row, or of its slopes (k, k, n)."""
    return M[np.tril_indices(M.shape[0])]
