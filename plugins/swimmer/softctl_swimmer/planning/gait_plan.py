"""Plans of a swimmer's motion with the largest progress within its torques."""

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
from softctl_swimmer.planning.gaits import Gait, follow_angles, wave
from softctl_swimmer.planning.motion_map import HINGES, MotionMap
from softctl_swimmer.planning.objectives import OBJECTIVES, Goal
from softctl_swimmer.planning.playing import Refinement
from softctl_swimmer.planning.reduced_space import ReducedSpace
from softctl_swimmer.planning.swimming import SwimmingDynamics

EFFORT = 2e-3
"""Weight of squared torques over their unit, in sizes of the goal, per time [1/s]; it only breaks
ties."""
GENTLE = 5e-5
"""Weight of squared rates of torques over their unit, in sizes of the goal [s]."""
END_TORQUE_FACTOR = 10.0
"""Factor of the first and the last torque, which are changes from and to zero, before they are
squared [-]."""
AMPLITUDES, FREQUENCIES, PHASES = (0.4, 0.7), (0.25, 0.5), (-2.0, -1.0, 1.0, 2.0)
"""Amplitudes [rad], frequencies [Hz] and phases between hinges [rad] of the first waves."""
WAVE_SCALES = 4.0 ** -np.arange(5)
"""Scales of these waves, tried in turn until one is within the torques [-]."""
WAVE_MIDDLES = (0.0, 0.4)
"""Mean angles of the waves [rad]: a bent body turns."""
RANGE_FRACTION = 0.96
"""Fraction of the hinges' ranges that plans use: between instants a gait swings farther [-]."""
BASE_BOUNDS = (10.0, 20.0)
"""Bounds of positions, in body lengths, and of Cayley coordinates of link 0, 2 tan of half an
angle; large enough to be inactive."""


@dataclass(frozen=True)
class Gentle:
    """`sofa_softctl.surrogate.InputCost` of jumps of torques, and of the first and the last torque.

    weight / 2 (|10 u_0|^2 + sum |u_k+1 - u_k|^2 + |10 u_-1|^2), u_-1 the last one. If
    torques jump, steps do not resolve the motion: between the instants it takes more torque than at
    them.
    """

    weight: float
    """Weight [m] or [rad]."""

    @override
    def value(self, u: np.ndarray) -> float:
        return 0.5 * float(np.sum(u * self.gradient(u)))

    @override
    def gradient(self, u: np.ndarray) -> np.ndarray:
        gradient_of_cost: np.ndarray = self.hessian(len(u)) @ u
        return gradient_of_cost

    @override
    def hessian(self, count: int) -> scipy.sparse.csr_array:
        diagonal = np.concatenate(([END_TORQUE_FACTOR], np.ones(count - 1)))
        off_diagonal = np.concatenate((-np.ones(count - 1), [END_TORQUE_FACTOR]))
        D = scipy.sparse.diags_array(
            (diagonal, off_diagonal), offsets=(0, -1), shape=(count + 1, count)
        )
        return scipy.sparse.csr_array(self.weight * (D.T @ D))


@dataclass(frozen=True, eq=False)
class GaitPlan:
    """A planned motion, with its replay on the exact model."""

    objective: str
    """Key of `OBJECTIVES`."""
    start: Gait
    """Wave from which it was planned."""
    plan: Plan
    """Torques and motion on the map of the mass matrix."""
    progress: float
    """Progress of the plan, with its correction."""
    begun: float
    """Progress of the start."""
    reach: float = np.inf
    """Largest joint angle of the plan [rad]."""
    correction: float = 0.0
    """Progress that finer steps add; 0 if it was planned without them."""
    exact: float | None = None
    """Corrected progress of the same angles on the exact model, or None before the replay."""
    torque: float | None = None
    """Largest torque on the exact model, over the unit [-]."""
    motion: np.ndarray | None = None
    """Coordinates of the gait as played by motors, at the instants, shape (K, 6 + n)."""
    played: float | None = None
    """Progress of the gait between its instants, on the map in steps of dt / 16."""
    played_torque: float | None = None
    """Largest torque between the instants, a mean over dt, over the unit [-]."""
    status: Status = Status.NOT_CONVERGED
    """Status; SOLVED only after a replay that agrees."""
    message: str = ""
    """Reason for another status than SOLVED, or ""."""


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
        narrow: Fraction of the range of angles within reach and hinges [-].
        start: Motion to begin with; by default the best wave within the torques.
        refined: Maximise the progress in finer steps, see `playing`.
        settings: Settings of the optimiser.
        progress: Called after each iteration.

    Raises:
        UsageError: The objective is unknown.
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
    base_bounds = np.repeat((BASE_BOUNDS[0] * at.swimmer.length, BASE_BOUNDS[1]), 3)
    low, high = (narrow * end for end in hinge_range(at, reach))
    problem = PlanningProblem(
        dynamics,
        instants,
        start.a[0],
        Limits(
            u_max=1.0,
            u_min=-1.0,
            a_min=np.concatenate((-base_bounds, low)),
            a_max=np.concatenate((base_bounds, high)),
        ),
        outputs=(goal, refinement) if refinement else (goal,),
        inputs=(
            Effort(effort * goal.size * dynamics.dt),
            Gentle(gentle * goal.size / dynamics.dt),
        ),
    )
    angles = tuple(range(HINGES.start, HINGES.start + n))
    search_settings = replace(
        settings or Settings(), search=partial(ReducedSpace, independent=angles)
    )
    result = plan(problem, start.u, start.a, settings=search_settings, progress=progress)
    correction = -refinement.value(result.a[:, HINGES]) if refinement else 0.0
    status = Status.worst((result.status, Status.NOT_CONVERGED))
    message = f"It has not been replayed on the exact model: see `replay`. {result.message}".strip()
    return GaitPlan(
        objective,
        start,
        result,
        progress=goal.progress(result.y[:, rows]) + correction,
        begun=goal.progress_of(at, start.a),
        reach=reach,
        correction=correction,
        status=status,
        message=message,
    )


def hinge_range(at: MotionMap, reach: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the lowest and highest angles of a plan [rad], shapes (n,)."""
    low, high = np.array([hinge.limits for hinge in at.swimmer.hinges]).T
    middle, half_range = 0.5 * (low + high), 0.5 * RANGE_FRACTION * (high - low)
    return np.maximum(middle - half_range, -reach), np.minimum(middle + half_range, reach)


def best_wave(dynamics: SwimmingDynamics, goal: Goal, instants: int, reach: float) -> Gait:
    """Return the sine wave of largest progress whose angles and torques are within their limits.

    Raises:
        SceneError: No wave is within the limits.
    """
    time = np.arange(instants) * dynamics.dt
    low, high = hinge_range(dynamics.embedding, reach)
    if (low > 0.0).any() or (high < 0.0).any():
        raise SceneError(
            f"Plans begin straight, with all angles 0, which is not within {low} to {high} rad, "
            f"{RANGE_FRACTION} of the hinges' ranges. Turn the links, so that 0 is inside."
        )
    choices = itertools.product(AMPLITUDES, FREQUENCIES, PHASES, WAVE_MIDDLES)
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
    for scale in WAVE_SCALES:
        gaits = [follow_angles(dynamics, scale * q) for q in waves]
        gaits = [gait for gait in gaits if np.abs(gait.u).max() <= 1.0]
        if gaits:
            return max(gaits, key=lambda gait: goal.progress_of(dynamics.embedding, gait.a))
    raise SceneError(
        f"None of the sine waves stays within {low} to {high} rad and the torques of "
        f"{dynamics.torque} N m: give a start of your own, more torque, or a longer time."
    )
