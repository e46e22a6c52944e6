"""Pieces of the inverse problem with contacts, compiled.

A piece fixes the mode of every contact. Its forces then follow from the efforts, which leaves a QP
over the efforts; where contacts slide or reach their cones, a sequence of QPs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sofa_softctl.base.jit import njit
from sofa_softctl.qpcc.pieces.small_algebra import (
    multiply,
    solve_dependent,
    times_vector,
)
from sofa_softctl.qpcc.problem.modes import INACTIVE as INACTIVE
from sofa_softctl.qpcc.problem.modes import OPEN as OPEN
from sofa_softctl.qpcc.problem.modes import SECTOR as SECTOR
from sofa_softctl.qpcc.problem.modes import SLIDING as SLIDING
from sofa_softctl.qpcc.problem.modes import STICKING as STICKING
from sofa_softctl.qpcc.problem.modes import TOUCHING as TOUCHING

GAP, FORCE, SLIP, CONE, TIED, LIMIT = 0, 1, 2, 3, 4, 5
"""Type of a row: no interpenetration, no pull, slide forward, inside a friction cone, consistency
of dependent contacts, a limit of the statement."""

SINGULAR = 1e-10
"""Pivots or singular values below this share of the largest are zero: dependent contacts, such as
the four corners of a rigid box."""
CONSISTENT = 1e-7
"""Tolerance for contradictions of dependent contacts, relative to `size`."""
LAW = 1e-8
"""Distance from the contact law at which the sequence of QPs ends, relative to `size`."""
LAW_ACCEPTED = 1e-6
"""Largest distance from the contact law of an answer, relative to `size`."""


class Statement(NamedTuple):
    """Dimensionless problem of a step. z = (efforts, forces)."""

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
    """Friction of each contact, 0 if it has one row, shape (n_c,)."""
    starts: np.ndarray
    """First row of each contact, shape (n_c,)."""
    sticking: bool
    """Whether contacts stick without a cone."""
    size: float
    """Unit of residuals of the contact law."""
    anchor: float
    """Regularisation of efforts that the objective leaves free, relative to its diagonal."""


# The contact law ----------------------------------------------------------------------------------


@njit(separate=True)
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
            inactive_error = max(abs(force[n]), -delta[n], np.hypot(f, g))
            sticking_error = max(abs(delta[n]), -force[n], np.hypot(d, e))
            error[c] = min(inactive_error, sticking_error)
            continue
        p, q = f - d, g - e
        disc, length = mu[c] * max(force[n], 0.0), np.hypot(p, q)
        if length > disc:
            p *= disc / length
            q *= disc / length
        error[c] = max(error[c], np.hypot(f - p, g - q))
    return error


@njit(inner=True, separate=True)
def motion(s: Statement, effort: np.ndarray, force: np.ndarray) -> np.ndarray:
    """delta of the contact rows, shape (n_r,)."""
    delta = times_vector(s.W, force)
    for r in range(len(delta)):
        delta[r] += s.d[r]
    for a in range(len(effort)):
        for r in range(len(delta)):
            delta[r] += s.C[a, r] * effort[a]
    return delta


@njit(inner=True, separate=True)
def largest_distance(s: Statement, effort: np.ndarray, force: np.ndarray) -> float:
    """Largest distance of a contact from its law."""
    error = distances(force, motion(s, effort, force), s.mu, s.starts, s.sticking)
    largest = error[0]
    for c in range(1, len(error)):
        if error[c] > largest or np.isnan(error[c]):
            largest = error[c]
    return largest


@njit(inner=True)
def slides(kind: np.ndarray) -> bool:
    """Return True if a contact slides."""
    for c in range(len(kind)):
        if kind[c] == SLIDING:
            return True
    return False


# Elimination of the forces ------------------------------------------------------------------------


@njit(inner=True, separate=True)
def eliminate(
    s: Statement, kind: np.ndarray, direction: np.ndarray, balance: np.ndarray
) -> tuple[bool, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Contact forces lam = X v + x that keep the contacts in their modes.

    The variables v are the efforts, then internal forces of dependent contacts, which move
    nothing. Touching contacts have delta_n = 0, sticking ones
    delta_t = 0 as well, sliding ones the linearised law of `Modes`: an equation for each row.

    Returns:
        Whether these modes are possible; X, shape (n_r, n_v); x, shape (n_r,); consistency of
        dependent contacts, T v = t: T, shape (k, n_v), and t, shape (k,).
    """
    n, n_r = s.C.shape
    rows, position, k = touching_rows(s, kind)
    E, F = np.empty((k, k)), np.zeros((k, n + 1))
    for i in range(k):
        for j in range(k):
            E[i, j] = s.W[rows[i], rows[j]]
        for a in range(n):
            F[i, a] = s.C[a, rows[i]]
        F[i, n] = s.d[rows[i]]
    apply_sliding_law(s, kind, direction, balance, position, E, F)
    Y, N, unreached = solve_dependent(E, F, SINGULAR)
    free, ties = len(N), 0
    X, x = np.zeros((n_r, n + free)), np.zeros(n_r)
    for i in range(k):
        for j in range(n):
            X[rows[i], j] = -Y[i, j]
        for l in range(free):
            X[rows[i], n + l] = N[l, i]
        x[rows[i]] = -Y[i, n]
    T, t = np.zeros((free, n + free)), np.zeros(free)
    for i in range(free):
        largest = 0.0
        for j in range(n):
            largest = max(largest, abs(unreached[i, j]))
        if largest > CONSISTENT:
            for j in range(n):
                T[ties, j] = unreached[i, j]
            t[ties] = -unreached[i, n]
            ties += 1
        elif abs(unreached[i, n]) > CONSISTENT * s.size:
            return False, X, x, T, t
    return True, X, x, T[:ties], t[:ties]


