"""Gaits to compare a plan with: random ones, and the best sine wave of a generic optimiser."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter

import numpy as np
from scipy.optimize import differential_evolution

from sofa_softctl.errors import SceneError
from softctl_swimmer.planning.gaits import Gait, follow, wave
from softctl_swimmer.planning.objectives import Goal
from softctl_swimmer.planning.swimming import SwimmingDynamics

SLOWEST, FASTEST = 0.2, 1.5
"""Frequencies [Hz]."""
HARMONICS = 3
"""Of a random gait."""
BISECTIONS = 6
"""Of its size, so that it is as large as its limits allow."""
POPULATION = 8
"""Of the optimiser, for each variable."""
FAILED = 10.0
"""What a wave costs that cannot be followed, above any progress."""


@dataclass(frozen=True)
class Contest:
    """What gaits keep to: the limits of a plan."""

    dynamics: SwimmingDynamics
    """The swimmer."""
    instants: int
    """Of a motion."""
    reach: float
    """Largest joint angle [rad]."""

    @property
    def time(self) -> np.ndarray:
        """Instants [s]."""
        found: np.ndarray = np.arange(self.instants) * self.dynamics.dt
        return found

    def follow(self, angles: np.ndarray) -> Gait | None:
        """The gait of some joint angles; None: there is none."""
        if np.abs(angles).max() > self.reach:
            return None
        try:
            return follow(self.dynamics, angles)
        except SceneError:
            return None


def random_gaits(
    contest: Contest,
    count: int = 100,
    *,
    seed: int = 0,
    progress: Callable[[int], None] | None = None,
) -> list[Gait]:
    """Random periodic gaits, each as large as angles and torques allow.

    Each hinge swings about a random angle with three harmonics of random sizes and phases; the
    frequency is random too. From rest they begin within the first period, as `gaits.wave`.

    Args:
        contest: The limits.
        count: Number of gaits.
        seed: Of the random numbers.
        progress: Called after each gait with their number.
    """
    random = np.random.default_rng(seed)
    found = list[Gait]()
    for number in range(count):
        angles = _random_angles(contest, random)
        best: Gait | None = None
        low, high = 0.0, contest.reach / np.abs(angles).max()
        for trial in range(BISECTIONS):
            size = high if trial == 0 else 0.5 * (low + high)
            gait = contest.follow(size * (1.0 - 1e-9) * angles)
            if gait is not None and np.abs(gait.u).max() <= 1.0:
                best, low = gait, size
            else:
                high = size
            if low == high:
                break
        if best is not None:
            found.append(best)
        if progress is not None:
            progress(number + 1)
    return found


def _random_angles(contest: Contest, random: np.random.Generator) -> np.ndarray:
    n, time = contest.dynamics.inputs, contest.time
    frequency = SLOWEST * (FASTEST / SLOWEST) ** random.uniform()
    angles = np.zeros((len(time), n))
    for harmonic in range(1, HARMONICS + 1):
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
    """Progress of the best sine wave that differential evolution finds, and its number of motions.

    Variables: size, phase and middle of each hinge, and the frequency. What torques exceed counts
    against a wave.

    Args:
        contest: The limits.
        goal: What is made large.
        seconds: Its budget, as long as a plan took, say [s].
        seed: Of the random numbers.

    Source: Storn, Price 1997; SciPy's `differential_evolution`.
    """
    n, best, motions, began = contest.dynamics.inputs, 0.0, 0, perf_counter()

    def ended(*_: object, **__: object) -> bool:
        return perf_counter() - began >= seconds

    def cost(x: np.ndarray) -> float:
        nonlocal best, motions
        if ended():
            return FAILED
        motions += 1
        size, phase, middle, (frequency,) = np.split(x, [n, 2 * n, 3 * n])
        swing = wave(contest.time, amplitude=size, phase=phase, frequency=frequency, middle=middle)
        gait = contest.follow(swing)
        if gait is None:
            return FAILED
        excess = float(np.abs(gait.u).max()) - 1.0
        if excess > 0.0:
            return excess
        made = goal.made(contest.dynamics.embedding, gait.a)
        best = max(best, made)
        return -made

    sizes, phases, middles = ((0.0, contest.reach),), ((0.0, 2.0 * np.pi),), ((-0.5, 0.5),)
    differential_evolution(
        cost,
        [*sizes * n, *phases * n, *middles * n, (SLOWEST, FASTEST)],
        popsize=POPULATION,
        maxiter=10_000,
        seed=seed,
        tol=0.0,
        polish=False,
        callback=ended,
    )
    return best, motions
