"""Mode searches of one step: within the limits, else with the least excess.

First the tracking problem is searched within all limits (`strategy.search_modes`), and its best
piece is solved once more by a verified QP. If there is no piece within the limits, the least
squared excess of the limits that may be relaxed is searched, the limits are widened by it, and the
best tracking within the widened limits is the answer. Efforts never leave their own limits.

The memory of the last step (`ContactWarm`) has its modes, forces and objective. An objective that
rises by more than a tenth, or a solution that has moved nothing for many steps, makes the search
wider: a local optimum of contact modes can hold a robot still although a motion exists.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from sofa_softctl.qp.verified import VerifiedResult
from sofa_softctl.qpcc.pieces.contact_law import law_error
from sofa_softctl.qpcc.pieces.kernels import LAW_ACCEPTED, Statement
from sofa_softctl.qpcc.pieces.mechanics import Mechanics, contact_forces, modes_at
from sofa_softctl.qpcc.pieces.mechanics_kernels import recall_contacts
from sofa_softctl.qpcc.pieces.piece import Pieces, final_qp
from sofa_softctl.qpcc.pieces.sequence import PieceSolution
from sofa_softctl.qpcc.pieces.statement import ProblemLimits, excess_statement, tracking_statement
from sofa_softctl.qpcc.problem.limits import intersect, limits_of
from sofa_softctl.qpcc.problem.modes import (
    INACTIVE,
    STICKING,
    ContactWarm,
    Modes,
    OpenSearch,
    SearchOptions,
)
from sofa_softctl.qpcc.search.pivoting import PivotStart
from sofa_softctl.qpcc.search.strategy import (
    LOST_OBJECTIVE_RATIO,
    ModeSearchResult,
    SearchContext,
    search_modes,
)

OBJECTIVE_RISE_MAX = 1.1
"""Rise of the objective over a step above which pivoting also starts from new modes [-]."""
EFFORT_CHANGE_TOLERANCE = 1e-3
"""Negligible change of the efforts, relative to their size [-]."""
EFFORT_CHANGE_FLOOR = 1e-5
"""Negligible change of the efforts, relative to the largest gap in units of energy [-]."""
NEAR_GOAL_OBJECTIVE = 1e-6
"""Objective below which the goal is near, relative to the free motion's objective [-]."""
NO_MOTION_RATIO_MIN = 0.9
"""Objective relative to no motion's, above which a solution counts as no motion [-]."""
STALLED_STEPS_MAX = 30
"""Steps without motion after which efforts that begin to move the bodies are searched."""
LONG_SEARCH_PAUSE = 50
"""Steps after a long search in which searches are spread: longer steps are at most 2 % of all. With
100, a gripper's box slips for some steps, 56 after the search with which it was lifted."""
EXCESS_TOLERANCE = 1e-8
"""Excess of limits that counts as rounding, relative to `Mechanics.size` [-]."""
START_SWEEPS = 100
"""Maximum number of Gauss-Seidel sweeps for starts."""
ENERGY_TIE_RATIO = 1.001
"""Ratio of two energies at which the first is larger [-]."""
LIMIT_SLACK = 3e-7
"""Additional widening of limits that have to be exceeded [-]."""


