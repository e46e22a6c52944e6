"""The best modes of the contacts, with proof: branch and bound."""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass
from itertools import count
from time import perf_counter

import numpy as np

from sofa_softctl.inverse.mechanics import Mechanics
from sofa_softctl.inverse.modes import INACTIVE, SLIDING, STICKING, Modes
from sofa_softctl.inverse.relaxation import Open, Relaxation, Relaxed
from sofa_softctl.inverse.solve_piece import Answer, PieceSolver

FINITE = 1e-9
"""Gap that is left where the modes are finitely many, for rounding [-]."""


@dataclass(frozen=True, eq=False)
class Proof:
    """The best answer, and how far from the best one it can be."""

    best: Answer | None
    """The best answer within all limits, or what it started with."""
    bound: float
    """No answer within all limits has a lower objective [displacement^2]."""
    nodes: int
    """Relaxations that were solved."""
    pieces: int
    """Pieces that were solved."""
    complete: bool
    """Whether nothing was left to search."""


def branch(
    solver: PieceSolver,
    best: Answer | None,
    *,
    nodes: int,
    gap: float,
    budget: float = math.inf,
) -> Proof:
    """Search the modes of the contacts by decisions on one contact at a time.

    The relaxation (`Relaxation`) of the decisions so far bounds what they can come to; it also
    suggests modes, and the piece of these gives answers. The lowest bound is taken on first. A
    contact that is furthest from its law is decided: touching or not; sticking or sliding, and
    where to, in sectors that are halved as long as the bound is below the best answer.

    Args:
        solver: Solves pieces.
        best: An answer to start with. Counts as one if it is within all limits.
        nodes: Most relaxations.
        gap: Gap (objective - bound) / objective at which it is content [-]. Contacts that cannot
            slide against friction have finitely many modes, and are searched to the end.
        budget: Time after which it ends [s].

    Source: branch and bound on complementarities as in Bai, Mitchell, Pang 2013, "On convex
        quadratic programs with linear complementarity constraints"; the sectors are ours.
    """
    m = solver.mechanics
    relaxation = Relaxation(m, solver.bounds, solver.ask)
    slides = bool(m.rough.any()) and not m.sticking
    tree = _Tree(solver, relaxation, best, gap if slides else FINITE)
    deadline = perf_counter() + budget
    root = tuple(Open() for _ in range(m.contacts.n_c))
    tree.add(root)
    while tree.heap and tree.nodes < nodes and perf_counter() < deadline:
        tree.expand()
    solver.asked += relaxation.asked
    return tree.proof()


class _Tree:
    """The nodes that are left, and the best answer."""

    def __init__(
        self, solver: PieceSolver, relaxation: Relaxation, best: Answer | None, gap: float
    ) -> None:
        self.solver, self.relaxation = solver, relaxation
        self.best, self.gap = best, gap
        self.heap: list[tuple[float, int, tuple[Open, ...], Relaxed]] = []
        self.ticket = count()
        self.tried: set[bytes] = set()
        self.nodes = 0
        self.failed = math.inf  # least bound of nodes that no QP solver could solve

    @property
    def target(self) -> float:
        """Bounds from here on are of no interest."""
        if self.best is None or self.best.violation > 0.0:
            return math.inf
        worth = max(self.best.objective, 1e-9 * self.relaxation.constant)
        return self.best.objective - self.gap * worth

    def add(self, contacts: tuple[Open, ...], parent: float = -math.inf) -> None:
        """Solve the relaxation of these decisions, and keep it if it can lead anywhere."""
        self.nodes += 1
        try:
            relaxed = self.relaxation.solve(contacts)
        except ArithmeticError:
            self.failed = min(self.failed, parent)
            return
        if relaxed is None or relaxed.bound >= self.target:
            return
        self._suggest(contacts, relaxed)
        bound = max(parent, relaxed.bound)
        if bound < self.target:
            heapq.heappush(self.heap, (bound, next(self.ticket), contacts, relaxed))

    def expand(self) -> None:
        """Decide something about one contact of the node with the lowest bound."""
        bound, _, contacts, relaxed = heapq.heappop(self.heap)
        if bound >= self.target:
            self.heap.clear()  # all others have higher bounds
            return
        i, children = _decide(self.solver.mechanics, contacts, relaxed)
        if i is None:
            self.failed = min(self.failed, bound)
            return
        for child in children:
            self.add((*contacts[:i], child, *contacts[i + 1 :]), bound)

    def proof(self) -> Proof:
        """What came of it."""
        left = min([bound for bound, *_ in self.heap] + [self.failed])
        rounding = 0.0 if self.best is None else 1e-7 * self.best.objective
        complete = not self.heap and self.failed >= self.target - rounding
        return Proof(self.best, min(left, self.target), self.nodes, len(self.tried), complete)

    def _suggest(self, contacts: tuple[Open, ...], relaxed: Relaxed) -> None:
        """Try the piece that the answer of a relaxation is next to."""
        modes = _rounded(self.solver.mechanics, contacts, relaxed)
        if modes.key() in self.tried:
            return
        self.tried.add(modes.key())
        answer = self.solver.solve(modes, relax=False, worth=self.target)
        if answer is not None and answer.better_than(self.best):
            self.best = answer


