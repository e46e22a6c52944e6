"""The strategy by which the modes of the contacts are searched."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sofa_softctl.qpcc.pieces.piece import PieceAnswer, Pieces
from sofa_softctl.qpcc.search.branch_and_bound import branch
from sofa_softctl.qpcc.search.multistart import Multistart
from sofa_softctl.qpcc.search.pivoting import PivotStart, pivot
from sofa_softctl.qpcc.search.relaxation import Relaxation
from sofa_softctl.qpcc.search.suggested_starts import suggested_starts
from sofa_softctl.qpcc.search_options import SearchOptions

FAR = 3.0
"""Rise of the objective above what is usual from which on an object may be lost [-]."""
GAIN = 0.1
"""What can be gained at most, of the objective, by what does something in place of nothing, for it
not to be worth a search [-]."""


@dataclass(frozen=True, eq=False)
class Found:
    """What a search came to."""

    answer: PieceAnswer | None
    """The best answer; None: no modes were found that the limits allow."""
    converged: bool
    """Whether the strategy came to its end."""
    strategy: str
    """What found or proved it."""
    bound: float = -math.inf
    """No answer has a lower objective."""
    complete: bool = False
    """Whether branch and bound left nothing to search."""


@dataclass(frozen=True, eq=False)
class SearchContext:
    """What is known of a step before its modes are searched."""

    pairs: Sequence[Hashable]
    """Which two bodies touch, of each contact."""
    recalled: PivotStart | None
    """The modes of the step before, if it knew any contact."""
    surprised: bool
    """Whether it did not know all of them."""
    expected: float
    """Objective above which the answer that these lead to may be a poor local optimum."""
    usual: float
    """What objectives were before they rose. Where they are `FAR` above, it is searched for as long
    as where no contact was known, until it comes to that."""
    idle: Callable[[PieceAnswer], bool] = lambda answer: False
    """Whether an answer is hardly better than to do nothing. Where that is so, or the answer is far
    from what was expected, and a relaxation says that much more may be possible, it is searched for
    whatever the number of contacts."""


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
) -> Found:
    """The best answer that the options allow to find.

    Args:
        pieces: The problem.
        options: How long, and how, to search.
        context: What is known of the step.
        starts: Other modes to start from; relaxations suggest more where nothing good is found.
        resort: Where to start if these lead to no answer at all.
        enough: Objective at which an answer is good enough.
        nodes: Relaxations of branch and bound. Default: as the options and the contacts have it.
        deadline: Reading of `perf_counter` at which to end [s].
    """
    most = options.new_pieces if context.recalled is None else options.pieces
    multistart = Multistart(pieces, enough, deadline, pieces.pieces + most)
    search = _Strategy(options, context, Relaxation(pieces.statement, pieces.before), multistart)
    search.pivot(starts, resort)
    effort = _Effort(nodes, options.gap, enough) if nodes is not None else search.effort()
    best = multistart.best
    if not effort.nodes or (best is not None and best.objective <= effort.enough):
        settled = None if best is None else pieces.settled(best)
        return Found(settled, multistart.complete, "pivoting")
    return search.branch(effort)


class _Effort(NamedTuple):
    """How long branch and bound goes on."""

    nodes: int
    """Most relaxations; 0: it is not asked."""
    gap: float
    """Gap (objective - bound) / objective at which it is content [-]."""
    enough: float
    """Objective at which an answer is good enough."""


@dataclass(frozen=True, eq=False)
class _Strategy:
    """The steps of one search, in their order."""

    options: SearchOptions
    context: SearchContext
    relaxation: Relaxation
    multistart: Multistart

    def pivot(self, starts: Iterable[PivotStart], resort: Iterable[PivotStart]) -> None:
        """Pivot from what is recalled, and from further starts while the answer is poor."""
        options, context, multistart = self.options, self.context, self.multistart
        if context.recalled is not None:
            multistart.go([context.recalled], options.warm_flips)
        if context.surprised or multistart.poor(context.expected):
            multistart.go(starts, options.flips)
        if self._needs_starts:
            multistart.go(self._suggested(), options.flips)
        elif self._may_gain:
            multistart.last = max(multistart.last, multistart.pieces.pieces + options.pieces)
            multistart.go(self._suggested(), options.flips)
        if multistart.best is None:
            multistart.last = multistart.pieces.pieces + options.pieces
            for start in resort:
                multistart.go([start], options.flips)
                if multistart.best is not None:
                    break

    def effort(self) -> _Effort:
        """How long branch and bound goes on, by the options and by what pivoting came to."""
        options, context, multistart = self.options, self.context, self.multistart
        known, contacts = context.recalled is not None, len(context.pairs)
        poor = multistart.poor(context.expected) and not self._slow
        nodes = _nodes(options, contacts, known=known, poor=poor)
        bounded = options.strategy == "auto" and not math.isfinite(options.budget)
        lost = known and multistart.poor(FAR * context.usual)
        if bounded and lost and nodes:
            return _Effort(options.new_nodes, options.gap, max(multistart.enough, context.usual))
        if bounded and not nodes and self._may_gain:
            share = min(1.0, options.some / contacts) ** 3  # of nodes that take as long
            few = known and not lost
            nodes = options.few_nodes if few else int(share * options.new_nodes)
            return _Effort(nodes, GAIN, multistart.enough)
        return _Effort(nodes, options.gap, multistart.enough)

    def branch(self, effort: _Effort) -> Found:
        """Branch and bound from the best answer of pivoting on."""
        pieces, best = self.multistart.pieces, self.multistart.best
        proof = branch(
            pieces,
            self.relaxation,
            best,
            nodes=effort.nodes,
            gap=effort.gap,
            enough=effort.enough,
            tried=self.multistart.tried,
            deadline=self.multistart.deadline,
        )
        auto = self.options.strategy == "auto"
        ended = self.multistart.complete if auto else proof.complete
        found = proof.best
        if found is not None and found is not best:  # what a relaxation suggested
            found = self._at_its_optimum(found)
        found = None if found is None else pieces.settled(found)
        return Found(found, ended, "exact", proof.bound, proof.complete)

    def _at_its_optimum(self, found: PieceAnswer) -> PieceAnswer:
        """The best answer that pivoting comes to from another one."""
        pieces, deadline = self.multistart.pieces, self.multistart.deadline
        start, flips = PivotStart(found.modes, found.force), self.options.warm_flips
        most = self.options.pieces
        descended, _ = pivot(pieces, [start], most=most, flips=flips, deadline=deadline)
        return descended if descended is not None and pieces.better(descended, found) else found

    def _suggested(self) -> Iterable[PivotStart]:
        """Modes that relaxations suggest."""
        pieces, best = self.multistart.pieces, self.multistart.best
        return suggested_starts(pieces, self.relaxation, best, self.context.pairs)

    @property
    def _sticking(self) -> bool:
        """Whether contacts stick, so that their pieces are single QPs."""
        return self.multistart.pieces.statement.sticking

    @property
    def _slow(self) -> bool:
        """Whether relaxations are too slow for so many contacts."""
        many = len(self.context.pairs) > self.options.some
        return many and not self._sticking and self.options.strategy != "exact"

    @property
    def _needs_starts(self) -> bool:
        """Whether relaxations suggest starts: the answer is poor, or there are new contacts."""
        poor = self.multistart.poor(self.context.expected) and not self._slow
        return poor or (self.context.surprised and self._sticking)

    @property
    def _may_gain(self) -> bool:
        """Whether the best answer does nothing, or is too far off, where something may gain."""
        best = self.multistart.best
        if best is None:
            return False
        if not (FAR * self.context.usual < best.objective or self.context.idle(best)):
            return False
        return self.relaxation.least < (1.0 - GAIN) * best.objective


def _nodes(options: SearchOptions, contacts: int, *, known: bool, poor: bool) -> int:
    """Relaxations that branch and bound may solve.

    Args:
        options: How long to search.
        contacts: How many there are.
        known: Whether the step before knew any of them.
        poor: Whether pivoting came to no answer as good as that of the step before, and more
            relaxations are not too slow.
    """
    if options.strategy == "pivoting":
        return 0
    if options.strategy == "exact" or math.isfinite(options.budget):
        return options.nodes
    if not known:
        return options.new_nodes if contacts <= options.some else 0
    return options.few_nodes if poor or contacts <= options.few else 0
