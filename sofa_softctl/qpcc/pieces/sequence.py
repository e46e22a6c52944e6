"""Sequential quadratic programming on a piece of the inverse problem, compiled.

Every point of the sequence satisfies the equations of the contact law at its efforts, by Newton's
method on these equations only. A merit function of the objective and of violated rows accepts or
rejects a QP's step, and a trust region limits the next one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sofa_softctl.base.jit import njit
from sofa_softctl.qp.active_set import INFEASIBLE, NOT_BETTER, SOLVED
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
from sofa_softctl.qpcc.pieces.scaled_qp import make_convex, solve_scaled
from sofa_softctl.qpcc.pieces.small_algebra import times_vector
from sofa_softctl.qpcc.problem.modes import Modes

QPS_MAX = 16
"""Maximum number of QPs on each tried piece."""
QPS_MAX_FINAL = 100
"""The same on the piece of the answer."""
QPS_MAX_INFEASIBLE = 10
"""The same while no point has satisfied every row."""
QPS_MAX_CONES = 60
"""The same where no contact slides: planes then narrow the cones to the feasible set."""
GAIN_TOLERANCE = 1e-9
"""Predicted relative gain at which the sequence has converged."""
OBJECTIVE_ERROR_MAX = 1e-7
"""Relative error of a QP's objective below which its solution solves the piece [-]."""
SLOW_GAIN = 1e-4
"""Relative gain that counts as slow."""
SLOW_QPS_MAX = 3
"""Slow QPs in a row before the sequence ends."""
ESTIMATE_RATIO_FAR = 1.2
"""Ratio of an objective to its estimate by a distant linearisation, at most."""
ROW_VIOLATION_MAX = 1e-5
"""Allowed violation of rows at a point on the law, relative to `size`."""
ESTIMATE_RATIO = 1.0 - 1e-7
"""Ratio of an objective to its estimate, once a point is on the law."""


class PieceSolution(NamedTuple):
    """The best efforts on a piece, in units of energy."""

    modes: Modes
    """Modes of the contacts, sliding ones with the direction in which they slide."""
    effort: np.ndarray
    """Efforts, then further variables of the statement, shape (n,)."""
    force: np.ndarray
    """Contact forces, shape (n_r,)."""
    objective: float
    """Objective of the statement, 1/2 ||F z + f||^2; inf: no answer."""
    law: float
    """Largest distance of a contact from its law, relative to `size` [-]."""
    dual: np.ndarray
    """Largest multiplier of an active border of each contact's mode, shape (n_c,)."""
    border: np.ndarray
    """Type of that border: GAP, FORCE, SLIP or CONE; -1 = none, shape (n_c,) of int."""
    settled: bool
    """True for a local optimum, False if the maximum number of QPs was solved before."""


@njit
def no_solution(modes: Modes, effort: np.ndarray, force: np.ndarray) -> PieceSolution:
    """A solution without an objective, which every other one is better than."""
    n_c = len(modes.kind)
    return PieceSolution(
        modes, effort, force, np.inf, np.inf, np.zeros(n_c), np.full(n_c, -1), False
    )


