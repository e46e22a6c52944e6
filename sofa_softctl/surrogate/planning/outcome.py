"""Status and message of a plan."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sofa_softctl.status import Status
from sofa_softctl.surrogate.costs.costs import Following
from sofa_softctl.surrogate.planning.collisions import (
    Approach,
    approaches,
    between,
    obstacle_name,
    obstructed,
)
from sofa_softctl.surrogate.program.settings import Ended
from sofa_softctl.surrogate.program.transcription import PlanningProblem, Trial

_AT_LIMIT = 1e-4  # of a tension, a coordinate or a step's change, for being at its limit


class Finding(NamedTuple):
    """Something to say about a plan."""

    status: Status
    """Status that it gives the plan; SOLVED for a mere note."""
    text: str
    """Sentence for the message."""


@dataclass(frozen=True)
class Outcome:
    """Status and message of a plan, with what they rest on."""

    status: Status
    """The worst of the findings."""
    message: str
    """All findings; empty if all went well."""
    miss: float
    """Largest distance from a goal of `Following` [length]."""
    violation: float
    """Largest depth of a point inside an obstacle's margin at an instant [length]."""
    inside: float
    """How far a way inside an obstacle itself would have to be moved to leave it [length]."""


def outcome(problem: PlanningProblem, ended: Ended, tried: int = 0) -> Outcome:
    """Judge the motion that the optimiser ended with, after `tried` other initial motions."""
    miss, instant, missed = _largest_miss(problem, ended.trial)
    near = approaches(problem, ended.trial)
    findings = [
        *_balance(ended, obstructed(problem, ended.trial)),
        *_goals(problem, ended, miss, instant, missed),
        *_obstacles(problem, ended.trial, near, tried),
        *_unreachable_goals(problem, missed),
    ]
    status = Status.worst(each.status for each in findings)
    if not status.ok and (missed or not ended.balanced):
        findings.append(Finding(status, limits_reached(problem, ended.trial.a, ended.trial.u)))
    notes = (ended.fallback,) if ended.converged else ended.notes
    texts = (*(each.text for each in findings), *notes)
    inside = max((each.inside_by for each in near), default=0.0)
    violation = max((each.depth for each in near), default=0.0)
    message = " ".join(filter(None, texts))
    return Outcome(status, message, miss, max(violation, 0.0), max(inside, 0.0))


def _balance(ended: Ended, blocked: bool) -> Iterator[Finding]:
    """Whether the motion is in balance, and an optimum."""
    lack = f"Steps lack balance by up to {ended.trial.defect:.1e} of the force."
    if ended.stuck and not ended.balanced:
        yield Finding(
            Status.INFEASIBLE,
            "No motion was found that is in balance at every step, within the limits, and at rest "
            "in the end if that is asked for: this one comes nearest to it. Do not execute it. "
            + lack,
        )
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
            yield Finding(Status.NOT_CONVERGED, f"{lack} Do not execute it.")


def _goals(
    problem: PlanningProblem, ended: Ended, miss: float, instant: int, missed: bool
) -> Iterator[Finding]:
    if missed and ended.converged:
        yield Finding(
            Status.CLOSEST_FEASIBLE,
            "The goals are out of reach: this plan comes as near to them as the limits allow. "
            "Move the goals, widen the limits, or give more time.",
        )
    if missed:
        at = f"instant {instant} of {problem.instants}"
        yield Finding(
            Status.CLOSEST_FEASIBLE, f"Largest distance from a goal: {miss:.3g}, at {at}."
        )


def _obstacles(
    problem: PlanningProblem, trial: Trial, near: list[Approach], tried: int
) -> Iterator[Finding]:
    """Points inside obstacles, or inside margins, and obstacles between the end and the goal."""
    others = f" {tried} other initial motions led to nothing better." if tried else ""
    inside = [each for each in near if each.inside]
    for each in inside:
        yield Finding(
            Status.INFEASIBLE,
            f"The point is {each.inside_by:.3g} inside {each} at "
            f"{_when(problem, each.instant)}. Do not execute it.{others} Where there is a way "
            f"round, give goals along it, or a larger weight than {each.obstacle.weight:g}; else "
            "move the obstacle or the goals.",
        )
    for name, way in between(problem, trial):
        yield Finding(
            Status.CLOSEST_FEASIBLE,
            f"The way is blocked: {name} or its margin is between the end of the plan and its "
            f"last goal, {way:.3g} apart.{others} Where there is a way round, give goals along it; "
            "else make the margin smaller, or move the obstacle or the goals.",
        )
    close = [each for each in near if each.too_near and not each.inside]
    for each in close:
        yield Finding(
            Status.SOLVED,
            f"A point is {each.depth:.3g} inside an obstacle's margin of "
            f"{each.obstacle.margin:.3g}, not in the obstacle itself: {each}, at "
            f"{_when(problem, each.deepest)}. Give it a larger weight if that is too much.",
        )
    if len(close) > 1:
        numbers = " and ".join(str(each.number) for each in close)
        yield Finding(
            Status.SOLVED, f"The gap between obstacles {numbers} may be narrower than the margins."
        )


def _unreachable_goals(problem: PlanningProblem, missed: bool) -> Iterator[Finding]:
    """Goals inside obstacles, as a reason for what is missed."""
    for term in problem.outputs if missed else ():
        if not isinstance(term, Following) or not np.isfinite(term.tolerance):
            continue
        for number, obstacle in enumerate(problem.obstacles, 1):
            hit = np.flatnonzero((obstacle.shape.distance(term.goal)[0] < 0.0) & term.main)
            if obstacle.probe == term.probe and len(hit):
                yield Finding(
                    Status.CLOSEST_FEASIBLE,
                    f"{len(hit)} goals, from that of instant {hit[0] + 1} to {hit[-1] + 1}, are "
                    f"inside {obstacle_name(number, obstacle.shape)}.",
                )


def limits_reached(problem: PlanningProblem, a: np.ndarray, u: np.ndarray) -> str:
    """Sentence on the limits that a motion is at, in how many steps.

    Args:
        problem: The problem.
        a: Coordinates at all instants, shape (K, d).
        u: Inputs, shape (K - 1, m).
    """
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
    reached = []
    for name, value, at, more in candidates:
        if at.any() and np.ndim(value) < 2:  # those of each step are of the method
            text = ", ".join(f"{each:.4g}" for each in np.atleast_1d(value))
            lines = ", ".join(str(line + 1) for line in np.flatnonzero(at.any(axis=0)))
            count = int(at.any(axis=1).sum())
            reached.append(f"{name} = {text} (line {lines}, in {count} of {len(at)} steps){more}")
    if not reached:
        return "It is at no limit of inputs, rates or coordinates."
    return f"Limits that it is at: {'; '.join(reached)}."


def _largest_miss(problem: PlanningProblem, trial: Trial) -> tuple[float, int, bool]:
    """Largest distance from a goal, its instant, and whether one exceeds its tolerance."""
    miss, instant, missed = 0.0, 1, False
    for term in problem.outputs:
        if isinstance(term, Following):
            far = term.distances(trial.y[:, list(term.rows)])
            if far.max() >= miss:
                miss, instant = float(far.max()), int(far.argmax()) + 1
            missed = missed or float(far.max()) > term.tolerance
    return miss, instant, missed


def _when(problem: PlanningProblem, instant: float) -> str:
    time = (instant - 1.0) * problem.dynamics.dt
    if instant == int(instant):
        return f"instant {instant:.0f} (time {time:.3g})"
    return f"time {time:.3g}, between instants {int(instant)} and {int(instant) + 1}"
