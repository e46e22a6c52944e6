"""Multipliers of the equations of the contact law, compiled."""

from __future__ import annotations

import numpy as np

from sofa_softctl.base.jit import njit
from sofa_softctl.qpcc.pieces.kernels import (
    CONE,
    FORCE,
    GAP,
    LIMIT,
    SINGULAR,
    SLIP,
    PieceRows,
    Statement,
    apply_sliding_law,
    touching_rows,
)
from sofa_softctl.qpcc.pieces.small_algebra import solve_in_place, times_vector


@njit(inner=True, separate=True)
def law_multipliers(
    s: Statement,
    kind: np.ndarray,
    direction: np.ndarray,
    balance: np.ndarray,
    rows: PieceRows,
    y: np.ndarray,
    effort: np.ndarray,
    force: np.ndarray,
) -> np.ndarray:
    """Multipliers of the equations that `eliminate` solved, shape (n_r,), 0 on other rows.

    They balance the gradient of the objective and of the piece's rows, with the multipliers y, over
    the contact forces.
    """
    gradient = _force_gradient(s, direction, rows, y, effort, force)
    n_r = len(gradient)
    touching, position, k = touching_rows(s, kind)
    E, F = np.empty((k, k)), np.empty((k, 1))
    for i in range(k):
        F[i, 0] = gradient[touching[i]]
        for j in range(k):
            E[i, j] = s.W[touching[i], touching[j]]
    apply_sliding_law(s, kind, direction, balance, position, E, np.zeros((k, 0)))
    nu = np.zeros(n_r)
    if solve_in_place(E.T.copy(), F) >= SINGULAR:  # else: dependent contacts, without multipliers
        for i in range(k):
            nu[touching[i]] = -F[i, 0]
    return nu


@njit(inner=True, separate=True)
def _force_gradient(
    s: Statement,
    direction: np.ndarray,
    rows: PieceRows,
    y: np.ndarray,
    effort: np.ndarray,
    force: np.ndarray,
) -> np.ndarray:
    """Gradient over the contact forces of the Lagrangian without the law's equations, (n_r,)."""
    n_r = len(force)
    by_forces, by_efforts = times_vector(s.F_c, force), times_vector(s.F_u, effort)
    gradient = np.zeros(n_r)
    for i in range(len(s.f)):
        residual = s.f[i] + by_forces[i] + by_efforts[i]
        for r in range(n_r):
            gradient[r] += s.F_c[i, r] * residual
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
            if size > 1e-6 * s.size:
                gradient[r] -= y[i] * s.mu[c]
                gradient[r + 1] += y[i] * (force[r + 1] / size)
                gradient[r + 2] += y[i] * (force[r + 2] / size)
    return gradient
