"""Sequential quadratic programming on a piece of the inverse problem, compiled.

Every point of the sequence satisfies the equations of the contact law at its efforts, by Newton's
method on them alone. A merit function of the objective and of violated rows accepts or rejects a
QP's step, and a trust region limits the next one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sofa_softctl.base.jit import njit
from sofa_softctl.qp.active_set import FAILED, INFEASIBLE, SOLVED, WORTHLESS
from sofa_softctl.qpcc.pieces.curvature import curvature
from sofa_softctl.qpcc.pieces.kernels import (
    CONE,
    LAW,
    LAW_ACCEPTED,
    PieceRows,
    Statement,
    assemble,
    largest_distance,
    slides,
)
from sofa_softctl.qpcc.pieces.points import (
    PiecePoint,
    Planes,
    forces_at,
    objective_at,
    penalties,
    planes_at,
    point_at,
    variables_at,
    violation,
)
from sofa_softctl.qpcc.pieces.scaled_qp import convex, solve_scaled
from sofa_softctl.qpcc.pieces.small_algebra import applied

ROUNDS = 16
"""Maximum number of QPs on each tried piece."""
LAST_ROUNDS = 100
"""The same on the piece of the answer."""
HOPELESS = 10
"""The same while no point has satisfied every row."""
NARROWING = 30
"""The same where no contact slides: planes then narrow the cones to the feasible set."""
SETTLED = 1e-9
"""Predicted relative gain at which the sequence has converged."""
EXACT = 1e-7
"""Relative error of a QP's objective below which its answer is that of the piece."""
SLOW = 1e-4
"""Relative gain that counts as slow."""
PATIENCE = 3
"""Slow QPs in a row before the sequence ends."""
ROUGHLY = 1.2
"""Ratio of an objective to its estimate by a distant linearisation, at most."""
ROUGH = 1e-5
"""Allowed violation of rows at a point on the law, relative to `size`."""
SURE = 1.0 - 1e-7
"""Ratio of an objective to its estimate, once a point is on the law."""


class PieceResult(NamedTuple):
    """Result of a piece."""

    outcome: int
    """SOLVED, INFEASIBLE, WORTHLESS or FAILED."""
    effort: np.ndarray
    """Shape (n,)."""
    force: np.ndarray
    """Shape (n_r,)."""
    objective: float
    """1/2 ||F z + f||^2."""
    law: float
    """Largest distance of a contact from its law, relative to `size`."""
    direction: np.ndarray
    """Directions of sliding contacts, shape (n_c, 2)."""
    balance: np.ndarray
    """Their balance, see `Modes`, shape (n_c, 2)."""
    dual: np.ndarray
    """Largest multiplier of an active border of each contact's mode, shape (n_c,)."""
    border: np.ndarray
    """Type of that border: GAP, FORCE, SLIP or CONE; -1 = none, shape (n_c,)."""
    rounds: int
    """Number of solved QPs."""


@njit
def solve_piece(
    s: Statement,
    kind: np.ndarray,
    direction: np.ndarray,
    balance: np.ndarray,
    effort: np.ndarray,
    force: np.ndarray,
    worth: float,
    most: int,
    obeyed: bool,
) -> PieceResult:
    """The best efforts on the piece of decided modes, by sequential quadratic programming.

    Args:
        s: The problem.
        kind: INACTIVE, STICKING or SLIDING, shape (n_c,).
        direction: Initial directions of sliding contacts, shape (n_c, 2).
        balance: Their balance, see `Modes`, shape (n_c, 2).
        effort: Efforts about which it is regularised, shape (n,).
        force: Forces at which the first planes touch the cones, shape (n_r,).
        worth: Objective at which an answer is of no use.
        most: Maximum number of QPs once a point has satisfied every row.
        obeyed: Whether these efforts and forces satisfy the contact law on this piece: if they also
            keep its limits they are the first answer, even if linearised rows contradict them.
    """
    n_c = len(kind)
    bound = not slides(kind)  # whether a QP's objective is a bound, not an estimate
    dual, border = np.zeros(n_c), np.full(n_c, -1)
    planes = planes_at(s, kind, force, Planes(np.empty(0, np.int64), np.empty((0, 2))))
    possible, qp = assemble(s, kind, direction, balance, planes.contact, planes.direction)
    v = variables_at(qp.X, effort, force)
    here = PiecePoint(effort, force, direction, balance, planes, qp, v, np.inf, np.inf)
    if possible and obeyed:
        there = point_at(s, kind, direction, balance, effort, force, planes)
        if there.violated <= ROUGH * s.size:
            here, qp = there, there.qp
    best, least, excess = _state_of(here), here.objective, here.violated
    H, g, rows, y = qp.H, qp.g, qp.rows, np.zeros(0)  # y: multipliers of `rows`
    curved, radius, slow, done = False, np.inf, 0, 0
    outcome = SOLVED if possible else INFEASIBLE
    hopeless = NARROWING if bound else HOPELESS
    while possible and done < (most if excess < np.inf else hopeless):
        done += 1
        answered = excess < np.inf
        solved, v, y_next, way = solve_scaled(s, H, g, here.qp.rows, here.v, radius)
        if solved != SOLVED:
            if curved:  # without the curvature, which can be large
                curved, H, g = False, here.qp.H, here.qp.g
                continue
            if answered and radius == np.inf and 0.0 < way < np.inf:
                radius = way  # nearby, where violated rows may stay violated
                continue
            outcome = SOLVED if answered else solved
            break
        u, lam = _clipped(s, v), forces_at(here.qp.X, here.qp.x, v)
        model = objective_at(s, u, lam)
        if answered and done > 2 and way < radius:
            bar = SURE * worth
        else:
            bar = np.inf if answered else worth if bound and not curved else ROUGHLY * worth
        if model > bar:
            outcome = WORTHLESS
            break
        there = point_at(s, kind, here.direction, here.balance, u, lam, here.planes)
        taken, gained = True, np.inf
        if here.violated < np.inf:
            model, promised, gained = _gain(here, there, H, g, v, y_next)
            taken = gained >= 1e-3 * promised and there.violated < np.inf
            if not taken and here.violated <= LAW * s.size and promised <= SETTLED * here.objective:
                break
            if not taken:
                radius = 0.25 * way
            elif gained < 0.25 * promised:
                radius = 0.5 * way
            elif way >= 0.99 * radius:
                radius = 4.0 * radius
        if taken:
            slow = slow + 1 if gained < SLOW * here.objective else 0
            exact = abs(there.objective - model) <= EXACT * there.objective and way < 0.99 * radius
            rows, y, here = here.qp.rows, y_next, there
            if _better(s.size, here.objective, here.violated, least, excess):
                best, least, excess = _state_of(here), here.objective, here.violated
                dual, border = _pressing(rows, y, n_c)
            if here.violated <= LAW * s.size and (exact or slow > PATIENCE):
                break
        H, g = _curved(s, kind, here, rows, y)
        curved = True
    if outcome == SOLVED and not excess < np.inf:
        outcome = FAILED
    law = np.inf
    if outcome == SOLVED:
        law = largest_distance(s, best.effort, best.force) / s.size
        if law > LAW_ACCEPTED:
            outcome = FAILED
    return PieceResult(
        outcome, best.effort, best.force, least, law, best.direction, best.balance, dual, border,
        done,
    )  # fmt: skip


