"""Planner: optimisation of a trajectory with refinements of the map, after checks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from sofa_softctl.base.versions import one_blas_thread
from sofa_softctl.errors import TimeLimitError
from sofa_softctl.status import Status
from sofa_softctl.surrogate.costs.costs import Effort, Following, Smoothness
from sofa_softctl.surrogate.grid.embedding import Embedding
from sofa_softctl.surrogate.planning.collisions import (
    approaches,
    blocking_obstacles,
    is_obstructed,
    obstacle_name,
)
from sofa_softctl.surrogate.planning.detours import detours
from sofa_softctl.surrogate.planning.outcome import outcome
from sofa_softctl.surrogate.program.optimise import optimise
from sofa_softctl.surrogate.program.settings import (
    OptimiserResult,
    Settings,
    TrustRegionIteration,
)
from sofa_softctl.surrogate.program.transcription import (
    PlanningProblem,
    TrajectoryIterate,
    evaluate,
)


class Iteration(NamedTuple):
    """Iteration of the optimiser, for convergence plots."""

    round: int
    """Number of refinements of the map before the iteration."""
    merit: float
    """Scaled cost plus penalty [-]."""
    cost: float
    """Cost after the iteration."""
    defect: float
    """Largest defect after the iteration [-]."""
    radius: float
    """Trust region of the iteration [-]."""
    accepted: bool
    """Whether the step was accepted."""
    evaluations: int
    """Number of evaluations of the exact map so far, or 0 without a counter."""


@dataclass(frozen=True, eq=False)
class Plan:
    """Inputs and coordinates over time, with residuals and status."""

    u: np.ndarray
    """Inputs of each step, shape (K - 1, m): tensions of cables over the dynamics' force [-]."""
    a: np.ndarray
    """Coordinates at each instant [-], shape (K, d)."""
    y: np.ndarray
    """Outputs at each instant, with the problem's offset [length], shape (K, n)."""
    reward: float
    """Minus the sum of all terms [cost]."""
    defect: float
    """Largest residual of a step over `Dynamics.unit`: for cables, the tension that is missing for
    balance [-]."""
    stationarity: float
    """Largest violation of the first-order conditions over the largest curvature [-]."""
    miss: float
    """Largest distance from a goal of `Following` [length]."""
    violation: float
    """Largest depth of a point inside an obstacle's margin at an instant [length]."""
    inside: float
    """Largest displacement by which a segment between instants would leave an obstacle [length]."""
    status: Status
    """Solved, closest feasible, infeasible or not converged."""
    message: str
    """Message; empty if all went well."""
    iterations: int
    """Number of iterations, over all rounds and initial trajectories."""
    history: tuple[Iteration, ...]
    """History of the iterations."""
    timed_out: bool = False
    """True if the time limit ended planning before it was finished."""


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
    """Plan a trajectory; refine the map and plan again from there, `rounds` times.

    The method is local: a plan stays on the side of an obstacle on which its initial trajectory
    passes. If the first round ends inside an obstacle's margin, or behind an obstacle, up to four
    other initial trajectories around obstacles are tried, and the best result is used.

    Args:
        problem: Planning problem.
        u: Initial inputs, shape (K - 1, m), which are clipped to their limits; by default those
            that stay at a_1.
        a: Initial coordinates, shape (K, d); by default at rest under each u_k.
        refine: Refines the map, in place or by returning another one; called before each further
            round.
        rounds: Number R of refinements.
        settings: Settings of the optimiser.
        progress: Called after each iteration.
        evaluations: Returns the number of evaluations of the exact map so far, for the history.

    Returns:
        Plan of the last round, with `status` and `message`; within a `deadline`, the best one so
        far.

    Raises:
        ValueError: The start has a wrong shape or no finite cost; limits contradict each other; the
            start or all main goals are inside an obstacle.
        TimeLimitError: The time limit was reached before the first iteration.

    Source: Jia, Pan, Manocha, Algorithm 1; the optimiser is in the manner of Schulman et al. 2014.
    """
    check_limits(problem)
    K, d, m, dynamics = problem.instants, problem.d, problem.m, problem.dynamics
    u = _holding_inputs(problem) if u is None else np.array(u, float)
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
    tried_starts, ended = 0, None
    for number in range(rounds + 1):
        try:
            finer_map = refine() if number and refine is not None else None
            if finer_map is not None:
                problem = replace(problem, dynamics=problem.dynamics.on(finer_map))
            start = evaluate(problem, a, u)
        except TimeLimitError:
            if ended is None:
                raise
            ended = replace(ended, timed_out=True)
            break

        def report(stage: TrustRegionIteration, number: int = number) -> None:
            spent = 0 if evaluations is None else evaluations()
            history.append(Iteration(number, *stage, spent))
            if progress is not None:
                progress(history[-1])

        if not np.isfinite(start.cost):
            raise ValueError(
                "The start has no finite cost: does the laser point away from its plane? Give "
                "another start u."
            )
        with one_blas_thread():
            if number == 0:
                check_places(problem, start)
            other_starts_max = 0 if number else 4  # initial trajectories around obstacles
            problem, ended, start_count = _best_of_starts(
                problem, start, settings, report, other_starts_max
            )
            tried_starts += start_count
        a, u = ended.trial.a, ended.trial.u
        if ended.timed_out:
            break
    assert ended is not None
    judged = outcome(
        problem, ended, tried_starts, lambda: _with_cheaper_inputs(problem, ended, settings)
    )
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
        timed_out=ended.timed_out,
    )


