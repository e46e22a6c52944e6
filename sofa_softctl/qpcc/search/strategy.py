"""Strategy of the search for contact modes: starts, pivoting, branching.

Every contact is inactive, sticks or slides; for decided modes (a piece) the problem is a QP, or a
sequence of QPs if contacts slide. The search looks for the piece with the lowest objective:

1. Pivoting from the modes of the last step: it goes to neighbouring pieces while that gains, and
   ends at a local optimum. In most steps this is all.
2. Pivoting from further starts, if contacts are new or the objective has risen.
3. Starts suggested by relaxations (`suggested_starts`), if the answer is still poor or moves
   nothing: these show which contacts begin to slide together.
4. Branch and bound, from the best answer, with a number of relaxations that depends on the number
   of contacts. It proves how far the answer is from the optimum. A long one is spread over steps:
   each answers with the best modes so far, and the next one goes on from the open nodes.

All limits count pieces and relaxations, so that answers do not depend on the machine, unless a
`budget` in seconds is set.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import NamedTuple

import numpy as np

from sofa_softctl.qpcc.pieces.kernels import Statement
from sofa_softctl.qpcc.pieces.piece import Pieces, is_better, refine_to_optimum
from sofa_softctl.qpcc.pieces.sequence import PieceSolution, no_solution
from sofa_softctl.qpcc.problem.modes import (
    OPEN,
    SECTOR,
    SLIDING,
    STICKING,
    TOUCHING,
    Modes,
    OpenSearch,
    SearchOptions,
)
from sofa_softctl.qpcc.search.branch_and_bound import CHILDREN_MAX, OpenNodes, Proof, branch
from sofa_softctl.qpcc.search.interrupted import interrupt_search, resume_search
from sofa_softctl.qpcc.search.neighbours import ModeKeys, nearest_modes
from sofa_softctl.qpcc.search.pivoting import PivotStart, pivot
from sofa_softctl.qpcc.search.relaxation import Relaxation


def suggested_starts(
    pieces: Pieces,
    relaxation: Relaxation,
    best: PieceSolution | None,
    pairs: Sequence[Hashable],
) -> Iterator[PivotStart]:
    """Yield modes nearest to relaxations of all contacts, of one body's, and of one pair's.

    A relaxation shows which contacts begin to slide together. The other contacts keep their modes
    of the best answer so far, or stick: a box that is pushed along a floor slides on it together
    with the fingers that hold it.
    """
    of_pair = [
        np.array([pair == other_pair for other_pair in pairs]) for pair in dict.fromkeys(pairs)
    ]
    kinds_to_solve = [np.full(len(pairs), OPEN), np.full(len(pairs), TOUCHING)]
    kinds_to_solve += [np.where(is_chosen, TOUCHING, STICKING) for is_chosen in _of_bodies(pairs)]
    if len(of_pair) > 1:
        kinds_to_solve += [np.where(is_chosen, TOUCHING, STICKING) for is_chosen in of_pair]
        if best is not None:
            kinds = np.where(best.modes.kind == SLIDING, TOUCHING, best.modes.kind)
            kinds_to_solve += [np.where(is_chosen, OPEN, kinds) for is_chosen in of_pair]
    for modes in map(Modes.of, kinds_to_solve):
        relaxed = relaxation.solve(modes)
        if relaxed is not None:
            point = relaxed.effort, relaxed.force
            for sliding in (True, False):
                suggested = nearest_modes(pieces.statement, modes, *point, sliding)
                yield PivotStart(suggested, relaxed.force)


def _of_bodies(pairs: Sequence[Hashable]) -> list[np.ndarray]:
    """Return masks of each body's contacts, if it touches several others but not all, (n_c,)."""
    masks = []
    bodies = dict.fromkeys(body for pair in pairs if isinstance(pair, tuple) for body in pair)
    for body in bodies:
        is_on_body = np.array([isinstance(pair, tuple) and body in pair for pair in pairs])
        touching_pairs = {pair for pair, is_on in zip(pairs, is_on_body, strict=True) if is_on}
        if len(touching_pairs) > 1 and not is_on_body.all():
            masks.append(is_on_body)
    return masks