class VerifiedPiece(NamedTuple):
    """A solution that passed the check, in units of energy."""

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
    is_alone: bool = False
    """True in the first step of a run, whose search must end in the same step."""
    answers: list[VerifiedResult] = field(default_factory=list)
    """Results of the QP solvers."""
    search_result: ModeSearchResult = field(
        default_factory=lambda: ModeSearchResult(None, True, "pivoting")
    )
    """Result of the search whose answer was accepted."""
    excess: ModeSearchResult | None = None
    """Result of the search for the least excess, if the limits had to be exceeded."""
    open_search: OpenSearch | None = None
    """Rest of the search within the limits, for the next step."""
    open_excess: OpenSearch | None = None
    """Rest of the search for the least excess."""
    pieces: int = 0
    """Number of solved pieces."""
    starts: list[PivotStart] | None = None
    """Starts, computed at first use."""

    def __post_init__(self) -> None:
        self.statement = tracking_statement(self.mechanics, self.limits)
        self.pause = 0 if self.warm is None else max(0, self.warm.pause - 1)
        self.past = None if self.warm is None else _last_contacts(self.mechanics, self.warm)
        expected = math.inf if self.warm is None else OBJECTIVE_RISE_MAX * self.warm.objective
        is_known = self.past is not None and self.past.has_any
        self.expected = expected if is_known else -math.inf
        self.usually = math.inf
        if self.warm is not None and is_known:
            self.usually = max(self.warm.usual, self._near_goal)

    def usual(self, objective: float) -> float:
        """Return the reference objective of the next step, which rises by at most a tenth per step.

        If an extended search found nothing below the last one, it is the objective itself.
        """
        if self.warm is None or objective > LOST_OBJECTIVE_RATIO * self.usually:
            return objective
        return min(objective, OBJECTIVE_RISE_MAX * self.warm.usual)

    def answer(self) -> VerifiedPiece | None:
        """Return the best tracking within the limits, or else with the least excess of them."""
        statement = self.statement
        if statement is not None:
            self.search_result = self._search_modes(statement)
            verified = self._verify(statement, self.search_result)
            if verified is not None:
                return verified
        return self._least_excess(statement)

    def _least_excess(self, within: Statement | None) -> VerifiedPiece | None:
        """Return the solution of least excess, if none within the limits was found."""
        statement = excess_statement(self.mechanics, self.limits)
        if statement is None:
            return None
        excess = self._search_modes(statement, confirm=True)
        if excess.answer is None:
            return None
        if (
            within is not None
            and math.sqrt(excess.answer.objective) <= EXCESS_TOLERANCE * self._size
        ):
            answered = self._solve_tracking_from(within, excess)
            if answered is not None:
                return answered
        self.excess = excess
        widened = tracking_statement(
            self.mechanics, _relax_limits(self.mechanics, self.limits, excess.answer)
        )
        return None if widened is None else self._solve_tracking_from(widened, excess)

    def _solve_tracking_from(
        self, statement: Statement, excess: ModeSearchResult
    ) -> VerifiedPiece | None:
        """Return the best tracking from a solution of least excess, or else that solution."""
        assert excess.answer is not None
        start = PivotStart(excess.answer.modes, excess.answer.force)
        self.search_result = self._search_modes(statement, start)
        verified = self._verify(statement, self.search_result)
        if verified is None:
            self.search_result = ModeSearchResult(
                self._as_tracking(excess.answer), False, excess.strategy
            )
            verified = self._verify(statement, self.search_result)
        return verified

    @property
    def goes_on(self) -> bool:
        """True if a search goes on in the next step."""
        rests = self.open_search, self.open_excess
        return any(rest is not None for rest in rests)

    @property
    def _near_goal(self) -> float:
        """Objective below which the goal is near [displacement^2]."""
        return NEAR_GOAL_OBJECTIVE * self.mechanics.free_objective

    @property
    def _size(self) -> float:
        return self.mechanics.size

    def _search_modes(
        self, statement: Statement, start: PivotStart | None = None, *, confirm: bool = False
    ) -> ModeSearchResult:
        """Search the modes of a statement; `confirm` that its least objective is not zero."""
        before = np.zeros(len(statement.lower))
        before[: len(self.before)] = self.before
        pieces = Pieces.of(statement, before)
        last_start = None
        if start is not None:
            last_start = start
        elif self.past is not None and self.past.has_any:
            last_start = PivotStart(self.past.modes, self.past.force)
        nodes: int | None = None
        if self.search.strategy != "exact":
            nodes = self.search.confirm_nodes if confirm else (None if start is None else 0)
        rest = None
        if self.warm is not None and start is None:
            rest = self.warm.open_excess if confirm else self.warm.open_search
        context = SearchContext(
            identity=self.mechanics.contacts.identity,
            rest=rest,
            may_be_long=self.pause == 0,
            may_wait=not self.is_alone
            and (not confirm or (self.warm is not None and self.warm.is_excess)),
            pairs=self.mechanics.contacts.pairs,
            last_start=last_start,
            has_new_contacts=start is None and self.past is not None and not self.past.has_all,
            expected=math.inf if start is not None else (-math.inf if confirm else self.expected),
            usual=math.inf if start is not None or confirm else self.usually,
            is_idle=self._idle if start is None and not confirm else _never,
        )
        result = search_modes(
            pieces,
            self.search,
            context,
            starts=self._starts(),
            resort=self._resort(),
            enough=0.5 * (EXCESS_TOLERANCE * self._size) ** 2 if confirm else -math.inf,
            nodes=nodes,
            deadline=self.deadline,
        )
        self.pieces += int(pieces.solved[0])
        if result.is_long and self.pause == 0:
            self.pause = LONG_SEARCH_PAUSE
        if confirm:
            self.open_excess = result.rest
        elif start is None:
            self.open_search = result.rest
        return result

    def _idle(self, answer: PieceSolution) -> bool:
        """Return True if an answer moves nothing, and a search for motion is due.

        It is due where no contact was known, and after `PATIENCE` steps without motion, after
        twice as many, and so on.
        """
        is_known = self.past is not None and self.past.has_any
        rounds, remainder = (
            divmod(self.warm.idle, STALLED_STEPS_MAX) if is_known and self.warm else (0, 0)
        )
        is_due = remainder == 0 and rounds & (rounds - 1) == 0 and (rounds > 0 or not is_known)
        return bool(is_due and self.is_stalled(answer.effort, answer.force, answer.objective))

    def is_stalled(self, effort: np.ndarray, force: np.ndarray, objective: float) -> bool:
        """Return True if efforts and objective stay as in the last step, and the goal is not near.

        Args:
            effort: Efforts in units of energy, shape (n_a,).
            force: Contact forces, shape (n_r,).
            objective: Objective of these efforts [displacement^2].
        """
        m = self.mechanics
        if objective <= self._near_goal:
            return False
        change, effort_size = (
            float(np.linalg.norm(x)) for x in (effort - self.before, self.before)
        )
        if change > max(EFFORT_CHANGE_TOLERANCE * effort_size, EFFORT_CHANGE_FLOOR * m.size):
            return False
        if self.statement is None:
            return False
        force, _ = contact_forces(m, self.before, force, sweeps=START_SWEEPS)
        return objective >= NO_MOTION_RATIO_MIN * m.objective(self.before, force)

    def _starts(self) -> Iterator[PivotStart]:
        if self.starts is None:
            self.starts = list(_starts(self.mechanics, self.before, self.past))
        yield from self.starts

    def _resort(self) -> Iterator[PivotStart]:
        """Modes at the efforts of the last step, with fully converged forces.

        Then the same with one contact in another mode, the nearest to it first: if contacts nearly
        depend on each other, the modes of the weakest ones are uncertain.
        """
        m = self.mechanics
        force, _ = contact_forces(m, self.before)
        modes = modes_at(m, self.before, force)
        yield PivotStart(modes, force, obeyed=True)
        n = m.starts
        distance = np.maximum(force[n], np.abs(m.delta_c(self.before, force)[n]))
        for i in np.argsort(np.round(distance / m.size, 6), kind="stable"):
            new_kind = STICKING if modes.kind[i] == INACTIVE else INACTIVE
            yield PivotStart(modes.with_kind(i, new_kind), force)

    def _as_tracking(self, solution: PieceSolution) -> PieceSolution:
        """Return a solution within the limits, with its tracking objective."""
        effort = solution.effort[: len(self.before)]
        objective = self.mechanics.objective(effort, solution.force)
        return solution._replace(effort=effort, objective=objective)

    def _verify(self, statement: Statement, result: ModeSearchResult) -> VerifiedPiece | None:
        """Return the solution verified by a QP solver: the optimum of its piece."""
        if result.answer is None:
            return None
        m, answer = self.mechanics, result.answer
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
        is_off_law = law_error(m, effort, force).max() > max(LAW_ACCEPTED, answer.law)
        if is_off_law or effort @ effort > ENERGY_TIE_RATIO * (answer.effort @ answer.effort):
            effort, force = (
                answer.effort,
                answer.force,
            )  # as good, and nearer to the law or of less energy
        scale = float(np.abs(final.scale).max())
        return VerifiedPiece(answer.modes, effort, force, checked, scale)


