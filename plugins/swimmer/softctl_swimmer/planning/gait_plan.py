"""Plans of a swimmer's motion: as far as its torques bring it."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import scipy.sparse
from typing_extensions import override

from sofa_softctl.errors import SceneError, UsageError
from sofa_softctl.status import Status
from sofa_softctl.surrogate import (
    Effort,
    Iteration,
    Limits,
    Plan,
    PlanningProblem,
    Settings,
    plan,
)
from softctl_swimmer.planning.gaits import Gait, follow, wave
from softctl_swimmer.planning.motion_map import HINGES, MotionMap
from softctl_swimmer.planning.objectives import OBJECTIVES, Goal
from softctl_swimmer.planning.playing import Refinement
from softctl_swimmer.planning.reduced_space import ReducedSpace
from softctl_swimmer.planning.swimming import SwimmingDynamics

EFFORT = 2e-3
"""Weight of squared torques over their unit, in sizes of the goal, over time [1/s]: a
tie-breaker."""
GENTLE = 5e-5
"""Weight of squared rates of torques over their unit, in sizes of the goal [s]."""
ENDS = 10.0
"""How much more the first and the last torque count, changes from and to none, before they are
squared [-]."""
AMPLITUDES, FREQUENCIES, PHASES = (0.4, 0.7), (0.25, 0.5), (-2.0, -1.0, 1.0, 2.0)
"""Of the waves that are tried as starts [rad], [Hz], [rad] from hinge to hinge."""
SMALLER = 4.0 ** -np.arange(5)
"""Shares of these waves, one after another, until one is within the torques."""
MIDDLES = (0.0, 0.4)
"""Of the angles they swing about [rad]: a bent body turns."""
INSIDE = 0.96
"""Share of the hinges' ranges that plans use: between instants a gait swings farther."""
FAR = (10.0, 20.0)
"""Bounds of places, in body lengths, and of Cayley coordinates of link 0, 2 tan of half an angle:
far away."""


@dataclass(frozen=True)
class Gentle:
    """`sofa_softctl.surrogate.InputCost`: of torques that jump, and of the first and the last one.

    weight / 2 (|10 u_0|^2 + sum |u_k+1 - u_k|^2 + |10 u_-1|^2), u_-1 the last one. Where torques
    jump, begin or end at once, steps do not resolve the motion: between the instants it takes more
    torque than at them.
    """

    weight: float
    """[m] or [rad]."""

    @override
    def value(self, u: np.ndarray) -> float:
        return 0.5 * float(np.sum(u * self.gradient(u)))

    @override
    def gradient(self, u: np.ndarray) -> np.ndarray:
        found: np.ndarray = self.hessian(len(u)) @ u
        return found

    @override
    def hessian(self, count: int) -> scipy.sparse.csr_array:
        own = np.concatenate(([ENDS], np.ones(count - 1)))
        before = np.concatenate((-np.ones(count - 1), [ENDS]))
        D = scipy.sparse.diags_array((own, before), offsets=(0, -1), shape=(count + 1, count))
        return scipy.sparse.csr_array(self.weight * (D.T @ D))


@dataclass(frozen=True, eq=False)
class GaitPlan:
    """A planned motion, and what the exact model says of it."""

    objective: str
    """Key of `OBJECTIVES`."""
    start: Gait
    """The wave from which it was planned."""
    plan: Plan
    """Torques and motion on the map of the mass matrix."""
    progress: float
    """Progress of the plan, with its correction."""
    begun: float
    """Progress of the start."""
    reach: float = np.inf
    """Largest joint angle that it was planned with [rad]."""
    correction: float = 0.0
    """What finer steps add to the progress of its own; 0 if it was planned without."""
    exact: float | None = None
    """Progress on the exact model, of the same angles, and corrected; None: not replayed."""
    torque: float | None = None
    """Largest torque that these take there, over the unit [-]."""
    motion: np.ndarray | None = None
    """Coordinates of the gait as it is played, at the instants, shape (K, 6 + n)."""
    played: float | None = None
    """Progress of the gait between its instants, on the map in steps of dt / 16."""
    played_torque: float | None = None
    """Largest torque of that, a mean over dt, over the unit [-]."""
    status: Status = Status.NOT_CONVERGED
    """SOLVED only after a replay that agrees."""
    message: str = ""
    """Why it is not SOLVED; empty if it is."""


