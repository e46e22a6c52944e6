"""Strategy of the search for contact modes: starts, pivoting, branching."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import NamedTuple

import numpy as np

from sofa_softctl.qpcc.pieces.piece import PieceAnswer, Pieces
from sofa_softctl.qpcc.problem.modes import OPEN, SLIDING, STICKING, TOUCHING, Modes, SearchOptions
from sofa_softctl.qpcc.search.branch_and_bound import branch
from sofa_softctl.qpcc.search.neighbours import rounded
from sofa_softctl.qpcc.search.pivoting import PivotStart, pivot
from sofa_softctl.qpcc.search.relaxation import Relaxation


def suggested_starts(
    pieces: Pieces, relaxation: Relaxation, best: PieceAnswer | None, pairs: Sequence[Hashable]
) -> Iterator[PivotStart]:
    """Modes nearest to relaxations of all contacts, of one body's, and of those of one pair.

    A relaxation shows which contacts begin to slide together. The other contacts keep their modes
    of the best answer so far, or stick: a box that is pushed along a floor slides on it together
    with the fingers that hold it.
    """
    of_pair = [np.array([pair == other for other in pairs]) for pair in dict.fromkeys(pairs)]
    opened = [np.full(len(pairs), OPEN), np.full(len(pairs), TOUCHING)]
    opened += [np.where(own, TOUCHING, STICKING) for own in _of_bodies(pairs)]
    if len(of_pair) > 1:
        opened += [np.where(own, TOUCHING, STICKING) for own in of_pair]
        if best is not None:
            kinds = np.where(best.modes.kind == SLIDING, TOUCHING, best.modes.kind)
            opened += [np.where(own, OPEN, kinds) for own in of_pair]
    for modes in map(Modes.of, opened):
        try:
            relaxed = relaxation.solve(modes)
        except ArithmeticError:
            continue
        if relaxed is not None:
            for sliding in (True, False):
                at = relaxed.effort, relaxed.force
                yield PivotStart(rounded(pieces, modes, *at, sliding=sliding), relaxed.force)


def _of_bodies(pairs: Sequence[Hashable]) -> list[np.ndarray]:
    """The contacts of each body that touches several others but not all, bool (n_c,) each."""
    found = []
    bodies = dict.fromkeys(body for pair in pairs if isinstance(pair, tuple) for body in pair)
    for body in bodies:
        own = np.array([isinstance(pair, tuple) and body in pair for pair in pairs])
        touched = {pair for pair, mine in zip(pairs, own, strict=True) if mine}
        if len(touched) > 1 and not own.all():
            found.append(own)
    return found


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
    best: PieceAnswer | None = None
    complete: bool = True
    """Whether all starts and their candidates were tried."""
    tried: set[bytes] = field(default_factory=set)
    """Keys of modes that were tried."""

    def go(self, starts: Iterable[PivotStart], flips: int) -> None:
        """Pivot from further starts."""
        for start in starts:
            if self.best is not None and self.best.objective <= self.enough:
                return
            room = self.last - self.pieces.pieces
            if room <= 0 or (self.best is not None and perf_counter() > self.deadline):
                self.complete = False
                return
            found, ended = pivot(
                self.pieces,
                [start],
                most=room,
                flips=flips,
                tried=self.tried,
                deadline=self.deadline,
            )
            self.complete = self.complete and ended
            if found is not None and self.pieces.better(found, self.best):
                self.best = found

    def poor(self, expected: float) -> bool:
        """Whether there is no answer, or its objective is above the expected one."""
        return self.best is None or self.best.objective > expected


FAR = 3.0
"""Ratio of the objective to the usual one from which on an object may be lost [-]."""
GAIN = 0.1
"""Relative gain of the objective over no motion up to which a search is not worth while [-]."""


@dataclass(frozen=True, eq=False)
class Found:
    """Result of a search."""

    answer: PieceAnswer | None
    """The best answer; None: no feasible modes were found."""
    converged: bool
    """Whether the strategy was completed."""
    strategy: str
    """Strategy that found or proved it."""
    bound: float = -math.inf
    """No answer has a lower objective."""
    complete: bool = False
    """Whether branch and bound was completed."""


@dataclass(frozen=True, eq=False)
class SearchContext:
    """Knowledge of a step before its modes are searched."""

    pairs: Sequence[Hashable]
    """The two bodies of each contact."""
    recalled: PivotStart | None
    """Modes of the last step, if it had any of the contacts."""
    surprised: bool
    """Whether the last step lacked some of them."""
    expected: float
    """Objective above which an answer may be a poor local optimum."""
    usual: float
    """Objective before it rose. Where it is `FAR` above, the search is as long as without known
    contacts, until it reaches this."""
    idle: Callable[[PieceAnswer], bool] = lambda answer: False
    """Whether an answer is hardly better than no motion. Where that is so, or the objective is far
    above the usual one, and a relaxation admits a large gain, the search ignores the number of
    contacts."""


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
    """Best answer within the options.

    Args:
        pieces: The problem.
        options: Options of the search.
        context: Knowledge of the step.
        starts: Further starts; relaxations suggest more where the answer is poor.
        resort: Starts if there is no answer at all.
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
    """Limits of branch and bound."""

    nodes: int
    """Maximum number of relaxations; 0: none."""
    gap: float
    """Gap (objective - bound) / objective at which it ends [-]."""
    enough: float
    """Objective at which an answer is good enough."""


