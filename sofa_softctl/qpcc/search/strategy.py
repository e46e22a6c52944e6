"""The strategy by which the modes of the contacts are searched."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from time import perf_counter

import numpy as np

from sofa_softctl.qpcc.modes import OPEN, SLIDING, STICKING, TOUCHING, Modes
from sofa_softctl.qpcc.pieces.piece import Answer, Pieces
from sofa_softctl.qpcc.search.branch_and_bound import branch
from sofa_softctl.qpcc.search.neighbours import rounded
from sofa_softctl.qpcc.search.pivoting import Start, pivot
from sofa_softctl.qpcc.search.relaxation import Relaxation
from sofa_softctl.qpcc.search_options import Search

FAR = 3.0
"""Rise of the objective above what is usual from which on an object may be lost [-]."""
GAIN = 0.1
"""What can be gained at most, of the objective, by what does something in place of nothing, for it
not to be worth a search [-]."""


@dataclass(frozen=True, eq=False)
class Found:
    """What a search came to."""

    answer: Answer | None
    """The best answer; None: no modes were found that the limits allow."""
    converged: bool
    """Whether the strategy came to its end."""
    strategy: str
    """What found or proved it."""
    bound: float = -math.inf
    """No answer has a lower objective."""
    complete: bool = False
    """Whether branch and bound left nothing to search."""


def search_modes(
    pieces: Pieces,
    options: Search,
    *,
    recalled: Start | None,
    surprised: bool,
    expected: float,
    usual: float,
    starts: Iterable[Start],
    resort: Iterable[Start],
    pairs: Sequence[Hashable],
    idle: Callable[[Answer], bool] = lambda answer: False,
    enough: float = -math.inf,
    nodes: int | None = None,
    deadline: float = math.inf,
) -> Found:
    """The best answer that the options allow to find.

    Args:
        pieces: The problem.
        options: How long, and how, to search.
        recalled: The modes of the step before, if it knew any contact.
        surprised: Whether it did not know all of them.
        expected: Objective above which the answer that these lead to may be a poor local optimum.
        usual: What objectives were before they rose. Where they are `FAR` above, it is searched for
            as long as where no contact was known, until it comes to that.
        starts: Other modes to start from; relaxations suggest more where nothing good is found.
        resort: Where to start if these lead to no answer at all.
        pairs: Which two bodies touch, of each contact.
        idle: Whether an answer is hardly better than to do nothing. Where that is so, or the answer
            is far from what was expected, and a relaxation says that much more may be possible, it
            is searched for whatever the number of contacts.
        enough: Objective at which an answer is good enough.
        nodes: Relaxations of branch and bound. Default: as the options and the contacts have it.
        deadline: Reading of `perf_counter` at which to end [s].
    """
    relaxation = Relaxation(pieces.statement, pieces.before)
    most = options.new_pieces if recalled is None else options.pieces
    descent = _Descent(pieces, options, enough, deadline, pieces.pieces + most)
    if recalled is not None:
        descent.go([recalled], options.warm_flips)
    if surprised or descent.poor(expected):
        descent.go(starts, options.flips)
    sticking = pieces.statement.sticking  # whose pieces are single QPs
    slow = len(pairs) > options.some and not sticking and options.strategy != "exact"
    if descent.poor(expected) and not slow or surprised and sticking:
        descent.go(_opened(pieces, relaxation, descent.best, pairs), options.flips)
    elif _asks(descent, FAR * usual, idle, relaxation):
        descent.last = max(descent.last, pieces.pieces + options.pieces)
        descent.go(_opened(pieces, relaxation, descent.best, pairs), options.flips)
    if descent.best is None:
        descent.last = pieces.pieces + options.pieces
        for start in resort:
            descent.go([start], options.flips)
            if descent.best is not None:
                break
    best, complete, gap = descent.best, descent.complete, options.gap
    if nodes is None:
        known = recalled is not None
        poor = descent.poor(expected) and not slow
        nodes = _nodes(options, len(pairs), known=known, poor=poor)
        bounded = options.strategy == "auto" and not math.isfinite(options.budget)
        lost = known and descent.poor(FAR * usual)
        if bounded and lost and nodes:
            nodes, enough = options.new_nodes, max(enough, usual)
        if bounded and not nodes and _asks(descent, FAR * usual, idle, relaxation):
            share = min(1.0, options.some / len(pairs)) ** 3  # of nodes that take as long
            gap = GAIN
            nodes = options.few_nodes if known and not lost else int(share * options.new_nodes)
    if not nodes or (best is not None and best.objective <= enough):
        return Found(None if best is None else pieces.settled(best), complete, "pivoting")
    proof = branch(
        pieces,
        relaxation,
        best,
        nodes=nodes,
        gap=gap,
        enough=enough,
        tried=descent.tried,
        deadline=deadline,
    )
    ended = complete if options.strategy == "auto" else proof.complete
    found = proof.best
    if found is not None and found is not best:  # what a relaxation suggested
        found = _at_its_optimum(pieces, options, found, deadline)
    found = None if found is None else pieces.settled(found)
    return Found(found, ended, "exact", proof.bound, proof.complete)


def _at_its_optimum(pieces: Pieces, options: Search, found: Answer, deadline: float) -> Answer:
    """The best answer that pivoting comes to from another one."""
    start, flips = Start(found.modes, found.force), options.warm_flips
    descended, _ = pivot(pieces, [start], most=options.pieces, flips=flips, deadline=deadline)
    return descended if descended is not None and pieces.better(descended, found) else found


def _asks(
    descent: _Descent, far: float, idle: Callable[[Answer], bool], relaxation: Relaxation
) -> bool:
    """Whether the best answer does nothing, or is too far off, where something may gain."""
    best = descent.best
    if best is None or not (far < best.objective or idle(best)):
        return False
    return relaxation.least < (1.0 - GAIN) * best.objective


@dataclass(eq=False)
class _Descent:
    """The best of what pivoting comes to from several starts."""

    pieces: Pieces
    options: Search
    enough: float
    """Objective at which an answer is good enough."""
    deadline: float
    """Reading of `perf_counter` at which to end [s]."""
    last: int
    """Number of solved pieces at which to end."""
    best: Answer | None = None
    complete: bool = True
    """Whether all starts, and what they led to, were tried."""
    tried: set[bytes] = field(default_factory=set)
    """Keys of modes that were tried."""

    def go(self, starts: Iterable[Start], flips: int) -> None:
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
        """Whether there is no answer, or one whose objective is above what was expected."""
        return self.best is None or self.best.objective > expected


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


def _nodes(options: Search, contacts: int, *, known: bool, poor: bool) -> int:
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


def _opened(
    pieces: Pieces, relaxation: Relaxation, best: Answer | None, pairs: Sequence[Hashable]
) -> Iterator[Start]:
    """Modes next to relaxations: of all contacts, of one body's, and of those of one pair.

    What a relaxation is free to do shows which contacts begin to slide together. The other
    contacts do what they do in the best answer so far, or hold: a box that is pushed along a floor
    slides on it together with the fingers that hold it and slide there too.
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
                yield Start(rounded(pieces, modes, *at, sliding=sliding), relaxed.force)
