"""Inverse problem with contacts: a quadratic program with complementarity constraints."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from time import perf_counter

import numpy as np

from sofa_softctl.qp.verified import VerifiedResult
from sofa_softctl.qpcc.pieces.kernels import LAW_ACCEPTED
from sofa_softctl.qpcc.pieces.mechanics import Mechanics, build_mechanics, contact_forces, modes_at
from sofa_softctl.qpcc.pieces.mechanics_kernels import residuals_of
from sofa_softctl.qpcc.pieces.statement import ProblemLimits
from sofa_softctl.qpcc.problem.contacts import Contacts
from sofa_softctl.qpcc.problem.kernels import MARGIN_FACTOR, reached_ends
from sofa_softctl.qpcc.problem.limits import active_limits, effort_box, exceeded_limits, limits_of
from sofa_softctl.qpcc.problem.modes import ContactWarm, SearchOptions
from sofa_softctl.qpcc.problem.problem import InverseProblem
from sofa_softctl.qpcc.solve.solution import InverseSolution, status_of
from sofa_softctl.qpcc.solve.step import Step, VerifiedPiece, normal_sums
from sofa_softctl.status import Status

REPORTED_EXCESS_MIN = 1e-6
"""Smallest reported excess of a limit, relative to `Mechanics.size` [-]."""


def solve_qpcc(
    problem: InverseProblem,
    contacts: Contacts,
    *,
    ask: Callable[..., VerifiedResult],
    search: SearchOptions,
    warm: ContactWarm | None,
    is_alone: bool,
    held: np.ndarray,
    tolerance: float,
) -> InverseSolution:
    """Actuator efforts for one time step with contacts. See `solve.solve`.

    Args:
        problem: The problem.
        contacts: Contacts of the problem, at least one.
        ask: Calls the QP solvers, see `solve_checked`.
        search: Options of the mode search.
        warm: `warm` of the last solution, if that had contacts.
        is_alone: Whether there is no last solution, so that the search must end in this step.
        held: Effort to hold if no answer can be trusted [effort], shape (n_a,).
        tolerance: Largest accepted KKT residual [-].

    Source: Coevoet, Escande, Duriez 2019, eqs. (5), (6) and section III-D.
    """
    start = perf_counter()
    effort_before = warm.effort if warm is not None else problem.effort_previous
    if effort_before.shape != (problem.n_a,):
        warm, effort_before = None, problem.effort_previous
    effort_before = np.clip(effort_before, *effort_box(problem))
    mechanics = build_mechanics(problem, contacts, effort_before)
    middle = perf_counter()
    step = Step(
        mechanics, ProblemLimits.of(mechanics), search, warm, effort_before / mechanics.a_unit, ask
    )
    step.is_alone = is_alone
    step.deadline = middle + search.budget
    verified = step.answer()
    end = perf_counter()
    return _solution(step, verified, held, tolerance, (middle - start, end - middle))


def _solution(
    step: Step,
    answered: VerifiedPiece | None,
    held: np.ndarray,
    tolerance: float,
    times: tuple[float, float],
) -> InverseSolution:
    """Solution with its residuals; or with the held effort and its contact forces."""
    m, p = step.mechanics, step.mechanics.problem
    if answered is not None:
        modes, effort, force, checked, scale = answered
        residual, qp_solver = checked.residual, checked.solver
    else:
        effort = np.clip(held, *effort_box(p)) / m.a_unit
        force, _ = contact_forces(m, effort, None if step.past is None else step.past.force)
        modes, qp_solver, scale = modes_at(m, effort, force), "", 1.0
        residual = step.answers[-1].residual if step.answers else np.inf
    delta = m.delta_c(effort, force)
    law, complementarity, cone_violation = residuals_of(force, delta, *m.law)
    displacement = (m.W_aa @ effort + m.W_ac @ force) / m.a_unit + p.delta_a_free
    error = p.W_ea @ (effort * m.a_unit) + m.contacts.W_ec @ (force * m.c_unit) + p.delta_e_free
    values = {"effort": effort * m.a_unit, "displacement": displacement}
    relaxed: tuple[str, ...] = ()
    if answered is None or step.excess is not None:
        margin = REPORTED_EXCESS_MIN * m.size
        relaxed = exceeded_limits(p.names, limits_of(p), values, _margins(m, margin))
        relaxed += _exceeded_sums(step, force, margin)
    objective = m.objective(effort, force)
    margin = min(MARGIN_FACTOR * tolerance * scale, REPORTED_EXCESS_MIN * m.size)
    reached = reached_ends(p.arrays[-1], *values.values(), *_margins(m, margin).values())
    past = 0 if step.warm is None else step.warm.idle
    idle = 1 + past if step.is_stalled(effort, force, objective) else 0
    return InverseSolution(
        effort=_frozen(np.clip(effort * m.a_unit, *effort_box(p))),
        displacement=_frozen(displacement),
        effector_error=_frozen(error),
        status=_status(answered, relaxed),
        kkt_residual=residual,
        active=active_limits(p.names, reached),
        relaxed=relaxed,
        objective=objective,
        iterations=sum(checked.iterations for checked in step.answers),
        build_time=times[0],
        solve_time=times[1],
        solver=qp_solver,
        message=" ".join(_notes(step, answered, law)),
        warm=ContactWarm(
            effort * m.a_unit,
            {identity: number for number, identity in enumerate(m.contacts.identity)},
            modes,
            force * m.c_unit,
            np.where(m.mu > 0.0, 3, 1),
            objective,
            step.usual(objective),
            idle,
            step.pause,
            step.excess is not None,
            step.open_search,
            step.open_excess,
        ),
        contact_force=_frozen(force * m.c_unit),
        contact_gap=_frozen(delta / m.c_unit),
        modes=modes.labels(m.contacts.friction),
        complementarity=complementarity,
        cone_violation=cone_violation,
        law_error=law,
        bound=_bound(step, answered, objective),
        gap=_gap(step, answered, objective),
        strategy=step.search_result.strategy,
        pieces=step.pieces,
        converged=step.search_result.converged and not step.goes_on,
        goes_on=step.goes_on,
    )


def _margins(m: Mechanics, margin: float) -> dict[str, np.ndarray]:
    """Margin of each actuator's effort and displacement, from one in units of energy."""
    return {"effort": margin * m.a_unit, "displacement": margin / m.a_unit}


