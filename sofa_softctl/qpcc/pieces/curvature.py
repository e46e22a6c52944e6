"""Second derivatives of the contact law along a piece, compiled."""

from __future__ import annotations

import numpy as np

from sofa_softctl._internal.jit import njit
from sofa_softctl.qpcc.pieces.kernels import (
    CONE,
    FORCE,
    GAP,
    LIMIT,
    SINGULAR,
    SLIDING,
    SLIP,
    PieceRows,
    Statement,
    motion,
    slide,
    touching_rows,
)
from sofa_softctl.qpcc.pieces.small_algebra import applied, solve_in_place


@njit
def curvature(
    s: Statement,
    kind: np.ndarray,
    direction: np.ndarray,
    balance: np.ndarray,
    rows: PieceRows,
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
    if not (kind == SLIDING).any():
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
