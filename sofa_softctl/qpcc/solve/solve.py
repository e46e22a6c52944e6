"""Solve an inverse problem, with every answer verified."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np

from sofa_softctl.base.versions import one_blas_thread
from sofa_softctl.errors import ProblemError
from sofa_softctl.qp.active_set import SOLVED
from sofa_softctl.qp.problem import QPResult
from sofa_softctl.qp.verified import VerifiedResult, solve_checked
from sofa_softctl.qpcc.problem.kernels import (
    MARGIN_FACTOR,
    evaluate_effort,
    reached_ends,
    solve_tracking,
)
from sofa_softctl.qpcc.problem.limits import (
    Limit,
    active_limits,
    effort_box,
    exceeded_limits,
    intersect,
    limits_of,
)
from sofa_softctl.qpcc.problem.modes import ContactWarm, SearchOptions
from sofa_softctl.qpcc.problem.problem import InverseProblem, InverseQP, build_qp
from sofa_softctl.qpcc.solve.solution import InverseSolution, status_of
from sofa_softctl.status import Status

ACTIVE_SET = "active-set"
"""Name of the compiled solver."""
TOLERANCE = 1e-8
"""Largest accepted KKT residual [-]."""
_SEARCH = SearchOptions()


def solve(
    problem: InverseProblem,
    *,
    solver: str = ACTIVE_SET,
    fallback: str = "proxqp",
    warm: QPResult | ContactWarm | None = None,
    held: np.ndarray | None = None,
    tolerance: float = TOLERANCE,
    search: SearchOptions = _SEARCH,
) -> InverseSolution:
    """Actuator efforts for one time step.

    Every answer is verified. If the limits contradict each other, the effort bounds hold, the other
    limits are exceeded by the smallest least-squares amount (`least_violation`), and of the efforts
    that do so the one with the best tracking is returned.

    Args:
        problem: Compliance, free motion and limits.
        solver: Name of the QP solver that is called first: "active-set", "daqp", "proxqp",
            "qpsolvers:NAME", or one that was registered with `qp.solvers.register`. With contacts,
            whose search is an active-set method itself, daqp verifies in place of "active-set".
        fallback: Name of the solver that is called when the first one's answer is rejected; the
            status is FALLBACK if its solution is used.
        warm: `InverseSolution.warm` of the last step. It does not change the answer of a QP.
        held: Effort to hold if no answer can be trusted [effort], shape (n_a,). Default:
            `problem.effort_previous`. It is clipped to the effort bounds.
        tolerance: Largest accepted KKT residual [-], see `qp.kkt_residual`.
        search: Options of the search for contact modes, if there are contacts.

    Returns:
        The efforts, their status and residuals.
    """
    held = _checked_effort(problem, held)
    has_contacts = problem.contacts is not None and problem.contacts.n_c > 0
    if solver == ACTIVE_SET and not has_contacts:
        start = perf_counter()
        outcome, answer = solve_tracking(
            *problem.arrays, float(problem.energy), problem.in_energy, tolerance
        )
        if outcome == SOLVED:
            return tracked_solution(problem.names, answer, perf_counter() - start)
    if solver == ACTIVE_SET and has_contacts:
        solver = "daqp"
    solvers = (solver,) if fallback == solver else (solver, fallback)
    ask = partial(solve_checked, solvers=solvers, tolerance=tolerance)
    if problem.contacts is not None and has_contacts:
        from sofa_softctl.qpcc.solve.contact_solution import solve_qpcc

        with one_blas_thread():
            return solve_qpcc(
                problem,
                problem.contacts,
                ask=ask,
                search=search,
                warm=warm if isinstance(warm, ContactWarm) else None,
                is_alone=warm is None,
                held=held,
                tolerance=tolerance,
            )
    if isinstance(warm, ContactWarm):
        warm = None
    start = perf_counter()
    built = build_qp(problem)
    middle = perf_counter()
    answers = [ask(built.qp, warm=warm)]
    result = answers[0].result
    if result is not None:
        effort: np.ndarray | None = built.effort_scale * result.x
    else:
        effort = _least_violation(problem, limits_of(problem), built, ask, answers)
    end = perf_counter()
    times = middle - start, end - middle
    return _solution(problem, built, effort, held, answers, tolerance, times)


def _checked_effort(problem: InverseProblem, held: np.ndarray | None) -> np.ndarray:
    if held is None:
        return problem.effort_previous
    effort = np.asarray(held, dtype=float)
    if effort.shape != (problem.n_a,) or not math.isfinite(np.vdot(effort, effort)):
        raise ProblemError(
            f"held must be a finite effort for each of the {problem.n_a} actuators, got {held!r}."
        )
    return effort


def _within_bounds(problem: InverseProblem, effort: np.ndarray) -> np.ndarray:
    lower, upper = effort_box(problem)
    clipped: np.ndarray = np.minimum(np.maximum(effort, lower), upper)
    return clipped


def _least_violation(
    problem: InverseProblem,
    limits: Sequence[Limit],
    built: InverseQP,
    ask: Callable[..., VerifiedResult],
    answers: list[VerifiedResult],
) -> np.ndarray | None:
    """Minimise the violation, then tracking within it; if that fails, both in one QP.

    Returns:
        The effort [effort], shape (n_a,), or None. All answers are added to `answers`.
    """
    from sofa_softctl.qpcc.solve.least_violation import add_tracking, build_violation_qp, relax

    violation_qp, scale = build_violation_qp(problem, limits)
    answers.append(ask(violation_qp, feasible=True))
    result = answers[-1].result
    if result is not None:
        effort = _within_bounds(problem, scale * result.x[: problem.n_a])
        relaxed = build_qp(problem, intersect(problem, relax(problem, limits, built, effort)))
        answers.append(ask(relaxed.qp, feasible=True))
        result = answers[-1].result
        if result is not None:
            return relaxed.effort_scale * result.x
    answers.append(ask(add_tracking(violation_qp, scale, built), feasible=True))
    result = answers[-1].result
    return None if result is None else scale * result.x[: problem.n_a]


def _solution(
    problem: InverseProblem,
    built: InverseQP,
    effort: np.ndarray | None,
    held: np.ndarray,
    answers: Sequence[VerifiedResult],
    tolerance: float,
    times: tuple[float, float],
) -> InverseSolution:
    """Return the solution with this effort, or else with the held one."""
    is_solved = effort is not None
    effort = _within_bounds(problem, held if effort is None else effort)
    W_ea, W_aa, delta_e, delta_a, weight, limits = problem.arrays
    displacement, error, objective = evaluate_effort(
        W_ea, W_aa, delta_e, delta_a, weight, built.energy_matrix, effort
    )
    margin = MARGIN_FACTOR * tolerance
    margins = {
        "effort": margin * built.effort_scale,
        "displacement": margin * built.displacement_scale,
    }
    reached = reached_ends(limits, effort, displacement, *margins.values())
    relaxed: tuple[str, ...] = ()
    if len(answers) > 1:
        values = {"effort": effort, "displacement": displacement}
        relaxed = exceeded_limits(problem.names, limits_of(problem), values, margins)
    if is_solved:
        status = status_of(relaxed, answers)
        residual = max(answer.residual for answer in answers if answer.result is not None)
    else:
        status, residual = Status.HELD, answers[-1].residual
    return InverseSolution(
        effort=_read_only(effort),
        displacement=_read_only(displacement),
        effector_error=_read_only(error),
        status=status,
        kkt_residual=residual,
        active=active_limits(problem.names, reached),
        relaxed=relaxed,
        objective=objective,
        iterations=sum(answer.iterations for answer in answers),
        build_time=times[0],
        solve_time=times[1],
        solver=answers[-1].solver,
        message=" ".join(dict.fromkeys(note for answer in answers for note in answer.notes)),
        warm=answers[-1].result,
    )


def tracked_solution(
    names: Sequence[str], answer: tuple[Any, ...], seconds: float
) -> InverseSolution:
    """Return the solution of `kernels.solve_tracking`, given the actuators' names and its time."""
    effort, displacement, error, objective, reached, x, y, residual, iterations = answer
    return InverseSolution(
        effort=_read_only(effort),
        displacement=_read_only(displacement),
        effector_error=_read_only(error),
        status=Status.SOLVED,
        kkt_residual=residual,
        active=active_limits(names, reached),
        relaxed=(),
        objective=objective,
        iterations=iterations,
        build_time=0.0,
        solve_time=seconds,
        solver=ACTIVE_SET,
        message="",
        warm=QPResult(x, y, "solved", iterations),
    )


def _read_only(array: np.ndarray) -> np.ndarray:
    array.setflags(write=False)
    return array
