"""Branch and bound over contact modes, compiled."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sofa_softctl.base.jit import njit
from sofa_softctl.qp.active_set import FAILED, SOLVED
from sofa_softctl.qpcc.pieces.kernels import (
    INACTIVE,
    OPEN,
    SECTOR,
    STICKING,
    TOUCHING,
    Statement,
    motion,
)
from sofa_softctl.qpcc.pieces.piece import Pieces, is_better, solve_modes
from sofa_softctl.qpcc.pieces.sequence import QPS_MAX, PieceSolution
from sofa_softctl.qpcc.problem.modes import Modes
from sofa_softctl.qpcc.search.neighbours import (
    ModeKeys,
    add_tried,
    is_tried,
    key_of,
    nearest_modes,
    with_kind,
)
from sofa_softctl.qpcc.search.relaxation_kernels import (
    Convex,
    Relaxations,
    RelaxationSolution,
    add_sector,
    relaxed_objective,
    solve_relaxation,
)

DISSIPATION_WEIGHT = 0.1
"""Weight of the work that an undecided contact may dissipate, which lowers the bound until the
contact is decided, relative to violations of the law [-]."""
OBJECTIVE_RATIO_MIN = 1e-9
"""Smallest objective in the gap's denominator, relative to the free motion's [-]."""
CHILDREN_MAX = 5
"""Maximum number of branches of a node: sticking, and four sectors of the sliding direction."""


class OpenNodes(NamedTuple):
    """Decisions of nodes that are not branched on yet, the next one first."""

    kind: np.ndarray
    """Shape (k, n_c)."""
    sector: np.ndarray
    """Shape (k, n_c, 2)."""
    bound: np.ndarray
    """No answer with these decisions has a lower objective, shape (k,)."""


class Proof(NamedTuple):
    """Result of branch and bound."""

    best: PieceSolution
    """The best answer, or the initial one."""
    improved: bool
    """True if the objective of `best` is below that of the initial answer."""
    bound: float
    """No answer has a lower objective. inf: there is none."""
    complete: bool
    """Whether the tree was searched completely."""
    failed: float
    """Least bound of nodes whose relaxation could not be solved; inf: there are none."""
    open: OpenNodes
    """The open nodes."""


class _Node(NamedTuple):
    """Decisions, and the answer of their relaxation."""

    bound: float
    ticket: int
    """Order in which nodes were added."""
    modes: Modes
    relaxed: RelaxationSolution
    is_solved: bool
    """False: `relaxed` is of no meaning."""
    objective: int
    """Number of the relaxation's objective."""
    sectors: np.ndarray
    """First rows of its sectors."""


