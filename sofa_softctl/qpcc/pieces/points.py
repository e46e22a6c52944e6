"""Points of a piece on the contact law, compiled."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sofa_softctl.base.jit import njit
from sofa_softctl.qpcc.pieces.kernels import (
    CONE,
    LAW,
    LIMIT,
    SLIDING,
    STICKING,
    PieceQP,
    PieceRows,
    Statement,
    assemble,
    eliminate,
    motion,
    slides,
)
from sofa_softctl.qpcc.pieces.small_algebra import times_vector

NEWTON_STEPS_MAX = 8
"""Maximum number of Newton steps on the law at fixed efforts."""
PARALLEL_COSINE = 1.0 - 1e-6
"""Cosine of the angle between two planes at a cone above which the newer one replaces the other.
Planes that are merely similar are kept: without the older one, the sequence can cycle."""
PLANES_MAX = 24
"""Maximum number of planes a contact, on average."""


class Planes(NamedTuple):
    """Tangent planes of friction cones: mu lam_n >= direction . lam_t, valid for every force."""

    contact: np.ndarray
    """Shape (k,) of int."""
    direction: np.ndarray
    """Shape (k, 2)."""


class PiecePoint(NamedTuple):
    """Efforts, with forces and sliding directions that satisfy the law's equations."""

    effort: np.ndarray
    force: np.ndarray
    direction: np.ndarray
    balance: np.ndarray
    planes: Planes
    """Planes at the cones."""
    qp: PieceQP
    """The piece, linearised here."""
    v: np.ndarray
    """The variables of that QP here."""
    objective: float
    """1/2 ||F z + f||^2."""
    violated: float
    """Sum of violations of its rows."""


@njit(inner=True, separate=True)
def point_at(
    s: Statement,
    kind: np.ndarray,
    direction: np.ndarray,
    balance: np.ndarray,
    effort: np.ndarray,
    force: np.ndarray,
    earlier: Planes,
) -> PiecePoint:
    """Return the point of the law at these efforts; if none is found, `violated` is infinite."""
    direction, balance, force = direction.copy(), balance.copy(), force.copy()
    obeyed = _solve_law(s, kind, direction, balance, effort, force)
    planes = planes_at(s, kind, force, earlier)
    possible, qp = assemble(s, kind, direction, balance, planes.contact, planes.direction)
    v = variables_at(qp.X, effort, force)
    violated = violation(qp.rows, v, np.ones((LIMIT + 1, len(force) + len(qp.rows.low))))
    objective = objective_at(s, effort, force)
    if not (obeyed and possible and _is_finite(force)):
        violated = np.inf
    return PiecePoint(effort, force, direction, balance, planes, qp, v, objective, violated)


@njit(inner=True)
def _copy(source: np.ndarray, target: np.ndarray) -> None:
    for r in range(len(target)):
        target[r] = source[r]


@njit(inner=True)
def _is_finite(x: np.ndarray) -> bool:
    for r in range(len(x)):
        if not np.isfinite(x[r]):
            return False
    return True


@njit(inner=True, separate=True)
def violation(rows: PieceRows, v: np.ndarray, weight: np.ndarray) -> float:
    """Weighted sum of row violations, weights by row type and contact.

    Of the planes at one cone, the most violated one counts.
    """
    total = 0.0
    cone = np.zeros(weight.shape[1])
    for i in range(len(rows.low)):
        value = 0.0
        for j in range(len(v)):
            value += rows.G[i, j] * v[j]
        excess = max(rows.low[i] - value, value - rows.high[i])
        if excess > 0.0:
            excess *= weight[rows.what[i], rows.of[i]]
            if rows.what[i] == CONE:
                total += max(excess - cone[rows.of[i]], 0.0)
                cone[rows.of[i]] = max(excess, cone[rows.of[i]])
            else:
                total += excess
    return total


@njit(inner=True, separate=True)
def penalties(rows: PieceRows, y: np.ndarray, contacts_max: int) -> np.ndarray:
    """Penalty weights of rows, somewhat above their multipliers, by row type and contact.

    Args:
        rows: The rows of a QP.
        y: Multipliers of the rows.
        contacts_max: Upper bound of the contact numbers of rows.
    """
    weight, largest = np.zeros((LIMIT + 1, contacts_max)), 0.0
    for i in range(len(y)):
        weight[rows.what[i], rows.of[i]] += 1.1 * abs(y[i])
        largest = max(largest, abs(y[i]))
    return weight + 0.02 * largest