@njit(inner=True, separate=True)
def touching_rows(s: Statement, kind: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
    """Rows of touching contacts; the place of each row among them, -1 = none; their number."""
    n_r = len(s.d)
    rows, position, k = np.empty(n_r, np.int64), np.full(n_r, -1), 0
    for c in range(len(kind)):
        if kind[c] != INACTIVE:
            for j in range(s.starts[c], s.starts[c] + (3 if s.mu[c] > 0.0 else 1)):
                rows[k], position[j] = j, k
                k += 1
    return rows, position, k


@njit(inner=True, separate=True)
def apply_sliding_law(
    s: Statement,
    kind: np.ndarray,
    direction: np.ndarray,
    balance: np.ndarray,
    position: np.ndarray,
    E: np.ndarray,
    F: np.ndarray,
) -> None:
    """Replace delta_t = 0 of sliding contacts by their linearised law."""
    for c in range(len(kind)):
        if kind[c] != SLIDING:
            continue
        n = position[s.starts[c]]
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


# Rows of a piece ----------------------------------------------------------------------------------


class PieceRows(NamedTuple):
    """low <= G v <= high."""

    G: np.ndarray
    low: np.ndarray
    high: np.ndarray
    what: np.ndarray
    of: np.ndarray


@njit(inner=True, separate=True)
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
) -> PieceRows:
    """All rows of a piece except the bounds of the efforts."""
    n, n_v, n_c, k = s.C.shape[0], X.shape[1], len(kind), len(t)
    rows_max = 2 * n_c + len(cut_contact) + len(s.low) + k
    G = np.zeros((rows_max, n_v))
    low, high = np.zeros(rows_max), np.full(rows_max, np.inf)
    types, of = np.empty(rows_max, np.int64), np.empty(rows_max, np.int64)
    m = 0
    touching, _, pushing = touching_rows(s, kind)
    for c in range(n_c):
        r = s.starts[c]
        if kind[c] == INACTIVE:
            low[m] = -_add_motion(s, r, 1.0, X, x, touching[:pushing], G[m])
            types[m], of[m] = GAP, c
        else:
            low[m], types[m], of[m] = -x[r], FORCE, c
            for j in range(n_v):
                G[m, j] = X[r, j]
        m += 1
        if kind[c] == SLIDING:
            low[m] = -_add_motion(s, r + 1, direction[c, 0], X, x, touching[:pushing], G[m])
            low[m] -= _add_motion(s, r + 2, direction[c, 1], X, x, touching[:pushing], G[m])
            types[m], of[m] = SLIP, c
            m += 1
    for i in range(len(cut_contact)):
        c = cut_contact[i]
        r, p, q = s.starts[c], cut_direction[i, 0], cut_direction[i, 1]
        for j in range(n_v):
            G[m, j] = s.mu[c] * X[r, j] - p * X[r + 1, j] - q * X[r + 2, j]
        low[m] = -(s.mu[c] * x[r] - p * x[r + 1] - q * x[r + 2])
        types[m], of[m] = CONE, c
        m += 1
    for i in range(k):
        low[m], high[m], types[m], of[m] = t[i], t[i], TIED, i
        for j in range(n_v):
            G[m, j] = T[i, j]
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
        low[m], high[m], types[m], of[m] = s.low[i] - offset, s.high[i] - offset, LIMIT, i
        m += 1
    return PieceRows(G[:m], low[:m], high[:m], types[:m], of[:m])


@njit(inner=True)
def _add_motion(
    s: Statement,
    r: int,
    weight: float,
    X: np.ndarray,
    x: np.ndarray,
    touching: np.ndarray,
    row: np.ndarray,
) -> float:
    """Add delta of a contact row to a row over the variables; return it at variables of zero."""
    constant = s.d[r]
    for a in range(s.C.shape[0]):
        row[a] += weight * s.C[a, r]
    for l in touching:
        w = s.W[r, l]
        constant += w * x[l]
        for j in range(len(row)):
            row[j] += weight * w * X[l, j]
    return weight * constant


# One QP of a piece --------------------------------------------------------------------------------


class PieceQP(NamedTuple):
    """QP of a piece: 1/2 v^T H v + g^T v + constant on its rows; forces lam = X v + x."""

    X: np.ndarray
    x: np.ndarray
    H: np.ndarray
    g: np.ndarray
    constant: float
    rows: PieceRows


@njit(separate=True)
def assemble(
    s: Statement,
    kind: np.ndarray,
    direction: np.ndarray,
    balance: np.ndarray,
    cut_contact: np.ndarray,
    cut_direction: np.ndarray,
) -> tuple[bool, PieceQP]:
    """QP of a piece, and whether its modes are possible."""
    possible, X, x, T, t = eliminate(s, kind, direction, balance)
    n, n_v = s.C.shape[0], X.shape[1]
    rows = _rows_of(s, kind, direction, cut_contact, cut_direction, X, x, T, t)
    F = multiply(s.F_c, X)
    for i in range(len(F)):
        for j in range(n):
            F[i, j] += s.F_u[i, j]
    f = times_vector(s.F_c, x)
    for i in range(len(f)):
        f[i] += s.f[i]
    H, g, constant = np.zeros((n_v, n_v)), np.zeros(n_v), 0.0
    for i in range(len(F)):
        constant += 0.5 * f[i] * f[i]
        for a in range(n_v):
            if F[i, a] != 0.0:
                g[a] += F[i, a] * f[i]
                for b in range(n_v):
                    H[a, b] += F[i, a] * F[i, b]
    return possible, PieceQP(X, x, H, g, constant, rows)