@njit(inner=True, separate=True)
def solve_piece(
    s: Statement,
    modes: Modes,
    effort: np.ndarray,
    force: np.ndarray,
    worth: float,
    qps_max: int,
    obeyed: bool,
) -> tuple[PieceSolution, int]:
    """The best efforts on the piece of decided modes, by sequential quadratic programming.

    Args:
        s: The problem.
        modes: Decided modes, with initial directions and balances of the sliding ones.
        effort: Efforts about which it is regularised, shape (n,).
        force: Forces at which the first planes touch the cones, shape (n_r,).
        worth: Objective at which an answer is of no use.
        qps_max: Maximum number of QPs once a point has satisfied every row.
        obeyed: Whether these efforts and forces satisfy the contact law on this piece: if they also
            keep its limits they are the first answer, even if linearised rows contradict them.

    Returns:
        The answer, without an objective if the modes are not possible within the limits or of no
        use; the number of solved QPs.
    """
    kind, direction, balance, sector = modes
    n_c = len(kind)
    is_bound = not slides(kind)  # whether a QP's objective is a bound, not an estimate
    dual, border = np.zeros(n_c), np.full(n_c, -1)
    planes = planes_at(s, kind, force, Planes(np.empty(0, np.int64), np.empty((0, 2))))
    possible, qp = assemble(s, kind, direction, balance, planes.contact, planes.direction)
    v = variables_at(qp.X, effort, force)
    point = PiecePoint(effort, force, direction, balance, planes, qp, v, np.inf, np.inf)
    if possible and obeyed:
        candidate = point_at(s, kind, direction, balance, effort, force, planes)
        if candidate.violated <= ROW_VIOLATION_MAX * s.size:
            point, qp = candidate, candidate.qp
    best, lowest, excess = _state_of(point), point.objective, point.violated
    H, g, rows, y = qp.H, qp.g, qp.rows, np.zeros(0)  # y: multipliers of `rows`
    is_curved, radius, slow, qp_count = False, np.inf, 0, 0
    outcome = SOLVED if possible else INFEASIBLE
    qps_max_infeasible = QPS_MAX_CONES if is_bound else QPS_MAX_INFEASIBLE
    while possible and qp_count < (qps_max if excess < np.inf else qps_max_infeasible):
        qp_count += 1
        has_point = excess < np.inf
        solved, v, y_next, step = solve_scaled(s, H, g, point.qp.rows, point.v, radius)
        if solved != SOLVED:
            if is_curved:  # without the curvature, which can be large
                is_curved, H, g = False, point.qp.H, point.qp.g
                continue
            if has_point and radius == np.inf and 0.0 < step < np.inf:
                radius = step  # nearby, where violated rows may stay violated
                continue
            outcome = SOLVED if has_point else solved
            break
        u, lam = _clip_efforts(s, v), forces_at(point.qp.X, point.qp.x, v)
        model = objective_at(s, u, lam)
        if has_point and qp_count > 2 and step < radius:
            bar = ESTIMATE_RATIO * worth
        else:
            bar = (
                np.inf
                if has_point
                else worth
                if is_bound and not is_curved
                else ESTIMATE_RATIO_FAR * worth
            )
        if model > bar:
            outcome = NOT_BETTER
            break
        candidate = point_at(s, kind, point.direction, point.balance, u, lam, point.planes)
        is_accepted, gain = True, np.inf
        if point.violated < np.inf:
            model, predicted_gain, gain = _gain(point, candidate, H, g, v, y_next)
            is_accepted = gain >= 1e-3 * predicted_gain and candidate.violated < np.inf
            if (
                not is_accepted
                and point.violated <= LAW * s.size
                and predicted_gain <= GAIN_TOLERANCE * point.objective
            ):
                break
            if not is_accepted:
                radius = 0.25 * step
            elif gain < 0.25 * predicted_gain:
                radius = 0.5 * step
            elif step >= 0.99 * radius:
                radius = 4.0 * radius
        if is_accepted:
            slow = slow + 1 if gain < SLOW_GAIN * point.objective else 0
            exact = (
                abs(candidate.objective - model) <= OBJECTIVE_ERROR_MAX * candidate.objective
                and step < 0.99 * radius
            )
            rows, y, point = point.qp.rows, y_next, candidate
            if _is_better(s.size, point.objective, point.violated, lowest, excess):
                best, lowest, excess = _state_of(point), point.objective, point.violated
                dual, border = _active_borders(rows, y, n_c)
            if point.violated <= LAW * s.size and (exact or slow > SLOW_QPS_MAX):
                break
        H, g = _add_curvature(s, kind, point, rows, y)
        is_curved = True
    law = np.inf
    if outcome == SOLVED and excess < np.inf:
        law = largest_distance(s, best.effort, best.force) / s.size
    if not law <= LAW_ACCEPTED:
        lowest = np.inf
    solved_modes = Modes(kind, best.direction, best.balance, sector)
    is_settled = qp_count < qps_max
    return PieceSolution(
        solved_modes, best.effort, best.force, lowest, law, dual, border, is_settled
    ), qp_count


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
def _clip_efforts(s: Statement, v: np.ndarray) -> np.ndarray:
    """Efforts of a QP's answer, without rounding beyond their bounds, shape (n,)."""
    effort = np.empty(len(s.lower))
    for a in range(len(effort)):
        effort[a] = min(max(v[a], s.lower[a]), s.upper[a])
    return effort