@njit(inner=True, separate=True)
def _solve_law(
    s: Statement,
    kind: np.ndarray,
    direction: np.ndarray,
    balance: np.ndarray,
    effort: np.ndarray,
    force: np.ndarray,
) -> bool:
    """Solve the law's equations at fixed efforts by Newton's method, in place.

    Where it fails, the forces stay as they were.
    """
    start, best = force.copy(), np.inf
    for _ in range(NEWTON_STEPS_MAX if slides(kind) else 0):
        error = _update_directions(s, kind, direction, balance, motion(s, effort, force), force)
        if error <= 0.01 * LAW * s.size:
            return True
        has_stalled = best <= LAW * s.size and error > 0.5 * best  # at rounding
        if error > 10.0 * best or has_stalled:
            break
        best = min(best, error)
        possible, X, x, _, _ = eliminate(s, kind, direction, balance)
        if not possible:
            break
        _copy(forces_at(X, x, variables_at(X, effort, force)), force)
    error = _update_directions(s, kind, direction, balance, motion(s, effort, force), force)
    if error <= LAW * s.size:
        return True
    _copy(start, force)
    _update_directions(s, kind, direction, balance, motion(s, effort, force), force)
    return False


@njit(separate=True)
def variables_at(X: np.ndarray, effort: np.ndarray, force: np.ndarray) -> np.ndarray:
    """Variables of a piece at efforts and internal forces."""
    n, n_v = len(effort), X.shape[1]
    v = np.zeros(n_v)
    for a in range(n):
        v[a] = effort[a]
    for j in range(n, n_v):
        for r in range(len(force)):
            v[j] += X[r, j] * force[r]
    return v


@njit(inner=True)
def forces_at(X: np.ndarray, x: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Contact forces lam = X v + x."""
    force = times_vector(X, v)
    for r in range(len(x)):
        force[r] += x[r]
    return force


@njit(inner=True, separate=True)
def objective_at(s: Statement, effort: np.ndarray, force: np.ndarray) -> float:
    """1/2 ||F_u u + F_c lam + f||^2."""
    by_forces, by_efforts = times_vector(s.F_c, force), times_vector(s.F_u, effort)
    value = 0.0
    for i in range(len(s.f)):
        residual = s.f[i] + by_forces[i] + by_efforts[i]
        value += 0.5 * residual * residual
    return value


@njit(inner=True, separate=True)
def planes_at(s: Statement, kind: np.ndarray, force: np.ndarray, earlier: Planes) -> Planes:
    """Known planes, and those where the forces of sticking contacts are nearest to their cones.

    A new plane replaces those within `APART` of it. Forces less than half way to their cone get
    none.
    """
    planes_max = len(kind) + len(earlier.contact)
    contact, direction = np.empty(planes_max, np.int64), np.empty((planes_max, 2))
    m = 0
    for c in range(len(kind)):
        if kind[c] != STICKING or s.mu[c] == 0.0 or s.sticking:
            continue
        r = s.starts[c]
        size = np.hypot(force[r + 1], force[r + 2])
        if size > 0.5 * s.mu[c] * force[r] and size > LAW * s.size:
            contact[m] = c
            direction[m, 0], direction[m, 1] = force[r + 1] / size, force[r + 2] / size
            m += 1
    new_count = m
    for i in range(len(earlier.contact)):
        is_distinct = True
        for j in range(new_count):
            if earlier.contact[i] == contact[j]:
                cosine = earlier.direction[i, 0] * direction[j, 0]
                cosine += earlier.direction[i, 1] * direction[j, 1]
                is_distinct = cosine < PARALLEL_COSINE
        if is_distinct and m < PLANES_MAX * len(kind):
            contact[m] = earlier.contact[i]
            direction[m, 0], direction[m, 1] = (
                earlier.direction[i, 0],
                earlier.direction[i, 1],
            )
            m += 1
    return Planes(contact[:m], direction[:m])


@njit(inner=True)
def _update_directions(
    s: Statement,
    kind: np.ndarray,
    direction: np.ndarray,
    balance: np.ndarray,
    delta: np.ndarray,
    force: np.ndarray,
) -> float:
    """Directions and balances of sliding contacts at forces, in place.

    Returns:
        Residual of the law's equations [sqrt(energy)].
    """
    error = 0.0
    for c in range(len(kind)):
        if kind[c] != SLIDING:
            continue
        r = s.starts[c]
        p, q = delta[r + 1] - force[r + 1], delta[r + 2] - force[r + 2]
        length = np.hypot(p, q)  # both parts point along u when the law is obeyed
        if length > 1e-12 * s.size:
            direction[c, 0], direction[c, 1] = p / length, q / length
        u, w = direction[c, 0], direction[c, 1]
        along = u * force[r + 1] + w * force[r + 2] + s.mu[c] * force[r]
        across = u * force[r + 2] - w * force[r + 1]
        error = max(error, abs(along), abs(across))
        slip, friction = delta[r + 1] * u + delta[r + 2] * w, s.mu[c] * force[r]
        if slip + friction <= 1e-12 * s.size:  # beyond both borders: no direction opposes both
            slip, friction = max(slip, 0.0), max(friction, 0.0)
        total = slip + friction
        if total > 1e-12 * s.size:
            balance[c, 0], balance[c, 1] = slip / total, friction / total
        else:
            balance[c, 0] = balance[c, 1] = 0.5
    return error
