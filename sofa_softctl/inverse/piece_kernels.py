"""Pieces of the inverse problem through contacts, compiled.

A piece decides what every contact does. Its forces then follow from the efforts, and what remains
is a QP over the efforts; where contacts slide or press against their cones, a sequence of them.
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
from sofa_softctl.inverse.small_algebra import applied, cholesky, product, solve_in_place
from sofa_softctl.jit import njit

INACTIVE, STICKING, SLIDING = 0, 1, 2  # as in `modes`
OPEN, TOUCHING, SECTOR = 3, 4, 5
"""Relaxed: anything; touching, whatever it does along the surface; sliding within a sector."""

GAP, FORCE, SLIP, CONE, TIED, LIMIT = 0, 1, 2, 3, 4, 5
"""What a row says: no interpenetration, no pull, slide forward, inside a friction cone, contacts
that depend on each other agree, a limit of the statement."""

SINGULAR = 1e-10
"""Pivots or singular values below this share of the largest are zero: contacts that depend on each
other, such as the four corners of a rigid box."""
CONSISTENT = 1e-7
"""By how much contacts that depend on each other may contradict each other, relative to `size`."""
LAW = 1e-8
"""Distance from the contact law at which the sequence of QPs ends, relative to `size`."""
LAW_ACCEPTED = 1e-6
"""Largest distance from the contact law of an answer, relative to `size`."""
SETTLED = 1e-9
"""Relative change of the objective below which the sequence of QPs has settled."""
IDLE = 1e-3
"""Weight that holds forces which contacts that depend on each other exchange for nothing, relative
to the scaled Hessian's diagonal."""
ROUNDS = 24
"""Most QPs on one piece."""


class Statement(NamedTuple):
    """The problem of a step without units, as the kernels take it. z = (efforts, forces)."""

    F_u: np.ndarray
    """The objective is 1/2 ||F_u u + F_c lam + f||^2, over the efforts, shape (p, n)."""
    F_c: np.ndarray
    """Over the contact forces, shape (p, n_r)."""
    f: np.ndarray
    """Shape (p,)."""
    lower: np.ndarray
    """Least efforts, shape (n,)."""
    upper: np.ndarray
    """Greatest efforts, shape (n,)."""
    A_u: np.ndarray
    """Limits low <= A_u u + A_c lam <= high, shape (m, n)."""
    A_c: np.ndarray
    """Shape (m, n_r)."""
    low: np.ndarray
    """Shape (m,)."""
    high: np.ndarray
    """Shape (m,)."""
    W: np.ndarray
    """Contact rows move by delta = W lam + C^T u + d, shape (n_r, n_r)."""
    C: np.ndarray
    """Shape (n, n_r)."""
    d: np.ndarray
    """Shape (n_r,)."""
    mu: np.ndarray
    """Friction of each contact, 0 where it has one row, shape (n_c,)."""
    starts: np.ndarray
    """First row of each contact, shape (n_c,)."""
    sticking: bool
    """Whether contacts stick whatever that takes."""
    size: float
    """What counts as one in residuals of the contact law."""
    anchor: float
    """Weight that holds efforts where the objective leaves them open, relative to its diagonal."""


# The contact law ----------------------------------------------------------------------------------


@njit
def distances(
    force: np.ndarray,
    delta: np.ndarray,
    mu: np.ndarray,
    starts: np.ndarray,
    sticking: bool,
) -> np.ndarray:
    """Distance of each contact from its law, shape (n_c,). See `contact_law.law_error`."""
    error = np.empty(len(starts))
    for c in range(len(starts)):
        n = starts[c]
        error[c] = abs(min(force[n], delta[n]))
        if mu[c] == 0.0:
            continue
        f, g, d, e = force[n + 1], force[n + 2], delta[n + 1], delta[n + 2]
        if sticking:
            apart = max(abs(force[n]), -delta[n], np.hypot(f, g))
            held = max(abs(delta[n]), -force[n], np.hypot(d, e))
            error[c] = min(apart, held)
            continue
        p, q = f - d, g - e
        disc, length = mu[c] * max(force[n], 0.0), np.hypot(p, q)
        if length > disc:
            p *= disc / length
            q *= disc / length
        error[c] = max(error[c], np.hypot(f - p, g - q))
    return error


@njit
def _motion(s: Statement, effort: np.ndarray, force: np.ndarray) -> np.ndarray:
    """delta of the contact rows, shape (n_r,)."""
    delta = applied(s.W, force) + s.d
    for a in range(len(effort)):
        for r in range(len(delta)):
            delta[r] += s.C[a, r] * effort[a]
    return delta


