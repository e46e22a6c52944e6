"""The best efforts on a piece of the inverse problem, compiled: sequential quadratic programming.

Every point of the sequence obeys the equations of the contact law at its efforts, by Newton's method
on them alone. A merit function, objective and violated rows, decides whether a QP's step is taken.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sofa_softctl.inverse.active_set import (
    FAILED,
    INFEASIBLE,
    SOLVED,
    WORTHLESS,
    dual_active_set,
    unlimited,
)
from sofa_softctl.inverse.piece_kernels import (
    CONE, FORCE, GAP, LAW, LAW_ACCEPTED, LIMIT, SINGULAR, SLIDING, SLIP, STICKING,
    Assembled, Rows, Statement, assemble, distances, eliminate, motion, slide, touching_rows,
)
from sofa_softctl.inverse.small_algebra import applied, cholesky, solve_in_place
from sofa_softctl.jit import njit

SETTLED = 1e-9
"""Relative change of the objective below which the sequence of QPs has settled."""
EXACT = 1e-7
"""Relative error of a QP's objective below which its answer is taken for that of the piece."""
APART = 0.95
"""Cosine of the angle between two planes at a cone above which the newer one stands for both."""
IDLE = 1e-3
"""Weight that holds forces which contacts that depend on each other exchange for nothing, relative
to the scaled Hessian's diagonal."""
ROUNDS = 16
"""Most QPs on one piece, of many that are tried."""
LAST_ROUNDS = 100
"""The same on the piece that is answered with."""
HOPELESS = 10
"""The same as long as no point has obeyed every row."""
PATIENCE = 3
"""QPs that may each gain less than `SLOW`, relative, before the sequence ends."""
SLOW = 1e-4
NEWTON = 8
"""Most steps of Newton's method on the law at fixed efforts."""


@njit
def _solve_scaled(
    s: Statement, H: np.ndarray, g: np.ndarray, rows: Rows, center: np.ndarray, radius: float
) -> tuple[int, np.ndarray, np.ndarray, float]:
    """Minimise 1/2 v^T H v + g^T v on the rows and bounds, the Hessian's diagonal scaled to one.

    `s.anchor` times the scaled distance from `center` is added, so that it has one answer. No
    scaled variable goes farther than `radius` from there; where that leaves nothing, rows that are
    violated there may stay so.

    Returns:
        The outcome; v, shape (n_v,); multipliers of the rows, shape (m,); the longest way that a
        scaled variable went.
    """
    n_v, m = len(g), len(rows.low)
    d = _scale_of(H)
    S, L, anchor = np.empty((n_v, n_v)), np.zeros((n_v, n_v)), np.empty(n_v)
    for i in range(n_v):
        for j in range(n_v):
            S[i, j] = d[i] * H[i, j] * d[j]
        anchor[i] = s.anchor if i < len(s.lower) else IDLE
        S[i, i] += anchor[i]
    G, norm = np.empty((m, n_v)), np.empty(m)
    low, high = np.full(n_v + m, -np.inf), np.full(n_v + m, np.inf)
    for j in range(n_v):
        if j < len(s.lower):
            low[j], high[j] = s.lower[j] / d[j], s.upper[j] / d[j]
        low[j] = max(low[j], min(center[j] / d[j], high[j]) - radius)
        high[j] = min(high[j], max(center[j] / d[j], low[j]) + radius)
    largest = 0.0
    for i in range(m):
        total = 0.0
        for j in range(n_v):
            G[i, j] = rows.G[i, j] * d[j]
            total += G[i, j] * G[i, j]
        norm[i] = np.sqrt(total)
        largest = max(largest, norm[i])
    for i in range(m):
        if norm[i] <= 1e-12 * largest:
            norm[i] = max(largest, 1e-300)
        low[n_v + i], high[n_v + i] = rows.low[i] / norm[i], rows.high[i] / norm[i]
        for j in range(n_v):
            G[i, j] /= norm[i]
    h, size = np.empty(n_v), 0.0
    for j in range(n_v):
        h[j] = d[j] * g[j] - anchor[j] * center[j] / d[j]
        size = max(size, abs(h[j]))
    for i in range(n_v + m):
        size = max(size, low[i] if low[i] < np.inf else 0.0, -high[i] if high[i] > -np.inf else 0.0)
    if size <= 0.0:
        size = 1.0
    y = np.zeros(m)
    if not cholesky(S, L, 1e-15):
        return FAILED, center, y, 0.0
    a = unlimited(L, h / size)
    outcome = dual_active_set(a, G, low / size, high / size, 1e-7)
    if outcome == INFEASIBLE and radius < np.inf:
        for i in range(m):
            here = 0.0
            for j in range(n_v):
                here += G[i, j] * center[j] / d[j]
            low[n_v + i], high[n_v + i] = min(low[n_v + i], here), max(high[n_v + i], here)
        a = unlimited(L, h / size)
        outcome = dual_active_set(a, G, low / size, high / size, 1e-7)
    way = 0.0
    for j in range(n_v):
        way = max(way, abs(a.x[j] * size - center[j] / d[j]))
    for j in range(a.number[0]):
        i = a.active[j] - n_v
        if i >= 0:
            y[i] = a.side[j] * a.dual[j] * size / norm[i]
    return outcome, a.x * d * size, y, way


