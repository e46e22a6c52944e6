"""The inverse problem through contacts: a quadratic program with complementarity constraints."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from time import perf_counter
from typing import NamedTuple

import numpy as np

from sofa_softctl.inverse.branch import branch
from sofa_softctl.inverse.checked import Checked
from sofa_softctl.inverse.contact_law import complementarity, cone_violation, law_error
from sofa_softctl.inverse.contacts import Contacts
from sofa_softctl.inverse.limits import active_limits, effort_box, exceeded_limits, limits_of
from sofa_softctl.inverse.mechanics import Mechanics, contact_forces, mechanics_of, modes_at
from sofa_softctl.inverse.modes import STICKING, Modes
from sofa_softctl.inverse.piece_qp import Bounds
from sofa_softctl.inverse.pivoting import pivot
from sofa_softctl.inverse.problem import InverseProblem
from sofa_softctl.inverse.search import ContactWarm, Search
from sofa_softctl.inverse.solution import InverseSolution
from sofa_softctl.inverse.solve_piece import LAW_ACCEPTED, Answer, PieceSolver, normal_sums
from sofa_softctl.status import Status


def solve_qpcc(
    problem: InverseProblem,
    contacts: Contacts,
    *,
    ask: Callable[..., Checked],
    search: Search,
    warm: ContactWarm | None,
    held: np.ndarray,
    tolerance: float,
) -> InverseSolution:
    """Actuator efforts for one time step with contacts. See `solver.solve`.

    Args:
        problem: The problem.
        contacts: Its contacts, at least one.
        ask: Asks the QP solvers, see `solve_checked`.
        search: How the modes are looked for.
        warm: What the step before left.
        held: Effort to hold if no answer can be trusted [effort], shape (n_a,).
        tolerance: Largest KKT residual of an answer that is taken [-].

    Source: Coevoet, Escande, Duriez 2019, eqs. (5), (6) and section III-D.
    """
    start = perf_counter()
    before = warm.effort if warm is not None else problem.effort_previous
    if before.shape != (problem.n_a,):
        warm, before = None, problem.effort_previous
    before = np.clip(before, *effort_box(problem))
    mechanics = mechanics_of(problem, contacts, before)
    minimum, maximum = (np.array([s[k] for s in contacts.sums]) for k in (2, 3))
    solver = PieceSolver(mechanics, Bounds(limits_of(problem), minimum, maximum), ask)
    middle = perf_counter()
    past = None if warm is None else _recalled(mechanics, warm)
    deadline = middle + search.budget
    answer, pieces, converged = None, 0, True
    if past is not None and past.complete:
        answer, pieces, converged = pivot(
            solver, [past.modes], pieces=search.pieces, flips=search.warm_flips, deadline=deadline
        )
    if _may_be_poor(answer, warm) and (answer is None or perf_counter() < deadline):
        starts = _starts(mechanics, before, past)
        other, more, converged = pivot(
            solver, starts, pieces=search.pieces, flips=search.flips, deadline=deadline
        )
        pieces += more
        if other is not None and other.better_than(answer):
            answer = other
    found = _Found(answer, pieces, converged, "pivoting")
    known = past is not None and past.complete
    if _goes_on(search, contacts, known):
        auto = search.strategy == "auto"
        proof = branch(
            solver,
            answer,
            nodes=AUTO_NODES if auto and search.budget == math.inf else search.nodes,
            gap=search.gap,
            budget=deadline - perf_counter(),
        )
        converged = converged if auto else proof.complete
        found = _Found(proof.best, pieces + proof.pieces, converged, "exact", proof.bound)
    end = perf_counter()
    return _solution(solver, found, held, warm, tolerance, (middle - start, end - middle))


def _may_be_poor(answer: Answer | None, warm: ContactWarm | None) -> bool:
    """Whether an answer that the one of the step before led to may be a poor local optimum."""
    if answer is None or warm is None or answer.violation > 0.0:
        return True
    return answer.objective > WORSE * warm.objective


WORSE = 1.1
"""Rise of the objective from step to step from which on pivoting also starts anew [-]."""


def _goes_on(search: Search, contacts: Contacts, known: bool) -> bool:
    """Whether pivoting is followed by the search for a proof."""
    if search.strategy != "auto":
        return search.strategy == "exact"
    slides = contacts.law.friction == "coulomb" and bool(contacts.friction.any())
    few = contacts.n_c <= search.few and not slides and not known
    return math.isfinite(search.budget) or few


AUTO_NODES = 100
"""Most relaxations of "exact" where `Search.strategy` is "auto" and there is no budget."""


@dataclass(frozen=True, eq=False)
class _Found:
    """What the search came to."""

    answer: Answer | None
    pieces: int
    converged: bool
    strategy: str
    bound: float = -np.inf


class _Past(NamedTuple):
    """What the step before knew of the contacts of this one."""

    modes: Modes
    force: np.ndarray
    """In units of energy, shape (n_r,)."""
    complete: bool
    """Whether it knew all of them."""


def _starts(m: Mechanics, before: np.ndarray, past: _Past | None) -> Iterator[Modes]:
    """Modes to start from: those at the efforts of the step before, and all sticking.

    The forces of contacts that depend on each other are not unique: those that are found from the
    forces of the step before may have no piece where those that are found from none have one.
    """
    effort = before / m.a_unit
    for known in [None] if past is None else [past.force, None]:
        force, _ = contact_forces(m, effort, known)
        yield modes_at(m, effort, force)
    yield Modes.of(np.full(m.contacts.n_c, STICKING))


def _recalled(m: Mechanics, warm: ContactWarm) -> _Past:
    """What is known of the contacts, by their identity."""
    c = m.contacts
    modes = Modes.of(np.zeros(c.n_c, dtype=int))
    force = np.zeros(c.n_r)
    complete = True
    for i, identity in enumerate(c.identity):
        past = warm.contacts.get(identity)
        rows = slice(c.starts[i], c.starts[i] + (3 if m.rough[i] else 1))
        if past is None or len(past[3]) != rows.stop - rows.start:
            complete = False
            continue
        modes.kind[i], modes.direction[i], modes.balance[i], force[rows] = past
    return _Past(modes, force / m.c_unit, complete)


def _remembered(
    m: Mechanics, modes: Modes, effort: np.ndarray, force: np.ndarray, objective: float
) -> ContactWarm:
    """What the next step starts from. Efforts and forces in the scene's units."""
    parts = np.split(force, m.contacts.starts[1:])
    past = zip(modes.kind, modes.direction, modes.balance, parts, strict=True)
    return ContactWarm(effort, dict(zip(m.contacts.identity, past, strict=True)), objective)


