"""Scaled convex QP of a piece within a trust region, compiled."""

from __future__ import annotations

import numpy as np

from sofa_softctl.base.jit import njit
from sofa_softctl.qp.active_set import (
    FAILED,
    INFEASIBLE,
    cholesky,
    dual_active_set,
    unconstrained_optimum,
)
from sofa_softctl.qpcc.pieces.kernels import PieceRows, Statement

INTERNAL_ANCHOR = 1e-3
"""Regularisation of internal forces of dependent contacts, relative to the scaled Hessian's
diagonal."""


@njit(inner=True, separate=True)
def solve_scaled(
    s: Statement, H: np.ndarray, g: np.ndarray, rows: PieceRows, center: np.ndarray, radius: float
) -> tuple[int, np.ndarray, np.ndarray, float]:
    """Minimise 1/2 v^T H v + g^T v on the rows and bounds, the Hessian's diagonal scaled to one.

    `s.anchor` times the squared scaled distance from `center` is added for uniqueness. Scaled
    variables stay within `radius` of it; where that is infeasible, rows that are violated there may
    stay so.

    Returns:
        The outcome; v, shape (n_v,); multipliers of the rows, shape (m,); the largest
        change of a scaled variable.
    """
    n_v, m = len(g), len(rows.low)
    d = _scale_of(H)
    S, L, anchor = np.empty((n_v, n_v)), np.zeros((n_v, n_v)), np.empty(n_v)
    for i in range(n_v):
        for j in range(n_v):
            S[i, j] = d[i] * H[i, j] * d[j]
        anchor[i] = s.anchor if i < len(s.lower) else INTERNAL_ANCHOR
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
    a = unconstrained_optimum(L, h / size)
    outcome = dual_active_set(a, G, low / size, high / size, 1e-7)
    if outcome == INFEASIBLE and radius < np.inf:
        for i in range(m):
            value = 0.0
            for j in range(n_v):
                value += G[i, j] * center[j] / d[j]
            low[n_v + i], high[n_v + i] = min(low[n_v + i], value), max(high[n_v + i], value)
        a = unconstrained_optimum(L, h / size)
        outcome = dual_active_set(a, G, low / size, high / size, 1e-7)
    step = 0.0
    for j in range(n_v):
        step = max(step, abs(a.x[j] * size - center[j] / d[j]))
    for j in range(a.number[0]):
        i = a.active[j] - n_v
        if i >= 0:
            y[i] = a.side[j] * a.dual[j] * size / norm[i]
    return outcome, a.x * d * size, y, step


@njit(inner=True)
def _scale_of(H: np.ndarray) -> np.ndarray:
    """Return the scale to a unit diagonal of H, or to a unit largest entry if it is zero."""
    n, strongest = len(H), 0.0
    for j in range(n):
        strongest = max(strongest, H[j, j])
    if strongest <= 0.0:
        strongest = 1.0
    d = np.empty(n)
    for j in range(n):
        d[j] = 1.0 / np.sqrt(H[j, j] if H[j, j] > 1e-12 * strongest else strongest)
    return d


@njit(inner=True, separate=True)
def make_convex(H: np.ndarray, efforts: int) -> np.ndarray:
    """Return H, with absolute values of its eigenvalues if it is not convex.

    So steps leave a saddle. Variables after the efforts are regularised by `IDLE`.
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
        S[i, i] += 1e-9 if i < efforts else INTERNAL_ANCHOR
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
