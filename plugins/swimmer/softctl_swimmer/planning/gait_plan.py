"""Plans of a swimmer's motion: as far as its torques bring it, and checked on the exact model."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

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
from softctl_swimmer.planning.motion_map import HINGES, MassMap, MotionMap
from softctl_swimmer.planning.swimming import SwimmingDynamics

EFFORT = 1e-4
"""Weight of squared torques over their unit [m] or [-]: a tie-breaker."""
AMPLITUDES, FREQUENCIES, PHASES = (0.4, 0.7), (0.25, 0.5), (-2.0, -1.0, 1.0, 2.0)
"""Of the waves that are tried as starts [rad], [Hz], [rad] from hinge to hinge."""
MIDDLES = (0.0, 0.4)
"""Of the angles they swing about [rad]: a bent body turns."""
AGREES = 0.02
"""Largest difference of progress on the exact model, over it [-]."""
TORQUE = 0.01
"""Largest excess of a torque there, over its limit [-]."""
FAR = (10.0, 20.0)
"""Bounds of places [m] and of Cayley coordinates of link 0, 2 tan of half an angle: far away."""


@dataclass(frozen=True)
class Progress:
    """`sofa_softctl.surrogate.OutputCost`: minus the change of outputs along a direction."""

    rows: tuple[int, int, int]
    """The outputs."""
    direction: tuple[float, float, float]
    """Of unit length."""

    def of(self, y: np.ndarray) -> float:
        """Progress of a motion, y of shape (K, 3), in the outputs' unit."""
        return float((y[-1] - y[0]) @ self.direction)

    def value(self, y: np.ndarray) -> float:
        """See `sofa_softctl.surrogate.OutputCost`."""
        return -self.of(y)

    def gradient(self, y: np.ndarray) -> np.ndarray:
        """See `sofa_softctl.surrogate.OutputCost`."""
        found = np.zeros_like(y)
        found[0], found[-1] = self.direction, -np.array(self.direction)
        return found

    def hessian(self, y: np.ndarray) -> np.ndarray:
        """Zero: progress is linear."""
        return np.zeros((*y.shape, y.shape[1]))


OBJECTIVES: Mapping[str, Callable[[MotionMap], Progress]] = MappingProxyType(
    {
        "forward": lambda at: Progress(at.centre, (1.0, 0.0, 0.0)),
        "backward": lambda at: Progress(at.centre, (-1.0, 0.0, 0.0)),
        "sideways": lambda at: Progress(at.centre, (0.0, 1.0, 0.0)),
        "turn": lambda at: Progress((3, 4, 5), (0.0, 0.0, 1.0)),
        "nose": lambda at: Progress(at.nose, (1.0, 0.0, 0.0)),
    }
)
"""What is made large: the way of the centre of mass [m], ahead, back or to the left; the turn of
link 0 about z, as its Cayley coordinate [-]; and the way of the nose ahead [m]."""


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
    """Progress of the plan."""
    begun: float
    """Progress of the start."""
    exact: float | None = None
    """Progress on the exact model, of the same joint angles; None: not replayed."""
    torque: float | None = None
    """Largest torque that these take there, over the unit [-]."""
    status: Status = Status.NOT_CONVERGED
    """SOLVED only after a replay that agrees."""
    message: str = ""
    """Why it is not SOLVED; empty if it is."""


def plan_gait(
    dynamics: SwimmingDynamics,
    objective: str = "forward",
    *,
    instants: int = 81,
    reach: float = 1.15,
    effort: float = EFFORT,
    start: Gait | None = None,
    settings: Settings | None = None,
    progress: Callable[[Iteration], None] | None = None,
) -> GaitPlan:
    """Plan the motion of most progress from rest, straight, in a given time.

    Args:
        dynamics: The swimmer, on a smooth map of its mass matrix: a `TensorSpline`.
        objective: Key of `OBJECTIVES`.
        instants: K; the motion takes (K - 1) dt.
        reach: Largest joint angle [rad], inside the map.
        effort: Weight of the squared torques.
        start: A motion to begin with; None: the best one of waves within the torques.
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
    most = np.concatenate((np.repeat(FAR, 3), np.full(n, reach)))
    problem = PlanningProblem(
        dynamics,
        instants,
        start.a[0],
        Limits(u_max=1.0, u_min=-1.0, a_min=-most, a_max=most),
        outputs=(goal,),
        inputs=(Effort(effort),),
    )
    angles = tuple(range(HINGES.start, HINGES.start + n))
    chosen = replace(settings or Settings(), method="reduced", independent=angles)
    found = plan(problem, start.u, start.a, settings=chosen, progress=progress)
    begun = goal.of(at.at(start.a).value[:, rows])
    status = Status.worst((found.status, Status.NOT_CONVERGED))
    message = f"It has not been replayed on the exact model: see `replay`. {found.message}".strip()
    return GaitPlan(
        objective, start, found, goal.of(found.y[:, rows]), begun, status=status, message=message
    )


def replay(found: GaitPlan, dynamics: SwimmingDynamics, exact: MassMap) -> GaitPlan:
    """Move the hinges of the exact model as planned, and say where it swims and what that takes.

    Args:
        found: The plan.
        dynamics: The swimmer that it was planned for.
        exact: Its mass matrix itself, `MassEntries`: K evaluations.
    """
    other = dynamics.on(replace(dynamics.embedding, masses=exact))
    gait = follow(other, found.plan.a[:, HINGES])
    goal = OBJECTIVES[found.objective](other.embedding)
    y = other.embedding.at(gait.a).value[:, list(goal.rows)]
    progress, torque = goal.of(y), float(np.abs(gait.u).max())
    status, message = found.plan.status, found.plan.message
    off = abs(progress - found.progress) / max(abs(progress), 1e-300)
    if off > AGREES or torque > 1.0 + TORQUE:
        status = Status.worst((status, Status.REJECTED))
        message = (
            f"On the exact model its progress is {progress:.4g}, of the plan {found.progress:.4g}, "
            f"and its largest torque {torque:.4g} times the limit. Do not execute it: take a finer "
            f"map of the mass matrix. {message}"
        ).strip()
    return replace(found, exact=progress, torque=torque, status=status, message=message)


def best_wave(dynamics: SwimmingDynamics, goal: Progress, instants: int, reach: float) -> Gait:
    """The sine wave of most progress whose angles and torques are within their limits.

    Raises:
        SceneError: There is none.
    """
    time = np.arange(instants) * dynamics.dt
    n, best, most = dynamics.inputs, None, -np.inf
    choices = itertools.product(AMPLITUDES, FREQUENCIES, PHASES, MIDDLES)
    for amplitude, frequency, phase, middle in choices:
        q = wave(
            time,
            amplitude=np.full(n, amplitude),
            phase=phase * np.arange(n),
            frequency=frequency,
            middle=middle,
        )
        if np.abs(q).max() > reach:
            continue
        gait = follow(dynamics, q)
        made = goal.of(dynamics.embedding.at(gait.a).value[:, list(goal.rows)])
        if made > most and np.abs(gait.u).max() <= 1.0:
            best, most = gait, made
    if best is None:
        raise SceneError(
            f"None of the sine waves stays within {reach} rad and the torques of "
            f"{dynamics.torque} N m: give a start of your own, more torque, or a longer time."
        )
    return best
