"""Gaits as played by motors: along splines between the instants of a plan, in finer steps."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from typing_extensions import override

from sofa_softctl.errors import SceneError
from sofa_softctl.surrogate import Steps
from softctl_swimmer.planning.gait_table import GaitTable
from softctl_swimmer.planning.gaits import Gait, follow_angles
from softctl_swimmer.planning.motion_map import BASE, HINGES
from softctl_swimmer.planning.objectives import Goal
from softctl_swimmer.planning.swimming import SwimmingDynamics

SUBSTEP_COUNT = 4
"""Number of fine steps in a step of the plan, for its progress."""


@dataclass(frozen=True, eq=False)
class PlayedGait:
    """A gait in finer steps."""

    dynamics: SwimmingDynamics
    """Dynamics with these steps."""
    between: np.ndarray
    """Angles at these steps by angles at the plan's instants, shape (finer (K - 1) + 1, K)."""
    gait: Gait
    """The motion."""
    goal: Goal
    """Measure of progress."""
    finer: int
    """Number of fine steps in a step of the plan."""

    @property
    def progress(self) -> float:
        """Progress of the gait [m] or [rad]."""
        return self.goal.progress_of(self.dynamics.embedding, self.gait.a)

    @property
    def torque(self) -> float:
        """Largest torque, as a mean over a step of the plan, over the unit [-]."""
        u = self.gait.u
        return float(np.abs(u.reshape(-1, self.finer, u.shape[1]).mean(axis=1)).max())

    def slope(self) -> np.ndarray:
        """Return the derivatives of the progress by angles at the plan's instants, shape (K, n)."""
        slopes: np.ndarray = self.between.T @ slope_by_angles(self.dynamics, self.gait, self.goal)
        return slopes


def play(
    dynamics: SwimmingDynamics, angles: np.ndarray, goal: Goal, finer: int = SUBSTEP_COUNT
) -> PlayedGait:
    """Compute the motion with hinges that follow a gait's table, as motors do.

    Args:
        dynamics: The swimmer, with the time step of the plan.
        angles: Angles at the instants of the plan [rad], shape (K, n).
        goal: Measure of progress.
        finer: Number of fine steps in a step of the plan.

    Raises:
        SceneError: Angles are outside the map between the instants, or cannot be followed.
    """
    fine, K = replace(dynamics, dt=dynamics.dt / finer), len(angles)
    table = GaitTable(dynamics.dt * np.arange(K), np.eye(K))  # a spline is linear in its values
    between = table(fine.dt * np.arange(finer * (K - 1) + 1))
    return PlayedGait(fine, between, follow_angles(fine, between @ angles), goal, finer)


def slope_by_angles(dynamics: SwimmingDynamics, gait: Gait, goal: Goal) -> np.ndarray:
    """Return derivatives of a gait's progress by its angles, with free link 0, shape (K, n).

    The momentum of each step, r(a+, a, a-) = 0, makes the motion of link 0 a function of the
    angles; one backward sweep with its transposed slopes gives the derivatives by all of them.
    """
    at, a = dynamics.embedding, gait.a
    jet = at.at(np.vstack((a[:1], a)))
    steps = Steps(a[1:], a[:-1], gait.u, jet[2:], jet[1:-1], jet[:-2])
    step = dynamics.linearise(steps)
    rows = list(goal.rows)
    first, last = -goal.gradient(jet.value[1:, rows])[[0, -1]]
    ends = first @ jet.gradient[1, rows], last @ jet.gradient[-1, rows]
    K, d = a.shape
    total, multiplier = np.zeros((K, d)), np.zeros((K + 1, 6))
    total[0], total[-1] = ends
    for k in range(K - 2, -1, -1):  # the step from instant k to k + 1
        multiplier[k] = -np.linalg.solve(step.by_next[k][BASE, BASE].T, total[k + 1, BASE])
        total[k + 1] += multiplier[k] @ step.by_next[k][BASE]
        total[k] += multiplier[k] @ step.by_now[k][BASE]
        if k > 0:
            total[k - 1] += multiplier[k] @ step.by_before[k][BASE]
    slope: np.ndarray = total[:, HINGES]
    return slope


@dataclass(eq=False)
class Refinement:
    """`sofa_softctl.surrogate.OutputCost`: minus the progress that finer steps add to a plan's.

    With it, a plan in coarse steps maximises the progress in fine steps, with the curvature of the
    coarse ones.
    """

    dynamics: SwimmingDynamics
    """The swimmer, with the time step of the plan."""
    goal: Goal
    """Measure of progress."""
    _cached: tuple[bytes, float, np.ndarray] = field(default=(b"", np.nan, np.zeros(0)), init=False)

    @property
    def rows(self) -> tuple[int, ...]:
        """Rows of the angles."""
        return tuple(range(HINGES.start, HINGES.start + self.dynamics.inputs))

    def value(self, y: np.ndarray) -> float:
        """Return the cost, or NaN if the angles cannot be followed."""
        return -self._evaluate(y)[0]

    @override
    def gradient(self, y: np.ndarray) -> np.ndarray:
        return -self._evaluate(y)[1]

    def hessian(self, y: np.ndarray) -> np.ndarray:
        """Return zero: the Hessian is small."""
        return np.zeros((*y.shape, y.shape[1]))

    def _evaluate(self, angles: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the added progress [m] or [rad] and its slopes, shape (K, n), from the cache."""
        if self._cached[0] != angles.tobytes():
            self._cached = (angles.tobytes(), *self._compute(angles))
        return self._cached[1:]

    def _compute(self, angles: np.ndarray) -> tuple[float, np.ndarray]:
        try:
            played, coarse = (
                play(self.dynamics, angles, self.goal),
                follow_angles(self.dynamics, angles),
            )
        except SceneError:
            return np.nan, np.full(angles.shape, np.nan)
        coarse_progress = self.goal.progress_of(self.dynamics.embedding, coarse.a)
        slope = slope_by_angles(self.dynamics, coarse, self.goal)
        return played.progress - coarse_progress, played.slope() - slope
