"""Branch and bound over contact modes."""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import count
from time import perf_counter

import numpy as np

from sofa_softctl.qpcc.pieces.piece import PieceSolution, PieceSolver
from sofa_softctl.qpcc.problem.modes import INACTIVE, OPEN, SECTOR, STICKING, TOUCHING, Modes
from sofa_softctl.qpcc.search.mode_kernels import furthest_contact
from sofa_softctl.qpcc.search.neighbours import nearest_modes
from sofa_softctl.qpcc.search.relaxation import Relaxation, RelaxationSolution

FINITE_MODES_GAP = 1e-9
"""Gap that covers rounding if the modes are finitely many [-]."""
OBJECTIVE_RATIO_MIN = 1e-9
"""Smallest objective in the gap's denominator, relative to the free motion's [-]."""


@dataclass(frozen=True, eq=False)
class Proof:
    """Best answer found, and a bound on the optimum."""

    best: PieceSolution | None
    """The best answer, or the initial one."""
    bound: float
    """No answer has a lower objective. inf: there is none."""
    complete: bool
    """Whether the tree was searched completely."""
    open: Sequence[Modes] = ()
    """Decisions of the open nodes, the next one first."""


def branch(
    pieces: PieceSolver,
    relaxation: Relaxation,
    best: PieceSolution | None,
    *,
    nodes: int,
    gap: float,
    enough: float = -math.inf,
    tried: set[bytes] | None = None,
    deadline: float = math.inf,
    step_nodes: int | None = None,
    resumed: Sequence[Modes] = (),
) -> Proof:
    """Search contact modes by branching on one contact at a time.

    The relaxation of a node bounds its objective and suggests modes, whose piece gives answers.
    Nodes of the lowest bound come first. Branches are on the contact furthest from its law:
    touching or not; sticking or sliding, then sectors of the sliding direction, which are halved
    while the bound is below the best answer.

    Args:
        pieces: The problem.
        relaxation: Relaxations of the problem.
        best: An initial answer.
        nodes: Maximum number of relaxations.
        gap: Gap (objective - bound) / objective at which it ends [-]. Contacts that cannot slide
            against friction have finitely many modes, which are searched completely.
        enough: Objective at which an answer is good enough.
        tried: Keys of modes that were tried; new ones are added.
        deadline: Reading of `perf_counter` after which it ends [s].
        step_nodes: Relaxations after which it ends if there is an answer. Default: `nodes`.
        resumed: Open nodes to go on from, the next one first, in place of the whole problem. They
            do not cover it, so the bound is that of the whole problem's relaxation.

    Source: branch and bound on complementarities as in Bai, Mitchell, Pang 2013, "On convex
        quadratic programs with linear complementarity constraints"; the sectors are ours.
    """
    s = pieces.statement
    slides = bool((s.mu > 0.0).any()) and not s.sticking
    tree = _Tree(pieces, relaxation, best, gap if slides else FINITE_MODES_GAP, tried)
    last = relaxation.solved + nodes
    pause = last if step_nodes is None else relaxation.solved + step_nodes
    if resumed:
        tree.resume(resumed)
    else:
        tree.add(Modes.of(np.full(len(s.starts), OPEN)))
    while tree.has_open_nodes and perf_counter() < deadline:
        if relaxation.solved >= (last if tree.best is None else min(last, pause)):
            break
        if tree.best is not None and tree.best.objective <= enough:
            break
        tree.expand()
    proof = tree.proof()
    if resumed:
        bound = relaxation.lower_bound
        proof = replace(proof, bound=bound if bound < math.inf else -math.inf, complete=False)
    return proof