def _solution(
    solver: PieceSolver,
    found: _Found,
    held: np.ndarray,
    warm: ContactWarm | None,
    tolerance: float,
    times: tuple[float, float],
) -> InverseSolution:
    """The answer with its evidence; or the held effort, and what the contacts do about it."""
    m, p, answer = solver.mechanics, solver.mechanics.problem, found.answer
    if answer is not None:
        effort, force, modes = answer.effort, answer.force, answer.modes
        residual, qp_solver = answer.checked.residual, answer.checked.solver
    else:
        effort = np.clip(held, *effort_box(p)) / m.a_unit
        start = None if warm is None else _recalled(m, warm).force
        force, _ = contact_forces(m, effort, start)
        modes, qp_solver = modes_at(m, effort, force), ""
        residual = solver.asked[-1].residual if solver.asked else np.inf
    law = float(law_error(m, effort, force).max())
    displacement = (m.W_aa @ effort + m.W_ac @ force) / m.a_unit + p.delta_a_free
    error = p.W_ea @ (effort * m.a_unit) + m.contacts.W_ec @ (force * m.c_unit) + p.delta_e_free
    gap = m.delta_c(effort, force) / m.c_unit
    scale = 1.0 if answer is None else float(np.abs(answer.piece_qp.scale).max())
    margin = 10.0 * tolerance * scale
    values = {"effort": effort * m.a_unit, "displacement": displacement}
    margins = {"effort": margin * m.a_unit, "displacement": margin / m.a_unit}
    limits = solver.bounds.limits
    relaxed: tuple[str, ...] = ()
    if answer is None or answer.violation > 0.0:
        relaxed = exceeded_limits(p.names, limits, values, margins)
        relaxed += _exceeded_sums(solver, force, margin)
    objective = 0.5 * float(np.square(p.effector_weight * error).sum())
    objective += solver.energy(effort, force)
    return InverseSolution(
        effort=_frozen(np.clip(effort * m.a_unit, *effort_box(p))),
        displacement=_frozen(displacement),
        effector_error=_frozen(error),
        status=_status(answer, relaxed),
        kkt_residual=residual,
        active=active_limits(p.names, limits, values, margins),
        relaxed=relaxed,
        objective=objective,
        iterations=sum(checked.iterations for checked in solver.asked),
        build_time=times[0],
        solve_time=times[1],
        solver=qp_solver,
        message=" ".join(_notes(solver, found, law)),
        warm=_remembered(m, modes, effort * m.a_unit, force * m.c_unit, objective),
        contact_force=_frozen(force * m.c_unit),
        contact_gap=_frozen(gap),
        modes=modes.told(m.contacts.friction),
        complementarity=complementarity(m, effort, force),
        cone_violation=cone_violation(m, force),
        law_error=law,
        bound=found.bound,
        gap=_gap(found, m),
        strategy=found.strategy,
        pieces=found.pieces,
        converged=found.converged,
    )


