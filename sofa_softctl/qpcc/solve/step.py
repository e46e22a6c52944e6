"""Mode searches of one step: within the limits, else with the least excess."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from sofa_softctl.qp.verified import VerifiedResult
from sofa_softctl.qpcc.pieces.contact_law import law_error
from sofa_softctl.qpcc.pieces.kernels import LAW_ACCEPTED, Statement
from sofa_softctl.qpcc.pieces.mechanics import Mechanics, contact_forces, modes_at
from sofa_softctl.qpcc.pieces.piece import PieceAnswer, Pieces, final_qp
from sofa_softctl.qpcc.pieces.statement import ProblemLimits, least_excess, tracking
from sofa_softctl.qpcc.problem.limits import Limit
from sofa_softctl.qpcc.problem.modes import INACTIVE, STICKING, ContactWarm, Modes, SearchOptions
from sofa_softctl.qpcc.search.pivoting import PivotStart
from sofa_softctl.qpcc.search.strategy import FAR, Found, SearchContext, search_modes

WORSE = 1.1
"""Rise of the objective over a step at which pivoting also starts anew [-]."""
STILL = 1e-3
"""Negligible change of the efforts, relative to them."""
NOTHING = 1e-6
"""The same, relative to the largest gap, in units of energy."""
UNREACHED = 1e-6
"""Objective above which the goal is not near, relative to that of the free motion."""
NO_BETTER = 0.9
"""Objective, relative to that of no motion, at which an answer counts as no motion."""
PATIENCE = 30
"""Steps without motion after which efforts that begin to move the bodies are searched."""
NO_EXCESS = 1e-8
"""Excess of limits that counts as rounding, relative to `Mechanics.size` [-]."""
START_SWEEPS = 100
"""Maximum number of Gauss-Seidel sweeps for starts."""
LESS = 1.001
"""Ratio of two energies at which the first is larger [-]."""
WIDER = 3e-7
"""Additional widening of limits that have to be exceeded [-]."""


class Answered(NamedTuple):
    """An answer that passed the check, in units of energy."""

    modes: Modes
    effort: np.ndarray
    force: np.ndarray
    checked: VerifiedResult
    scale: float
    """Largest unit of the QP's variables [sqrt(energy)]."""


