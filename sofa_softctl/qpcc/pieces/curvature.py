"""Second derivatives of the contact law along a piece, compiled."""

from __future__ import annotations

import numpy as np

from sofa_softctl.base.jit import njit
from sofa_softctl.qpcc.pieces.kernels import CONE, SLIDING, PieceRows, Statement, motion, slides
from sofa_softctl.qpcc.pieces.multipliers import law_multipliers


@njit(inner=True, separate=True)
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

    Forces are linear in the variables v, lam = X v + const. With dlam_t = X_t dv, an active cone
    |lam_t| <= mu lam_n with the multiplier y adds

        y / |lam_t| (w . dlam_t)^2                      (w: unit vector normal to lam_t)

    A sliding contact has the direction u of delta_t - lam_t, which is held, w normal to it, and
    P = mu lam_n. Added are the second derivatives, times their multipliers, of its two equations

        u . lam_t + sqrt(P^2 - (w . lam_t)^2) = 0
        ((w . lam_t) (u . delta_t) - (u . lam_t) (w . delta_t)) / (|delta_t| + P) = 0

    with the denominator held, too.

    Args:
        s: The problem.
        kind, direction, balance: Modes of the contacts, see `Modes`.
        rows: Rows of the piece's QP, with `what` each limits and `of` which contact it is.
        y: Multipliers of the rows.
        X: Derivative of the contact forces by the variables, shape (n_r, n_v).
        effort, force: Efforts and contact forces, in units of energy.
    """
    K = np.zeros((X.shape[1], X.shape[1]))
    _add_cones(K, s, rows, y, X, force)
    if slides(kind):
        nu = law_multipliers(s, kind, direction, balance, rows, y, effort, force)
        _add_sliding(K, s, kind, nu, X, effort, force)
    return K


@njit(inner=True, separate=True)
def _add_cones(
    K: np.ndarray, s: Statement, rows: PieceRows, y: np.ndarray, X: np.ndarray, force: np.ndarray
) -> None:
    n_v = len(K)
    for i in range(len(y)):
        if y[i] == 0.0 or rows.what[i] != CONE:
            continue
        r = s.starts[rows.of[i]]
        size = np.hypot(force[r + 1], force[r + 2])
        if size <= 1e-6 * s.size:
            continue
        p, q = force[r + 1] / size, force[r + 2] / size
        across = p * X[r + 2] - q * X[r + 1]
        for a in range(n_v):
            for b in range(n_v):
                K[a, b] += y[i] / size * across[a] * across[b]


@njit(inner=True, separate=True)
def _add_sliding(
    K: np.ndarray,
    s: Statement,
    kind: np.ndarray,
    nu: np.ndarray,
    X: np.ndarray,
    effort: np.ndarray,
    force: np.ndarray,
) -> None:
    n_v, n_r = len(K), len(force)
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