@njit
def _scale_of(H: np.ndarray) -> np.ndarray:
    """What makes the diagonal of H one; where it is zero, what makes the largest entry one."""
    n, strongest = len(H), 0.0
    for j in range(n):
        strongest = max(strongest, H[j, j])
    if strongest <= 0.0:
        strongest = 1.0
    d = np.empty(n)
    for j in range(n):
        d[j] = 1.0 / np.sqrt(H[j, j] if H[j, j] > 1e-12 * strongest else strongest)
    return d


@njit
def _convex(H: np.ndarray, efforts: int) -> np.ndarray:
    """H, or where it is not convex, with the absolute values of its eigenvalues.

    So a saddle is left, not climbed. Variables after the efforts are anchored by `IDLE`.
    """
    n = len(H)
    S, L, d = np.empty((n, n)), np.zeros((n, n)), np.empty(n)
    strongest = 0.0
    for j in range(n):
        strongest = max(strongest, H[j, j])
    for j in range(n):
        d[j] = 1.0 / np.sqrt(max(H[j, j], 1e-12 * strongest, 1e-300))
    for i in range(n):
        for j in range(n):
            S[i, j] = d[i] * H[i, j] * d[j]
        S[i, i] += 1e-9 if i < efforts else IDLE
    if cholesky(S, L, 1e-15) or not np.isfinite(S).all():
        return H
    values, vectors = np.linalg.eigh(S)
    out = np.zeros((n, n))
    for k in range(n):
        value = max(abs(values[k]), 1e-9)
        for i in range(n):
            for j in range(n):
                out[i, j] += value * vectors[i, k] * vectors[j, k] / (d[i] * d[j])
    return out