def _notes(solver: PieceSolver, found: _Found, law: float) -> dict[str, None]:
    """What to know of an answer, or of why there is none, each said once."""
    notes: list[str] = []
    if found.answer is None:
        notes += [note for checked in solver.asked for note in checked.notes]
        notes.append("No modes of the contacts were found that the limits allow.")
    if law > LAW_ACCEPTED:
        notes.append(
            f"The contact forces at these efforts are off the contact law by {law:.1e} of the "
            "largest gap: Gauss-Seidel did not converge."
        )
    if solver.indefinite:
        notes.append(
            f"The objective is not convex over the efforts (least eigenvalue "
            f"{-solver.indefinite:.1e} of the largest); it was lifted to zero. Is W symmetric?"
        )
    if not found.converged:
        notes.append(
            f"The search ended early, after {found.pieces} pieces: raise `pieces`, `nodes` or "
            "`budget` of `Search`."
        )
    return dict.fromkeys(notes)


def _gap(found: _Found, m: Mechanics) -> float:
    """(objective - bound) / objective [-], inf without a bound.

    An objective below 1e-8 of the free motion's counts as that much.
    """
    if found.answer is None or found.answer.violation > 0.0 or found.bound == -math.inf:
        return math.inf
    missing = found.answer.objective - found.bound
    worth = max(found.answer.objective, 0.5e-8 * float(m.e_free @ m.e_free))
    return 0.0 if missing <= 1e-7 * worth else missing / worth  # 1e-7: what QPs leave


def _status(answer: Answer | None, relaxed: tuple[str, ...]) -> Status:
    if answer is None:
        return Status.HELD
    return Status.CLOSEST_FEASIBLE if relaxed else Status.SOLVED


def _frozen(array: np.ndarray) -> np.ndarray:
    array.setflags(write=False)
    return array


def _exceeded_sums(solver: PieceSolver, force: np.ndarray, margin: float) -> tuple[str, ...]:
    """The sums of normal forces that are out of bounds, in words."""
    m = solver.mechanics
    told = []
    value = normal_sums(m, force)
    for k, entry in enumerate(m.contacts.sums):
        slack = margin * float(m.c_unit[m.contacts.starts[entry.contacts]].max(initial=0.0))
        if value[k] < entry.minimum - slack:
            told.append(
                f"{entry.name}: normal force {entry.minimum - value[k]:.3g} below its minimum"
            )
        elif value[k] > entry.maximum + slack:
            told.append(
                f"{entry.name}: normal force {value[k] - entry.maximum:.3g} above its maximum"
            )
    return tuple(told)
