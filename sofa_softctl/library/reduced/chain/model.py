"""An FEM robot that bends in a plane, as a chain of rigid links on springs, pulled by a cable."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

Scalar = Any
"""A number, an array of numbers of several chains, or a CasADi symbol."""
Links = Sequence[Scalar] | np.ndarray
"""Angles or speeds of the n links: a list, or an array of shape (n, ...)."""


class Plant(NamedTuple):
    """Differences of a robot from the identified one."""

    payload: Scalar
    """Point mass at the tip [mass]."""
    stiffness: Scalar = 1.0
    """Factor on stiffness and damping [-]."""
    mass: Scalar = 1.0
    """Factor on the mass of the links [-]."""


@dataclass(frozen=True)
class ChainModel:
    """Pseudo-rigid-body model: n links behind a fixed one, with springs between them.

    Angles are absolute, 0 for the straight, unloaded robot. The torque of a joint is r T - k a - b
    a^3 - c a', with its bending angle a and the tension T. The cable compresses the links, which
    scales their lengths by 1 - s T without delay. SOFA's implicit Euler adds damping, so the model
    holds only for steps of `dt`.

    Methods take numbers, arrays or CasADi symbols; the constants may be arrays with one number per
    chain.

    Source: Su, "A pseudorigid-body 3R model for determining large deflection of cantilever beams
        subject to tip loads", J. Mechanisms Robotics 2009, for the joints; damping, cubic springs
        and the cable are additions.
    """

    lengths: Sequence[float]
    """Lengths of the fixed link and the n others [length], shape (n + 1,)."""
    stiffness: Sequence[float]
    """Linear stiffness k [force length], shape (n,)."""
    cubic: Sequence[float]
    """Cubic stiffness b [force length], shape (n,)."""
    damping: Sequence[float]
    """Damping c [force length time], shape (n,)."""
    arms: Sequence[float]
    """Moment arms r of the cable [length], shape (n,)."""
    shortening: float
    """Shortening s of the links [1 / force]."""
    density: float
    """Mass per length of the links [mass / length]."""
    gravity: float
    """Gravity along the straight robot, positive from base to tip [length / time^2]."""
    dt: float
    """Time step of the identification [time]."""
    misfit: float = 0.0
    """Rms distance from the points of the identification [length]."""

    def __post_init__(self) -> None:
        n = len(self.stiffness)
        sizes = [len(values) for values in (self.cubic, self.damping, self.arms)]
        if n == 0 or sizes != 3 * [n] or len(self.lengths) != n + 1:
            raise ValueError(
                "A chain of n links needs n values of stiffness, cubic, damping and arms, and "
                f"n + 1 lengths. Got: {n}, {sizes} and {len(self.lengths)}"
            )
        positive_values = [*self.lengths[1:], *self.stiffness, self.density, self.dt]
        positive_min = min(float(np.min(values)) for values in positive_values)
        non_negative_min = min(float(np.min(values)) for values in (self.lengths[0], *self.damping))
        if not (positive_min > 0.0 and non_negative_min >= 0.0):
            raise ValueError(
                "A chain needs moving links, stiffness, density and dt above 0, and a fixed link "
                f"and damping of at least 0. Got: {self}"
            )

    @property
    def numbers(self) -> dict[str, float]:
        """All numbers except the misfit by name, to compare robots."""
        values = {
            name: float(getattr(self, name)) for name in ("shortening", "density", "gravity", "dt")
        }
        for name in ("lengths", "stiffness", "cubic", "damping", "arms"):
            values |= {f"{name}[{k}]": float(value) for k, value in enumerate(getattr(self, name))}
        return values

    @property
    def count(self) -> int:
        """Number n of moving links."""
        return len(self.stiffness)

    def tip(self, angles: Links, tension: Scalar) -> tuple[Scalar, Scalar]:
        """Return the position of the tip along the straight robot and aside [length]."""
        along, aside = self.lengths[0], 0.0
        for length, angle in zip(self.lengths[1:], angles, strict=True):
            along, aside = along + length * cos(angle), aside + length * sin(angle)
        shorter = 1.0 - self.shortening * tension
        return shorter * along, shorter * aside

    def point(self, angles: Links, tension: Any, distance: float) -> tuple[Any, Any]:
        """Return the position of a point at a distance from the base; not for symbols."""
        along, remaining, aside = (
            np.minimum(self.lengths[0], distance),
            distance - self.lengths[0],
            0.0,
        )
        for length, angle in zip(self.lengths[1:], angles, strict=True):
            covered = np.clip(remaining, 0.0, length)
            along, aside = along + covered * np.cos(angle), aside + covered * np.sin(angle)
            remaining = remaining - length
        shorter = 1.0 - self.shortening * tension
        return shorter * along, shorter * aside

    def tip_motion(
        self, angles: Links, speeds: Links, tension: Scalar, plant: Plant
    ) -> tuple[Scalar, Scalar, Scalar]:
        """Return displacement, speed and acceleration of the tip aside, at constant tension."""
        accelerations = self.acceleration(angles, speeds, tension, plant)
        shorter = 1.0 - self.shortening * tension
        y = speed = acceleration = 0.0
        links = zip(self.lengths[1:], angles, speeds, accelerations, strict=True)
        for length, angle, rate, angular_acceleration in links:
            link_length = shorter * length
            y = y + link_length * sin(angle)
            speed = speed + link_length * cos(angle) * rate
            acceleration = acceleration + link_length * (
                cos(angle) * angular_acceleration - sin(angle) * rate**2
            )
        return y, speed, acceleration

    def torques(self, angles: Links, speeds: Links, tension: Scalar, plant: Plant) -> list[Scalar]:
        """Return the n torques of springs, dampers, cable and gravity on the links [force length].

        The chain is in equilibrium if they are 0 at zero speeds.
        """
        joints = []
        for i in range(self.count):
            bend, rate = angles[i], speeds[i]
            if i:
                bend, rate = bend - angles[i - 1], rate - speeds[i - 1]
            spring = self.stiffness[i] * bend + self.cubic[i] * bend**3 + self.damping[i] * rate
            joints.append(self.arms[i] * tension - plant.stiffness * spring)
        weights = [moment * self.gravity for moment in self._link_moments(tension, plant)]
        gravity_torques = [w * sin(angle) for w, angle in zip(weights, angles, strict=True)]
        return [
            joint - next_joint - weight
            for (joint, next_joint), weight in zip(
                pairwise([*joints, 0.0]), gravity_torques, strict=True
            )
        ]

    def acceleration(
        self, angles: Links, speeds: Links, tension: Scalar, plant: Plant
    ) -> list[Scalar]:
        """Return the n angular accelerations of the links [rad / time^2]."""
        n, lengths, masses = self.count, self._lengths(tension), self._masses(plant)
        push = self.torques(angles, speeds, tension, plant)
        matrix: list[list[Scalar]] = [[0.0] * n for _ in range(n)]
        outer_mass = plant.payload
        for j in reversed(range(n)):
            matrix[j][j] = lengths[j] ** 2 * (masses[j] / 3.0 + outer_mass)
            for i in range(j):
                coupling = lengths[i] * lengths[j] * (0.5 * masses[j] + outer_mass)
                angle_difference = angles[i] - angles[j]
                matrix[i][j] = matrix[j][i] = coupling * cos(angle_difference)
                centrifugal = coupling * sin(angle_difference)
                push[i] = push[i] - centrifugal * speeds[j] ** 2
                push[j] = push[j] + centrifugal * speeds[i] ** 2
            outer_mass = outer_mass + masses[j]
        return solve_ldl(matrix, push)

    def energy(self, angles: Links, speeds: Links, plant: Plant) -> float:
        """Return kinetic plus potential energy, without the cable [force length]."""
        total, position, speed = 0.0, np.zeros(2), np.zeros(2)
        for i, mass in enumerate(self._masses(plant)):
            length, angle, rate = self.lengths[i + 1], angles[i], speeds[i]
            link_vector = length * np.array([np.cos(angle), np.sin(angle)])
            link_velocity = length * rate * np.array([-np.sin(angle), np.cos(angle)])
            middle = speed + 0.5 * link_velocity
            total += 0.5 * mass * (middle @ middle + length**2 * rate**2 / 12.0)
            total -= self.gravity * mass * (position + 0.5 * link_vector)[0]
            bend = angle - (angles[i - 1] if i else 0.0)
            total += plant.stiffness * (
                0.5 * self.stiffness[i] * bend**2 + 0.25 * self.cubic[i] * bend**4
            )
            position, speed = position + link_vector, speed + link_velocity
        return float(total + plant.payload * (0.5 * speed @ speed - self.gravity * position[0]))

    def equilibrium(self, tension: Scalar, plant: Plant) -> np.ndarray:
        """Solve for the angles at rest by Newton's method from the straight robot, shape (n, ...).

        Takes numbers or arrays of several chains, not symbols. NaN if there is no equilibrium.
        """
        n, angle_step = self.count, 1e-6
        constants = (tension, *plant, *self.stiffness)
        shape = np.broadcast_shapes(*(np.shape(values) for values in constants))
        angles = np.zeros((n, *shape))
        with np.errstate(all="ignore"):
            for _ in range(30):
                torque = np.array(self.torques(angles, n * [0.0], tension, plant))
                slopes = []
                for i in range(n):
                    displaced = angles.copy()
                    displaced[i] += angle_step
                    slopes.append(self.torques(displaced, n * [0.0], tension, plant) - torque)
                columns = [
                    list(values) for values in np.moveaxis(np.array(slopes), 0, 1) / angle_step
                ]
                step = np.array(solve_ldl(columns, list(-torque)))  # the slopes are symmetric
                largest = np.abs(step).max(axis=0)
                angles = angles + step / np.maximum(1.0, largest / 0.3)
                if not (largest > 1e-9).any():
                    break
        return np.where(largest < 1e-6, angles, np.nan)

    def _lengths(self, tension: Scalar) -> list[Scalar]:
        shorter = 1.0 - self.shortening * tension
        return [shorter * length for length in self.lengths[1:]]

    def _masses(self, plant: Plant) -> list[Scalar]:
        return [self.density * plant.mass * length for length in self.lengths[1:]]

    def _link_moments(self, tension: Scalar, plant: Plant) -> list[Scalar]:
        """Return the first moment about each joint of all mass behind it [mass length]."""
        moments, outer_mass = [], plant.payload
        links = zip(self._lengths(tension), self._masses(plant), strict=True)
        for length, mass in reversed(list(links)):
            moments.append(length * (0.5 * mass + outer_mass))
            outer_mass = outer_mass + mass
        return moments[::-1]


def solve_ldl(matrix: list[list[Scalar]], right: list[Scalar]) -> list[Scalar]:
    """Solve M x = b by M = L D L', with M symmetric, positive definite and small."""
    n = len(right)
    lower: list[list[Scalar]] = [[0.0] * n for _ in range(n)]
    pivots: list[Scalar] = []
    y: list[Scalar] = []
    for i in range(n):
        for j in range(i):
            remainder = matrix[i][j]
            for k in range(j):
                remainder = remainder - lower[i][k] * lower[j][k] * pivots[k]
            lower[i][j] = remainder / pivots[j]
        pivot, value = matrix[i][i], right[i]
        for k in range(i):
            pivot = pivot - lower[i][k] ** 2 * pivots[k]
            value = value - lower[i][k] * y[k]
        pivots.append(pivot)
        y.append(value)
    x = [value / pivot for value, pivot in zip(y, pivots, strict=True)]
    for i in reversed(range(n)):
        for k in range(i + 1, n):
            x[i] = x[i] - lower[k][i] * x[k]
    return x


def sin(angle: Scalar) -> Scalar:
    """Return the sine of a number, an array or a symbol."""
    return angle.sin() if hasattr(angle, "sin") else np.sin(angle)


def cos(angle: Scalar) -> Scalar:
    """Return the cosine of a number, an array or a symbol."""
    return angle.cos() if hasattr(angle, "cos") else np.cos(angle)
