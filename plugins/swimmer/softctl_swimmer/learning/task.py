"""Swimming as a task of learning: as far ahead as possible in a given time, from anywhere."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation
from typing_extensions import override

from sofa_softctl.learning import Advanced, BatchTask, Interface, Quantities
from softctl_swimmer.learning.strokes import Swimmers, momenta_of, rates_of, stroke
from softctl_swimmer.planning.motion_map import MassMap, MotionMap
from softctl_swimmer.planning.study import Study

FASTEST = 8.0
"""Bound of observed joint rates [rad/s]."""
RISE = 0.1
"""Time in which a torque may go from zero to its limit [s]."""
LOST = -5.0
"""Reward of a swimmer that bends farther than its hinges go [cm]."""


@dataclass(frozen=True)
class Start:
    """How far starts are from rest, straight ahead: uniform between minus and plus these."""

    angle: float = 0.3
    """Of each hinge [rad]."""
    rate: float = 0.5
    """Of each hinge [rad/s]."""
    heading: float = 0.2
    """Of link 0 about z [rad]."""

    def times(self, factor: float) -> Start:
        """The same, smaller or larger."""
        return Start(factor * self.angle, factor * self.rate, factor * self.heading)


class SwimTask(BatchTask):
    """`sofa_softctl.learning.BatchTask`: the centre of mass goes as far along x as it can.

    The policy sees joint angles and rates, where link 0 points, the torques, and the time that is
    left; it drives the torques, which change no faster than from zero to the limit in `RISE`.
    Rewards are the way [cm] less a little effort. Angles beyond the hinges' range end an episode.

    A state is (position 3, rotation 9, angles, momenta, torques, decisions).

    Args:
        study: The swimmer, on its map.
        masses: The mass matrix; None: the study's map. Exact: `study.exact`.
        start: How far starts are from rest.
        effort: Cost of a decision with all torques at their limits [cm].
        rise: Time in which a torque may go from zero to its limit [s]; None: `RISE`.
    """

    def __init__(
        self,
        study: Study,
        masses: MassMap | None = None,
        *,
        start: Start | None = None,
        effort: float = 0.01,
        rise: float | None = None,
    ) -> None:
        dynamics = study.dynamics
        self._map = dynamics.embedding.masses
        self.masses = masses or self._map
        self.start, self.effort = start or Start(), effort
        self.dt, self.torque = dynamics.dt, dynamics.torque
        time = RISE if rise is None else rise
        self._most = self.torque * self.dt / time if time > 0.0 else np.inf
        hinges = dynamics.embedding.swimmer.hinges
        self.limit = min(abs(end) for hinge in hinges for end in hinge.limits)
        self.n, self.decisions = dynamics.inputs, study.instants - 1
        self._places: MotionMap = dynamics.embedding
        numbers = range(1, self.n + 1)
        one, zero = np.ones(self.n), np.zeros(self.n)
        self.interface = Interface(
            Quantities(
                names=(
                    *(f"angle {j}" for j in numbers),
                    *(f"rate {j}" for j in numbers),
                    "forward x",
                    "forward y",
                    *(f"torque {j}" for j in numbers),
                    "time left",
                ),
                units=(*["rad"] * self.n, *["rad/s"] * self.n, "", "", *["N m"] * self.n, "s"),
                low=np.hstack((-self.limit * one, -FASTEST * one, -1, -1, -self.torque * one, 0)),
                high=np.hstack(
                    (self.limit * one, FASTEST * one, 1, 1, self.torque * one, self.duration)
                ),
            ),
            Quantities(
                names=tuple(f"torque {j}" for j in numbers),
                units=("N m",) * self.n,
                low=zero - self.torque,
                high=zero + self.torque,
            ),
            interval=self.dt,
        )

    @property
    def duration(self) -> float:
        """Of an episode [s]."""
        return self.decisions * self.dt

    def begin(self, random: np.random.Generator, count: int) -> np.ndarray:
        """See `BatchTask`: the centre of mass at the origin."""
        shape = (count, self.n)
        angles = self.start.angle * random.uniform(-1.0, 1.0, shape)
        rates = self.start.rate * random.uniform(-1.0, 1.0, shape)
        heading = self.start.heading * random.uniform(-1.0, 1.0, count)
        rotation = Rotation.from_rotvec(np.outer(heading, [0.0, 0.0, 1.0])).as_matrix()
        momenta = momenta_of(self.masses, angles, rates)
        swimmers = Swimmers(np.zeros((count, 3)), rotation, angles, momenta)
        state = self.packed(swimmers, np.zeros(shape), np.zeros(count))
        state[:, :3] -= self.centre(state)
        return state

    @override
    def advance(self, state: np.ndarray, action: np.ndarray) -> Advanced:
        swimmers, torques, count = self.unpacked(state)
        torques = torques + np.clip(action - torques, -self._most, self._most)
        guess = None
        if self.masses is not self._map:  # the map leads to where one costly solution is enough
            near, _ = stroke(self._map, swimmers, torques, self.dt)
            guess = (near.angles - swimmers.angles) / self.dt
        after, solved = stroke(self.masses, swimmers, torques, self.dt, guess=guess)
        within = (np.abs(after.angles) <= self.limit).all(axis=1)
        return Advanced(self.packed(after, torques, count + 1.0), solved & within)

    @override
    def observe(self, state: np.ndarray) -> np.ndarray:
        swimmers, torques, count = self.unpacked(state)
        rates = rates_of(self.masses, swimmers.angles, swimmers.momenta)
        left = self.duration - self.dt * count
        forward = swimmers.rotation[:, :2, 0]
        return np.hstack((swimmers.angles, rates, forward, torques, left[:, None]))

    @override
    def reward(self, before: np.ndarray, action: np.ndarray, after: np.ndarray) -> np.ndarray:
        del action
        _, torques, _ = self.unpacked(after)
        way = (self.centre(after) - self.centre(before))[:, 0]
        effort = self.effort * ((torques / self.torque) ** 2).mean(axis=1)
        found: np.ndarray = 100.0 * way - effort
        return found

    @override
    def lost(self, state: np.ndarray) -> np.ndarray:
        return np.full(len(state), LOST)

    def centre(self, state: np.ndarray) -> np.ndarray:
        """Position of the centre of mass [m], shape (m, 3)."""
        swimmers, _, _ = self.unpacked(state)
        straight = np.hstack((np.zeros((len(state), 6)), swimmers.angles))
        local = self._places.places(straight)[:, :3]
        turned: np.ndarray = (swimmers.rotation @ local[:, :, None])[:, :, 0]
        return swimmers.position + turned

    def packed(self, swimmers: Swimmers, torques: np.ndarray, count: np.ndarray) -> np.ndarray:
        """States of swimmers, their torques [N m] and the decisions so far."""
        rotation = swimmers.rotation.reshape(-1, 9)
        parts = (swimmers.position, rotation, swimmers.angles, swimmers.momenta, torques)
        return np.hstack((*parts, count[:, None]))

    def unpacked(self, state: np.ndarray) -> tuple[Swimmers, np.ndarray, np.ndarray]:
        """The inverse of `packed`."""
        n = self.n
        ends = np.cumsum([3, 9, n, n, n])
        position, rotation, angles, momenta, torques, count = np.split(state, ends, axis=1)
        swimmers = Swimmers(position, rotation.reshape(-1, 3, 3), angles, momenta)
        return swimmers, torques, count[:, 0]
