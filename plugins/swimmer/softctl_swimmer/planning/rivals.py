"""Gaits to compare a plan with: random ones, and the best sine wave of a generic optimiser."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter

import numpy as np
from scipy.optimize import differential_evolution

from sofa_softctl.errors import SceneError
from softctl_swimmer.planning.gaits import Gait, follow_angles, wave
from softctl_swimmer.planning.objectives import Goal
from softctl_swimmer.planning.swimming import SwimmingDynamics

FREQUENCY_MIN, FREQUENCY_MAX = 0.2, 1.5
"""Range of frequencies [Hz]."""
HARMONIC_COUNT = 3
"""Number of harmonics of a random gait."""
BISECTION_COUNT = 6
"""Number of bisections that enlarge a gait up to its limits."""
POPULATION_SIZE = 8
"""Population of the optimiser per variable."""
FAILURE_COST = 10.0
"""Cost of a wave that cannot be followed, above any progress."""


@dataclass(frozen=True)
class Contest:
    """Limits of a plan that all compared gaits obey."""

    dynamics: SwimmingDynamics
    """The swimmer."""
    instants: int
    """Number of instants of a motion."""
    reach: float
    """Largest joint angle [rad]."""

    @property
    def time(self) -> np.ndarray:
        """Instants [s]."""
        instants: np.ndarray = np.arange(self.instants) * self.dynamics.dt
        return instants

    def find_gait(self, angles: np.ndarray) -> Gait | None:
        """Return the gait with these joint angles, or None if there is none."""
        if np.abs(angles).max() > self.reach:
            return None
        try:
            return follow_angles(self.dynamics, angles)
        except SceneError:
            return None


def random_gaits(
    contest: Contest,
    count: int = 100,
    *,
    seed: int = 0,
    progress: Callable[[int], None] | None = None,
) -> list[Gait]:
    """Return random periodic gaits, each as large as angles and torques allow.

    Each hinge swings about a random angle with three harmonics of random sizes and phases; the
    frequency is random too. From rest they begin within the first period, as `gaits.wave`.

    Args:
        contest: The limits.
        count: Number of gaits.
        seed: Seed of the random numbers.
        progress: Called after each gait with the number of gaits so far.
    """
    random = np.random.default_rng(seed)
    gaits = list[Gait]()
    for number in range(count):
        angles = _random_angles(contest, random)
        best: Gait | None = None
        low, high = 0.0, contest.reach / np.abs(angles).max()
        for trial in range(BISECTION_COUNT):
            size = high if trial == 0 else 0.5 * (low + high)
            gait = contest.find_gait(size * (1.0 - 1e-9) * angles)
            if gait is not None and np.abs(gait.u).max() <= 1.0:
                best, low = gait, size
            else:
                high = size
            if low == high:
                break
        if best is not None:
            gaits.append(best)
        if progress is not None:
            progress(number + 1)
    return gaits


def _random_angles(contest: Contest, random: np.random.Generator) -> np.ndarray:
    n, time = contest.dynamics.inputs, contest.time
    frequency = FREQUENCY_MIN * (FREQUENCY_MAX / FREQUENCY_MIN) ** random.uniform()
    angles = np.zeros((len(time), n))
    for harmonic in range(1, HARMONIC_COUNT + 1):
        angles += wave(
            time,
            amplitude=random.uniform(0.0, 1.0, n) / harmonic,
            phase=random.uniform(0.0, 2.0 * np.pi, n),
            frequency=frequency * harmonic,
        )
    return angles + wave(
        time,
        amplitude=np.zeros(n),
        phase=np.zeros(n),
        frequency=frequency,
        middle=random.uniform(-0.5, 0.5, n),
    )


def best_sine(contest: Contest, goal: Goal, seconds: float, *, seed: int = 0) -> tuple[float, int]:
    """Return the progress of the best sine wave by differential evolution, and the motions tried.

    Variables: size, phase and middle of each hinge, and the frequency. Excess torque is a cost.

    Args:
        contest: The limits.
        goal: Measure of progress.
        seconds: Time limit, such as the time of a plan [s].
        seed: Seed of the random numbers.

    Source: Storn, Price 1997; SciPy's `differential_evolution`.
    """
    n, best, motions, began = contest.dynamics.inputs, 0.0, 0, perf_counter()

    def is_time_over(*_: object, **__: object) -> bool:
        return perf_counter() - began >= seconds

    def cost(x: np.ndarray) -> float:
        nonlocal best, motions
        if is_time_over():
            return FAILURE_COST
        motions += 1
        size, phase, middle, (frequency,) = np.split(x, [n, 2 * n, 3 * n])
        swing = wave(contest.time, amplitude=size, phase=phase, frequency=frequency, middle=middle)
        gait = contest.find_gait(swing)
        if gait is None:
            return FAILURE_COST
        excess = float(np.abs(gait.u).max()) - 1.0
        if excess > 0.0:
            return excess
        made = goal.progress_of(contest.dynamics.embedding, gait.a)
        best = max(best, made)
        return -made

    sizes, phases, middles = ((0.0, contest.reach),), ((0.0, 2.0 * np.pi),), ((-0.5, 0.5),)
    differential_evolution(
        cost,
        [*sizes * n, *phases * n, *middles * n, (FREQUENCY_MIN, FREQUENCY_MAX)],
        popsize=POPULATION_SIZE,
        maxiter=10_000,
        seed=seed,
        tol=0.0,
        polish=False,
        callback=is_time_over,
    )
    return best, motions
