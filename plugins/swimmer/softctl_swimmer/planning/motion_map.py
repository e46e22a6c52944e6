"""A planner's model of a swimmer: coordinates, mass matrix and positions, with derivatives."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from typing_extensions import override

from sofa_softctl.surrogate import Jet
from softctl_swimmer.body import Swimmer
from softctl_swimmer.planning.poses import complex_slopes, hat, rotation

BASE, HINGES = slice(0, 6), slice(6, None)
"""Rows of coordinates and velocities that belong to link 0, and to the hinges."""
DIFFERENCE = 1e-6
"""Step of central differences of exact slopes, for curvatures [m] and [rad]."""


class MassMap(Protocol):
    """Angles (m, n) -> entries of the mass matrix, such as a `sofa_softctl.surrogate.Grid`."""

    def at(self, points: np.ndarray) -> Jet:
        """Return entries (m, e) and slopes (m, e, n), in the order of `entries.lower_triangle`."""
        ...

    def curvature(self, points: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Second derivatives of entries times weights (m, e), shape (m, n, n)."""
        ...


@dataclass(frozen=True)
class MotionMap:
    """`sofa_softctl.surrogate.Embedding` of coordinates a = (x, c, q), see `poses`.

    Outputs: the coordinates, the entries of M, the centre of mass [m], then the centre of each
    link and the nose, the tip of link 0 [m].
    """

    masses: MassMap
    """The mass matrix, exact or interpolated."""
    swimmer: Swimmer
    """The bodies."""

    @property
    def hinges(self) -> int:
        """Number n of hinges."""
        return self.swimmer.hinge_count

    @property
    def dimension(self) -> int:
        """Number 6 + n of coordinates."""
        return 6 + self.hinges

    @property
    def entries(self) -> int:
        """Number of entries of M."""
        return self.dimension * (self.dimension + 1) // 2

    @property
    def size(self) -> int:
        """Number of outputs."""
        return self.dimension + self.entries + 3 * (2 + len(self.swimmer.links))

    @property
    def centre(self) -> tuple[int, int, int]:
        """Outputs of the centre of mass."""
        return self._place(0)

    @property
    def nose(self) -> tuple[int, int, int]:
        """Outputs of the nose."""
        return self._place(1 + len(self.swimmer.links))

    def link(self, number: int) -> tuple[int, int, int]:
        """Outputs of the centre of a link."""
        return self._place(1 + range(len(self.swimmer.links))[number])

    @override
    def at(self, points: np.ndarray) -> Jet:
        angles, which = np.unique(points[:, HINGES], axis=0, return_inverse=True)
        jet = self.masses.at(angles)  # once for poses that differ only in link 0
        m, d = points.shape
        slope = np.zeros((m, self.size, d))
        slope[:, :d] = np.eye(d)
        slope[:, self._mass, HINGES] = jet.gradient[which]
        slope[:, self._mass.stop :] = complex_slopes(self.places, points)
        value = np.hstack((points, jet.value[which], self.places(points)))
        return Jet(value, slope)

    def curvature(self, points: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return second derivatives times weights; for positions by differences of exact slopes."""
        m, d = points.shape
        steps = DIFFERENCE * np.array((1.0, -1.0))[:, None, None, None] * np.eye(d)[:, None]
        slopes = complex_slopes(self.places, (points + steps).reshape(2 * d * m, d))
        slopes_plus, slopes_minus = slopes.reshape(2, d, m, -1, d)
        change = (slopes_plus - slopes_minus) / (2.0 * DIFFERENCE)  # (by d, m, places, by d)
        total = np.einsum("me,jmed->mdj", weights[:, self._mass.stop :], change, optimize=True)
        total = 0.5 * (total + total.transpose(0, 2, 1))
        total[:, HINGES, HINGES] += self.masses.curvature(
            points[:, HINGES], np.ascontiguousarray(weights[:, self._mass])
        )
        return total

    def mass(self, jet: Jet) -> np.ndarray:
        """Return M of a jet, shape (m, 6 + n, 6 + n)."""
        matrix: np.ndarray = jet.value[:, self._mass][:, self._entry]
        return matrix

    def mass_slope(self, jet: Jet) -> np.ndarray:
        """Return dM/dq of a jet, shape (m, 6 + n, 6 + n, n)."""
        slope: np.ndarray = jet.gradient[:, self._mass, HINGES][:, self._entry]
        return slope

    def mass_curvature(self, points: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return second derivatives of sum_ij weights_ij M_ij, weights symmetric, (m, n, n)."""
        i, j = np.tril_indices(self.dimension)
        entry_weights = weights[:, i, j] * np.where(i == j, 1.0, 2.0)
        return self.masses.curvature(points[:, HINGES], entry_weights)

    def places(self, a: np.ndarray) -> np.ndarray:
        """Return centre of mass, links' centres and nose in space [m], shape (m, 3 (N + 2))."""
        R0, x = rotation(a[:, 3:6]), a[:, :3]
        R: list[Any] = [np.broadcast_to(np.eye(3), R0.shape)]
        p: list[Any] = [np.zeros_like(x)]
        for k, hinge in enumerate(self.swimmer.hinges):
            rotated = R[hinge.parent] @ _turn(self._axes[k], a[:, 6 + k])
            joint = p[hinge.parent] + R[hinge.parent] @ np.array(hinge.in_parent)
            R.append(rotated)
            p.append(joint - rotated @ np.array(hinge.in_child))
        nose = np.array([self.swimmer.links[0].semi_axes[0], 0.0, 0.0])
        centre = sum(mass * point for mass, point in zip(self._mass_fractions, p, strict=True))
        local = [centre, *p, np.broadcast_to(nose, x.shape)]
        return np.hstack([x + (R0 @ point[:, :, None])[:, :, 0] for point in local])

    @property
    def _mass(self) -> slice:
        return slice(self.dimension, self.dimension + self.entries)

    def _place(self, number: int) -> tuple[int, int, int]:
        first = self._mass.stop + 3 * number
        return first, first + 1, first + 2

    @cached_property
    def _entry(self) -> np.ndarray:
        """Index of each element of M in its lower triangle, shape (6 + n, 6 + n)."""
        i, j = np.indices((self.dimension, self.dimension))
        row, column = np.maximum(i, j), np.minimum(i, j)
        return row * (row + 1) // 2 + column

    @cached_property
    def _axes(self) -> np.ndarray:
        axes = np.array([hinge.axis for hinge in self.swimmer.hinges], float)
        return axes / np.linalg.norm(axes, axis=1, keepdims=True)

    @cached_property
    def _mass_fractions(self) -> np.ndarray:
        masses = self.swimmer.link_inertias[:, 0, 0]
        return masses / masses.sum()


def _turn(axis: np.ndarray, angle: np.ndarray) -> np.ndarray:
    """Return rotations about an axis by angles (m,), shape (m, 3, 3) (Rodrigues)."""
    W = hat(axis[None])[0]
    sine, versine = np.sin(angle)[:, None, None], (1.0 - np.cos(angle))[:, None, None]
    return np.eye(3) + sine * W + versine * (W @ W)