@njit
def _curvature(
    s: Statement,
    kind: np.ndarray,
    direction: np.ndarray,
    balance: np.ndarray,
    rows: Rows,
    y: np.ndarray,
    X: np.ndarray,
    effort: np.ndarray,
    force: np.ndarray,
) -> np.ndarray:
    """Second derivative of the contact law's part of the Lagrangian over the variables.

    A cone that is pressed against with the multiplier y adds

        y / |lam_t| (w . lam_t)^2                       (w normal to lam_t)

    and a sliding contact, with u its direction and P = mu lam_n, s = |delta_t|, the second
    derivatives of its two equations

        u . lam_t + sqrt(P^2 - (w . lam_t)^2) = 0
        ((w . lam_t) (u . delta_t) - (u . lam_t) (w . delta_t)) / (s + P) = 0

    each times its multiplier. With it the sequence of QPs is Newton's method.
    """
    n_v, n_r = X.shape[1], len(force)
    K = np.zeros((n_v, n_v))
    sliding = False
    for c in range(len(kind)):
        sliding = sliding or kind[c] == SLIDING
    residual = s.f + applied(s.F_c, force) + applied(s.F_u, effort)
    gradient = np.zeros(n_r)
    for i in range(len(residual)):
        for r in range(n_r):
            gradient[r] += s.F_c[i, r] * residual[i]
    for i in range(len(y)):
        if y[i] == 0.0:
            continue
        if rows.what[i] == LIMIT:
            for r in range(n_r):
                gradient[r] -= y[i] * s.A_c[rows.of[i], r]
            continue
        if rows.what[i] > CONE:
            continue
        c = rows.of[i]
        r = s.starts[c]
        if rows.what[i] == GAP:
            for j in range(n_r):
                gradient[j] -= y[i] * s.W[r, j]
        elif rows.what[i] == FORCE:
            gradient[r] -= y[i]
        elif rows.what[i] == SLIP:
            for j in range(n_r):
                along = direction[c, 0] * s.W[r + 1, j] + direction[c, 1] * s.W[r + 2, j]
                gradient[j] -= y[i] * along
        else:
            size = np.hypot(force[r + 1], force[r + 2])
            if size <= 1e-6 * s.size:
                continue
            p, q = force[r + 1] / size, force[r + 2] / size
            gradient[r] -= y[i] * s.mu[c]
            gradient[r + 1] += y[i] * p
            gradient[r + 2] += y[i] * q
            across = p * X[r + 2] - q * X[r + 1]
            for a in range(n_v):
                for b in range(n_v):
                    K[a, b] += y[i] / size * across[a] * across[b]
    if not sliding:
        return K
    nu = _law_multipliers(s, kind, direction, balance, gradient)
    delta = motion(s, effort, force)
    for c in range(len(kind)):
        if kind[c] != SLIDING:
            continue
        r = s.starts[c]
        p, q = delta[r + 1] - force[r + 1], delta[r + 2] - force[r + 2]
        total = np.hypot(p, q)
        if total <= 1e-9 * s.size:
            continue
        p, q = p / total, q / total
        wX, uX = p * X[r + 2] - q * X[r + 1], p * X[r + 1] + q * X[r + 2]
        wD, uD = np.zeros(n_v), np.zeros(n_v)
        for j in range(n_r):
            along = p * s.W[r + 1, j] + q * s.W[r + 2, j]
            aside = p * s.W[r + 2, j] - q * s.W[r + 1, j]
            for a in range(n_v):
                uD[a] += along * X[j, a]
                wD[a] += aside * X[j, a]
        for a in range(len(effort)):
            uD[a] += p * s.C[a, r + 1] + q * s.C[a, r + 2]
            wD[a] += p * s.C[a, r + 2] - q * s.C[a, r + 1]
        P = s.mu[c] * force[r]
        if P > 1e-6 * total:
            for a in range(n_v):
                for b in range(n_v):
                    K[a, b] -= nu[r + 1] / P * wX[a] * wX[b]
        weight = nu[r + 2] / total
        for a in range(n_v):
            for b in range(n_v):
                cross = wX[a] * uD[b] - uX[a] * wD[b] + wX[b] * uD[a] - uX[b] * wD[a]
                K[a, b] += weight * cross
    return K


@njit
def _law_multipliers(
    s: Statement,
    kind: np.ndarray,
    direction: np.ndarray,
    balance: np.ndarray,
    gradient: np.ndarray,
) -> np.ndarray:
    """Multipliers of the equations that `eliminate` solved, shape (n_r,), 0 on other rows."""
    n_r = len(gradient)
    rows, place, k = touching_rows(s, kind)
    E, F = np.empty((k, k)), np.empty((k, 1))
    for i in range(k):
        F[i, 0] = gradient[rows[i]]
        for j in range(k):
            E[i, j] = s.W[rows[i], rows[j]]
    slide(s, kind, direction, balance, place, E, np.zeros((k, 0)))
    nu = np.zeros(n_r)
    if solve_in_place(E.T.copy(), F) >= SINGULAR:  # else: dependent contacts, without multipliers
        for i in range(k):
            nu[rows[i]] = -F[i, 0]
    return nu


