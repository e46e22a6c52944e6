"""Status and message of a plan."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sofa_softctl.status import Status
from sofa_softctl.surrogate.costs.costs import Following
from sofa_softctl.surrogate.planning.collisions import (
    Approach,
    approaches,
    blocking_obstacles,
    is_obstructed,
    obstacle_name,
)
from sofa_softctl.surrogate.program.settings import OptimiserResult
from sofa_softctl.surrogate.program.transcription import PlanningProblem, TrajectoryIterate

_AT_LIMIT = 1e-4  # of a tension, a coordinate or a step's change, for being at its limit
_NAMED_FRACTION_MIN = 0.05  # of the steps: limits met less often do not hold a plan back
_CHEAPER_MISS_RATIO_MAX = 0.5  # of the miss: with cheaper inputs it comes much nearer
TIMED_OUT = "The time limit was reached: this is the best plan so far."
"""Message of a plan that the time limit ended."""


class Finding(NamedTuple):
    """Finding about a plan."""

    status: Status
    """Status that the finding gives the plan; SOLVED for a note."""
    text: str
    """Sentence for the message."""


@dataclass(frozen=True)
class Outcome:
    """Status and message of a plan, with the numbers behind them."""

    status: Status
    """Worst status of the findings."""
    message: str
    """All findings, or "" if all went well."""
    miss: float
    """Largest distance from a goal of `Following` [length]."""
    violation: float
    """Largest depth of a point inside an obstacle's margin at an instant [length]."""
    inside: float
    """Largest displacement by which a segment would leave an obstacle [length]."""


def outcome(
    problem: PlanningProblem,
    ended: OptimiserResult,
    tried: int = 0,
    cheaper_inputs: Callable[[], TrajectoryIterate] | None = None,
) -> Outcome:
    """Judge the result of the optimiser.

    Args:
        problem: Planning problem.
        ended: Result.
        tried: Number of other initial trajectories that were tried.
        cheaper_inputs: Returns the plan with nearly no costs of inputs; called if goals are missed.
    """
    miss, instant, missed = largest_miss(problem, ended.trial)
    cheaper_miss = np.inf
    if missed and ended.converged and problem.inputs and cheaper_inputs is not None:
        cheaper_miss, _, _ = largest_miss(problem, cheaper_inputs())
    is_costly = cheaper_miss <= _CHEAPER_MISS_RATIO_MAX * miss
    nearest_approaches = approaches(problem, ended.trial)
    findings = [
        *_balance(ended, is_obstructed(problem, ended.trial)),
        *_goals(problem, ended, miss, instant, missed, cheaper_miss if is_costly else None),
        *_obstacles(problem, ended.trial, nearest_approaches, tried),
        *_unreachable_goals(problem, missed),
    ]
    status = Status.worst(finding.status for finding in findings)
    is_limited = not (is_costly or ended.timed_out)
    if not status.ok and is_limited and (missed or not ended.balanced):
        trial, instants = ended.trial, _missed_instants(problem, ended.trial)
        findings.append(Finding(status, limits_reached(problem, trial.a, trial.u, instants)))
    notes = (ended.fallback,) if ended.converged else ended.notes
    texts = (*(finding.text for finding in findings), *notes)
    inside = max((finding.inside_by for finding in nearest_approaches), default=0.0)
    violation = max((finding.depth for finding in nearest_approaches), default=0.0)
    message = " ".join(filter(None, texts))
    return Outcome(status, message, miss, max(violation, 0.0), max(inside, 0.0))


