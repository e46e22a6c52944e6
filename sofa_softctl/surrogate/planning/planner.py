"""Planner: sequential convex optimisation of a motion, with refinements of the map.

What cannot be planned, found before planning: limits, start and goals.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from sofa_softctl.base.blas_threads import one_blas_thread
from sofa_softctl.status import Status
from sofa_softctl.surrogate.costs.costs import Following
from sofa_softctl.surrogate.grid.embedding import Embedding
from sofa_softctl.surrogate.planning.collisions import (
    approaches,
    between,
    obstacle_name,
    obstructed,
)
from sofa_softctl.surrogate.planning.detours import detours
from sofa_softctl.surrogate.planning.outcome import outcome
from sofa_softctl.surrogate.program.optimise import optimise
from sofa_softctl.surrogate.program.settings import (
    Ended,
    Settings,
    TrustRegionIteration,
)
from sofa_softctl.surrogate.program.transcription import PlanningProblem, Trial, evaluate

_OTHER_STARTS = 4  # initial motions around obstacles that are tried
_GUIDE = 30  # iterations for one of them, which need not be optimal


class Iteration(NamedTuple):
    """An iteration, for convergence plots."""

    round: int
    """Number of refinements of the map before it."""
    merit: float
    """Scaled cost and penalty after it [-]."""
    cost: float
    """Cost after it."""
    defect: float
    """Largest lack of balance after it [-]."""
    radius: float
    """Its trust region [-]."""
    accepted: bool
    """Whether its step was accepted."""
    evaluations: int
    """Evaluations of the exact map so far, if a counter was given; else 0."""


@dataclass(frozen=True, eq=False)
class Plan:
    """Inputs over time, their motion, and its residuals and status."""

    u: np.ndarray
    """Inputs of each step, shape (K - 1, m): tensions of lines over the dynamics' force [-]."""
    a: np.ndarray
    """Coordinates at each instant [-], shape (K, d)."""
    y: np.ndarray
    """Outputs at each instant, with the problem's offset [length], shape (K, n)."""
    reward: float
    """Minus the sum of all terms [cost]."""
    defect: float
    """Largest residual of a step over `Dynamics.unit`: of lines, the missing tension [-]."""
    stationarity: float
    """Largest violation of the first-order conditions over the largest curvature [-]."""
    miss: float
    """Largest distance from a goal of `Following` [length]."""
    violation: float
    """Largest depth of a point inside an obstacle's margin at an instant [length]."""
    inside: float
    """Largest depth inside an obstacle itself, between instants too: how far the straight way
    between two would have to be moved to leave it [length]."""
    status: Status
    """Solved, closest feasible, infeasible or not converged."""
    message: str
    """Message; empty if all went well."""
    iterations: int
    """Iterations, all rounds and all initial motions."""
    history: tuple[Iteration, ...]
    """The iterations."""