@dataclass(eq=False)
class Step:
    """Mode searches of one step."""

    mechanics: Mechanics
    limits: ProblemLimits
    search: SearchOptions
    warm: ContactWarm | None
    before: np.ndarray
    """Efforts of the step before in units of energy, shape (n_a,)."""
    ask: Callable[..., VerifiedResult]
    deadline: float = math.inf
    answers: list[VerifiedResult] = field(default_factory=list)
    """Results of the QP solvers."""
    found: Found = field(default_factory=lambda: Found(None, True, "pivoting"))
    """Result of the search whose answer was accepted."""
    excess: Found | None = None
    """Result of the search for the least excess, if the limits had to be exceeded."""
    pieces: int = 0
    """Number of solved pieces."""
    starts: list[PivotStart] | None = None
    """Starts, computed at first use."""

    def __post_init__(self) -> None:
        self.past = None if self.warm is None else _recalled(self.mechanics, self.warm)
        expected = math.inf if self.warm is None else WORSE * self.warm.objective
        known = self.past is not None and self.past.known
        self.expected = expected if known else -math.inf
        self.usually = self.warm.usual if self.warm is not None and known else math.inf

    def usual(self, objective: float) -> float:
        """Reference objective of the next step: it follows a rise by at most a tenth a step.

        Where an extended search found nothing below the last one, it is the objective itself.
        """
        if self.warm is None or objective > FAR * self.usually:
            return objective
        return min(objective, WORSE * self.warm.usual)

    def answer(self) -> Answered | None:
        """The best tracking within the limits, or else with the least excess of them."""
        within = tracking(self.mechanics, self.limits)
        if within is not None:
            self.found = self._find(within)
            answered = self._checked(within, self.found)
            if answered is not None:
                return answered
        return self._least_excess(within)

    def _least_excess(self, within: Statement | None) -> Answered | None:
        """Least excess of the limits, where no answer within them was found."""
        beyond = least_excess(self.mechanics, self.limits)
        if beyond is None:
            return None
        excess = self._find(beyond, confirm=True)
        if excess.answer is None:
            return None
        if within is not None and math.sqrt(excess.answer.objective) <= NO_EXCESS * self._size:
            answered = self._tracked(within, excess)
            if answered is not None:
                return answered
        self.excess = excess
        widened = tracking(self.mechanics, _widened(self.mechanics, self.limits, excess.answer))
        return None if widened is None else self._tracked(widened, excess)

    def _tracked(self, statement: Statement, excess: Found) -> Answered | None:
        """The best tracking from an answer on, or else that answer."""
        assert excess.answer is not None
        start = PivotStart(excess.answer.modes, excess.answer.force)
        self.found = self._find(statement, start)
        answered = self._checked(statement, self.found)
        if answered is None:
            self.found = Found(_as_tracking(statement, excess.answer), False, excess.strategy)
            answered = self._checked(statement, self.found)
        return answered

    @property
    def _size(self) -> float:
        return self.mechanics.size

    def _find(
        self, statement: Statement, start: PivotStart | None = None, *, confirm: bool = False
    ) -> Found:
        """Search the modes of a statement; `confirm` that its least objective is not zero."""
        before = np.zeros(len(statement.lower))
        before[: len(self.before)] = self.before
        pieces = Pieces(statement, before)
        recalled = None
        if start is not None:
            recalled = start
        elif self.past is not None and self.past.known:
            recalled = PivotStart(self.past.modes, self.past.force)
        nodes: int | None = None
        if self.search.strategy != "exact":
            nodes = self.search.confirm_nodes if confirm else (None if start is None else 0)
        context = SearchContext(
            pairs=self.mechanics.contacts.pairs,
            recalled=recalled,
            surprised=start is None and self.past is not None and not self.past.complete,
            expected=math.inf if start is not None else (-math.inf if confirm else self.expected),
            usual=math.inf if start is not None or confirm else self.usually,
            idle=self._idle if start is None and not confirm else _never,
        )
        found = search_modes(
            pieces,
            self.search,
            context,
            starts=self._starts(),
            resort=self._resort(),
            enough=0.5 * (NO_EXCESS * self._size) ** 2 if confirm else -math.inf,
            nodes=nodes,
            deadline=self.deadline,
        )
        self.pieces += pieces.pieces
        return found

    def _idle(self, answer: PieceAnswer) -> bool:
        """Whether an answer moves nothing, and a search for motion is due.

        It is due where no contact was known, and after `PATIENCE` steps without motion, after
        twice as many, and so on.
        """
        known = self.past is not None and self.past.known
        rounds, rest = divmod(self.warm.idle, PATIENCE) if known and self.warm else (0, 0)
        due = rest == 0 and rounds & (rounds - 1) == 0 and (rounds > 0 or not known)
        return bool(due and self.stays(answer.effort, answer.force, answer.objective))

    def stays(self, effort: np.ndarray, force: np.ndarray, objective: float) -> bool:
        """Whether efforts are those of the step before, and no better, though the goal is not near.

        Args:
            effort: In units of energy, shape (n_a,).
            force: Contact forces, shape (n_r,).
            objective: Their objective [displacement^2].
        """
        m = self.mechanics
        if objective <= UNREACHED * 0.5 * float(m.e_free @ m.e_free):
            return False
        change, before = (float(np.linalg.norm(x)) for x in (effort - self.before, self.before))
        if change > max(STILL * before, NOTHING * m.size):
            return False
        force, _ = contact_forces(m, self.before, force, sweeps=START_SWEEPS)
        within = tracking(m, self.limits)
        if within is None:
            return False
        residual = within.F_u @ self.before + within.F_c @ force + within.f
        return bool(objective >= NO_BETTER * 0.5 * float(residual @ residual))

    def _starts(self) -> Iterator[PivotStart]:
        """See `_starts`; computed at first use."""
        if self.starts is None:
            self.starts = list(_starts(self.mechanics, self.before, self.past))
        yield from self.starts

    def _resort(self) -> Iterator[PivotStart]:
        """Modes at the efforts of the last step, with fully converged forces.

        Then the same with one contact in another mode, those nearest to it first: where contacts
        nearly depend on each other, the modes of the weakest ones are uncertain.
        """
        m = self.mechanics
        force, _ = contact_forces(m, self.before)
        modes = modes_at(m, self.before, force)
        yield PivotStart(modes, force, obeyed=True)
        n = m.contacts.starts
        near = np.maximum(force[n], np.abs(m.delta_c(self.before, force)[n]))
        for i in np.argsort(np.round(near / m.size, 6), kind="stable"):
            other = STICKING if modes.kind[i] == INACTIVE else INACTIVE
            yield PivotStart(modes.with_contact(i, other), force)

    def _checked(self, statement: Statement, found: Found) -> Answered | None:
        """The answer as verified by a QP solver: the optimum of its piece."""
        if found.answer is None:
            return None
        m, answer = self.mechanics, found.answer
        n_a = len(m.a_unit)
        final = final_qp(statement, answer)
        if final is None:
            return None
        checked = self.ask(final.qp, feasible=True)
        self.answers.append(checked)
        if checked.result is None:
            return None
        v = final.scale * checked.result.x
        effort, force = v[:n_a], final.X @ v + final.x
        strays = law_error(m, effort, force).max() > max(LAW_ACCEPTED, answer.law)
        if strays or effort @ effort > LESS * (answer.effort @ answer.effort):
            effort, force = (
                answer.effort,
                answer.force,
            )  # as good, and nearer to the law or of less energy
        scale = float(np.abs(final.scale).max())
        return Answered(answer.modes, effort, force, checked, scale)