@njit(inner=True, separate=True)
def _add_curvature(
    s: Statement, kind: np.ndarray, point: PiecePoint, rows: PieceRows, y: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Hessian with the curvature of the contact law, and the gradient with it at v = 0.

    The gradient at the point stays as it is.
    """
    qp, n = point.qp, len(point.effort)
    K = curvature(s, kind, point.direction, point.balance, rows, y, qp.X, point.effort, point.force)
    n_v = len(K)
    for i in range(n_v):
        for j in range(n_v):
            if i >= n or j >= n:  # further variables differ in the next round
                K[i, j] = 0.0
            K[i, j] = qp.H[i, j] + K[i, j]
    H = make_convex(K, n)
    D = np.empty((n_v, n_v))
    for i in range(n_v):
        for j in range(n_v):
            D[i, j] = qp.H[i, j] - H[i, j]
    g = times_vector(D, point.v)
    for i in range(n_v):
        g[i] = qp.g[i] + g[i]
    return H, g


@njit(inner=True, separate=True)
def _gain(
    point: PiecePoint,
    candidate: PiecePoint,
    H: np.ndarray,
    g: np.ndarray,
    v: np.ndarray,
    y: np.ndarray,
) -> tuple[float, float, float]:
    """Predicted and actual gain of the merit function between two points.

    Args:
        point: Point at which the QP was linearised.
        candidate: The point of the law at its answer.
        H: The QP's Hessian, shape (n_v, n_v).
        g: The QP's gradient, shape (n_v,).
        v: The QP's solution, shape (n_v,).
        y: Multipliers of its rows.

    Returns:
        Predicted objective; predicted gain; actual gain.
    """
    step, slope = np.empty(len(v)), times_vector(H, point.v)
    for j in range(len(v)):
        step[j] = v[j] - point.v[j]
    bend = times_vector(H, step)
    model = point.objective
    for j in range(len(v)):
        model += step[j] * (g[j] + slope[j] + 0.5 * bend[j])
    weight = penalties(point.qp.rows, y, len(point.force) + len(y))
    violation_before = violation(point.qp.rows, point.v, weight)
    predicted_gain = (
        point.objective - model + violation_before - violation(point.qp.rows, v, weight)
    )
    gain = point.objective - candidate.objective + violation_before
    return model, predicted_gain, gain - violation(candidate.qp.rows, candidate.v, weight)


@njit(inner=True)
def _is_better(
    size: float, objective: float, violated: float, lowest: float, excess: float
) -> bool:
    """Return True if a point satisfies all rows as well as the best one, at a lower objective."""
    if violated > LAW_ACCEPTED * size:
        return False
    if max(violated, LAW * size) > max(excess, LAW * size):
        return False
    return objective < lowest or violated < excess


@njit(inner=True)
def _active_borders(rows: PieceRows, y: np.ndarray, n_c: int) -> tuple[np.ndarray, np.ndarray]:
    """Largest border multiplier of each contact, and the type of that border."""
    dual, border = np.zeros(n_c), np.full(n_c, -1)
    for i in range(len(y)):
        if rows.what[i] <= CONE and y[i] > 0.0:
            c = rows.of[i]
            if y[i] > dual[c]:
                dual[c], border[c] = y[i], rows.what[i]
    return dual, border
