"""Plans of a swimmer's motion: as far as its torques bring it, and checked on the exact model."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np
import scipy.sparse

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
from softctl_swimmer.planning.gait_table import GaitTable
from softctl_swimmer.planning.gaits import Gait, follow, wave
from softctl_swimmer.planning.motion_map import HINGES, MassMap, MotionMap
from softctl_swimmer.planning.swimming import SwimmingDynamics

EFFORT = 1e-4
"""Weight of squared torques over their unit [m] or [-]: a tie-breaker."""
GENTLE = 1e-3
"""Weight of squared changes of torques over their unit [m] or [-]."""
BEGIN = 10.0
"""How much more the first torque counts, a change from none, before it is squared [-]."""
AMPLITUDES, FREQUENCIES, PHASES = (0.4, 0.7), (0.25, 0.5), (-2.0, -1.0, 1.0, 2.0)
"""Of the waves that are tried as starts [rad], [Hz], [rad] from hinge to hinge."""
MIDDLES = (0.0, 0.4)
"""Of the angles they swing about [rad]: a bent body turns."""
AGREES = 0.02
"""Largest difference of progress on the exact model, over it [-]."""
TORQUE = 0.01
"""Largest excess of a torque there, over its limit [-]."""
FINER = 4
"""Steps in a step of the plan in which its gait is played, as motors will play it."""
PLAYED_TORQUE = 0.2
"""Largest excess of a torque then, of its mean over a step of the plan [-]."""
INSIDE = 0.96
"""Share of the hinges' ranges that plans use: between instants a gait swings a little farther."""
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

    def made(self, at: MotionMap, a: np.ndarray) -> float:
        """Progress of a motion of coordinates a, shape (K, 6 + n)."""
        return self.of(at.at(a).value[:, list(self.rows)])

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


@dataclass(frozen=True)
class Gentle:
    """`sofa_softctl.surrogate.InputCost`: weight / 2 (|10 u_0|^2 + sum |u_k+1 - u_k|^2).

    Where torques jump, and where they begin at once, steps do not resolve the motion: between the
    instants it takes more torque than at them.
    """

    weight: float
    """[m] or [-]."""

    def value(self, u: np.ndarray) -> float:
        """See `sofa_softctl.surrogate.InputCost`."""
        return 0.5 * float(np.sum(u * self.gradient(u)))

    def gradient(self, u: np.ndarray) -> np.ndarray:
        """See `sofa_softctl.surrogate.InputCost`."""
        found: np.ndarray = self.hessian(len(u)) @ u
        return found

    def hessian(self, count: int) -> scipy.sparse.csr_array:
        """See `sofa_softctl.surrogate.InputCost`."""
        own = np.concatenate(([BEGIN], np.ones(count - 1)))
        shape = (count, count)
        D = scipy.sparse.diags_array((own, -np.ones(count - 1)), offsets=(0, -1), shape=shape)
        return scipy.sparse.csr_array(self.weight * (D.T @ D))


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