@dataclass(eq=False)
class Multistart:
    """Best answer of pivoting from several starts."""

    pieces: Pieces
    enough: float
    """Objective at which an answer is good enough."""
    deadline: float
    """Reading of `perf_counter` at which to end [s]."""
    last: int
    """Number of solved pieces at which to end."""
    best: PieceSolution | None = None
    complete: bool = True
    """Whether all starts and their candidates were tried."""
    tried: ModeKeys = field(
        default_factory=lambda: ModeKeys(np.empty(0, np.int64), np.zeros(1, int))
    )
    """Modes that were tried."""

    @property
    def piece_count(self) -> int:
        """Number of solved pieces."""
        return int(self.pieces.solved[0])

    def pivot_from(self, starts: Iterable[PivotStart], flips: int) -> None:
        """Pivot from further starts."""
        for start in starts:
            if self.best is not None and self.best.objective <= self.enough:
                return
            pieces_left = self.last - self.piece_count
            if pieces_left <= 0 or (self.best is not None and perf_counter() > self.deadline):
                self.complete = False
                return
            self.reserve(pieces_left)
            solution, is_complete = pivot(self.pieces, start, self.tried, pieces_left, flips)
            self.complete = self.complete and is_complete
            if solution.objective < math.inf:
                if self.best is None or is_better(self.pieces, solution, self.best):
                    self.best = solution

    @property
    def has_pieces_left(self) -> bool:
        """True if more pieces may be solved, or there is no answer yet."""
        return self.best is None or self.piece_count < self.last

    def reserve(self, keys: int) -> None:
        """Make room for further modes."""
        room = int(self.tried.number[0]) + keys - len(self.tried.keys)
        if room > 0:
            longer = np.concatenate((self.tried.keys, np.empty(room, np.int64)))
            self.tried = self.tried._replace(keys=longer)

    def is_worse_than(self, expected: float) -> bool:
        """Return True if there is no solution, or its objective is above the expected one."""
        return self.best is None or self.best.objective > expected


LOST_OBJECTIVE_RATIO = 3.0
"""Ratio of the objective to the usual one above which an object may be lost [-]."""
STEP_CONTACTS = 8
"""Number of contacts up to which a step may take `SearchOptions.step_nodes`."""
FINITE_MODES_GAP = 1e-9
"""Gap that covers rounding if the modes are finitely many [-]."""
NODES_BETWEEN_CLOCK_READINGS = 16
"""Relaxations of a search with a time limit between two looks at the clock: some milliseconds."""
GAIN_MIN = 0.1
"""Relative gain of the objective over no motion up to which a search is not worth while [-]."""


@dataclass(frozen=True, eq=False)
class ModeSearchResult:
    """Result of a search."""

    answer: PieceSolution | None
    """Best solution, or None if no feasible modes were found."""
    converged: bool
    """Whether the strategy was completed."""
    strategy: str
    """Strategy that found or proved it."""
    bound: float = -math.inf
    """No answer has a lower objective."""
    complete: bool = False
    """Whether branch and bound was completed."""
    rest: OpenSearch | None = None
    """Rest of branch and bound, for the next step."""
    is_long: bool = False
    """True for a search that took more relaxations than `SearchOptions.step_nodes`."""


@dataclass(frozen=True, eq=False)
class SearchContext:
    """Knowledge of a step before its modes are searched."""

    identity: Sequence[Hashable]
    """Key of each contact over steps."""
    pairs: Sequence[Hashable]
    """The two bodies of each contact."""
    last_start: PivotStart | None
    """Modes of the last step, if it had any of the contacts."""
    has_new_contacts: bool
    """Whether the last step lacked some of the contacts."""
    expected: float
    """Objective above which an answer may be a poor local optimum."""
    usual: float
    """Objective before it rose. Where it is `FAR` above, the search is as long as without known
    contacts, until it reaches this."""
    is_idle: Callable[[PieceSolution], bool] = lambda answer: False
    """Whether an answer is hardly better than no motion. Where that is so, or the objective is far
    above the usual one, and a relaxation admits a large gain, the search ignores the number of
    contacts."""
    rest: OpenSearch | None = None
    """Rest of the search of the last step."""
    may_wait: bool = True
    """True for a search that may continue in the next steps, if this one has an answer."""
    may_be_long: bool = True
    """True for a search that may take `SearchOptions.long_nodes` in this step."""