def plan(
    problem: PlanningProblem,
    u: np.ndarray | None = None,
    a: np.ndarray | None = None,
    *,
    refine: Callable[[], Embedding | None] | None = None,
    rounds: int = 0,
    settings: Settings | None = None,
    progress: Callable[[Iteration], None] | None = None,
    evaluations: Callable[[], int] | None = None,
) -> Plan:
    """Plan a motion; refine the map and plan again from it, `rounds` times.

    A local method: the plan stays on the side of an obstacle on which its initial motion passes.
    Where the first round ends inside an obstacle's margin, or behind an obstacle, up to four other
    initial motions around obstacles are tried; the best one goes on.

    Args:
        problem: The problem.
        u: Initial inputs, shape (K - 1, m); clipped to their limits. None = stay at a_1.
        a: Initial motion, shape (K, d). None = rest at each instant under u_k.
        refine: Refines the map, in place or by returning another one. Called before each further
            round.
        rounds: R, the number of refinements.
        settings: Settings of the optimiser.
        progress: Called after each iteration.
        evaluations: Number of evaluations of the exact map so far, for the history.

    Returns:
        The plan of the last round, with `status` and `message`.

    Raises:
        ValueError: A start of the wrong shape, or one where a term has no value; limits that
            contradict each other; a start, or most goals, inside an obstacle.

    Source: Jia, Pan, Manocha, Algorithm 1; the optimiser is in the manner of Schulman et al. 2014.
    """
    check_limits(problem)
    K, d, m, dynamics = problem.instants, problem.d, problem.m, problem.dynamics
    u = _holding(problem) if u is None else np.array(u, float)
    if u.shape != (K - 1, m):
        raise ValueError(f"u must have shape {(K - 1, m)}. Got: {u.shape}")
    u = problem.within_limits(u)
    first = problem.a_first
    a = np.vstack((first, dynamics.at_rest(first, u))) if a is None else np.array(a, float)
    if a.shape != (K, d):
        raise ValueError(f"a must have shape {(K, d)}. Got: {a.shape}")
    a[0], a[1:] = first, np.clip(a[1:], *problem.state_bounds)
    settings = settings or Settings()
    history: list[Iteration] = []
    tried_starts = 0
    for number in range(rounds + 1):
        if number and refine is not None:
            finer_map = refine()
            if finer_map is not None:
                problem = replace(problem, dynamics=problem.dynamics.on(finer_map))

        def report(stage: TrustRegionIteration, number: int = number) -> None:
            spent = 0 if evaluations is None else evaluations()
            history.append(Iteration(number, *stage, spent))
            if progress is not None:
                progress(history[-1])

        start = evaluate(problem, a, u)
        if not np.isfinite(start.cost):
            raise ValueError(
                "The start has no finite cost: does the laser point away from its plane? Give "
                "another start u."
            )
        with one_blas_thread():
            if number == 0:
                check_places(problem, start)
            other_starts_max = 0 if number else _OTHER_STARTS
            problem, ended, start_count = _best_of_starts(
                problem, start, settings, report, other_starts_max
            )
            tried_starts += start_count
        a, u = ended.trial.a, ended.trial.u
    judged = outcome(problem, ended, tried_starts)
    return Plan(
        u=u,
        a=a,
        y=ended.trial.y,
        reward=-ended.trial.cost,
        defect=ended.trial.defect,
        stationarity=ended.stationarity,
        miss=judged.miss,
        violation=judged.violation,
        inside=judged.inside,
        status=judged.status,
        message=judged.message,
        iterations=len(history),
        history=tuple(history),
    )


def _best_of_starts(
    problem: PlanningProblem,
    start: Trial,
    settings: Settings,
    report: Callable[[TrustRegionIteration], None],
    other_starts_max: int,
) -> tuple[PlanningProblem, Ended, int]:
    """Optimum from a start; where obstacles obstruct it, the best of those from other starts too.

    Returns:
        The problem, in which ways between instants then cost; the optimum; and the number of other
        starts, at most `others`.
    """

    def rank(ended: Ended) -> tuple[bool, bool, bool, float]:
        inside = any(approach.inside for approach in approaches(problem, ended.trial))
        blocked = bool(between(problem, ended.trial))
        return inside, not ended.balanced, blocked, ended.trial.cost

    best, tried = optimise(problem, start, settings, report), 0
    if not obstructed(problem, best.trial):
        return problem, best, 0
    guides = detours(problem, best.trial)[:other_starts_max] if other_starts_max else []
    swept_obstacles = tuple(replace(obstacle, between=True) for obstacle in problem.obstacles)
    needs_between = not all(obstacle.between for obstacle in problem.obstacles)
    problem = replace(problem, obstacles=swept_obstacles)
    for guide in (*guides, *([None] if needs_between else [])):
        if guide is not None:
            other_start = _guided(guide, start, settings)
        else:
            other_start = _at_rest(problem) if other_starts_max else start
        other_start = evaluate(problem, other_start.a, other_start.u)
        best = min(best, optimise(problem, other_start, settings, report), key=rank)
        tried += guide is not None
        if not obstructed(problem, best.trial):
            break
    return problem, best, tried


def _at_rest(problem: PlanningProblem) -> Trial:
    """No motion: it has not jumped anywhere."""
    u = problem.within_limits(_holding(problem))
    return evaluate(problem, np.tile(problem.a_first, (problem.instants, 1)), u)


def _holding(problem: PlanningProblem) -> np.ndarray:
    """Inputs that stay at a_1, shape (K - 1, m)."""
    return np.tile(problem.dynamics.holding(problem.a_first), (problem.instants - 1, 1))