@njit
def branch(
    pieces: Pieces,
    r: Relaxations,
    convex: Convex,
    best: PieceSolution,
    start: OpenNodes,
    tried: ModeKeys,
    gap: float,
    enough: float,
    nodes: int,
    step_nodes: int,
) -> Proof:
    """Search contact modes by branching on one contact at a time.

    The relaxation of a node bounds its objective and suggests modes, whose piece gives answers.
    Branches are on the contact furthest from its law: touching or not; sticking or sliding, then
    sectors of the sliding direction, which are halved while the bound is below the best answer.
    The search dives: the last node is branched on further, down to a dead end or until only sectors
    are left; only then the node of the lowest bound is next.

    Args:
        pieces: The problem.
        r: Relaxations of the problem, with room for the sectors of `nodes + CHILDREN_MAX` more.
        convex: The objective of relaxations where all contacts are open.
        best: An initial answer; without an objective: none.
        start: Nodes to begin with.
        tried: Modes that were tried; new ones are added.
        gap: Gap (objective - bound) / objective at which it ends [-].
        enough: Objective at which an answer is good enough.
        nodes: Maximum number of relaxations.
        step_nodes: Relaxations after which it ends if there is an answer.

    Source: branch and bound on complementarities as in Bai, Mitchell, Pang 2013, "On convex
        quadratic programs with linear complementarity constraints"; the sectors are ours.
    """
    s = pieces.statement
    first, improved, failed, ticket = r.counts[2], False, np.inf, 0
    objectives, keys = [convex], [np.full(len(s.starts), True)]
    placeholder = RelaxationSolution(FAILED, -np.inf, pieces.before, best.force, convex.optimum)
    heap, children = [_create_node(start, 0, placeholder)], [_create_node(start, 0, placeholder)]
    for k in range(1, len(start.bound)):
        heap.append(_create_node(start, k, placeholder))
    children.pop()  # numba knows the type now
    while len(heap) + len(children) > 0:
        solved = r.counts[2] - first
        if solved >= (min(nodes, step_nodes) if best.objective < np.inf else nodes):
            break
        if best.objective <= enough:
            break
        if len(children) > 0:
            node = _pop_first(children)
            _move_all(children, heap)
        else:
            node = _pop_first(heap)
        if node.bound >= _target(pieces, best, gap):
            continue
        branches = [node.modes]
        if node.is_solved:
            branches = _decide(s, node.modes, node.relaxed)
            if len(branches) == 0:
                failed = min(failed, node.bound)
        for k in range(len(branches)):
            modes = branches[k]
            key = modes.kind <= OPEN  # inactive and sticking contacts do no work either
            number = 0
            while number < len(keys) and not (keys[number] == key).all():
                number += 1
            if number == len(keys):
                is_convex, convex = relaxed_objective(r, key)
                if not is_convex:
                    failed = min(failed, node.bound)
                    continue
                objectives.append(convex)
                keys.append(key)
            convex = objectives[number]
            sectors = _sectors(r, node, modes)
            is_same = node.is_solved and node.objective == number
            state = node.relaxed.state if is_same else convex.optimum
            relaxed = solve_relaxation(r, convex, modes.kind, sectors, state)
            if relaxed.outcome == FAILED:
                failed = min(failed, node.bound)
            target = _target(pieces, best, gap)
            if relaxed.outcome != SOLVED or relaxed.bound >= target:
                continue
            trial = nearest_modes(s, modes, relaxed.effort, relaxed.force, False)
            trial_key = key_of(trial)
            if not is_tried(tried, trial_key):
                add_tried(tried, trial_key)
                answer = solve_modes(pieces, trial, relaxed.force, target, QPS_MAX, False)
                if is_better(pieces, answer, best):
                    best, improved = answer, True
            bound = max(node.bound, relaxed.bound)
            if bound < _target(pieces, best, gap):
                ticket += 1
                children.append(_Node(bound, ticket, modes, relaxed, True, number, sectors))
        if len(branches) == 2 and (branches[0].kind == node.modes.kind).all():  # half sectors
            _move_all(children, heap)
    target, bound = _target(pieces, best, gap), failed
    count = len(heap) + len(children)
    kind, sector = np.empty((count, len(s.starts)), np.int64), np.empty((count, len(s.starts), 2))
    bounds = np.empty(count)
    for k in range(count):
        source = children if len(children) > 0 else heap
        node = _pop_first(source)
        kind[k], sector[k], bounds[k] = node.modes.kind, node.modes.sector, node.bound
        bound = min(bound, node.bound)
    nodes_left = OpenNodes(kind, sector, bounds)
    return Proof(best, improved, min(bound, target), bound >= target, failed, nodes_left)


@njit(inner=True)
def _create_node(start: OpenNodes, k: int, placeholder: RelaxationSolution) -> _Node:
    """Node whose relaxation is solved when it is its turn."""
    n_c = start.kind.shape[1]
    kind, sector = start.kind[k].copy(), start.sector[k].copy()
    modes = Modes(kind, np.zeros((n_c, 2)), np.zeros((n_c, 2)), sector)
    no_sectors = np.empty(0, np.int64)
    return _Node(start.bound[k], k - len(start.bound), modes, placeholder, False, -1, no_sectors)


@njit(inner=True)
def _pop_first(nodes: list[_Node]) -> _Node:
    """Remove the node of the lowest bound; of equal ones, that which was added first."""
    first = 0
    for k in range(1, len(nodes)):
        a, b = nodes[k], nodes[first]
        if a.bound < b.bound or (a.bound == b.bound and a.ticket < b.ticket):
            first = k
    node = nodes[first]
    nodes[first] = nodes[len(nodes) - 1]  # numba's pop(first) damages its memory
    nodes.pop()
    return node


@njit(inner=True)
def _move_all(source: list[_Node], target: list[_Node]) -> None:
    """Move all nodes, without a list's methods and iteration, which damage memory in numba."""
    while len(source) > 0:
        target.append(source.pop())