def _rounded(m: Mechanics, contacts: tuple[Open, ...], relaxed: Relaxed) -> Modes:
    """The modes that the answer of a relaxation is next to."""
    delta = m.delta_c(relaxed.effort, relaxed.force)
    n = m.contacts.starts
    touching = relaxed.force[n] > delta[n]
    modes = Modes.of(np.where(touching, STICKING, INACTIVE))
    for i, contact in enumerate(contacts):
        if contact.touching is not None:
            modes.kind[i] = STICKING if contact.touching else INACTIVE
        if modes.kind[i] == INACTIVE or m.sticking or not m.rough[i] or contact.sticking:
            continue
        t = slice(n[i] + 1, n[i] + 3)
        slip, friction = delta[t], relaxed.force[t]
        room = m.mu[i] * relaxed.force[n[i]] - math.hypot(*friction)
        length = math.hypot(*(slip - friction))
        if contact.sticking is None and room >= math.hypot(*slip) or length == 0.0:
            continue
        a, b = math.hypot(*slip), m.mu[i] * relaxed.force[n[i]]
        modes.kind[i] = SLIDING
        modes.direction[i] = (slip - friction) / length
        modes.balance[i] = np.array([a, b]) / (a + b) if a + b > 0.0 else 0.5
    return modes


def _decide(
    m: Mechanics, contacts: tuple[Open, ...], relaxed: Relaxed
) -> tuple[int | None, list[Open]]:
    """The contact furthest from its law, and what it may be decided to do. None: all is decided."""
    delta = m.delta_c(relaxed.effort, relaxed.force)
    worst, worst_i = 0.0, None
    for i, contact in enumerate(contacts):
        error = _distance(m, i, contact, relaxed.force, delta)
        if error > worst:
            worst, worst_i = error, i
    if worst_i is None:
        return None, []
    contact, rough = contacts[worst_i], bool(m.rough[worst_i]) and not m.sticking
    if contact.touching is None:
        touching = Open(True) if rough else Open(True, True)
        return worst_i, [touching, Open(False)]
    if contact.sticking is None:
        t = slice(m.contacts.starts[worst_i] + 1, m.contacts.starts[worst_i] + 3)
        aim = delta[t] - relaxed.force[t]
        first = math.atan2(aim[1], aim[0]) - math.pi / 4
        sectors = [
            Open(True, False, first + k * math.pi / 2, first + (k + 1) * math.pi / 2)
            for k in range(4)
        ]
        return worst_i, [Open(True, True), *sectors]
    middle = 0.5 * (contact.low + contact.high)
    return worst_i, [contact._replace(high=middle), contact._replace(low=middle)]


def _distance(m: Mechanics, i: int, contact: Open, force: np.ndarray, delta: np.ndarray) -> float:
    """How far a contact is from its law, as far as it is not decided, in units of energy."""
    n = m.contacts.starts[i]
    if contact.touching is False or contact.sticking:
        return 0.0
    t = slice(n + 1, n + 3)
    error = 0.0
    if contact.touching is None:
        error = min(max(force[n], 0.0), max(delta[n], 0.0))
        if m.rough[i] and m.sticking:
            error = min(math.hypot(*force[n : n + 3]), math.hypot(*delta[n : n + 3]))
    if not m.rough[i] or m.sticking:
        return error
    aim = force[t] - delta[t]
    length, disc = math.hypot(*aim), m.mu[i] * max(force[n], 0.0)
    if length > disc:
        aim = aim * (disc / length)
    return max(error, math.hypot(*(force[t] - aim)))
