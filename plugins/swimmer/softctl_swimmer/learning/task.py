"""Learning task: swim as far ahead as possible in a given time, from disturbed starts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation
from typing_extensions import override

from sofa_softctl.learning import BatchTask, DecisionResult, Interface, Quantities
from softctl_swimmer.learning.strokes import Swimmers, momenta_of, rates_of, stroke
from softctl_swimmer.planning.motion_map import MassMap, MotionMap
from softctl_swimmer.planning.study import Study

RATE_MAX = 8.0
"""Bound of observed joint rates [rad/s]."""
RISE_TIME = 0.1
"""Time in which a torque may go from zero to its limit [s]."""
LOST_REWARD = -5.0
"""Reward of a swimmer that exceeds the limits of its hinges [cm]."""


@dataclass(frozen=True)
class Start:
    """Deviations of starts from rest, straight ahead; uniform between minus and plus these."""

    angle: float = 0.3
    """Angle of each hinge [rad]."""
    rate: float = 0.5
    """Rate of each hinge [rad/s]."""
    heading: float = 0.2
    """Heading of link 0 about z [rad]."""

    def times(self, factor: float) -> Start:
        """Return scaled deviations."""
        return Start(factor * self.angle, factor * self.rate, factor * self.heading)


class SwimTask(BatchTask):
    """`sofa_softctl.learning.BatchTask`: move the centre of mass as far along x as possible.

    The policy observes joint angles and rates, the direction of link 0, the torques, and the
    remaining time; it sets the torques, whose rate is limited to the limit per `RISE_TIME`. Rewards
    are the distance [cm] minus a small effort. Angles outside the hinges' range end an episode.

    A state is (position 3, rotation 9, angles, momenta, torques, decisions).

    Args:
        study: The swimmer, on its map.
        masses: Map of the mass matrix, by default the study's map; `study.exact` is exact.
        start: Deviations of starts from rest.
        effort: Cost of a decision with all torques at their limits [cm].
        rise: Time in which a torque may go from zero to its limit [s]; by default `RISE_TIME`.
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
        time = RISE_TIME if rise is None else rise
        self._torque_change_max = self.torque * self.dt / time if time > 0.0 else np.inf
        hinges = dynamics.embedding.swimmer.hinges
        self.limit = min(abs(end) for hinge in hinges for end in hinge.limits)
        self.n, self.decisions = dynamics.inputs, study.instants - 1
        self._places: MotionMap = dynamics.embedding
        numbers = range(1, self.n + 1)
        ones, zeros = np.ones(self.n), np.zeros(self.n)
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
                low=np.hstack(
                    (-self.limit * ones, -RATE_MAX * ones, -1, -1, -self.torque * ones, 0)
                ),
                high=np.hstack(
                    (self.limit * ones, RATE_MAX * ones, 1, 1, self.torque * ones, self.duration)
                ),
            ),
            Quantities(
                names=tuple(f"torque {j}" for j in numbers),
                units=("N m",) * self.n,
                low=zeros - self.torque,
                high=zeros + self.torque,
            ),
            interval=self.dt,
        )

    @property
    def duration(self) -> float:
        """Duration of an episode [s]."""
        return self.decisions * self.dt

    def begin(self, random: np.random.Generator, count: int) -> np.ndarray:
        """Return random start states, with the centre of mass at the origin."""
        shape = (count, self.n)
        angles = self.start.angle * random.uniform(-1.0, 1.0, shape)
        rates = self.start.rate * random.uniform(-1.0, 1.0, shape)
        heading = self.start.heading * random.uniform(-1.0, 1.0, count)
        rotation = Rotation.from_rotvec(np.outer(heading, [0.0, 0.0, 1.0])).as_matrix()
        momenta = momenta_of(self.masses, angles, rates)
        swimmers = Swimmers(np.zeros((count, 3)), rotation, angles, momenta)
        state = self.to_state(swimmers, np.zeros(shape), np.zeros(count))
        state[:, :3] -= self.centre(state)
        return state

    @override
    def advance(self, state: np.ndarray, action: np.ndarray) -> DecisionResult:
        swimmers, torques, count = self.from_state(state)
        torques = torques + np.clip(
            action - torques, -self._torque_change_max, self._torque_change_max
        )
        guess = None
        if self.masses is not self._map:  # the map leads to where one costly solution is enough
            map_result, _ = stroke(self._map, swimmers, torques, self.dt)
            guess = (map_result.angles - swimmers.angles) / self.dt
        after, solved = stroke(self.masses, swimmers, torques, self.dt, guess=guess)
        is_within = (np.abs(after.angles) <= self.limit).all(axis=1)
        return DecisionResult(self.to_state(after, torques, count + 1.0), solved & is_within)

    @override
    def observe(self, state: np.ndarray) -> np.ndarray:
        swimmers, torques, count = self.from_state(state)
        rates = rates_of(self.masses, swimmers.angles, swimmers.momenta)
        left = self.duration - self.dt * count
        forward = swimmers.rotation[:, :2, 0]
        return np.hstack((swimmers.angles, rates, forward, torques, left[:, None]))

    @override
    def reward(self, before: np.ndarray, action: np.ndarray, after: np.ndarray) -> np.ndarray:
        del action
        _, torques, _ = self.from_state(after)
        way = (self.centre(after) - self.centre(before))[:, 0]
        effort = self.effort * ((torques / self.torque) ** 2).mean(axis=1)
        rewards: np.ndarray = 100.0 * way - effort
        return rewards

    @override
    def lost_reward(self, state: np.ndarray) -> np.ndarray:
        return np.full(len(state), LOST_REWARD)

    def centre(self, state: np.ndarray) -> np.ndarray:
        """Return the position of the centre of mass [m], shape (m, 3)."""
        swimmers, _, _ = self.from_state(state)
        straight = np.hstack((np.zeros((len(state), 6)), swimmers.angles))
        local = self._places.places(straight)[:, :3]
        rotated: np.ndarray = (swimmers.rotation @ local[:, :, None])[:, :, 0]
        return swimmers.position + rotated

    def to_state(self, swimmers: Swimmers, torques: np.ndarray, count: np.ndarray) -> np.ndarray:
        """Return states from swimmers, their torques [N m] and numbers of decisions."""
        rotation = swimmers.rotation.reshape(-1, 9)
        parts = (swimmers.position, rotation, swimmers.angles, swimmers.momenta, torques)
        return np.hstack((*parts, count[:, None]))

    def from_state(self, state: np.ndarray) -> tuple[Swimmers, np.ndarray, np.ndarray]:
        """Return swimmers, torques and numbers of decisions of states."""
        n = self.n
        ends = np.cumsum([3, 9, n, n, n])
        position, rotation, angles, momenta, torques, count = np.split(state, ends, axis=1)
        swimmers = Swimmers(position, rotation.reshape(-1, 3, 3), angles, momenta)
        return swimmers, torques, count[:, 0]
