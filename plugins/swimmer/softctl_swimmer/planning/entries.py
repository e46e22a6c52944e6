"""The mass matrix as a costly map, to be interpolated by a `sofa_softctl.surrogate.Grid`."""

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

    It is a `sofa_softctl.surrogate.CostlyMap` for a grid, and also an exact map itself.
    """

    inertia: Inertia
    """Inertia of bodies and fluid."""
    slopes: bool = True
    """Whether samples have derivatives, which take most time; a `TensorSpline` needs none."""

    def __call__(self, angles: np.ndarray, near: Any = None) -> MapSample:
        """Return the entries at joint angles, as a `sofa_softctl.surrogate.CostlyMap`.

        Raises:
            MapError: Links touch there.
        """
        del near
        try:
            if not self.slopes:
                M = lower_triangle(self.inertia.mass(angles))
                return MapSample(M, np.empty((len(M), 0)))
            M, dM = self.inertia.at(angles)
        except SceneError as error:
            raise MapError(str(error)) from error
        return MapSample(lower_triangle(M), lower_triangle(dM))

    def at(self, points: np.ndarray) -> Jet:
        """Return entries (m, e) and their derivatives (m, e, n) at angles (m, n)."""
        samples = [self(point) for point in points]
        return Jet(np.array([s.value for s in samples]), np.array([s.gradient for s in samples]))

    def curvature(self, points: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return second derivatives of entries times weights (m, e), by differences, (m, n, n)."""
        columns = []
        for step in DIFFERENCE * np.eye(points.shape[1]):
            change = self.at(points + step).gradient - self.at(points - step).gradient
            columns.append(np.einsum("me,med->md", weights, change) / (2.0 * DIFFERENCE))
        total = np.stack(columns, axis=-1)
        symmetric: np.ndarray = 0.5 * (total + total.transpose(0, 2, 1))
        return symmetric


def lower_triangle(M: np.ndarray) -> np.ndarray:
    """Return the lower triangle of a symmetric matrix (k, k), or of its slopes (k, k, n)."""
    return M[np.tril_indices(M.shape[0])]