def _notes(step: Step, answered: VerifiedPiece | None, law: float) -> dict[str, None]:
    """Return notes on a solution, or reasons why there is none, without repetitions."""
    notes: list[str] = []
    if answered is None:
        notes += [note for checked in step.answers for note in checked.notes]
        notes.append("No modes of the contacts were found that the limits allow.")
    elif answered.checked.replaced:
        notes += answered.checked.notes
    if answered is not None and step.excess is not None and not step.excess.complete:
        notes.append(
            "That no modes of the contacts keep all limits is not proven: the search ended at the "
            "`nodes` of `SearchOptions`."
        )
    if law > LAW_ACCEPTED:
        notes.append(
            f"The contact forces at these efforts are off the contact law by {law:.1e} of the "
            "largest gap: Gauss-Seidel did not converge."
        )
    if step.mechanics.indefinite:
        notes.append(
            f"The objective is not convex over the efforts (least eigenvalue "
            f"{-step.mechanics.indefinite:.1e} of the largest); it was lifted to zero. Is W "
            "symmetric?"
        )
    if step.goes_on:
        notes.append(
            f"The search goes on in the next step, after {step.pieces} pieces in this one: raise "
            "`step_nodes` of `SearchOptions` for a longer one in each."
        )
    elif not step.search_result.converged:
        notes.append(
            f"The search ended early, after {step.pieces} pieces: raise `pieces`, `nodes` or "
            "`budget` of `SearchOptions`."
        )
    return dict.fromkeys(notes)


def _bound(step: Step, answered: VerifiedPiece | None, objective: float) -> float:
    """Lower bound of the objective within all limits [displacement^2].

    At least 0, as for a sum of squares; -inf if none was computed.
    """
    if answered is None or step.excess is not None or step.search_result.bound == -math.inf:
        return -math.inf
    return min(max(step.search_result.bound, 0.0), objective)


def _gap(step: Step, answered: VerifiedPiece | None, objective: float) -> float:
    """(objective - bound) / objective [-], inf without a bound.

    An objective below 1e-8 of the free motion's counts as that much.
    """
    bound, m = _bound(step, answered, objective), step.mechanics
    if bound == -math.inf:
        return math.inf
    difference = objective - bound
    scale = max(objective, 1e-8 * m.free_objective)
    return (
        0.0 if difference <= 1e-7 * scale else difference / max(scale, 1e-300)
    )  # 1e-7: tolerance of the QPs


def _status(answered: VerifiedPiece | None, relaxed: Sequence[str]) -> Status:
    if answered is None:
        return Status.HELD
    return status_of(relaxed, [answered.checked])


def _frozen(array: np.ndarray) -> np.ndarray:
    array.setflags(write=False)
    return array


def _exceeded_sums(step: Step, force: np.ndarray, margin: float) -> tuple[str, ...]:
    """Return texts on sums of normal forces that are out of bounds."""
    m = step.mechanics
    texts = []
    value = normal_sums(m, force)
    for k, bound in enumerate(m.contacts.sums):
        slack = margin * float(m.c_unit[m.starts[bound.contacts]].max(initial=0.0))
        if value[k] < bound.minimum - slack:
            texts.append(
                f"{bound.name}: normal force {bound.minimum - value[k]:.3g} below its minimum"
            )
        elif value[k] > bound.maximum + slack:
            texts.append(
                f"{bound.name}: normal force {value[k] - bound.maximum:.3g} above its maximum"
            )
    return tuple(texts)
