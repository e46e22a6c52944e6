"""Global optimum of an inverse problem over all contact modes, as a reference."""

from __future__ import annotations

import heapq
import math
from collections import Counter
from dataclasses import dataclass, replace
from itertools import count
from typing import NamedTuple

import numpy as np

from benchmarks.contact_search.interior_point import INFEASIBLE, SOLVED
from benchmarks.contact_search.mode_solvers import descend, relax
from sofa_softctl.qpcc.problem.problem import InverseProblem
from tests.support.mode_rows import (
    INACTIVE,
    OPEN,
    SLIDING,
    STICKING,
    TOUCHING,
    law_errors,
)
from tests.support.statement import Stated, state

ROUNDING = 2e-9
"""Objectives are compared to this, relative to the free motion's or so [-]."""
FAR = 1e3
"""Objectives above this, relative to the free motion's or so, are as good as infeasible [-]."""
LAW = 1e-8
"""Largest distance from the contact law of an answer that counts, relative to the gaps [-]."""


@dataclass(frozen=True, eq=False)
class Best:
    """The best answer of a problem over all modes, and how far it is proven."""

    feasible: bool
    """Whether some efforts and modes satisfy all limits."""
    objective: float
    """Of the answer [displacement^2]; inf if none was found."""
    bound: float
    """No answer has a lower objective (of those with the least violation, if not feasible: -inf)
    [displacement^2]."""
    violation: float
    """Least sum of the squared excesses of soft limits, times 1/2 [energy]; zero if feasible."""
    violation_bound: float
    """No answer has a lower violation [energy]."""
    complete: bool
    """Whether the search came to its end: bounds prove the answer to the gap asked for, and that
    nothing is within all limits if not `feasible`."""
    nodes: int
    """Relaxations solved."""
    starts: int
    """Starts of the local method."""
    failed: int
    """Relaxations without an answer that could be trusted; their bound is their parent's."""
    effort: np.ndarray
    """Efforts [effort], shape (n_a,)."""
    force: np.ndarray
    """Contact forces [effort], shape (n_r,)."""
    modes: tuple[str, ...]
    """"inactive", "sticking" or "sliding" of each contact."""


def enumerate_modes(
    problem: InverseProblem, *, gap: float = 1e-4, nodes: int = 4_000, starts: int = 64
) -> Best:
    """The best answer of a problem over all modes of its contacts.

    Every assignment of inactive, sticking and sliding to the contacts is either ruled out by a
    convex bound or solved: directions of slip are split into sectors until the bound rules them
    out, and a local method starts from the sectors' answers. Where the number of nodes does not
    suffice for that, the sliding modes that are left get `starts` directions: half of them common
    to all contacts, half of low discrepancy.

    It shares no code with the search of `qpcc.solve` but `mechanics_of`.

    Args:
        problem: A problem with contacts.
        gap: Relative gap between objective and bound at which it is content [-].
        nodes: Most relaxations.
        starts: Most starts of the local method for each assignment of modes.
    """
    stated = state(problem)
    tree = _Tree(stated, gap, nodes, starts)
    tree.run()
    if tree.best is not None:
        found = stated.answer(tree.best.x)
        return _result(stated, tree, found, feasible=True)
    softened = state(problem, violation=True)
    second = _Tree(softened, gap, nodes, starts)
    if len(softened.soft.labels):
        second.run()
    if second.best is None:
        return _nothing(stated, tree)
    closest = _result(softened, second, softened.answer(second.best.x), feasible=False)
    ruled_out = tree.left == math.inf and second.best.value > ROUNDING
    return replace(closest, complete=closest.complete and ruled_out)


class _Local(NamedTuple):
    value: float
    x: np.ndarray
    kind: np.ndarray


