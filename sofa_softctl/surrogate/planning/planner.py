"""Planner: sequential convex optimisation of a motion, with refinements of the map."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from sofa_softctl._internal.blas_threads import one_blas_thread
from sofa_softctl.status import Status
from sofa_softctl.surrogate.grid.embedding import Embedding
from sofa_softctl.surrogate.planning.costs import Following
from sofa_softctl.surrogate.planning.transcription import PlanningProblem, Trial, evaluate
from sofa_softctl.surrogate.planning.trust_region import (
    Ended,
    Settings,
    TrustRegionIteration,
    optimise,
)

_REASONS = {
    Status.CLOSEST_FEASIBLE: (
        "The goals are out of reach: this plan comes as near to them as the limits allow. "
        "Move the goals, widen the limits, or give more time."
    ),
    Status.INFEASIBLE: (
        "No motion was found that is in balance at every step, within the limits, and at rest in "
        "the end if that is asked for: this one comes nearest to it. Do not execute it."
    ),
    Status.NOT_CONVERGED: "The optimum was not reached: this is the best plan so far.",
}


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
    """Tensions over time, their motion, and its residuals and status."""

    u: np.ndarray
    """Tensions over the dynamics' force in each step [-], shape (K - 1, d)."""
    a: np.ndarray
    """Coordinates at each instant [-], shape (K, d)."""
    reward: float
    """Minus the sum of all terms [cost]."""
    defect: float
    """Largest residual of a step: the missing tension over the force [-]."""
    stationarity: float
    """Largest violation of the first-order conditions over the largest curvature [-]."""
    miss: float
    """Largest distance from a goal of `Following` [length]."""
    violation: float
    """Largest depth of a point inside an obstacle's margin [length]."""
    status: Status
    """Solved, closest feasible, infeasible or not converged."""
    message: str
    """Message; empty if all went well."""
    iterations: int
    """Iterations, all rounds."""
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

    Args:
        problem: The problem.
        u: Initial tensions, shape (K - 1, d); clipped to their limits. None = stay at a_1.
        a: Initial motion, shape (K, d). None = rest at each instant, a_k+1 = u_k.
        refine: Refines the map, in place or by returning another one. Called before each further
            round.
        rounds: R, the number of refinements.
        settings: Settings of the optimiser.
        progress: Called after each iteration.
        evaluations: Number of evaluations of the exact map so far, for the history.

    Returns:
        The plan of the last round, with `status` and `message`.

    Raises:
        ValueError: A start of the wrong shape, or one where a term has no value.

    Source: Jia, Pan, Manocha, Algorithm 1; the optimiser is in the manner of Schulman et al. 2014.
    """
    K, d = problem.instants, problem.dynamics.layout.lines
    u = np.tile(problem.a_first, (K - 1, 1)) if u is None else np.array(u, float)
    if u.shape != (K - 1, d):
        raise ValueError(f"u must have shape {(K - 1, d)}. Got: {u.shape}")
    u = problem.within_limits(u)
    a = np.vstack((problem.a_first, u)) if a is None else np.array(a, float)
    if a.shape != (K, d):
        raise ValueError(f"a must have shape {(K, d)}. Got: {a.shape}")
    a[0], a[1:] = problem.a_first, np.clip(a[1:], *problem.state_bounds)
    history: list[Iteration] = []
    for number in range(rounds + 1):
        if number and refine is not None:
            finer = refine()
            if finer is not None:
                problem = replace(problem, dynamics=replace(problem.dynamics, embedding=finer))

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
            ended = optimise(problem, start, settings or Settings(), report)
        a, u = ended.trial.a, ended.trial.u
    return _plan(problem, ended, tuple(history))


def _plan(problem: PlanningProblem, ended: Ended, history: tuple[Iteration, ...]) -> Plan:
    trial = ended.trial
    miss, missed = _misses(problem, trial)
    if ended.stuck and not ended.balanced:
        status = Status.INFEASIBLE
    elif not ended.converged:
        status = Status.NOT_CONVERGED
    else:
        status = Status.CLOSEST_FEASIBLE if missed else Status.SOLVED
    reasons = [] if status.ok else [_REASONS[status]]
    notes = filter(None, (ended.fallback,)) if ended.converged else ended.notes
    if status is Status.NOT_CONVERGED and ended.stuck:
        reasons.append(
            "No step from it gains anything: where it wants to go the map may have no answer, as "
            "where the robot buckles, folds or snaps."
        )
    if not ended.balanced:
        advice = "" if status is Status.INFEASIBLE else " Do not execute it."
        reasons.append(f"Steps lack balance by up to {trial.defect:.1e} of the force.{advice}")
    if missed:
        reasons.append(f"Largest distance from a goal: {miss:.3g}.")
    if trial.violation > 0.0:
        reasons.append(
            f"A point is {trial.violation:.3g} inside an obstacle's margin; give obstacles a "
            "larger weight if that is too much."
        )
    return Plan(
        u=trial.u,
        a=trial.a,
        reward=-trial.cost,
        defect=trial.defect,
        stationarity=ended.stationarity,
        miss=miss,
        violation=trial.violation,
        status=status,
        message=" ".join((*reasons, *notes)),
        iterations=len(history),
        history=history,
    )


def _misses(problem: PlanningProblem, trial: Trial) -> tuple[float, bool]:
    """Largest distance from a goal, and whether one exceeds its tolerance."""
    miss, missed = 0.0, False
    for term in problem.outputs:
        if isinstance(term, Following):
            far = term.distance(trial.outputs[:, list(term.rows)])
            miss, missed = max(miss, far), missed or far > term.tolerance
    return miss, missed