def _never(answer: PieceSolution) -> bool:
    return False


class LastContacts(NamedTuple):
    """State of this step's contacts at the end of the last step."""

    modes: Modes
    force: np.ndarray
    """Contact forces in units of energy, shape (n_r,)."""
    has_any: bool
    """Whether the last step had any of the contacts; new ones start inactive."""
    has_all: bool
    """Whether the last step had all of the contacts."""


def _starts(m: Mechanics, before: np.ndarray, past: LastContacts | None) -> Iterator[PivotStart]:
    """Yield starts: modes at the efforts of the last step, roughly converged, and all sticking.

    The forces of contacts that depend on each other are not unique: starting from the last step's
    forces may lead to no feasible piece, while starting from zero does.
    """
    for last_force in [None] if past is None else [past.force, None]:
        force, _ = contact_forces(m, before, last_force, sweeps=START_SWEEPS)
        yield PivotStart(modes_at(m, before, force), force)
    yield PivotStart(Modes.of(np.full(m.contacts.n_c, STICKING)), np.zeros(m.contacts.n_r))


def _last_contacts(m: Mechanics, warm: ContactWarm) -> LastContacts:
    """Return the contacts' state in the last step, by their identity."""
    number = np.array([warm.contacts.get(identity, -1) for identity in m.contacts.identity])
    past = number, warm.modes, warm.force, warm.widths
    return LastContacts(*recall_contacts(*past, m.c_unit, m.mu))


