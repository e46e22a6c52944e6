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
NEWTON = 30
"""Most iterations to an equilibrium."""


class Plant(NamedTuple):
    """What may differ from the robot that was identified."""

    payload: Scalar
    """Point mass at the tip [mass]."""
    stiffness: Scalar = 1.0
    """Factor of stiffness and damping [-]."""
    mass: Scalar = 1.0
    """Factor of the links' mass [-]."""


@dataclass(frozen=True)
class ChainModel:
    """Pseudo-rigid-body model: n links behind a fixed one, with springs between them.

    Angles are absolute, 0 where the unloaded robot is straight. The joints' torques are
    r T - k a - b a^3 - c a', with the bending a of a joint and the tension T. The cable presses
    links together, which scales their lengths by 1 - s T, as if at once. SOFA's implicit Euler adds
    damping, so the model holds for steps of `dt` alone.

    Torques, accelerations and the tip are those of numbers, arrays or CasADi symbols; the constants
    may be arrays, too, one number a chain.

    Source: Su, "A pseudorigid-body 3R model for determining large deflection of cantilever beams
        subject to tip loads", J. Mechanisms Robotics 2009, for the joints; damping, cubic springs
        and the cable are additions.
    """

    lengths: Sequence[float]
    """Of the fixed link and the n others [length], shape (n + 1,)."""
    stiffness: Sequence[float]
    """k [force length], shape (n,)."""
    cubic: Sequence[float]
    """b [force length], shape (n,)."""
    damping: Sequence[float]
    """c [force length time], shape (n,)."""
    arms: Sequence[float]
    """r, moment arms of the cable [length], shape (n,)."""
    shortening: float
    """s [1 / force]."""
    density: float
    """Mass by length of the links [mass / length]."""
    gravity: float
    """Gravity along the straight robot, positive from its base to its tip [length / time^2]."""
    dt: float
    """Time step of the identification [time]."""
    misfit: float = 0.0
    """Rms distance from the points that it was identified from [length]."""

    def __post_init__(self) -> None:
        n = len(self.stiffness)
        sizes = [len(each) for each in (self.cubic, self.damping, self.arms)]
        if n == 0 or sizes != 3 * [n] or len(self.lengths) != n + 1:
            raise ValueError(
                "A chain of n links needs n values of stiffness, cubic, damping and arms, and "
                f"n + 1 lengths. Got: {n}, {sizes} and {len(self.lengths)}"
            )
        positive = [*self.lengths[1:], *self.stiffness, self.density, self.dt]
        least = min(float(np.min(each)) for each in positive)
        fading = min(float(np.min(each)) for each in (self.lengths[0], *self.damping))
        if not (least > 0.0 and fading >= 0.0):
            raise ValueError(
                "A chain needs moving links, stiffness, density and dt above 0, and a fixed link "
                f"and damping of at least 0. Got: {self}"
            )

    @property
    def numbers(self) -> dict[str, float]:
        """All but the misfit by their names, to compare robots."""
        found = {
            name: float(getattr(self, name)) for name in ("shortening", "density", "gravity", "dt")
        }
        for name in ("lengths", "stiffness", "cubic", "damping", "arms"):
            found |= {f"{name}[{k}]": float(each) for k, each in enumerate(getattr(self, name))}
        return found

    @property
    def count(self) -> int:
        """Number n of moving links."""
        return len(self.stiffness)

    def tip(self, angles: Links, tension: Scalar) -> tuple[Scalar, Scalar]:
        """Position of the tip, along the straight robot and aside [length]."""
        along, aside = self.lengths[0], 0.0
        for length, angle in zip(self.lengths[1:], angles, strict=True):
            along, aside = along + length * cos(angle), aside + length * sin(angle)
        shorter = 1.0 - self.shortening * tension
        return shorter * along, shorter * aside

    def point(self, angles: Links, tension: Any, at: float) -> tuple[Any, Any]:
        """The same of a point at a distance `at` from the base; not of symbols."""
        along, left, aside = np.minimum(self.lengths[0], at), at - self.lengths[0], 0.0
        for length, angle in zip(self.lengths[1:], angles, strict=True):
            part = np.clip(left, 0.0, length)
            along, aside = along + part * np.cos(angle), aside + part * np.sin(angle)
            left = left - length
        shorter = 1.0 - self.shortening * tension
        return shorter * along, shorter * aside

    def tip_motion(
        self, angles: Links, speeds: Links, tension: Scalar, plant: Plant
    ) -> tuple[Scalar, Scalar, Scalar]:
        """Displacement of the tip aside, its speed and acceleration, at constant tension."""
        turning = self.acceleration(angles, speeds, tension, plant)
        shorter = 1.0 - self.shortening * tension
        y = speed = acceleration = 0.0
        every = zip(self.lengths[1:], angles, speeds, turning, strict=True)
        for length, angle, rate, change in every:
            part = shorter * length
            y = y + part * sin(angle)
            speed = speed + part * cos(angle) * rate
            acceleration = acceleration + part * (cos(angle) * change - sin(angle) * rate**2)
        return y, speed, acceleration

    def torques(self, angles: Links, speeds: Links, tension: Scalar, plant: Plant) -> list[Scalar]:
        """Torques on the links: springs, dampers, cable, gravity [force length]; n of them.

        0 at rest is an equilibrium.
        """
        joints = []
        for i in range(self.count):
            bend, rate = angles[i], speeds[i]
            if i:
                bend, rate = bend - angles[i - 1], rate - speeds[i - 1]
            spring = self.stiffness[i] * bend + self.cubic[i] * bend**3 + self.damping[i] * rate
            joints.append(self.arms[i] * tension - plant.stiffness * spring)
        weights = [each * self.gravity for each in self._carried(tension, plant)]
        hanging = [w * sin(angle) for w, angle in zip(weights, angles, strict=True)]
        return [
            joint - further - weight
            for (joint, further), weight in zip(pairwise([*joints, 0.0]), hanging, strict=True)
        ]

    def acceleration(
        self, angles: Links, speeds: Links, tension: Scalar, plant: Plant
    ) -> list[Scalar]:
        """Angular accelerations of the links [rad / time^2]; n of them."""
        n, lengths, masses = self.count, self._lengths(tension), self._masses(plant)
        push = self.torques(angles, speeds, tension, plant)
        matrix: list[list[Scalar]] = [[0.0] * n for _ in range(n)]
        beyond = plant.payload
        for j in reversed(range(n)):
            matrix[j][j] = lengths[j] ** 2 * (masses[j] / 3.0 + beyond)
            for i in range(j):
                common = lengths[i] * lengths[j] * (0.5 * masses[j] + beyond)
                apart = angles[i] - angles[j]
                matrix[i][j] = matrix[j][i] = common * cos(apart)
                turn = common * sin(apart)
                push[i] = push[i] - turn * speeds[j] ** 2
                push[j] = push[j] + turn * speeds[i] ** 2
            beyond = beyond + masses[j]
        return solved(matrix, push)

    def energy(self, angles: Links, speeds: Links, plant: Plant) -> float:
        """Kinetic and potential energy without the cable [force length]."""
        total, at, speed = 0.0, np.zeros(2), np.zeros(2)
        for i, mass in enumerate(self._masses(plant)):
            length, angle, rate = self.lengths[i + 1], angles[i], speeds[i]
            way = length * np.array([np.cos(angle), np.sin(angle)])
            change = length * rate * np.array([-np.sin(angle), np.cos(angle)])
            middle = speed + 0.5 * change
            total += 0.5 * mass * (middle @ middle + length**2 * rate**2 / 12.0)
            total -= self.gravity * mass * (at + 0.5 * way)[0]
            bend = angle - (angles[i - 1] if i else 0.0)
            total += plant.stiffness * (
                0.5 * self.stiffness[i] * bend**2 + 0.25 * self.cubic[i] * bend**4
            )
            at, speed = at + way, speed + change
        return float(total + plant.payload * (0.5 * speed @ speed - self.gravity * at[0]))

    def equilibrium(self, tension: Scalar, plant: Plant) -> np.ndarray:
        """Angles at rest, by Newton's method from the straight robot, shape (n, ...).

        Numbers or arrays of several chains, not symbols. NaN where there is none.
        """
        n, tiny = self.count, 1e-6
        given = (tension, *plant, *self.stiffness)
        shape = np.broadcast_shapes(*(np.shape(each) for each in given))
        angles = np.zeros((n, *shape))
        with np.errstate(all="ignore"):
            for _ in range(NEWTON):
                torque = np.array(self.torques(angles, n * [0.0], tension, plant))
                slopes = []
                for i in range(n):
                    moved = angles.copy()
                    moved[i] += tiny
                    slopes.append(self.torques(moved, n * [0.0], tension, plant) - torque)
                columns = [list(each) for each in np.moveaxis(np.array(slopes), 0, 1) / tiny]
                step = np.array(solved(columns, list(-torque)))  # the slopes are symmetric
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

    def _carried(self, tension: Scalar, plant: Plant) -> list[Scalar]:
        """First moments of all that each link turns, if alone [mass length]."""
        moments, beyond = [], plant.payload
        every = zip(self._lengths(tension), self._masses(plant), strict=True)
        for length, mass in reversed(list(every)):
            moments.append(length * (0.5 * mass + beyond))
            beyond = beyond + mass
        return moments[::-1]


def solved(matrix: list[list[Scalar]], right: list[Scalar]) -> list[Scalar]:
    """x of M x = b by M = L D L', with M symmetric, positive definite and small."""
    n = len(right)
    lower: list[list[Scalar]] = [[0.0] * n for _ in range(n)]
    pivots: list[Scalar] = []
    y: list[Scalar] = []
    for i in range(n):
        for j in range(i):
            left = matrix[i][j]
            for k in range(j):
                left = left - lower[i][k] * lower[j][k] * pivots[k]
            lower[i][j] = left / pivots[j]
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
    """Sine of a number, an array or a symbol."""
    return angle.sin() if hasattr(angle, "sin") else np.sin(angle)


def cos(angle: Scalar) -> Scalar:
    """Cosine of a number, an array or a symbol."""
    return angle.cos() if hasattr(angle, "cos") else np.cos(angle)