class _Tree:
    """Open nodes and the best answer.

    The search dives: the last node is branched on further, down to a dead end or until only sectors
    are left; only then the node of the lowest bound is next.
    """

    def __init__(
        self,
        pieces: PieceSolver,
        relaxation: Relaxation,
        best: PieceSolution | None,
        gap: float,
        tried: set[bytes] | None,
    ) -> None:
        self.pieces, self.relaxation = pieces, relaxation
        self.best, self.gap = best, gap
        self.heap: list[tuple[float, int, Modes, RelaxationSolution | None]] = []
        self.children: list[tuple[float, int, Modes, RelaxationSolution | None]] = []
        self.ticket = count()
        self.tried = set() if tried is None else tried
        self.failed = math.inf  # least bound of nodes whose QP could not be solved

    @property
    def target(self) -> float:
        """Bound above which nodes are pruned."""
        if self.best is None:
            return math.inf
        worth = max(self.best.objective, OBJECTIVE_RATIO_MIN * self.pieces.scale)
        return self.best.objective - self.gap * worth

    def add(
        self, modes: Modes, parent: float = -math.inf, start: RelaxationSolution | None = None
    ) -> None:
        """Solve the relaxation of these decisions, and add the node unless it is pruned."""
        try:
            relaxed = self.relaxation.solve(modes, start)
        except ArithmeticError:
            self.failed = min(self.failed, parent)
            return
        if relaxed is None or relaxed.bound >= self.target:
            return
        self._suggest(modes, relaxed)
        bound = max(parent, relaxed.bound)
        if bound < self.target:
            self.children.append((bound, next(self.ticket), modes, relaxed))

    def resume(self, nodes: Sequence[Modes]) -> None:
        """Add open nodes, the next one first; each relaxation is solved when it is its turn."""
        self.heap = [(-math.inf, next(self.ticket), modes, None) for modes in nodes]

    def expand(self) -> None:
        """Branch on one contact of the next node."""
        if self.children:
            self.children.sort()
            bound, _, modes, relaxed = self.children.pop(0)
            for child in self.children:
                heapq.heappush(self.heap, child)
            self.children = []
        else:
            bound, _, modes, relaxed = heapq.heappop(self.heap)
        if bound >= self.target:
            self.heap = [node for node in self.heap if node[0] < self.target]
            return
        if relaxed is None:
            self.add(modes)
            return
        children = _decide(self.pieces, modes, relaxed)
        if not children:
            self.failed = min(self.failed, bound)
        for decided in children:
            self.add(decided, bound, relaxed)
        if len(children) == 2 and (children[0].kind == modes.kind).all():  # a sector in halves
            for child in self.children:
                heapq.heappush(self.heap, child)
            self.children = []

    @property
    def has_open_nodes(self) -> bool:
        """True if there are open nodes."""
        return bool(self.heap or self.children)

    def proof(self) -> Proof:
        """Result of the search."""
        open_bound = min([bound for bound, *_ in (*self.heap, *self.children)] + [self.failed])
        complete = open_bound >= self.target
        nodes = [modes for *_, modes, _ in (*sorted(self.children), *sorted(self.heap))]
        return Proof(self.best, min(open_bound, self.target), complete, nodes)

    def _suggest(self, modes: Modes, relaxed: RelaxationSolution) -> None:
        """Solve the piece next to the answer of a relaxation."""
        decided = nearest_modes(self.pieces, modes, relaxed.effort, relaxed.force)
        if decided.key() in self.tried:
            return
        self.tried.add(decided.key())
        answer = self.pieces.solve(decided, force=relaxed.force, worth=self.target)
        if answer is not None and self.pieces.is_better(answer, self.best):
            self.best = answer


def _decide(pieces: PieceSolver, modes: Modes, relaxed: RelaxationSolution) -> list[Modes]:
    """Branches on the contact furthest from its law; none if all contacts obey theirs."""
    s = pieces.statement
    i, delta = furthest_contact(s, modes.kind, relaxed.effort, relaxed.force)
    if i < 0:
        return []
    rough = s.mu[i] > 0.0 and not s.sticking
    if modes.kind[i] == OPEN:
        touching = TOUCHING if rough else STICKING
        return [modes.with_contact(i, touching), modes.with_contact(i, INACTIVE)]
    if modes.kind[i] == TOUCHING:
        t = slice(s.starts[i] + 1, s.starts[i] + 3)
        aim = delta[t] - relaxed.force[t]
        first = math.atan2(aim[1], aim[0]) - math.pi / 4.0
        sectors = [first + k * math.pi / 2.0 for k in range(4)]
        return [modes.with_contact(i, STICKING)] + [
            modes.with_contact(i, SECTOR, sector=(low, low + math.pi / 2.0)) for low in sectors
        ]
    low, high = modes.sector[i]
    middle = 0.5 * (low + high)
    halves = ((low, middle), (middle, high))
    return [modes.with_contact(i, SECTOR, sector=half) for half in halves]