def search_modes(
    pieces: Pieces,
    options: SearchOptions,
    context: SearchContext,
    *,
    starts: Iterable[PivotStart],
    resort: Iterable[PivotStart],
    enough: float = -math.inf,
    nodes: int | None = None,
    deadline: float = math.inf,
) -> ModeSearchResult:
    """Best answer within the options.

    Args:
        pieces: The problem.
        options: Options of the search.
        context: Knowledge of the step.
        starts: Further starts; relaxations suggest more where the answer is poor.
        resort: Starts if there is no answer at all, or one with which an object may be lost.
        enough: Objective at which an answer is good enough.
        nodes: Relaxations of branch and bound. Default: as the options and the contacts have it.
        deadline: Reading of `perf_counter` at which to end [s].
    """
    pieces_max = options.new_pieces if context.last_start is None else options.pieces
    multistart = Multistart(pieces, enough, deadline, pieces_max)
    search = _Strategy(options, context, Relaxation(pieces.statement, pieces.before), multistart)
    search.pivot(starts, resort)
    node_limits = search.effort(nodes)
    best = multistart.best
    if not node_limits.nodes or (best is not None and best.objective <= node_limits.enough):
        solution = None if best is None else refine_to_optimum(pieces, best)
        return ModeSearchResult(solution, multistart.complete, "pivoting")
    return search.branch(node_limits)


class _NodeLimits(NamedTuple):
    """Limits of branch and bound."""

    nodes: int
    """Maximum number of relaxations; 0 = none."""
    gap: float
    """Gap (objective - bound) / objective at which it ends [-]."""
    enough: float
    """Objective at which an answer is good enough."""
    resumed: OpenNodes | None = None
    """Open nodes of the last step to go on from."""