class _State(NamedTuple):
    """Part of a point that a piece's result keeps."""

    effort: np.ndarray
    force: np.ndarray
    direction: np.ndarray
    balance: np.ndarray


@njit(inner=True)
def _state_of(p: PiecePoint) -> _State:
    return _State(p.effort, p.force, p.direction, p.balance)


@njit(inner=True, separate=True)
def _clipped(s: Statement, v: np.ndarray) -> np.ndarray:
    """Efforts of a QP's answer, without rounding beyond their bounds, shape (n,)."""
    effort = np.empty(len(s.lower))
    for a in range(len(effort)):
        effort[a] = min(max(v[a], s.lower[a]), s.upper[a])
    return effort


@njit(inner=True, separate=True)
def _curved(
    s: Statement, kind: np.ndarray, here: PiecePoint, rows: PieceRows, y: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Hessian with the curvature of the contact law, and the gradient with it at v = 0.

    The gradient at the point stays as it is.
    """
    qp, n = here.qp, len(here.effort)
    K = curvature(s, kind, here.direction, here.balance, rows, y, qp.X, here.effort, here.force)
    n_v = len(K)
    for i in range(n_v):
        for j in range(n_v):
            if i >= n or j >= n:  # further variables differ in the next round
                K[i, j] = 0.0
            K[i, j] = qp.H[i, j] + K[i, j]
    H = convex(K, n)
    D = np.empty((n_v, n_v))
    for i in range(n_v):
        for j in range(n_v):
            D[i, j] = qp.H[i, j] - H[i, j]
    g = applied(D, here.v)
    for i in range(n_v):
        g[i] = qp.g[i] + g[i]
    return H, g


@njit(inner=True, separate=True)
def _gain(
    here: PiecePoint, there: PiecePoint, H: np.ndarray, g: np.ndarray, v: np.ndarray, y: np.ndarray
) -> tuple[float, float, float]:
    """Predicted and actual gain of the merit function between two points.

    Args:
        here: Where the QP was linearised.
        there: The point of the law at its answer.
        H: The QP's Hessian, shape (n_v, n_v).
        g: Its gradient, shape (n_v,).
        v: Its answer, shape (n_v,).
        y: Multipliers of its rows.

    Returns:
        Predicted objective; predicted gain; actual gain.
    """
    step, slope = np.empty(len(v)), applied(H, here.v)
    for j in range(len(v)):
        step[j] = v[j] - here.v[j]
    bend = applied(H, step)
    model = here.objective
    for j in range(len(v)):
        model += step[j] * (g[j] + slope[j] + 0.5 * bend[j])
    weight = penalties(here.qp.rows, y, len(here.force) + len(y))
    violated = violation(here.qp.rows, here.v, weight)
    promised = here.objective - model + violated - violation(here.qp.rows, v, weight)
    gained = here.objective - there.objective + violated
    return model, promised, gained - violation(there.qp.rows, there.v, weight)


@njit(inner=True)
def _better(size: float, objective: float, violated: float, least: float, excess: float) -> bool:
    """Whether a point satisfies every row as well as the best one, with a lower objective."""
    if violated > LAW_ACCEPTED * size:
        return False
    if max(violated, LAW * size) > max(excess, LAW * size):
        return False
    return objective < least or violated < excess


@njit(inner=True)
def _pressing(rows: PieceRows, y: np.ndarray, n_c: int) -> tuple[np.ndarray, np.ndarray]:
    """Largest border multiplier of each contact, and the type of that border."""
    dual, border = np.zeros(n_c), np.full(n_c, -1)
    for i in range(len(y)):
        if rows.what[i] <= CONE and y[i] > 0.0:
            c = rows.of[i]
            if y[i] > dual[c]:
                dual[c], border[c] = y[i], rows.what[i]
    return dual, border