@dataclass(frozen=True, eq=False)
class _Strategy:
    """Steps of a search, in their order."""

    options: SearchOptions
    context: SearchContext
    relaxation: Relaxation
    multistart: Multistart

    def pivot(self, starts: Iterable[PivotStart], resort: Iterable[PivotStart]) -> None:
        """Pivot from the recalled modes, and from further starts while the answer is poor."""
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
        """Limits of branch and bound, by the options and the answer of pivoting."""
        options, context, multistart = self.options, self.context, self.multistart
        known, contacts = context.recalled is not None, len(context.pairs)
        poor = multistart.poor(context.expected) and not self._slow
        nodes = _nodes(options, contacts, known=known, poor=poor)
        bounded = options.strategy == "auto" and not math.isfinite(options.budget)
        lost = known and multistart.poor(FAR * context.usual)
        if bounded and lost and nodes:
            return _Effort(options.new_nodes, options.gap, max(multistart.enough, context.usual))
        if bounded and not nodes and self._may_gain:
            share = min(1.0, options.some / contacts) ** 3  # for the same time
            few = known and not lost
            nodes = options.few_nodes if few else int(share * options.new_nodes)
            return _Effort(nodes, GAIN, multistart.enough)
        return _Effort(nodes, options.gap, multistart.enough)

    def branch(self, effort: _Effort) -> Found:
        """Branch and bound, starting with the best answer of pivoting."""
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
        if found is not None and found is not best:  # suggested by a relaxation
            found = self._at_its_optimum(found)
        found = None if found is None else pieces.settled(found)
        return Found(found, ended, "exact", proof.bound, proof.complete)

    def _at_its_optimum(self, found: PieceAnswer) -> PieceAnswer:
        """The best answer of pivoting from another one."""
        pieces, deadline = self.multistart.pieces, self.multistart.deadline
        start, flips = PivotStart(found.modes, found.force), self.options.warm_flips
        most = self.options.pieces
        descended, _ = pivot(pieces, [start], most=most, flips=flips, deadline=deadline)
        return descended if descended is not None and pieces.better(descended, found) else found

    def _suggested(self) -> Iterable[PivotStart]:
        """Starts suggested by relaxations."""
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
        """Whether to ask relaxations for starts: the answer is poor, or contacts are new."""
        poor = self.multistart.poor(self.context.expected) and not self._slow
        return poor or (self.context.surprised and self._sticking)

    @property
    def _may_gain(self) -> bool:
        """Whether the best answer moves nothing or is far off, and a large gain is possible."""
        best = self.multistart.best
        if best is None:
            return False
        if not (FAR * self.context.usual < best.objective or self.context.idle(best)):
            return False
        return self.relaxation.least < (1.0 - GAIN) * best.objective


def _nodes(options: SearchOptions, contacts: int, *, known: bool, poor: bool) -> int:
    """Maximum number of relaxations of branch and bound.

    Args:
        options: Options of the search.
        contacts: Number of contacts.
        known: Whether the last step had any of them.
        poor: Whether pivoting found no answer as good as that of the last step, and relaxations
            are not too slow.
    """
    if options.strategy == "pivoting":
        return 0
    if options.strategy == "exact" or math.isfinite(options.budget):
        return options.nodes
    if not known:
        return options.new_nodes if contacts <= options.some else 0
    return options.few_nodes if poor or contacts <= options.few else 0