def _balance(ended: OptimiserResult, blocked: bool) -> Iterator[Finding]:
    """Yield findings on defects and optimality."""
    defect_text = f"Steps lack balance by up to {ended.trial.defect:.1e} of the force."
    if ended.stuck and not ended.balanced:
        yield Finding(
            Status.INFEASIBLE,
            "No motion was found that is in balance at every step, within the limits, and at rest "
            "in the end if that is asked for: this one comes nearest to it. Do not execute it. "
            + defect_text,
        )
    elif ended.timed_out:
        yield Finding(Status.NOT_CONVERGED, TIMED_OUT)
        if not ended.balanced:
            yield Finding(Status.NOT_CONVERGED, f"{defect_text} Do not execute it.")
    elif not ended.converged:
        yield Finding(
            Status.NOT_CONVERGED, "The optimum was not reached: this is the best plan so far."
        )
        if ended.stuck and not blocked:
            yield Finding(
                Status.NOT_CONVERGED,
                "No step from it gains anything: where it wants to go the map may have no answer, "
                "as where the robot buckles, folds or snaps, or it is at an edge of an obstacle.",
            )
        if not ended.balanced:
            yield Finding(Status.NOT_CONVERGED, f"{defect_text} Do not execute it.")


def _goals(
    problem: PlanningProblem,
    ended: OptimiserResult,
    miss: float,
    instant: int,
    missed: bool,
    cheaper_miss: float | None,
) -> Iterator[Finding]:
    """Yield findings on missed goals; `cheaper_miss` if costs of inputs are the cause."""
    if cheaper_miss is not None:
        yield Finding(
            Status.CLOSEST_FEASIBLE,
            "The costs of the inputs hold it back from the goals: with a thousandth of the weights "
            f"of Effort and Smoothness it comes to {cheaper_miss:.3g} from them. Lower these "
            "weights, or raise that of Following.",
        )
    elif missed and ended.converged and not ended.timed_out:
        yield Finding(
            Status.CLOSEST_FEASIBLE,
            "The goals are out of reach: this plan comes as near to them as the limits allow. "
            "Move the goals, widen the limits, or give more time.",
        )
    if missed:
        instant_text = f"instant {instant} of {problem.instants}"
        yield Finding(
            Status.CLOSEST_FEASIBLE, f"Largest distance from a goal: {miss:.3g}, at {instant_text}."
        )


def _obstacles(
    problem: PlanningProblem,
    trial: TrajectoryIterate,
    nearest_approaches: list[Approach],
    tried: int,
) -> Iterator[Finding]:
    """Yield findings on points in obstacles or margins, and on obstacles before the goal."""
    others_text = f" {tried} other initial motions led to nothing better." if tried else ""
    inside = [approach for approach in nearest_approaches if approach.is_inside]
    for approach in inside:
        yield Finding(
            Status.INFEASIBLE,
            f"The point is {approach.inside_by:.3g} inside {approach} at "
            f"{_when(problem, approach.instant)}. Do not execute it.{others_text} Where there is a "
            f"way round, give goals along it, or a larger weight than "
            f"{approach.obstacle.weight:g}; else move the obstacle or the goals.",
        )
    for name, way in blocking_obstacles(problem, trial):
        yield Finding(
            Status.CLOSEST_FEASIBLE,
            f"The way is blocked: {name} or its margin is between the end of the plan and its "
            f"last goal, {way:.3g} apart.{others_text} Where there is a way round, give goals "
            "along it; else make the margin smaller, or move the obstacle or the goals.",
        )
    close = [
        approach
        for approach in nearest_approaches
        if approach.is_inside_margin and not approach.is_inside
    ]
    for approach in close:
        yield Finding(
            Status.SOLVED,
            f"A point is {approach.depth:.3g} inside an obstacle's margin of "
            f"{approach.obstacle.margin:.3g}, not in the obstacle itself: {approach}, at "
            f"{_when(problem, approach.deepest)}. Give it a larger weight if that is too much.",
        )
    if len(close) > 1:
        numbers = " and ".join(str(approach.number) for approach in close)
        yield Finding(
            Status.SOLVED, f"The gap between obstacles {numbers} may be narrower than the margins."
        )


def _unreachable_goals(problem: PlanningProblem, missed: bool) -> Iterator[Finding]:
    """Yield findings on goals inside obstacles, if goals are missed."""
    for term in problem.outputs if missed else ():
        if not isinstance(term, Following) or not np.isfinite(term.tolerance) or term.free.any():
            continue
        for number, obstacle in enumerate(problem.obstacles, 1):
            hit = np.flatnonzero((obstacle.shape.distance(term.goal)[0] < 0.0) & term.main)
            if obstacle.probe == term.probe and len(hit):
                yield Finding(
                    Status.CLOSEST_FEASIBLE,
                    f"{len(hit)} goals, from that of instant {hit[0] + 1} to {hit[-1] + 1}, are "
                    f"inside {obstacle_name(number, obstacle.shape)}.",
                )