def _guided(guide: PlanningProblem, start: Trial, settings: Settings) -> Trial:
    """A motion along the goals of a detour."""
    few_iterations = replace(settings, iterations=_GUIDE)
    return optimise(guide, evaluate(guide, start.a, start.u), few_iterations, lambda _: None).trial


_ROUNDING = 1e-9  # of coordinates and tensions of the order of 1


def check_limits(problem: PlanningProblem) -> None:
    """Check that the limits leave a motion.

    Raises:
        ValueError: limits that are NaN or contradict each other or the start.
    """
    limits, steps = problem.limits, problem.instants - 1
    for name in ("u_max", "u_min", "rate", "a_min", "a_max"):
        limit = np.asarray(getattr(limits, name), float)
        d, quantity = (problem.d, "coordinates") if name[0] == "a" else (problem.m, "inputs")
        if limit.shape not in ((), (d,), (steps, d)) or np.isnan(limit).any():
            raise ValueError(f"limits: {name} must be a number, or one for each of {d} {quantity}, "
                             "in each step if they change. "
                             f"Got: {getattr(limits, name)}")  # fmt: skip
    if not np.all(np.asarray(limits.rate) > 0.0):
        raise ValueError(f"limits: rate must be positive. Got: {limits.rate}")
    if np.any(np.asarray(limits.a_min) > np.asarray(limits.a_max)):
        raise ValueError(f"limits: a_min is above a_max. Got: {limits.a_min} and {limits.a_max}")
    low, high = problem.state_bounds
    first, is_constant = problem.a_first, np.shape(limits.a_min) != (steps, problem.d)
    is_outside = np.any(first < low[0] - _ROUNDING) or np.any(first > high[0] + _ROUNDING)
    if is_constant and is_outside:
        raise ValueError(
            f"the start a_first = {_row(first)} is outside the limits of coordinates, from "
            f"{_row(low[0])} to {_row(high[0])}. Widen them (`reach`), or start inside."
        )
    if problem.u_before is not None:
        low, high = problem.input_bounds
        change = np.abs(np.clip(problem.u_before, low[0], high[0]) - problem.u_before)
        change_max = np.asarray(limits.rate) * problem.dynamics.dt
        if np.any(change > change_max + _ROUNDING):
            raise ValueError(
                f"limits: inputs u_before = {_row(problem.u_before)} are outside their limits, "
                f"from {_row(low[0])} to {_row(high[0])}, by up to {change.max():.3g}, and the "
                f"rate allows a change of {np.min(change_max):.3g} in a step. Widen the limits, raise "
                "the rate, or start from other inputs."
            )


def check_places(problem: PlanningProblem, start: Trial) -> None:
    """Check that neither the start nor all main goals are inside an obstacle.

    Goals that only lead the way to main ones may be inside: see `Following.main`.

    Raises:
        ValueError: they are.
    """
    for number, obstacle in enumerate(problem.obstacles, 1):
        p = obstacle.probe.locate(start.y[:1, list(obstacle.rows)])[0]
        depth = -float(obstacle.shape.distance(p)[0][0])
        if depth > _ROUNDING * max(1.0, float(np.abs(p).max())):
            raise ValueError(
                f"the start {_row(p[0])} is {depth:.3g} inside "
                f"{obstacle_name(number, obstacle.shape)}. Move the obstacle, or start elsewhere."
            )
    for term in problem.outputs:
        if not isinstance(term, Following):
            continue
        main = term.main
        for number, obstacle in enumerate(problem.obstacles, 1):
            depths = -obstacle.shape.distance(term.goal)[0]
            if obstacle.probe == term.probe and main.any() and (depths[main] > 0.0).all():
                last = int(np.flatnonzero(main)[-1])
                raise ValueError(
                    f"the goals are inside {obstacle_name(number, obstacle.shape)}: the last one, "
                    f"{_row(term.goal[last])}, by {depths[last]:.3g}. Move the goals or the "
                    "obstacle."
                )


def _row(values: np.ndarray) -> str:
    return "[" + ", ".join(f"{value:.4g}" for value in np.atleast_1d(values)) + "]"
