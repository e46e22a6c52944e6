"""Interior point method for small convex QPs."""

from __future__ import annotations

import numpy as np

from sofa_softctl.base.jit import njit

SOLVED, INFEASIBLE, FAILED = 0, 1, 2
"""How a kernel ended."""
ACCEPTED = 1e-7
"""Residual of an answer that is taken if nothing better comes [-]."""
DAMPING = 1e-10
"""Of the steps of multipliers, so that planes that nearly coincide do no harm [-]."""


@njit
def _factor(K: np.ndarray) -> None:
    """Cholesky in the lower triangle, in place; directions without curvature are frozen."""
    n = len(K)
    for j in range(n):
        top = K[j, j]
        d = top
        for k in range(j):
            d -= K[j, k] * K[j, k]
        if d <= 1e-14 * top or d <= 1e-250:
            K[j, j] = 1e100
            for i in range(j + 1, n):
                K[i, j] = 0.0
            continue
        d = np.sqrt(d)
        K[j, j] = d
        for i in range(j + 1, n):
            v = K[i, j]
            for k in range(j):
                v -= K[i, k] * K[j, k]
            K[i, j] = v / d


@njit
def _forward(L: np.ndarray, x: np.ndarray) -> None:
    """Solve L y = x in place."""
    for i in range(len(x)):
        v = x[i]
        for k in range(i):
            v -= L[i, k] * x[k]
        x[i] = v / L[i, i]


@njit
def _backward(L: np.ndarray, x: np.ndarray) -> None:
    """Solve L' y = x in place."""
    for i in range(len(x) - 1, -1, -1):
        v = x[i]
        for k in range(i + 1, len(x)):
            v -= L[k, i] * x[k]
        x[i] = v / L[i, i]


@njit
def interior_point(
    H: np.ndarray,
    g: np.ndarray,
    A: np.ndarray,
    b: np.ndarray,
    soft: np.ndarray,
    G: np.ndarray,
    h: np.ndarray,
    x: np.ndarray,
    y: np.ndarray,
    z: np.ndarray,
    cutoff: float,
) -> tuple[int, float]:
    """Convex QP by a primal-dual interior point method.

    Minimises 1/2 x'Hx + g'x + sum (A_i x - b_i)^2 / (2 soft_i) over G x <= h, where rows with
    soft_i = 0 hold exactly. All data are of the order of one.

    Args:
        H: Positive semidefinite, shape (n, n).
        g: Shape (n,).
        A: Shape (k, n).
        b: Shape (k,).
        soft: Shape (k,).
        G: Shape (m, n).
        h: Shape (m,).
        x: Output, shape (n,).
        y: Output, multipliers of A, shape (k,).
        z: Output, multipliers of G, shape (m,).
        cutoff: Problems with a minimum above this are as good as infeasible.

    Returns:
        SOLVED, INFEASIBLE or FAILED, and a lower bound of the minimum (-inf if there is none).

    Source: predictor and corrector of Mehrotra 1992, "On the implementation of a primal-dual
        interior point method".
    """
    n, k, m = len(g), len(b), len(h)
    x[:], y[:], z[:] = 0.0, 0.0, 1.0
    s = np.maximum(h, 1.0)
    K, S, Y = np.empty((n, n)), np.empty((k, k)), np.empty((k, n))
    dx, dy, dz, ds, w = np.empty(n), np.empty(k), np.empty(m), np.empty(m), np.empty(m)
    size = 1.0 + np.abs(g).max()
    best, bound = np.inf, -np.inf
    best_x, best_y, best_z = x.copy(), y.copy(), z.copy()
    for _ in range(60):
        Hx = H @ x
        rd, rp, rg = Hx + g + A.T @ y + G.T @ z, A @ x - soft * y - b, G @ x + s - h
        mean = (s @ z) / m if m else 0.0
        pd = np.abs(rd).max() if n else 0.0
        pp = max(np.abs(rp).max() if k else 0.0, np.abs(rg).max() if m else 0.0)
        worst = max(max(pd / size, pp), mean * m / size)
        if not np.isfinite(worst):
            return FAILED, -np.inf
        dual = -0.5 * (x @ Hx) - b @ y - h @ z - 0.5 * (soft @ (y * y))
        bound = max(bound, dual - np.abs(rd).sum() * (10.0 + 2.0 * np.abs(x).max()))
        if bound > cutoff:
            return INFEASIBLE, np.inf
        if worst < best:
            best, best_x[:], best_y[:], best_z[:] = worst, x, y, z
        if best < 1e-10 or worst > 1e5 * best or (best < ACCEPTED and worst > 3.0 * best):
            break
        for i in range(n):
            for j in range(i + 1):
                K[i, j] = H[i, j]
            K[i, i] += 1e-11
        for r in range(m):
            w[r] = z[r] / (s[r] + DAMPING * z[r])
            for i in range(n):
                v = w[r] * G[r, i]
                if v != 0.0:
                    for j in range(i + 1):
                        K[i, j] += v * G[r, j]
        for r in range(k):  # changes nothing where A dx - soft dy = -rp, but makes K definite
            for i in range(n):
                v = A[r, i]
                if v != 0.0:
                    for j in range(i + 1):
                        K[i, j] += v * A[r, j]
        _factor(K)
        for r in range(k):
            Y[r] = A[r]
            _forward(K, Y[r])
        for r in range(k):
            for q in range(r + 1):
                S[r, q] = Y[r] @ Y[q]
            S[r, r] += soft[r] / (1.0 - soft[r]) + 1e-13 * (1.0 + S[r, r])
        _factor(S)
        target = 0.0
        rc = s * z
        for phase in range(2):
            r1 = -rd - G.T @ (w * (rg - rc / z)) - A.T @ rp
            _forward(K, r1)
            dy[:] = Y @ r1 + rp
            _forward(S, dy)
            _backward(S, dy)
            dx[:] = r1 - Y.T @ dy
            _backward(K, dx)
            dy[:] /= 1.0 - soft
            dz[:] = w * (G @ dx + rg - rc / z)
            ds[:] = -(rc + s * dz) / z
            up, ud = 1.0, 1.0
            for r in range(m):
                if ds[r] < 0.0:
                    up = min(up, -s[r] / ds[r])
                if dz[r] < 0.0:
                    ud = min(ud, -z[r] / dz[r])
            if phase == 0 and m:
                after = ((s + up * ds) @ (z + ud * dz)) / m
                target = max(mean * (after / mean) ** 3, 1e-12)
                rc = s * z + ds * dz - target
        up = ud = min(1.0, 0.995 * min(up, ud)) if m else 1.0
        x += up * dx
        s += up * ds
        y += ud * dy
        z += ud * dz
    x[:], y[:], z[:] = best_x, best_y, best_z
    return (SOLVED if best < ACCEPTED else FAILED), bound