@dataclass(frozen=True, eq=False)
class _Strategy:
    """Steps of a search, in their order."""

    options: SearchOptions
    context: SearchContext
    relaxation: Relaxation
    multistart: Multistart

    def pivot(self, starts: Iterable[PivotStart], resort: Iterable[PivotStart]) -> None:
        """Pivot from the recalled modes, and from further starts while the answer is poor.

        While a search goes on from the last step, its nodes suggest modes, and the starts, which it
        began with, would be much the same again.
        """
        options, context, multistart = self.options, self.context, self.multistart
        if context.last_start is not None:
            multistart.pivot_from([context.last_start], options.warm_flips)
        goes_on = context.rest is not None and self._is_spread and not context.has_new_contacts
        if goes_on and multistart.best is not None:
            return
        if context.has_new_contacts or multistart.is_worse_than(context.expected):
            multistart.pivot_from(starts, options.flips)
        if self._needs_starts:
            multistart.pivot_from(self._relaxation_starts(), options.flips)
        elif self._may_gain:
            multistart.last = max(multistart.last, multistart.piece_count + options.pieces)
            multistart.pivot_from(self._relaxation_starts(), options.flips)
        acceptable = LOST_OBJECTIVE_RATIO * context.usual
        if multistart.is_worse_than(acceptable):
            multistart.last = multistart.piece_count + options.pieces
            for start in resort:
                multistart.pivot_from([start], options.flips)
                if not multistart.is_worse_than(acceptable) or not multistart.has_pieces_left:
                    break

    def effort(self, nodes: int | None) -> _NodeLimits:
        """Limits of branch and bound: of what is left of the last step's search, or of its own."""
        rest, best, limits = self.context.rest, self.multistart.best, self._own_effort(nodes)
        if rest is None or not self._is_spread:
            return limits
        if best is not None and best.objective <= rest.enough:
            return limits
        resumed = resume_search(rest, self.context.identity)
        return _NodeLimits(rest.nodes_left, rest.gap, rest.enough, resumed)

    def _own_effort(self, nodes: int | None) -> _NodeLimits:
        """Limits of branch and bound, by the options and the answer of pivoting."""
        options, context, multistart = self.options, self.context, self.multistart
        if nodes is not None:
            return _NodeLimits(nodes, options.gap, multistart.enough)
        is_known, contacts = context.last_start is not None, len(context.pairs)
        is_poor = multistart.is_worse_than(context.expected) and not self._is_slow
        nodes = _nodes(options, contacts, is_known=is_known, is_poor=is_poor)
        is_bounded = options.strategy == "auto" and not math.isfinite(options.budget)
        is_lost = is_known and multistart.is_worse_than(LOST_OBJECTIVE_RATIO * context.usual)
        if is_bounded and is_lost and nodes:
            return _NodeLimits(
                options.new_nodes, options.gap, max(multistart.enough, context.usual)
            )
        if is_bounded and not nodes and self._may_gain:
            fraction = min(1.0, options.some / contacts) ** 3  # for the same time
            has_few = is_known and not is_lost
            nodes = options.few_nodes if has_few else int(fraction * options.new_nodes)
            return _NodeLimits(nodes, GAIN_MIN, multistart.enough)
        return _NodeLimits(nodes, options.gap, multistart.enough)

    def branch(self, effort: _NodeLimits) -> ModeSearchResult:
        """Branch and bound, starting with the best answer of pivoting."""
        pieces, solved = self.multistart.pieces, self.relaxation.count
        proof = self._proof(effort)
        solution = proof.best if proof.best.objective < math.inf else None
        rest = None
        if self._is_spread and solution is not None and solution.objective > effort.enough:
            rest = interrupt_search(
                proof.open,
                self.context.identity,
                nodes_left=effort.nodes - (self.relaxation.count - solved),
                gap=effort.gap,
                enough=effort.enough,
            )
        is_auto = self.options.strategy == "auto"
        is_complete = (self.multistart.complete and rest is None) if is_auto else proof.complete
        if solution is not None and proof.improved:  # suggested by a relaxation
            solution = self._at_its_optimum(solution)
        solution = None if solution is None else refine_to_optimum(pieces, solution)
        is_long = self._is_spread and effort.nodes > self.options.step_nodes
        return ModeSearchResult(
            solution, is_complete, "exact", proof.bound, proof.complete, rest, is_long
        )

    def _proof(self, effort: _NodeLimits) -> Proof:
        """Result of branch and bound; with a time limit, in short parts."""
        multistart, relaxation, s = self.multistart, self.relaxation, self.statement
        root = Modes.of(np.full(len(s.starts), OPEN))
        whole = OpenNodes(root.kind[None], root.sector[None], np.full(1, -math.inf))
        best = multistart.best
        if best is None:
            best = no_solution(root, multistart.pieces.before, np.zeros(len(s.d)))
        proof = Proof(best, False, -math.inf, False, math.inf, effort.resumed or whole)
        convex = relaxation.objective(root)
        if convex is None:
            return proof
        slides = bool((s.mu > 0.0).any()) and not s.sticking
        nodes_left, improved, bound = effort.nodes, False, math.inf
        is_timed = multistart.deadline < math.inf
        while nodes_left > 0 and len(proof.open.bound):
            if is_timed and perf_counter() >= multistart.deadline:
                break
            nodes = min(nodes_left, NODES_BETWEEN_CLOCK_READINGS) if is_timed else nodes_left
            if self._is_spread and proof.best.objective < math.inf:
                nodes = min(nodes, self._step_nodes)
            resumed_sectors = int((proof.open.kind == SECTOR).sum())
            relaxation.reserve(nodes + CHILDREN_MAX + resumed_sectors)
            multistart.reserve(nodes + CHILDREN_MAX)
            solved = relaxation.count
            proof = branch(
                multistart.pieces,
                relaxation.shared,
                convex,
                proof.best,
                proof.open,
                multistart.tried,
                effort.gap if slides else FINITE_MODES_GAP,
                effort.enough,
                nodes,
                self._step_nodes if self._is_spread else nodes,
            )
            nodes_left -= relaxation.count - solved
            improved, bound = improved or proof.improved, min(bound, proof.failed)
            if proof.best.objective <= effort.enough or not is_timed:
                break
        bound = min(bound, proof.bound)
        complete = proof.complete and bound >= proof.bound
        if effort.resumed is not None:  # whose nodes do not cover the whole problem
            bound, complete = -math.inf, False
        return proof._replace(improved=improved, bound=bound, complete=complete)

    def _at_its_optimum(self, solution: PieceSolution) -> PieceSolution:
        """The best answer of pivoting from another one."""
        pieces, options = self.multistart.pieces, self.options
        start = PivotStart(solution.modes, solution.force)
        tried = ModeKeys(np.empty(options.pieces, np.int64), np.zeros(1, np.int64))
        better, _ = pivot(pieces, start, tried, options.pieces, options.warm_flips)
        return better if is_better(pieces, better, solution) else solution

    def _relaxation_starts(self) -> Iterable[PivotStart]:
        """Starts suggested by relaxations."""
        pieces, best = self.multistart.pieces, self.multistart.best
        return suggested_starts(pieces, self.relaxation, best, self.context.pairs)

    @property
    def statement(self) -> Statement:
        """The problem."""
        return self.multistart.pieces.statement

    @property
    def _is_spread(self) -> bool:
        """True if a long search goes on in the next steps."""
        is_auto = self.options.strategy == "auto" and not math.isfinite(self.options.budget)
        return is_auto and self.context.may_wait

    @property
    def _step_nodes(self) -> int:
        """Maximum number of relaxations in one step: the same work for any number of contacts."""
        nodes = self.options.step_nodes
        if self.context.may_be_long:
            nodes = max(nodes, self.options.long_nodes)
        fraction = min(1.0, STEP_CONTACTS / len(self.context.pairs)) ** 3
        return max(1, round(fraction * nodes))

    @property
    def _is_sticking(self) -> bool:
        """True if contacts stick, so that their pieces are single QPs."""
        return self.statement.sticking

    @property
    def _is_slow(self) -> bool:
        """True if relaxations are too slow for this number of contacts."""
        many = len(self.context.pairs) > self.options.some
        return many and not self._is_sticking and self.options.strategy != "exact"

    @property
    def _needs_starts(self) -> bool:
        """True if relaxations should suggest starts: the solution is poor, or contacts are new."""
        poor = self.multistart.is_worse_than(self.context.expected) and not self._is_slow
        return poor or (self.context.has_new_contacts and self._is_sticking)

    @property
    def _may_gain(self) -> bool:
        """True if the best solution moves nothing or is far off, and a large gain is possible."""
        best = self.multistart.best
        if best is None:
            return False
        if not (
            LOST_OBJECTIVE_RATIO * self.context.usual < best.objective or self.context.is_idle(best)
        ):
            return False
        return self.relaxation.lower_bound < (1.0 - GAIN_MIN) * best.objective


def _nodes(options: SearchOptions, contacts: int, *, is_known: bool, is_poor: bool) -> int:
    """Maximum number of relaxations of branch and bound.

    Args:
        options: Options of the search.
        contacts: Number of contacts.
        is_known: Whether the last step had any of them.
        is_poor: Whether pivoting found no solution as good as the last step's, and relaxations are
            not too slow.
    """
    if options.strategy == "pivoting":
        return 0
    if options.strategy == "exact" or math.isfinite(options.budget):
        return options.nodes
    if not is_known:
        return options.new_nodes if contacts <= options.some else 0
    return options.few_nodes if is_poor or contacts <= options.few else 0
