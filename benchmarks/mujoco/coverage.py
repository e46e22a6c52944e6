"""Do intervals hold the truth where the robot is simulated by MuJoCo, not by the model itself?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from benchmarks.mujoco.record import record, with_noise
from benchmarks.mujoco.robots import ROBOTS, Robot
from sofa_softctl.identification.fitting.estimate import Estimate, estimate, start_at
from sofa_softctl.identification.model.recording import Recording
from sofa_softctl.identification.uncertainty.discretisation import discretisation_budget
from sofa_softctl.identification.uncertainty.identifiability import Identifiability, identifiability
from sofa_softctl.status import Status

STEPS = (0.01, 0.005, 0.002)
"""Time steps of the models [s]."""
AWAY = 2.0
"""Starts are off by up to this factor."""


@dataclass(frozen=True, eq=False)
class Coverage:
    """Repeated estimates of one robot at one time step, with new noise and new starts."""

    robot: str
    """Name of the robot."""
    dt: float
    """Time step of the model, and of the recording [s]."""
    names: tuple[str, ...]
    """Names of the parameters."""
    truth: np.ndarray
    """True parameters, shape (n_rho,)."""
    found: np.ndarray
    """Estimates, shape (n, n_rho)."""
    deviations: np.ndarray
    """Their standard deviations as estimated, shape (n, n_rho)."""
    low: np.ndarray
    """Lower ends of their 95 % intervals, shape (n, n_rho)."""
    high: np.ndarray
    """Upper ends, shape (n, n_rho)."""
    solved: int
    """Number of searches that converged."""
    wide_low: np.ndarray
    """Lower ends with the error of the time step, NaN if not asked for, shape (n, n_rho)."""
    wide_high: np.ndarray
    """Upper ends, shape (n, n_rho)."""

    @property
    def held(self) -> np.ndarray:
        """Number of intervals that contain the truth, shape (n_rho,)."""
        return self._count(self.low, self.high)

    @property
    def held_widened(self) -> np.ndarray:
        """The same of the widened ones, shape (n_rho,)."""
        return self._count(self.wide_low, self.wide_high)

    def _count(self, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        count: np.ndarray = ((low <= self.truth) & (self.truth <= high)).sum(axis=0)
        return count

    @property
    def bias(self) -> np.ndarray:
        """Mean error in standard deviations of one estimate [-], shape (n_rho,)."""
        mean: np.ndarray = ((self.found - self.truth) / self.deviations).mean(axis=0)
        return mean

    @property
    def half_width(self) -> np.ndarray:
        """Median half-width of the intervals over the truth [-], shape (n_rho,)."""
        median: np.ndarray = np.median(0.5 * (self.high - self.low), axis=0) / self.truth
        return median


def measure_coverage(
    *,
    kinds: Sequence[str] = tuple(ROBOTS),
    robots: Sequence[int] = range(5),
    steps: Sequence[float] = STEPS,
    repetitions: int = 20,
    widened: bool = False,
) -> Iterator[Coverage]:
    """Estimates from recordings by MuJoCo, one robot and time step after the other.

    Args:
        kinds: Keys of `ROBOTS`.
        robots: Seeds of the robots.
        steps: Time steps of the models, and of their recordings [s].
        repetitions: Estimates of each, with noise and start by seeds 0, 1, ...
        widened: Find intervals that have the error of the time step, too.
    """
    for dt, kind, seed in product(steps, kinds, robots):
        yield repeated(ROBOTS[kind](seed, dt=dt), repetitions, widened=widened)


def repeated(robot: Robot, repetitions: int, *, widened: bool = False) -> Coverage:
    """Estimates of one robot from new noise and new starts; see `measure_coverage`."""
    clean = record(robot)
    fits = [
        _fitted(robot, with_noise(clean, robot, seed), seed, widened) for seed in range(repetitions)
    ]
    found, trust, wide = zip(*fits, strict=True)
    low, high = np.swapaxes(np.array(wide), 0, 1)
    return Coverage(
        robot=robot.problem.name,
        dt=robot.problem.dt,
        names=found[0].names,
        truth=robot.truth,
        found=np.array([one.rho for one in found]),
        deviations=np.array([one.deviations for one in trust]),
        low=np.array([one.low for one in trust]),
        high=np.array([one.high for one in trust]),
        solved=sum(one.status is Status.SOLVED for one in found),
        wide_low=low,
        wide_high=high,
    )


def _fitted(
    robot: Robot, recording: Recording, seed: int, widened: bool
) -> tuple[Estimate, Identifiability, tuple[np.ndarray, np.ndarray]]:
    """An estimate from a start that is off by up to a factor of `AWAY`, and its intervals."""
    off = np.random.default_rng([seed, 1]).uniform(-1.0, 1.0, len(robot.truth))
    names = [one.name for one in robot.problem.parameters]
    start = dict(zip(names, (robot.truth * AWAY**off).tolist(), strict=True))
    experiment = robot.problem.experiment(recording)
    found = estimate([experiment], start_at(robot.problem.parameters, start))
    trust = identifiability(found, [experiment])
    missing = np.full(len(names), np.nan)
    if not widened:
        return found, trust, (missing, missing)
    return found, trust, discretisation_budget(found, [experiment], limit=False).widened(trust)