def _as_tracking(within: Statement, kept: PieceAnswer) -> PieceAnswer:
    """An answer within the limits, with its tracking objective."""
    effort = kept.effort[: len(within.lower)]
    residual = within.F_u @ effort + within.F_c @ kept.force + within.f
    return replace(kept, effort=effort, objective=0.5 * float(residual @ residual))


def _never(answer: PieceAnswer) -> bool:
    return False


class Past(NamedTuple):
    """Contacts of this step as the last one left them."""

    modes: Modes
    force: np.ndarray
    """In units of energy, shape (n_r,)."""
    known: bool
    """Whether the last step had any of them. New ones start inactive."""
    complete: bool
    """Whether it had all of them."""


def _starts(m: Mechanics, before: np.ndarray, past: Past | None) -> Iterator[PivotStart]:
    """Starts: modes at the efforts of the last step, roughly converged, and all sticking.

    The forces of contacts that depend on each other are not unique: those that start from the
    forces of the last step may have no feasible piece where those that start from zero have one.
    """
    for known in [None] if past is None else [past.force, None]:
        force, _ = contact_forces(m, before, known, sweeps=START_SWEEPS)
        yield PivotStart(modes_at(m, before, force), force)
    yield PivotStart(Modes.of(np.full(m.contacts.n_c, STICKING)))


def _recalled(m: Mechanics, warm: ContactWarm) -> Past:
    """State of the contacts in the last step, by their identity."""
    c = m.contacts
    modes = Modes.of(np.zeros(c.n_c, dtype=int))
    force = np.zeros(c.n_r)
    known, complete = False, True
    for i, identity in enumerate(c.identity):
        past = warm.contacts.get(identity)
        rows = slice(c.starts[i], c.starts[i] + (3 if m.rough[i] else 1))
        if past is None or len(past[3]) != rows.stop - rows.start:
            complete = False
            continue
        known = True
        modes.kind[i], modes.direction[i], modes.balance[i], force[rows] = past
    return Past(modes, force / m.c_unit, known, complete)


def _widened(m: Mechanics, limits: ProblemLimits, least: PieceAnswer) -> ProblemLimits:
    """The limits, widened to the least amount that this answer satisfies."""
    n_a = len(m.a_unit)
    effort, force = least.effort[:n_a], least.force
    displacement = (m.W_aa @ effort + m.W_ac @ force) / m.a_unit + m.problem.delta_a_free
    slack = WIDER * max(m.size, math.sqrt(2.0 * least.objective))
    values = {"effort": effort * m.a_unit, "displacement": displacement}
    slacks = {"effort": slack * m.a_unit, "displacement": slack / m.a_unit}
    widened: list[Limit] = []
    for limit in limits.limits:
        if not limit.hard:
            value, margin = values[limit.quantity], slacks[limit.quantity]
            limit = limit._replace(
                lower=np.minimum(limit.lower, value - margin),  # NaN stays NaN: no limit
                upper=np.maximum(limit.upper, value + margin),
            )
        widened.append(limit)
    total, least_unit = normal_sums(m, force), slack * float(m.c_unit.max())
    return ProblemLimits(
        widened,
        np.minimum(limits.sum_minimum, total - least_unit),
        np.maximum(limits.sum_maximum, total + least_unit),
    )


def normal_sums(m: Mechanics, force: np.ndarray) -> np.ndarray:
    """The sums of normal forces that are bounded [effort], one for each of `Contacts.sums`."""
    normal = (force * m.c_unit)[m.contacts.starts]
    return np.array([normal[entry.contacts].sum() for entry in m.contacts.sums])
