"""Gaits as they are played: along splines between the instants of a plan, in finer steps."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from typing_extensions import override

from sofa_softctl.errors import SceneError
from sofa_softctl.surrogate import Steps
from softctl_swimmer.planning.gait_table import GaitTable
from softctl_swimmer.planning.gaits import Gait, follow
from softctl_swimmer.planning.motion_map import BASE, HINGES
from softctl_swimmer.planning.objectives import Goal
from softctl_swimmer.planning.swimming import SwimmingDynamics

FINER = 4
"""Steps in a step of the plan, for its progress."""


@dataclass(frozen=True, eq=False)
class Played:
    """A gait in finer steps."""

    dynamics: SwimmingDynamics
    """With these steps."""
    between: np.ndarray
    """Angles in them over those at the instants of the plan, shape (finer (K - 1) + 1, K)."""
    gait: Gait
    """The motion."""
    goal: Goal
    """What progress is."""
    finer: int
    """Steps in a step of the plan."""

    @property
    def progress(self) -> float:
        """How far it leads [m] or [rad]."""
        return self.goal.made(self.dynamics.embedding, self.gait.a)

    @property
    def torque(self) -> float:
        """Its largest torque, a mean over a step of the plan, over the unit [-]."""
        u = self.gait.u
        return float(np.abs(u.reshape(-1, self.finer, u.shape[1]).mean(axis=1)).max())

    def slope(self) -> np.ndarray:
        """Derivatives of its progress by the angles at the instants of the plan, shape (K, n)."""
        found: np.ndarray = self.between.T @ slope_by_angles(self.dynamics, self.gait, self.goal)
        return found


def play(dynamics: SwimmingDynamics, angles: np.ndarray, goal: Goal, finer: int = FINER) -> Played:
    """Move the hinges as motors do that follow a gait's table.

    Args:
        dynamics: The swimmer, with the time step of the plan.
        angles: At the instants of the plan [rad], shape (K, n).
        goal: What progress is.
        finer: Steps in a step of the plan.

    Raises:
        SceneError: Angles are outside the map between the instants, or cannot be followed.
    """
    fine, K = replace(dynamics, dt=dynamics.dt / finer), len(angles)
    table = GaitTable(dynamics.dt * np.arange(K), np.eye(K))  # a spline is linear in its values
    between = table(fine.dt * np.arange(finer * (K - 1) + 1))
    return Played(fine, between, follow(fine, between @ angles), goal, finer)


def slope_by_angles(dynamics: SwimmingDynamics, gait: Gait, goal: Goal) -> np.ndarray:
    """Derivatives of a gait's progress by its angles, where link 0 follows, shape (K, n).

    The momentum of each step, r(a+, a, a-) = 0, makes the motion of link 0 a function of the
    angles; one backward sweep with its transposed slopes gives the derivatives by all of them.
    """
    at, a = dynamics.embedding, gait.a
    jet = at.at(np.vstack((a[:1], a)))
    known = Steps(a[1:], a[:-1], gait.u, jet[2:], jet[1:-1], jet[:-2])
    step = dynamics.linearise(known)
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
    """`sofa_softctl.surrogate.OutputCost`: minus what finer steps add to the progress of a plan's.

    With it, a plan in coarse steps is one of the progress that is played, and keeps the curvature
    of its own steps.
    """

    dynamics: SwimmingDynamics
    """The swimmer, with the time step of the plan."""
    goal: Goal
    """What progress is."""
    _known: tuple[bytes, float, np.ndarray] = field(default=(b"", np.nan, np.zeros(0)), init=False)

    @property
    def rows(self) -> tuple[int, ...]:
        """The angles."""
        return tuple(range(HINGES.start, HINGES.start + self.dynamics.inputs))

    def value(self, y: np.ndarray) -> float:
        """See `sofa_softctl.surrogate.OutputCost`; NaN: the angles cannot be followed."""
        return -self._of(y)[0]

    @override
    def gradient(self, y: np.ndarray) -> np.ndarray:
        return -self._of(y)[1]

    def hessian(self, y: np.ndarray) -> np.ndarray:
        """Left out: it is small."""
        return np.zeros((*y.shape, y.shape[1]))

    def _of(self, angles: np.ndarray) -> tuple[float, np.ndarray]:
        """What is added [m] or [rad], and its slopes, shape (K, n)."""
        if self._known[0] != angles.tobytes():
            self._known = (angles.tobytes(), *self._found(angles))
        return self._known[1:]

    def _found(self, angles: np.ndarray) -> tuple[float, np.ndarray]:
        try:
            played, coarse = play(self.dynamics, angles, self.goal), follow(self.dynamics, angles)
        except SceneError:
            return np.nan, np.full(angles.shape, np.nan)
        own = self.goal.made(self.dynamics.embedding, coarse.a)
        slope = slope_by_angles(self.dynamics, coarse, self.goal)
        return played.progress - own, played.slope() - slope