def _best_of_starts(
    problem: PlanningProblem,
    start: TrajectoryIterate,
    settings: Settings,
    report: Callable[[TrustRegionIteration], None],
    other_starts_max: int,
) -> tuple[PlanningProblem, OptimiserResult, int]:
    """Optimise from a start; if obstacles obstruct the result, also from other starts.

    Returns:
        Problem, with obstacles also checked between instants if the first result was obstructed;
        best result; number of detours tried, without the last restart.
    """

    def rank(ended: OptimiserResult) -> tuple[bool, bool, bool, float]:
        inside = any(approach.is_inside for approach in approaches(problem, ended.trial))
        blocked = bool(blocking_obstacles(problem, ended.trial))
        return inside, not ended.balanced, blocked, ended.trial.cost

    best, tried = optimise(problem, start, settings, report), 0
    if best.timed_out or not is_obstructed(problem, best.trial):
        return problem, best, 0
    guides = detours(problem, best.trial)[:other_starts_max] if other_starts_max else []
    swept_obstacles = tuple(replace(obstacle, between=True) for obstacle in problem.obstacles)
    needs_between = not all(obstacle.between for obstacle in problem.obstacles)
    problem = replace(problem, obstacles=swept_obstacles)
    for guide in (*guides, *([None] if needs_between else [])):
        try:
            if guide is not None:
                other_start = _follow_detour(guide, start, settings)
            else:
                other_start = _at_rest(problem) if other_starts_max else start
            other_start = evaluate(problem, other_start.a, other_start.u)
            ended = optimise(problem, other_start, settings, report)
        except TimeLimitError:
            best = replace(best, timed_out=True)
            break
        best = replace(min(best, ended, key=rank), timed_out=ended.timed_out)
        tried += guide is not None
        if best.timed_out or not is_obstructed(problem, best.trial):
            break
    return problem, best, tried


def _with_cheaper_inputs(
    problem: PlanningProblem, ended: OptimiserResult, settings: Settings
) -> TrajectoryIterate:
    """Return the plan from a result with a thousandth of the weights of inputs' costs."""
    inputs = [
        replace(term, weight=1e-3 * term.weight)
        for term in problem.inputs
        if isinstance(term, Effort | Smoothness)
    ]
    few_iterations = replace(settings, iterations=30)  # it need not be optimal
    cheaper = replace(problem, inputs=tuple(inputs))
    with one_blas_thread():
        return optimise(cheaper, ended.trial, few_iterations, lambda _: None).trial


def _at_rest(problem: PlanningProblem) -> TrajectoryIterate:
    """Return the trajectory that stays at a_1, so that no step passes through an obstacle."""
    u = problem.within_limits(_holding_inputs(problem))
    return evaluate(problem, np.tile(problem.a_first, (problem.instants, 1)), u)


def _holding_inputs(problem: PlanningProblem) -> np.ndarray:
    """Return the inputs that stay at a_1, shape (K - 1, m)."""
    return np.tile(problem.dynamics.holding(problem.a_first), (problem.instants - 1, 1))


def _follow_detour(
    guide: PlanningProblem, start: TrajectoryIterate, settings: Settings
) -> TrajectoryIterate:
    """Return a trajectory along the goals of a detour."""
    few_iterations = replace(settings, iterations=30)  # it need not be optimal
    return optimise(guide, evaluate(guide, start.a, start.u), few_iterations, lambda _: None).trial


_ROUNDING_TOLERANCE = 1e-9  # of coordinates and tensions of the order of 1


def check_limits(problem: PlanningProblem) -> None:
    """Check that the limits allow some trajectory.

    Raises:
        ValueError: Limits are NaN, or contradict each other or the start.
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
    first, by_step = problem.a_first, (steps, problem.d)
    is_below = np.shape(limits.a_min) != by_step and first < low[0] - _ROUNDING_TOLERANCE
    is_above = np.shape(limits.a_max) != by_step and first > high[0] + _ROUNDING_TOLERANCE
    if np.any(is_below) or np.any(is_above):
        raise ValueError(
            f"the start a_first = {_row(first)} is outside the limits of coordinates, from "
            f"{_row(low[0])} to {_row(high[0])}. Widen them (`reach`), or start inside."
        )
    if problem.u_before is not None:
        low, high = problem.input_bounds
        change = np.abs(np.clip(problem.u_before, low[0], high[0]) - problem.u_before)
        change_max = np.asarray(limits.rate) * problem.dynamics.dt
        if np.any(change > change_max + _ROUNDING_TOLERANCE):
            raise ValueError(
                f"limits: inputs u_before = {_row(problem.u_before)} are outside their limits, "
                f"from {_row(low[0])} to {_row(high[0])}, by up to {change.max():.3g}, and the "
                f"rate allows a change of {np.min(change_max):.3g} in a step. Widen the limits, "
                "raise the rate, or start from other inputs."
            )


def check_places(problem: PlanningProblem, start: TrajectoryIterate) -> None:
    """Check that neither the start nor all main goals are inside an obstacle.

    Goals that only lead to main ones may be inside, see `Following.main`.

    Raises:
        ValueError: The start or all main goals are inside an obstacle.
    """
    for number, obstacle in enumerate(problem.obstacles, 1):
        p = obstacle.probe.locate(start.y[:1, list(obstacle.rows)])[0]
        depth = -float(obstacle.shape.distance(p)[0][0])
        if depth > _ROUNDING_TOLERANCE * max(1.0, float(np.abs(p).max())):
            raise ValueError(
                f"the start {_row(p[0])} is {depth:.3g} inside "
                f"{obstacle_name(number, obstacle.shape)}. Move the obstacle, or start elsewhere."
            )
    for term in problem.outputs:
        if not isinstance(term, Following) or term.free.any():
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