@njit(inner=True)
def _target(pieces: Pieces, best: PieceSolution, gap: float) -> float:
    """Bound above which nodes are pruned."""
    if best.objective == np.inf:
        return np.inf
    return best.objective - gap * max(best.objective, OBJECTIVE_RATIO_MIN * pieces.scale)


@njit(inner=True)
def _sectors(r: Relaxations, parent: _Node, modes: Modes) -> np.ndarray:
    """First rows of the sectors that a relaxation obeys: its parent's, and new ones."""
    sectors = np.empty(len(parent.sectors) + len(modes.kind), np.int64)
    count = len(parent.sectors)
    sectors[:count] = parent.sectors
    for i in range(len(modes.kind)):
        if modes.kind[i] == SECTOR:
            is_known = parent.is_solved and parent.modes.kind[i] == SECTOR
            if not is_known or (modes.sector[i] != parent.modes.sector[i]).any():
                sectors[count] = add_sector(r, i, modes.sector[i, 0], modes.sector[i, 1])
                count += 1
    return sectors[:count].copy()


@njit(inner=True, separate=True)
def _decide(s: Statement, modes: Modes, relaxed: RelaxationSolution) -> list[Modes]:
    """Branches on the contact furthest from its law; none if all contacts obey theirs."""
    force, delta = relaxed.force, motion(s, relaxed.effort, relaxed.force)
    worst, i = 0.0, -1
    for c in range(len(modes.kind)):
        if modes.kind[c] >= OPEN:
            error = _distance(s, c, modes.kind[c], force, delta)
            if error > worst * (1.0 + 1e-9):
                worst, i = error, c
    branches = [modes]
    branches.pop()
    if i < 0:
        return branches
    if modes.kind[i] == OPEN:
        is_rough = s.mu[i] > 0.0 and not s.sticking
        branches.append(with_kind(modes, i, TOUCHING if is_rough else STICKING))
        branches.append(with_kind(modes, i, INACTIVE))
    elif modes.kind[i] == TOUCHING:
        t = s.starts[i] + 1
        aim = np.arctan2(delta[t + 1] - force[t + 1], delta[t] - force[t])
        branches.append(with_kind(modes, i, STICKING))
        for k in range(4):
            low = aim - np.pi / 4.0 + k * np.pi / 2.0
            branches.append(_with_sector(modes, i, low, low + np.pi / 2.0))
    else:
        low, high = modes.sector[i]
        middle = 0.5 * (low + high)
        branches.append(_with_sector(modes, i, low, middle))
        branches.append(_with_sector(modes, i, middle, high))
    return branches


@njit(inner=True)
def _with_sector(modes: Modes, i: int, low: float, high: float) -> Modes:
    """Modes with one contact that slides between two angles."""
    changed = with_kind(modes, i, SECTOR)
    changed.sector[i, 0], changed.sector[i, 1] = low, high
    return changed


@njit(inner=True)
def _distance(s: Statement, i: int, kind: int, force: np.ndarray, delta: np.ndarray) -> float:
    """Violation of its law by an undecided contact, in units of energy."""
    n, error = s.starts[i], 0.0
    is_rough = s.mu[i] > 0.0
    if kind == OPEN:
        error = min(max(force[n], 0.0), max(delta[n], 0.0))
        if is_rough and s.sticking:
            pushed = np.sqrt(force[n] ** 2 + force[n + 1] ** 2 + force[n + 2] ** 2)
            moved = np.sqrt(delta[n] ** 2 + delta[n + 1] ** 2 + delta[n + 2] ** 2)
            error = min(pushed, moved)
    if not is_rough or s.sticking:
        return error
    p, q = force[n + 1] - delta[n + 1], force[n + 2] - delta[n + 2]
    length, disc = np.hypot(p, q), s.mu[i] * max(force[n], 0.0)
    if length > disc:
        p, q = p * (disc / length), q * (disc / length)
    error = max(error, np.hypot(force[n + 1] - p, force[n + 2] - q))
    if kind != SECTOR:
        work = -(force[n + 1] * delta[n + 1] + force[n + 2] * delta[n + 2])
        error = max(error, DISSIPATION_WEIGHT * np.sqrt(max(0.0, work)))
    return error