# Elimination of the forces ------------------------------------------------------------------------


@njit
def eliminate(
    s: Statement, kind: np.ndarray, direction: np.ndarray, balance: np.ndarray
) -> tuple[bool, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Contact forces lam = X v + x that keep the contacts in their modes.

    The variables v are the efforts, then what contacts that depend on each other exchange among
    themselves without moving anything. Touching contacts have delta_n = 0, sticking ones
    delta_t = 0 as well, sliding ones the linearised law of `Modes`: an equation for each row.

    Returns:
        Whether these modes are possible; X, shape (n_r, n_v); x, shape (n_r,); what dependent
        contacts ask of the variables, T v = t: T, shape (k, n_v), and t, shape (k,).
    """
    n, n_r = s.C.shape
    rows, place, k = _touching_rows(s, kind)
    X, x = np.zeros((n_r, n)), np.zeros(n_r)
    none, nothing = np.empty((0, n)), np.empty(0)
    if k == 0:
        return True, X, x, none, nothing
    E, F = np.empty((k, k)), np.zeros((k, n + 1))
    for i in range(k):
        for j in range(k):
            E[i, j] = s.W[rows[i], rows[j]]
        for a in range(n):
            F[i, a] = s.C[a, rows[i]]
        F[i, n] = s.d[rows[i]]
    _slide(s, kind, direction, balance, place, E, F)
    solution = F.copy()
    if solve_in_place(E.copy(), solution) >= SINGULAR:
        for i in range(k):
            for j in range(n):
                X[rows[i], j] = -solution[i, j]
            x[rows[i]] = -solution[i, n]
        return True, X, x, none, nothing
    return _eliminate_dependent(s, rows[:k], E, F, X, x)


@njit
def _touching_rows(s: Statement, kind: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
    """The rows of touching contacts; the place of each row among them, -1 = none; how many."""
    n_r = len(s.d)
    rows, place, k = np.empty(n_r, np.int64), np.full(n_r, -1), 0
    for c in range(len(kind)):
        if kind[c] != INACTIVE:
            for j in range(s.starts[c], s.starts[c] + (3 if s.mu[c] > 0.0 else 1)):
                rows[k], place[j] = j, k
                k += 1
    return rows, place, k


@njit
def _slide(
    s: Statement,
    kind: np.ndarray,
    direction: np.ndarray,
    balance: np.ndarray,
    place: np.ndarray,
    E: np.ndarray,
    F: np.ndarray,
) -> None:
    """Put the linearised law of sliding contacts in place of delta_t = 0."""
    for c in range(len(kind)):
        if kind[c] != SLIDING:
            continue
        n = place[s.starts[c]]
        t, w = n + 1, n + 2
        u_t, u_w, a, b = direction[c, 0], direction[c, 1], balance[c, 0], balance[c, 1]
        for j in range(E.shape[1]):
            E[w, j] = b * (u_t * E[w, j] - u_w * E[t, j])
            E[t, j] = 0.0
        for j in range(F.shape[1]):
            F[w, j] = b * (u_t * F[w, j] - u_w * F[t, j])
            F[t, j] = 0.0
        E[w, t] -= a * u_w
        E[w, w] += a * u_t
        E[t, n], E[t, t], E[t, w] = s.mu[c], u_t, u_w


@njit
def _eliminate_dependent(
    s: Statement, rows: np.ndarray, E: np.ndarray, F: np.ndarray, X: np.ndarray, x: np.ndarray
) -> tuple[bool, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """As `eliminate` where E is singular: what it leaves open are variables of their own."""
    k, n_v = len(rows), X.shape[1]
    U, S, Vt = np.linalg.svd(E)
    rank = 0
    for value in S:
        if value > SINGULAR * S[0]:
            rank += 1
    free = k - rank
    wide = np.zeros((X.shape[0], n_v + free))
    wide[:, :n_v] = X
    T, t = np.zeros((free, n_v + free)), np.zeros(free)
    ties = 0
    for l in range(k):
        component = np.zeros(n_v + 1)
        for i in range(k):
            for j in range(n_v + 1):
                component[j] += U[i, l] * F[i, j]
        if l < rank:
            for i in range(k):
                for j in range(n_v):
                    wide[rows[i], j] -= Vt[l, i] * component[j] / S[l]
                x[rows[i]] -= Vt[l, i] * component[n_v] / S[l]
            continue
        for i in range(k):
            wide[rows[i], n_v + l - rank] = Vt[l, i]
        if np.abs(component[:n_v]).max() > CONSISTENT:
            T[ties, :n_v], t[ties] = component[:n_v], -component[n_v]
            ties += 1
        elif abs(component[n_v]) > CONSISTENT * s.size:
            return False, wide, x, T, t
    return True, wide, x, T[:ties], t[:ties]


# Rows of a piece ----------------------------------------------------------------------------------


class _Rows(NamedTuple):
    """low <= G v <= high."""

    G: np.ndarray
    low: np.ndarray
    high: np.ndarray
    what: np.ndarray
    of: np.ndarray


@njit
def _rows_of(
    s: Statement,
    kind: np.ndarray,
    direction: np.ndarray,
    cut_contact: np.ndarray,
    cut_direction: np.ndarray,
    X: np.ndarray,
    x: np.ndarray,
    T: np.ndarray,
    t: np.ndarray,
) -> _Rows:
    """All conditions on the variables of a piece but the bounds of the efforts."""
    n, n_v, n_c, k = s.C.shape[0], X.shape[1], len(kind), len(t)
    most = 2 * n_c + len(cut_contact) + len(s.low) + k
    G = np.zeros((most, n_v))
    low, high = np.zeros(most), np.full(most, np.inf)
    what, of = np.empty(most, np.int64), np.empty(most, np.int64)
    m = 0
    D, e = product(s.W, X), applied(s.W, x) + s.d  # delta = D v + e
    for a in range(n):
        for r in range(len(x)):
            D[r, a] += s.C[a, r]
    for c in range(n_c):
        r = s.starts[c]
        if kind[c] == INACTIVE:
            G[m], low[m], what[m], of[m] = D[r], -e[r], GAP, c
        else:
            G[m], low[m], what[m], of[m] = X[r], -x[r], FORCE, c
        m += 1
        if kind[c] == SLIDING:
            u, v = direction[c, 0], direction[c, 1]
            G[m] = u * D[r + 1] + v * D[r + 2]
            low[m], what[m], of[m] = -u * e[r + 1] - v * e[r + 2], SLIP, c
            m += 1
    for i in range(len(cut_contact)):
        c = cut_contact[i]
        r, p, q = s.starts[c], cut_direction[i, 0], cut_direction[i, 1]
        G[m] = s.mu[c] * X[r] - p * X[r + 1] - q * X[r + 2]
        low[m] = -(s.mu[c] * x[r] - p * x[r + 1] - q * x[r + 2])
        what[m], of[m] = CONE, c
        m += 1
    for i in range(k):
        G[m], low[m], high[m], what[m], of[m] = T[i], t[i], t[i], TIED, i
        m += 1
    for i in range(len(s.low)):
        offset = 0.0
        for a in range(n):
            G[m, a] = s.A_u[i, a]
        for r in range(len(x)):
            weight = s.A_c[i, r]
            if weight != 0.0:
                offset += weight * x[r]
                for j in range(n_v):
                    G[m, j] += weight * X[r, j]
        low[m], high[m], what[m], of[m] = s.low[i] - offset, s.high[i] - offset, LIMIT, i
        m += 1
    return _Rows(G[:m], low[:m], high[:m], what[:m], of[:m])


# One QP of a piece --------------------------------------------------------------------------------


class Assembled(NamedTuple):
    """The QP of a piece: 1/2 v^T H v + g^T v + constant on its rows; forces lam = X v + x."""

    X: np.ndarray
    x: np.ndarray
    H: np.ndarray
    g: np.ndarray
    constant: float
    rows: _Rows


@njit
def assemble(
    s: Statement,
    kind: np.ndarray,
    direction: np.ndarray,
    balance: np.ndarray,
    cut_contact: np.ndarray,
    cut_direction: np.ndarray,
) -> tuple[bool, Assembled]:
    """The QP of a piece, and whether its modes are possible at all."""
    possible, X, x, T, t = eliminate(s, kind, direction, balance)
    n, n_v = s.C.shape[0], X.shape[1]
    rows = _rows_of(s, kind, direction, cut_contact, cut_direction, X, x, T, t)
    F = product(s.F_c, X)
    for i in range(len(F)):
        for j in range(n):
            F[i, j] += s.F_u[i, j]
    f = s.f + applied(s.F_c, x)
    H, g, constant = np.zeros((n_v, n_v)), np.zeros(n_v), 0.0
    for i in range(len(F)):
        constant += 0.5 * f[i] * f[i]
        for a in range(n_v):
            if F[i, a] != 0.0:
                g[a] += F[i, a] * f[i]
                for b in range(n_v):
                    H[a, b] += F[i, a] * F[i, b]
    return possible, Assembled(X, x, H, g, constant, rows)


@njit
def _solve_scaled(
    s: Statement, H: np.ndarray, g: np.ndarray, rows: _Rows, center: np.ndarray
) -> tuple[int, np.ndarray, np.ndarray]:
    """Minimise 1/2 v^T H v + g^T v on the rows and bounds, the Hessian's diagonal scaled to one.

    `s.anchor` times the scaled distance from `center` is added, so that it has one answer.

    Returns:
        The outcome; v, shape (n_v,); multipliers of the rows, shape (m,).
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
    for j in range(len(s.lower)):
        low[j], high[j] = s.lower[j] / d[j], s.upper[j] / d[j]
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
        return FAILED, center, y
    a = unlimited(L, h / size)
    outcome = dual_active_set(a, G, low / size, high / size, 1e-7)
    for j in range(a.number[0]):
        i = a.active[j] - n_v
        if i >= 0:
            y[i] = a.side[j] * a.dual[j] * size / norm[i]
    return outcome, a.x * d * size, y


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
    rows: _Rows,
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
    delta = _motion(s, effort, force)
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
    rows, place, k = _touching_rows(s, kind)
    E, F = np.empty((k, k)), np.empty((k, 1))
    for i in range(k):
        F[i, 0] = gradient[rows[i]]
        for j in range(k):
            E[i, j] = s.W[rows[i], rows[j]]
    _slide(s, kind, direction, balance, place, E, np.zeros((k, 0)))
    nu = np.zeros(n_r)
    if solve_in_place(E.T.copy(), F) >= SINGULAR:  # else: dependent contacts, without multipliers
        for i in range(k):
            nu[rows[i]] = -F[i, 0]
    return nu


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
    """
    n, n_c = len(effort), len(kind)
    direction, balance = direction.copy(), balance.copy()
    most = 16 * n_c + 16
    cut_contact, cut_direction, cuts = np.empty(most, np.int64), np.empty((most, 2)), 0
    slides = False
    for c in range(n_c):
        slides = slides or kind[c] == SLIDING
        if kind[c] == STICKING and s.mu[c] > 0.0 and not s.sticking:
            r = s.starts[c]
            size = np.hypot(force[r + 1], force[r + 2])
            if size > 0.5 * s.mu[c] * force[r] and size > LAW * s.size:
                cut_contact[cuts] = c
                cut_direction[cuts, 0] = force[r + 1] / size
                cut_direction[cuts, 1] = force[r + 2] / size
                cuts += 1
    none = PieceResult(
        INFEASIBLE, effort, force, np.inf, np.inf, direction, balance,
        np.zeros(n_c), np.full(n_c, -1), 0,
    )  # fmt: skip
    best = none
    K, damping, center = np.zeros((0, 0)), 0.0, effort
    last_law, last_value = np.inf, np.inf
    for done in range(1, ROUNDS + 1):
        possible, qp = assemble(
            s, kind, direction, balance, cut_contact[:cuts], cut_direction[:cuts]
        )
        if not possible:
            return best
        X, x, H, g, rows = qp.X, qp.x, qp.H, qp.g, qp.rows
        n_v = X.shape[1]
        idle = np.zeros(n_v)  # the same forces in this round's variables
        idle[:n] = center[:n]
        for j in range(n, n_v):
            for r in range(len(force)):
                idle[j] += X[r, j] * force[r]
        center = idle
        if K.shape[0] == n_v:
            bent = _convex(H + K, n)
            largest = 0.0
            for j in range(n_v):
                largest = max(largest, bent[j, j])
            for j in range(n_v):
                bent[j, j] += damping * max(bent[j, j], 0.1 * largest)
            g = g + applied(H - bent, center)  # the gradient at the center stays
            H = bent
        outcome, v, y = _solve_scaled(s, H, g, rows, center)
        if outcome != SOLVED:
            if K.shape[0] == n_v:  # without the curvature, whose numbers can be large
                K, damping = np.zeros((0, 0)), 0.0
                continue
            if best.outcome == SOLVED:
                return best
            return _ended(none, outcome, done)
        effort, force = v[:n].copy(), applied(X, v) + x
        if not np.isfinite(force).all():
            break
        for a in range(n):  # what the QP leaves beyond its bounds
            effort[a] = min(max(effort[a], s.lower[a]), s.upper[a])
        delta = _motion(s, effort, force)
        law = distances(force, delta, s.mu, s.starts, s.sticking).max() / s.size
        residual = s.f + applied(s.F_c, force) + applied(s.F_u, effort)
        value = 0.0
        for i in range(len(residual)):
            value += 0.5 * residual[i] * residual[i]
        settled = abs(value - last_value) <= SETTLED * max(value, last_value) + 1e-300
        if law <= LAW_ACCEPTED and (
            (law <= LAW < best.law)
            or (max(law, LAW) <= max(best.law, LAW) and value < best.objective)
        ):
            dual, border = _pressing(s, kind, rows, y, n_c)
            best = PieceResult(
                SOLVED, effort, force, value, law, direction.copy(), balance.copy(),
                dual, border, done,
            )  # fmt: skip
        if law <= LAW:
            if damping == 0.0 or settled:
                return _counted(best, done)
            damping = 0.1 * damping if damping > 0.1 else 0.0
        elif done > 1:
            damping = max(1.0, 3.0 * damping) if law > last_law else 0.1 * damping
            if damping < 0.01:
                damping = 0.0
        # Without planes around a cone the objective is a bound; with what is linearised, an
        # estimate.
        if best.outcome != SOLVED and value > worth * (1.2 if slides or K.shape[0] else 1.0):
            return _ended(none, WORTHLESS, done)
        K = _curvature(s, kind, direction, balance, rows, y, X, effort, force)
        K[n:, :] = 0.0  # other variables in the next round
        K[:, n:] = 0.0
        cuts = _cut(s, kind, force, cut_contact, cut_direction, cuts)
        _turn(s, kind, direction, balance, delta, force)
        center, last_law, last_value = v, law, value
    if best.outcome == SOLVED:
        return _counted(best, ROUNDS)
    return _ended(none, FAILED, ROUNDS)


@njit
def _ended(none: PieceResult, outcome: int, rounds: int) -> PieceResult:
    return PieceResult(
        outcome, none.effort, none.force, none.objective, none.law, none.direction, none.balance,
        none.dual, none.border, rounds,
    )  # fmt: skip


@njit
def _counted(best: PieceResult, rounds: int) -> PieceResult:
    return PieceResult(
        best.outcome, best.effort, best.force, best.objective, best.law, best.direction,
        best.balance, best.dual, best.border, rounds,
    )  # fmt: skip


@njit
def _pressing(
    s: Statement, kind: np.ndarray, rows: _Rows, y: np.ndarray, n_c: int
) -> tuple[np.ndarray, np.ndarray]:
    """For each contact the border with the largest multiplier, and which it is."""
    dual, border = np.zeros(n_c), np.full(n_c, -1)
    for i in range(len(y)):
        if rows.what[i] <= CONE and y[i] > 0.0:
            c = rows.of[i]
            if y[i] > dual[c]:
                dual[c], border[c] = y[i], rows.what[i]
    return dual, border


@njit
def _cut(
    s: Statement,
    kind: np.ndarray,
    force: np.ndarray,
    cut_contact: np.ndarray,
    cut_direction: np.ndarray,
    cuts: int,
) -> int:
    """Planes that touch the cones which the forces of sticking contacts left."""
    if s.sticking:
        return cuts
    for c in range(len(kind)):
        if kind[c] != STICKING or s.mu[c] == 0.0 or cuts == len(cut_contact):
            continue
        r = s.starts[c]
        size = np.hypot(force[r + 1], force[r + 2])
        if size > s.mu[c] * force[r] + 0.1 * LAW * s.size:
            cut_contact[cuts] = c
            cut_direction[cuts, 0], cut_direction[cuts, 1] = (
                force[r + 1] / size,
                force[r + 2] / size,
            )
            cuts += 1
    return cuts


@njit
def _turn(
    s: Statement,
    kind: np.ndarray,
    direction: np.ndarray,
    balance: np.ndarray,
    delta: np.ndarray,
    force: np.ndarray,
) -> None:
    """Directions and balances of sliding contacts at an answer, in place."""
    for c in range(len(kind)):
        if kind[c] != SLIDING:
            continue
        r = s.starts[c]
        p, q = delta[r + 1] - force[r + 1], delta[r + 2] - force[r + 2]
        length = np.hypot(p, q)  # both parts point along u when the law is obeyed
        if length > 1e-12 * s.size:
            direction[c, 0], direction[c, 1] = p / length, q / length
        slip = max(delta[r + 1] * direction[c, 0] + delta[r + 2] * direction[c, 1], 0.0)
        friction = s.mu[c] * max(force[r], 0.0)
        total = slip + friction
        if total > 1e-12 * s.size:
            balance[c, 0], balance[c, 1] = slip / total, friction / total
        else:
            balance[c, 0] = balance[c, 1] = 0.5