class _Tree:
    """Search tree over contact modes, best bound first."""

    def __init__(self, stated: Stated, gap: float, nodes: int, starts: int) -> None:
        self.stated, self.st = stated, stated.statement
        self.gap, self.limit = gap, nodes
        self.starts, self.most = starts, 6 * starts
        self.nodes = self.tried = self.failed = 0
        self.best: _Local | None = None
        self.heap: list[tuple[float, int, np.ndarray, np.ndarray, np.ndarray, np.ndarray]] = []
        self.ticket = count()
        self.keys: set[bytes] = set()
        self.counts: Counter[bytes] = Counter()
        self.cuts = np.empty((0, 2))
        self.unsolved = math.inf

    @property
    def target(self) -> float:
        """Nodes with a bound above this are of no interest."""
        if self.best is None:
            return math.inf
        value = self.best.value + self.stated.constant
        return self.best.value - max(self.gap * value, ROUNDING)

    @property
    def left(self) -> float:
        """The least bound of what was not ruled out."""
        return min([self.unsolved, *(entry[0] for entry in self.heap)])

    def run(self) -> None:
        n_c = len(self.st.mu)
        self.add(np.full(n_c, OPEN), np.zeros(n_c), np.full(n_c, 2 * math.pi), -math.inf)
        while self.heap and self.nodes < self.limit:
            bound, _, kind, low, high, x = heapq.heappop(self.heap)
            if bound >= self.target:
                self.heap.clear()
                break
            self.expand(bound, kind, low, high, x)
        if self.heap:
            self.scatter()

    def add(self, kind: np.ndarray, low: np.ndarray, high: np.ndarray, parent: float) -> None:
        """Bound a node, start the local method from it, and keep it if it may hold the best."""
        for _ in range(4 if (kind == OPEN).any() else 30):
            self.nodes += 1
            status, bound, x = relax(self.st, kind, low, high, self.cuts, min(self.target, FAR))
            if status == INFEASIBLE or bound >= self.target:
                return
            if status != SOLVED:
                self.failed += 1
                break
            if not self.cut(kind, x):
                break
        bound = max(bound, parent)
        self.start(kind, low, high, x)
        if bound < self.target:
            heapq.heappush(self.heap, (bound, next(self.ticket), kind, low, high, x))

    def cut(self, kind: np.ndarray, x: np.ndarray) -> bool:
        """Add planes where forces leave their cones; whether there are any."""
        st = self.st
        if not st.cone:
            return False
        j = st.first + st.starts[st.rough]
        size = np.hypot(x[j + 1], x[j + 2])
        over = size > st.mu[st.rough] * x[j] + 1e-5 * np.maximum(1.0, x[j])
        over &= kind[st.rough] != INACTIVE
        contacts = np.flatnonzero(st.rough)[over]
        angles = np.arctan2(x[j + 2], x[j + 1])[over]
        known = len(self.cuts)
        for i, angle in zip(contacts, angles, strict=True):
            near = np.cos(self.cuts[:, 1] - angle) > math.cos(NEAR)
            if not (near & (self.cuts[:, 0] == i)).any():
                self.cuts = np.concatenate((self.cuts, [[i, angle]]))
        return len(self.cuts) > known

    def expand(
        self, bound: float, kind: np.ndarray, low: np.ndarray, high: np.ndarray, x: np.ndarray
    ) -> None:
        """Split a node at the contact that is furthest from its law."""
        st = self.st
        error = law_errors(st, x)
        width = np.where(kind == SLIDING, high - low, 10.0)
        decided = (kind == INACTIVE) | (kind == STICKING) | (width < MIN_WIDTH)
        if decided.all():
            self.unsolved = min(self.unsolved, bound)
            return
        i = int(np.where(decided, -1.0, error + 1e-12 * width).argmax())
        if kind[i] == OPEN:
            slides = bool(st.rough[i]) and st.cone
            parts = [(INACTIVE, 0.0, 0.0), (TOUCHING if slides else STICKING, 0.0, 0.0)]
        elif kind[i] == TOUCHING:
            first = self.aim(i, x) - math.pi / 3
            third = 2 * math.pi / 3
            parts = [(STICKING, 0.0, 0.0)]
            parts += [(SLIDING, first + k * third, first + (k + 1) * third) for k in range(3)]
        else:
            middle = 0.5 * (low[i] + high[i])
            parts = [(SLIDING, low[i], middle), (SLIDING, middle, high[i])]
        for mode, a, b in parts:
            child, lows, highs = kind.copy(), low.copy(), high.copy()
            child[i], lows[i], highs[i] = mode, a, b
            self.add(child, lows, highs, bound)

    def aim(self, i: int, x: np.ndarray) -> float:
        """Direction in which a contact slides, or would, under a relaxation's answer [rad]."""
        st = self.st
        r, j = st.starts[i], st.first + st.starts[i]
        p, q = (st.C[r + 1 : r + 3] @ x + st.c[r + 1 : r + 3]) - x[j + 1 : j + 3]
        return math.atan2(q, p)

    def start(self, kind: np.ndarray, low: np.ndarray, high: np.ndarray, x: np.ndarray) -> None:
        """Start the local method from a relaxation's answer, in the modes next to it."""
        st = self.st
        delta = st.C @ x + st.c
        modes, angle = kind.copy(), np.zeros(len(kind))
        for i in range(len(kind)):
            r, j = st.starts[i], st.first + st.starts[i]
            if modes[i] == OPEN:
                modes[i] = TOUCHING if x[j] > delta[r] else INACTIVE
            if modes[i] == TOUCHING and not (st.rough[i] and st.cone):
                modes[i] = STICKING
            if modes[i] == TOUCHING:
                room = st.mu[i] * x[j] - math.hypot(x[j + 1], x[j + 2])
                slip = math.hypot(delta[r + 1], delta[r + 2])
                modes[i] = STICKING if room >= slip else SLIDING
            if modes[i] == SLIDING:
                angle[i] = self.aim(i, x)
                if kind[i] == SLIDING and high[i] - low[i] < 3.1:
                    middle = 0.5 * (low[i] + high[i])
                    turn = math.remainder(angle[i] - middle, 2 * math.pi)
                    half = 0.5 * (high[i] - low[i])
                    angle[i] = middle + min(max(turn, -half), half)
        self.descend(modes, angle, x)

    def descend(self, modes: np.ndarray, angle: np.ndarray, x: np.ndarray) -> None:
        cell = np.round(angle * CELLS / (2 * math.pi)) % CELLS
        key = np.where(modes == SLIDING, 3 + cell, modes).astype(np.int8).tobytes()
        of = modes.astype(np.int8).tobytes()
        if key in self.keys or self.counts[of] >= self.starts or self.tried >= self.most:
            return
        self.keys.add(key)
        self.counts[of] += 1
        self.tried += 1
        point = x.copy()
        cutoff = math.inf
        if self.best is not None:
            value = self.best.value
            cutoff = value + WORSE * (value + self.stated.constant) + ROUNDING
        status, value = descend(self.st, modes, angle, point, cutoff)
        if status != SOLVED or (self.best is not None and value >= self.best.value):
            return
        if law_errors(self.st, point).max() > LAW or self.stated.excess(point) > LAW:
            return
        self.best = _Local(value, point, modes)

    def scatter(self) -> None:
        """Low-discrepancy directions of slip for the modes that were left open."""
        left, self.heap = self.heap, []
        self.most += 4 * self.starts
        seen: set[bytes] = set()
        lowest = self.unsolved
        for bound, _, kind, _, _, x in sorted(left, key=lambda entry: entry[:2]):
            if bound >= self.target:
                continue
            lowest = min(lowest, bound)
            slides = (kind == SLIDING) | (kind == TOUCHING)
            modes = np.where(slides, SLIDING, kind)
            if (kind == OPEN).any() or modes.tobytes() in seen or not slides.any():
                continue
            seen.add(modes.tobytes())
            self.counts.clear()
            for k in range(self.starts):
                turn = (0.5 + (k + 1) * _PLASTIC[np.cumsum(slides) % len(_PLASTIC)]) % 1.0
                if k % 2:
                    turn = np.full(len(kind), (k // 2) / (self.starts / 2))
                self.descend(modes, 2 * math.pi * turn, x)
        self.unsolved = lowest


CELLS = 16
"""The local method starts once from each combination of so many directions of slip [-]."""
WORSE = 0.2
"""An answer that is worse by this share before it has converged is given up [-]."""
NEAR = 1e-3
"""Planes around a cone are at least this far apart [rad]."""
MIN_WIDTH = 1e-5
"""Sectors are not split below this [rad]."""
_PLASTIC = np.sqrt(np.array([2.0, 3.0, 5.0, 7.0, 11.0, 13.0, 17.0, 19.0, 23.0, 29.0, 31.0])) % 1.0
_WORDS = ("inactive", "sticking", "sliding")


def _result(
    stated: Stated, tree: _Tree, found: tuple[np.ndarray, np.ndarray, float], *, feasible: bool
) -> Best:
    assert tree.best is not None
    effort, force, objective = found
    low = stated.value(min(tree.left, tree.target))
    complete = tree.left >= tree.target
    violation = 0.0 if feasible else stated.value(tree.best.value)
    return Best(
        feasible=feasible,
        objective=objective,
        bound=low if feasible else -math.inf,
        violation=violation,
        violation_bound=0.0 if feasible else low,
        complete=complete,
        nodes=tree.nodes,
        starts=tree.tried,
        failed=tree.failed,
        effort=effort,
        force=force,
        modes=tuple(_WORDS[k] for k in tree.best.kind),
    )


def _nothing(stated: Stated, tree: _Tree) -> Best:
    n_a, n_r = stated.mechanics.W_ac.shape
    return Best(
        feasible=False,
        objective=math.inf,
        bound=-math.inf,
        violation=math.inf,
        violation_bound=0.0,
        complete=False,
        nodes=tree.nodes,
        starts=tree.tried,
        failed=tree.failed,
        effort=np.zeros(n_a),
        force=np.zeros(n_r),
        modes=(),
    )