# Points that obey the law -------------------------------------------------------------------------


class _Planes(NamedTuple):
    """Planes that touch friction cones: mu lam_n >= direction . lam_t, whatever the law does."""

    contact: np.ndarray
    """Shape (k,) of int."""
    direction: np.ndarray
    """Shape (k, 2)."""


class _Point(NamedTuple):
    """Efforts, and the forces and sliding directions that obey the equations of the law there."""

    effort: np.ndarray
    force: np.ndarray
    direction: np.ndarray
    balance: np.ndarray
    planes: _Planes
    """Planes at the cones."""
    qp: Assembled
    """The piece, linearised here."""
    v: np.ndarray
    """The variables of that QP here."""
    objective: float
    """1/2 ||F z + f||^2."""
    violated: float
    """Sum of what its rows are violated by."""


@njit
def _point(
    s: Statement,
    kind: np.ndarray,
    direction: np.ndarray,
    balance: np.ndarray,
    effort: np.ndarray,
    force: np.ndarray,
    known: _Planes,
) -> _Point:
    """The point of the law at these efforts; where none is found, `violated` is infinite."""
    direction, balance, force = direction.copy(), balance.copy(), force.copy()
    obeyed = _follow(s, kind, direction, balance, effort, force)
    planes = _planes(s, kind, force, known)
    possible, qp = assemble(s, kind, direction, balance, planes.contact, planes.direction)
    v = _variables(qp.X, effort, force)
    violated = _violated(qp.rows, v, np.ones((LIMIT + 1, len(s.d) + len(s.low))))
    objective = _objective(s, effort, force)
    if not (obeyed and possible and np.isfinite(force).all()):
        violated = np.inf
    return _Point(effort, force, direction, balance, planes, qp, v, objective, violated)


@njit
def _violated(rows: Rows, v: np.ndarray, weight: np.ndarray) -> float:
    """What rows are violated by in total, each times its weight, by what it says and of what.

    Of the planes at one cone, the one that is violated most counts.
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


@njit
def _penalties(rows: Rows, y: np.ndarray, most: int) -> np.ndarray:
    """Weights of violated rows: somewhat more than their multipliers, by what and of what."""
    weight, largest = np.zeros((LIMIT + 1, most)), 0.0
    for i in range(len(y)):
        weight[rows.what[i], rows.of[i]] += 1.1 * abs(y[i])
        largest = max(largest, abs(y[i]))
    return weight + 0.02 * largest


@njit
def _follow(
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
    slides = False
    for c in range(len(kind)):
        slides = slides or kind[c] == SLIDING
    start, best = force.copy(), np.inf
    for _ in range(NEWTON if slides else 0):
        error = _turn(s, kind, direction, balance, motion(s, effort, force), force)
        if error <= 0.01 * LAW * s.size:
            return True
        if error > 10.0 * best:  # away from it
            break
        best = min(best, error)
        possible, X, x, _, _ = eliminate(s, kind, direction, balance)
        if not possible:
            break
        force[:] = applied(X, _variables(X, effort, force)) + x
    error = _turn(s, kind, direction, balance, motion(s, effort, force), force)
    if error <= LAW * s.size:
        return True
    force[:] = start
    _turn(s, kind, direction, balance, motion(s, effort, force), force)
    return False


@njit
def _variables(X: np.ndarray, effort: np.ndarray, force: np.ndarray) -> np.ndarray:
    """The variables of a piece at efforts, and at what forces exchange for nothing."""
    n, n_v = len(effort), X.shape[1]
    v = np.zeros(n_v)
    v[:n] = effort
    for j in range(n, n_v):
        for r in range(len(force)):
            v[j] += X[r, j] * force[r]
    return v


@njit
def _objective(s: Statement, effort: np.ndarray, force: np.ndarray) -> float:
    residual = s.f + applied(s.F_c, force) + applied(s.F_u, effort)
    value = 0.0
    for i in range(len(residual)):
        value += 0.5 * residual[i] * residual[i]
    return value


@njit
def _planes(s: Statement, kind: np.ndarray, force: np.ndarray, known: _Planes) -> _Planes:
    """Known planes, and those where the forces of sticking contacts are nearest to their cones.

    A new plane takes the place of those within `APART` of it, for two that nearly agree meet in an
    edge which is no part of the cone. Forces less than half way to their cone ask for none.
    """
    most = len(kind) + len(known.contact)
    contact, direction = np.empty(most, np.int64), np.empty((most, 2))
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
    new = m
    for i in range(len(known.contact)):
        apart = True
        for j in range(new):
            if known.contact[i] == contact[j]:
                cosine = known.direction[i, 0] * direction[j, 0]
                cosine += known.direction[i, 1] * direction[j, 1]
                apart = cosine < APART
        if apart and m < 8 * len(kind):
            contact[m], direction[m] = known.contact[i], known.direction[i]
            m += 1
    return _Planes(contact[:m], direction[:m])


@njit
def _turn(
    s: Statement,
    kind: np.ndarray,
    direction: np.ndarray,
    balance: np.ndarray,
    delta: np.ndarray,
    force: np.ndarray,
) -> float:
    """Directions and balances of sliding contacts at forces, in place.

    Returns:
        How far the forces are from the law's equations [sqrt(energy)].
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