def plan_gait(
    dynamics: SwimmingDynamics,
    objective: str = "forward",
    *,
    instants: int = 81,
    reach: float = np.inf,
    effort: float = EFFORT,
    gentle: float = GENTLE,
    narrow: float = 1.0,
    start: Gait | None = None,
    refined: bool = False,
    settings: Settings | None = None,
    progress: Callable[[Iteration], None] | None = None,
) -> GaitPlan:
    """Plan the motion of most progress from rest, straight, in a given time.

    Args:
        dynamics: The swimmer, on a smooth map of its mass matrix: a `TensorSpline`.
        objective: Key of `OBJECTIVES`.
        instants: K; the motion takes (K - 1) dt.
        reach: Largest joint angle at the instants [rad], inside the map; at most 0.96 of the
            hinges' own ranges.
        effort: Weight of the squared torques, over time, beside progress in `Goal.size`.
        gentle: Weight of their squared rates, over time, see `Gentle`.
        narrow: Share of the range of angles that reach and hinges leave.
        start: A motion to begin with; None: the best one of waves within the torques.
        refined: Make the progress large that is played in finer steps, see `playing`.
        settings: Of the optimiser.
        progress: Called after each iteration.

    Raises:
        UsageError: There is no such objective.
        SceneError: No wave is within the torques, or in the map.

    Source: Jia, Pan, Manocha, eq. (5); see `sofa_softctl.surrogate.plan`.
    """
    at = dynamics.embedding
    if objective not in OBJECTIVES:
        raise UsageError(f"There is no objective '{objective}'. There are: {', '.join(OBJECTIVES)}")
    goal = OBJECTIVES[objective](at)
    if start is None:
        start = best_wave(dynamics, goal, instants, reach)
    n, rows = dynamics.inputs, list(goal.rows)
    refinement = Refinement(dynamics, goal) if refined else None
    far = np.repeat((FAR[0] * at.swimmer.length, FAR[1]), 3)
    low, high = (narrow * end for end in hinge_range(at, reach))
    problem = PlanningProblem(
        dynamics,
        instants,
        start.a[0],
        Limits(
            u_max=1.0,
            u_min=-1.0,
            a_min=np.concatenate((-far, low)),
            a_max=np.concatenate((far, high)),
        ),
        outputs=(goal, refinement) if refinement else (goal,),
        inputs=(
            Effort(effort * goal.size * dynamics.dt),
            Gentle(gentle * goal.size / dynamics.dt),
        ),
    )
    angles = tuple(range(HINGES.start, HINGES.start + n))
    chosen = replace(settings or Settings(), search=partial(ReducedSpace, independent=angles))
    found = plan(problem, start.u, start.a, settings=chosen, progress=progress)
    more = -refinement.value(found.a[:, HINGES]) if refinement else 0.0
    status = Status.worst((found.status, Status.NOT_CONVERGED))
    message = f"It has not been replayed on the exact model: see `replay`. {found.message}".strip()
    return GaitPlan(
        objective,
        start,
        found,
        progress=goal.of(found.y[:, rows]) + more,
        begun=goal.made(at, start.a),
        reach=reach,
        correction=more,
        status=status,
        message=message,
    )


def hinge_range(at: MotionMap, reach: float) -> tuple[np.ndarray, np.ndarray]:
    """Lowest and highest angles of a plan [rad], shapes (n,)."""
    low, high = np.array([hinge.limits for hinge in at.swimmer.hinges]).T
    middle, half = 0.5 * (low + high), 0.5 * INSIDE * (high - low)
    return np.maximum(middle - half, -reach), np.minimum(middle + half, reach)


def best_wave(dynamics: SwimmingDynamics, goal: Goal, instants: int, reach: float) -> Gait:
    """The sine wave of most progress whose angles and torques are within their limits.

    Raises:
        SceneError: There is none.
    """
    time = np.arange(instants) * dynamics.dt
    low, high = hinge_range(dynamics.embedding, reach)
    if (low > 0.0).any() or (high < 0.0).any():
        raise SceneError(
            f"Plans begin straight, with all angles 0, which is not within {low} to {high} rad, "
            f"{INSIDE} of the hinges' ranges. Turn the links, so that 0 is inside."
        )
    choices = itertools.product(AMPLITUDES, FREQUENCIES, PHASES, MIDDLES)
    n, waves = dynamics.inputs, []
    for amplitude, frequency, phase, middle in choices:
        q = wave(
            time,
            amplitude=np.full(n, amplitude),
            phase=phase * np.arange(n),
            frequency=frequency,
            middle=middle,
        )
        if (q >= low).all() and (q <= high).all():
            waves.append(q)
    for smaller in SMALLER:
        gaits = [follow(dynamics, smaller * q) for q in waves]
        gaits = [gait for gait in gaits if np.abs(gait.u).max() <= 1.0]
        if gaits:
            return max(gaits, key=lambda gait: goal.made(dynamics.embedding, gait.a))
    raise SceneError(
        f"None of the sine waves stays within {low} to {high} rad and the torques of "
        f"{dynamics.torque} N m: give a start of your own, more torque, or a longer time."
    )