UNITS: Mapping[str, str] = MappingProxyType(
    {name: "tan of half an angle, twice" if name == "turn" else "m" for name in OBJECTIVES}
)
"""What progress is measured in."""


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
    played: float | None = None
    """Progress of the gait between its instants, on the map in steps of dt / 4."""
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
    start: Gait | None = None,
    settings: Settings | None = None,
    progress: Callable[[Iteration], None] | None = None,
) -> GaitPlan:
    """Plan the motion of most progress from rest, straight, in a given time.

    Args:
        dynamics: The swimmer, on a smooth map of its mass matrix: a `TensorSpline`.
        objective: Key of `OBJECTIVES`.
        instants: K; the motion takes (K - 1) dt.
        reach: Largest joint angle [rad], inside the map; at most 0.96 of the hinges' own ranges.
        effort: Weight of the squared torques.
        gentle: Weight of their squared changes, see `Gentle`.
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
    far, (low, high) = np.repeat(FAR, 3), hinge_range(at, reach)
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
        outputs=(goal,),
        inputs=(Effort(effort), Gentle(gentle)),
    )
    angles = tuple(range(HINGES.start, HINGES.start + n))
    chosen = replace(settings or Settings(), method="reduced", independent=angles)
    found = plan(problem, start.u, start.a, settings=chosen, progress=progress)
    begun = goal.made(at, start.a)
    status = Status.worst((found.status, Status.NOT_CONVERGED))
    message = f"It has not been replayed on the exact model: see `replay`. {found.message}".strip()
    return GaitPlan(
        objective, start, found, goal.of(found.y[:, rows]), begun, status=status, message=message
    )


def hinge_range(at: MotionMap, reach: float) -> tuple[np.ndarray, np.ndarray]:
    """Lowest and highest angles of a plan [rad], shapes (n,)."""
    low, high = np.array([hinge.limits for hinge in at.swimmer.hinges]).T
    middle, half = 0.5 * (low + high), 0.5 * INSIDE * (high - low)
    return np.maximum(middle - half, -reach), np.minimum(middle + half, reach)


def replay(found: GaitPlan, dynamics: SwimmingDynamics, exact: MassMap) -> GaitPlan:
    """Move the hinges as planned on the exact model, and as motors do between the instants.

    Args:
        found: The plan.
        dynamics: The swimmer that it was planned for.
        exact: Its mass matrix itself, `MassEntries`: K evaluations.

    Returns:
        The plan with what came out; REJECTED if it is not what was planned.
    """
    goal, angles = OBJECTIVES[found.objective](dynamics.embedding), found.plan.a[:, HINGES]
    gait = follow(dynamics.on(replace(dynamics.embedding, masses=exact)), angles)
    progress, torque = goal.made(dynamics.embedding, gait.a), float(np.abs(gait.u).max())
    said = _differs("On the exact model", progress, torque, TORQUE, found)
    advice = "take a finer map of the mass matrix"
    played: tuple[float, float] | None = None
    try:
        played = _played(dynamics, angles, goal)
    except SceneError as error:
        said, advice = f"Between its instants it cannot be followed: {error}", "plan more steps"
    if played is not None and not said:
        said = _differs("Between its instants", *played, PLAYED_TORQUE, found)
        advice = "plan with a smaller time step, or weaker torques"
    status, message = found.plan.status, "" if found.plan.status.ok else found.plan.message
    if said:
        status = Status.worst((status, Status.REJECTED))
        message = f"{said} Do not execute it: {advice}. {message}".strip()
    return replace(
        found,
        exact=progress,
        torque=torque,
        played=played[0] if played else None,
        played_torque=played[1] if played else None,
        status=status,
        message=message,
    )


def _differs(where: str, progress: float, torque: float, excess: float, found: GaitPlan) -> str:
    """What is not as planned; empty: nothing."""
    off = abs(progress - found.progress) / max(abs(progress), 1e-300)
    if off <= AGREES and torque <= 1.0 + excess:
        return ""
    return (
        f"{where} its progress is {progress:.4g}, of the plan {found.progress:.4g}, and its "
        f"largest torque {torque:.4g} times the limit."
    )


def _played(dynamics: SwimmingDynamics, angles: np.ndarray, goal: Progress) -> tuple[float, float]:
    """Progress of a gait in finer steps, and its largest torque as a mean over a plan's step."""
    fine = replace(dynamics, dt=dynamics.dt / FINER)
    steps = len(angles) - 1
    table = GaitTable(dynamics.dt * np.arange(steps + 1), angles)
    gait = follow(fine, table(fine.dt * np.arange(FINER * steps + 1)))
    means = gait.u.reshape(steps, FINER, -1).mean(axis=1)[:-1]  # no torque of the plan ends it
    return goal.made(fine.embedding, gait.a), float(np.abs(means).max())


def best_wave(dynamics: SwimmingDynamics, goal: Progress, instants: int, reach: float) -> Gait:
    """The sine wave of most progress whose angles and torques are within their limits.

    Raises:
        SceneError: There is none.
    """
    time = np.arange(instants) * dynamics.dt
    n, best, most = dynamics.inputs, None, -np.inf
    low, high = hinge_range(dynamics.embedding, reach)
    choices = itertools.product(AMPLITUDES, FREQUENCIES, PHASES, MIDDLES)
    for amplitude, frequency, phase, middle in choices:
        q = wave(
            time,
            amplitude=np.full(n, amplitude),
            phase=phase * np.arange(n),
            frequency=frequency,
            middle=middle,
        )
        if (q < low).any() or (q > high).any():
            continue
        gait = follow(dynamics, q)
        made = goal.made(dynamics.embedding, gait.a)
        if made > most and np.abs(gait.u).max() <= 1.0:
            best, most = gait, made
    if best is None:
        raise SceneError(
            f"None of the sine waves stays within {low} to {high} rad and the torques of "
            f"{dynamics.torque} N m: give a start of your own, more torque, or a longer time."
        )
    return best