# The sequence of QPs ------------------------------------------------------------------------------


class PieceResult(NamedTuple):
    """What came of a piece."""

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
    """Largest multiplier of a border that a contact presses against, shape (n_c,)."""
    border: np.ndarray
    """What that border says: GAP, FORCE, SLIP or CONE; -1 = none, shape (n_c,)."""
    rounds: int
    """QPs that were solved."""


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
) -> PieceResult:
    """The best efforts on the piece of decided modes, by sequential quadratic programming.

    Args:
        s: The problem.
        kind: INACTIVE, STICKING or SLIDING, shape (n_c,).
        direction: Where sliding contacts slide to, to begin with, shape (n_c, 2).
        balance: Their balance, see `Modes`, shape (n_c, 2).
        effort: Efforts about which it is anchored, shape (n,).
        force: Forces from which the first planes around cones are taken, shape (n_r,).
        worth: Objective from which on an answer is of no use.
        most: Most QPs once a point has obeyed every row.
    """
    n, n_c = len(effort), len(kind)
    slides = False
    for c in range(n_c):
        slides = slides or kind[c] == SLIDING
    dual, border = np.zeros(n_c), np.full(n_c, -1)
    planes = _planes(s, kind, force, _Planes(np.empty(0, np.int64), np.empty((0, 2))))
    possible, qp = assemble(s, kind, direction, balance, planes.contact, planes.direction)
    v = _variables(qp.X, effort, force)
    here = _Point(effort, force, direction, balance, planes, qp, v, np.inf, np.inf)
    best = here
    if not possible:
        return _result(s, INFEASIBLE, best, dual, border, 0)
    H, g = qp.H, qp.g
    rows, y = qp.rows, np.zeros(0)  # multipliers, and of what
    curved, radius, slow = False, np.inf, 0
    done = 0
    while done < (most if best.violated < np.inf else HOPELESS):
        done += 1
        outcome, v, y_next, way = _solve_scaled(s, H, g, here.qp.rows, here.v, radius)
        if outcome != SOLVED:
            if curved:  # without the curvature, whose numbers can be large
                curved, H, g = False, here.qp.H, here.qp.g
                continue
            if best.violated < np.inf:
                break
            return _result(s, outcome, best, dual, border, done)
        lam = applied(here.qp.X, v) + here.qp.x
        u = v[:n].copy()
        for a in range(n):  # what the QP leaves beyond its bounds
            u[a] = min(max(u[a], s.lower[a]), s.upper[a])
        model = _objective(s, u, lam)
        if not best.violated < np.inf and model > worth * (1.2 if slides or curved else 1.0):
            # Without planes around a cone the objective is a bound; else an estimate.
            return _result(s, WORTHLESS, best, dual, border, done)
        if best.violated < np.inf and done > 2 and way < radius and model > (1.0 - 1e-7) * worth:
            return _result(s, WORTHLESS, best, dual, border, done)
        there = _point(s, kind, here.direction, here.balance, u, lam, here.planes)
        taken, gained = not here.violated < np.inf, np.inf
        if not taken:
            promised = 0.0
            step = v - here.v
            slope, bend = g + applied(H, here.v), applied(H, step)
            for j in range(len(step)):
                promised -= step[j] * (slope[j] + 0.5 * bend[j])
            model = here.objective - promised
            weight = _penalties(here.qp.rows, y_next, len(s.d) + len(s.low))
            violated = _violated(here.qp.rows, here.v, weight)
            promised += violated - _violated(here.qp.rows, v, weight)
            gained = here.objective - there.objective + violated
            gained -= _violated(there.qp.rows, there.v, weight)
            settled = promised <= SETTLED * here.objective and here.violated <= LAW * s.size
            taken = gained >= 1e-3 * promised and there.violated < np.inf
            if settled and not taken:
                break
            if not taken:
                radius = 0.25 * way
            elif gained < 0.25 * promised:
                radius = 0.5 * way
            elif way >= 0.99 * radius:
                radius = 4.0 * radius
        slow = slow + 1 if taken and gained < SLOW * here.objective else 0
        if taken:
            exact = abs(there.objective - model) <= EXACT * there.objective + 1e-300
            here, rows, y = there, here.qp.rows, y_next
            if here.violated <= LAW_ACCEPTED * s.size and (
                max(here.violated, LAW * s.size) <= max(best.violated, LAW * s.size)
                and (here.objective < best.objective or here.violated < best.violated)
            ):
                best = here
                dual, border = _pressing(rows, y, n_c)
            if here.violated <= LAW * s.size and (exact and way < 0.99 * radius or slow > PATIENCE):
                break
        K = _curvature(
            s, kind, here.direction, here.balance, rows, y, here.qp.X, here.effort, here.force
        )
        K[n:, :] = 0.0  # other variables in the next round
        K[:, n:] = 0.0
        H = _convex(here.qp.H + K, n)
        g = here.qp.g + applied(here.qp.H - H, here.v)  # the gradient here stays
        curved = True
    return _result(s, SOLVED if best.violated < np.inf else FAILED, best, dual, border, done)


@njit
def _result(
    s: Statement, outcome: int, p: _Point, dual: np.ndarray, border: np.ndarray, rounds: int
) -> PieceResult:
    law = np.inf
    if outcome == SOLVED:
        delta = motion(s, p.effort, p.force)
        law = distances(p.force, delta, s.mu, s.starts, s.sticking).max() / s.size
        if law > LAW_ACCEPTED:
            outcome = FAILED
    return PieceResult(
        outcome, p.effort, p.force, p.objective, law, p.direction, p.balance, dual, border, rounds
    )


@njit
def _pressing(rows: Rows, y: np.ndarray, n_c: int) -> tuple[np.ndarray, np.ndarray]:
    """For each contact the border with the largest multiplier, and which it is."""
    dual, border = np.zeros(n_c), np.full(n_c, -1)
    for i in range(len(y)):
        if rows.what[i] <= CONE and y[i] > 0.0:
            c = rows.of[i]
            if y[i] > dual[c]:
                dual[c], border[c] = y[i], rows.what[i]
    return dual, border