def _relax_limits(m: Mechanics, limits: ProblemLimits, solution: PieceSolution) -> ProblemLimits:
    """Return the limits, widened by the least amount that this solution satisfies."""
    n_a = len(m.a_unit)
    effort, force = solution.effort[:n_a], solution.force
    displacement = (m.W_aa @ effort + m.W_ac @ force) / m.a_unit + m.problem.delta_a_free
    slack = LIMIT_SLACK * max(m.size, math.sqrt(2.0 * solution.objective))
    values = {"effort": effort * m.a_unit, "displacement": displacement}
    slacks = {"effort": slack * m.a_unit, "displacement": slack / m.a_unit}
    relaxed = limits_of(m.problem)
    for k, limit in enumerate(relaxed):
        if not limit.is_hard:
            value, margin = values[limit.quantity], slacks[limit.quantity]
            relaxed[k] = limit._replace(
                lower=np.minimum(limit.lower, value - margin),  # NaN stays NaN: no limit
                upper=np.maximum(limit.upper, value + margin),
            )
    total, least_unit = normal_sums(m, force), slack * float(m.c_unit.max())
    return ProblemLimits(
        intersect(m.problem, relaxed),
        np.minimum(limits.sum_minimum, total - least_unit),
        np.maximum(limits.sum_maximum, total + least_unit),
    )


def normal_sums(m: Mechanics, force: np.ndarray) -> np.ndarray:
    """Return the bounded sums of normal forces [effort], one for each of `Contacts.sums`."""
    normal = (force * m.c_unit)[m.starts]
    return np.array([normal[bound.contacts].sum() for bound in m.contacts.sums])