def limits_reached(
    problem: PlanningProblem, a: np.ndarray, u: np.ndarray, missed: np.ndarray | None = None
) -> str:
    """Return a sentence on the limits that hold a trajectory back, with the number of steps.

    These are limits that it is at in a twentieth of its steps or more, or where a goal is missed.

    Args:
        problem: Planning problem.
        a: Coordinates at all instants, shape (K, d).
        u: Inputs, shape (K - 1, m).
        missed: Mask of instants whose goals are missed, shape (K,); by default none.
    """
    missed = np.zeros(len(a), bool) if missed is None else missed
    limits, dt, steps = problem.limits, problem.dynamics.dt, problem.instants - 1
    change = np.abs(np.diff(u, axis=0))
    longest = float(np.max(np.asarray(limits.rate) * dt * steps))
    candidates = (
        ("u_max", limits.u_max, u >= np.asarray(limits.u_max) - _AT_LIMIT, ""),
        (
            "rate",
            limits.rate,
            change >= np.asarray(limits.rate) * dt * (1.0 - _AT_LIMIT),
            f", which allows a change of {longest:.3g} in the {dt * steps:.3g} of the plan",
        ),
        ("a_max", limits.a_max, a[1:] >= np.asarray(limits.a_max) - _AT_LIMIT, ""),
        ("a_min", limits.a_min, a[1:] <= np.asarray(limits.a_min) + _AT_LIMIT, ""),
    )
    at_limit: list[tuple[int, str]] = []
    for name, value, is_at_limit, note in candidates:
        count = int(is_at_limit.any(axis=1).sum())
        is_often = count > 0 and count >= _NAMED_FRACTION_MIN * len(is_at_limit)
        is_relevant = is_often or bool(is_at_limit[missed[-len(is_at_limit) :]].any())
        if is_relevant and np.ndim(value) < 2:  # those of each step are of the method
            text = ", ".join(f"{limit:.4g}" for limit in np.atleast_1d(value))
            lines = ", ".join(str(line + 1) for line in np.flatnonzero(is_at_limit.any(axis=0)))
            steps_text = f"line {lines}, in {count} of {len(is_at_limit)} steps"
            at_limit.append((count, f"{name} = {text} ({steps_text}){note}"))
    if not at_limit:
        return "No limit of inputs, rates or coordinates holds it back."
    texts = [text for _, text in sorted(at_limit, key=lambda limit: -limit[0])]
    return f"Limits that it is at: {'; '.join(texts)}."


def largest_miss(problem: PlanningProblem, trial: TrajectoryIterate) -> tuple[float, int, bool]:
    """Return the largest distance from a goal, its instant, and whether a tolerance is exceeded."""
    miss, instant, missed = 0.0, 1, False
    for term in problem.outputs:
        if isinstance(term, Following):
            distances = term.distances(trial.y[:, list(term.rows)])
            if distances.max() >= miss:
                miss, instant = float(distances.max()), int(distances.argmax()) + 1
            missed = missed or float(distances.max()) > term.tolerance
    return miss, instant, missed


def _missed_instants(problem: PlanningProblem, trial: TrajectoryIterate) -> np.ndarray:
    """Return a mask of the instants at which a goal is missed by more than its tolerance, (K,)."""
    missed = np.zeros(problem.instants, bool)
    for term in problem.outputs:
        if isinstance(term, Following):
            missed |= term.distances(trial.y[:, list(term.rows)]) > term.tolerance
    return missed


def _when(problem: PlanningProblem, instant: float) -> str:
    time = (instant - 1.0) * problem.dynamics.dt
    if instant == int(instant):
        return f"instant {instant:.0f} (time {time:.3g})"
    return f"time {time:.3g}, between instants {int(instant)} and {int(instant) + 1}"
