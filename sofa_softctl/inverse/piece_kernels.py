"""The loops over contacts and rows behind `eliminate`, `piece` and `contact_law`."""

from __future__ import annotations

import numpy as np

from sofa_softctl.jit import njit

INACTIVE, SLIDING = 0, 2  # as in `modes`
GAP, FORCE, SLIP, CONE = 0, 1, 2, 3  # as in `piece.Row`


@njit
def equations(
    W_cc: np.ndarray,
    W_ac: np.ndarray,
    c_free: np.ndarray,
    mu: np.ndarray,
    starts: np.ndarray,
    row_contact: np.ndarray,
    kind: np.ndarray,
    direction: np.ndarray,
    balance: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """E lam_c + F (lam_a, 1) = 0 on the rows of touching contacts. See `eliminate`.

    Returns:
        The rows, shape (k,), E, shape (k, k), and F, shape (k, n_a + 1).
    """
    n_a, n_r = W_ac.shape
    rows, place = np.empty(n_r, np.int64), np.full(n_r, -1)
    k = 0
    for r in range(n_r):
        if kind[row_contact[r]] != INACTIVE:
            rows[k], place[r] = r, k
            k += 1
    rows = rows[:k]
    E, F = np.empty((k, k)), np.empty((k, n_a + 1))
    for i in range(k):
        for j in range(k):
            E[i, j] = W_cc[rows[i], rows[j]]
        for a in range(n_a):
            F[i, a] = W_ac[a, rows[i]]
        F[i, n_a] = c_free[rows[i]]
    for c in range(len(starts)):
        if kind[c] != SLIDING:
            continue
        n = place[starts[c]]
        t, s = n + 1, n + 2
        u_t, u_s, a, b = direction[c, 0], direction[c, 1], balance[c, 0], balance[c, 1]
        for j in range(k):
            E[s, j] = b * (u_t * E[s, j] - u_s * E[t, j])
            E[t, j] = 0.0
        for j in range(n_a + 1):
            F[s, j] = b * (u_t * F[s, j] - u_s * F[t, j])
            F[t, j] = 0.0
        E[s, t] -= a * u_s
        E[s, s] += a * u_t
        E[t, n], E[t, t], E[t, s] = mu[c], u_t, u_s
    return rows, E, F


@njit
def _motion(
    W_cc: np.ndarray,
    W_ac: np.ndarray,
    c_free: np.ndarray,
    X: np.ndarray,
    x: np.ndarray,
    r: int,
    weight: float,
    out: np.ndarray,
) -> float:
    """Add weight * delta_c of row r over the variables to `out` (n_v,), and return it at v = 0."""
    value = c_free[r]
    for a in range(W_ac.shape[0]):
        out[a] += weight * W_ac[a, r]
    for q in range(len(x)):
        w = W_cc[r, q]
        value += w * x[q]
        for v in range(X.shape[1]):
            out[v] += weight * w * X[q, v]
    return weight * value


@njit
def law_rows(
    W_cc: np.ndarray,
    W_ac: np.ndarray,
    c_free: np.ndarray,
    mu: np.ndarray,
    starts: np.ndarray,
    kind: np.ndarray,
    direction: np.ndarray,
    X: np.ndarray,
    x: np.ndarray,
    cut_contact: np.ndarray,
    cut_direction: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """What the modes ask for, R v + offset >= 0. See `piece.Row`.

    Returns:
        R, shape (m, n_v), offset, kind and contact, shape (m,) each.
    """
    n_c, n_v = len(starts), X.shape[1]
    most = 2 * n_c + len(cut_contact)
    R, offset = np.zeros((most, n_v)), np.zeros(most)
    what, of = np.empty(most, np.int64), np.empty(most, np.int64)
    m = 0
    for c in range(n_c):
        n = starts[c]
        what[m], of[m] = GAP, c
        if kind[c] == INACTIVE:
            offset[m] = _motion(W_cc, W_ac, c_free, X, x, n, 1.0, R[m])
        else:
            what[m] = FORCE
            R[m], offset[m] = X[n], x[n]
        m += 1
        if kind[c] == SLIDING:
            what[m], of[m] = SLIP, c
            for k in range(2):
                u = direction[c, k]
                offset[m] += _motion(W_cc, W_ac, c_free, X, x, n + 1 + k, u, R[m])
            m += 1
    for k in range(len(cut_contact)):
        c = cut_contact[k]
        if kind[c] != 1:
            continue
        n, p, q = starts[c], cut_direction[k, 0], cut_direction[k, 1]
        what[m], of[m] = CONE, c
        R[m] = mu[c] * X[n] - p * X[n + 1] - q * X[n + 2]
        offset[m] = mu[c] * x[n] - p * x[n + 1] - q * x[n + 2]
        m += 1
    return R[:m], offset[:m], what[:m], of[:m]


@njit
def distances(
    force: np.ndarray,
    delta: np.ndarray,
    mu: np.ndarray,
    starts: np.ndarray,
    rough: np.ndarray,
    sticking: bool,
) -> np.ndarray:
    """Distance of each contact from its law, shape (n_c,). See `contact_law.law_error`."""
    error = np.empty(len(starts))
    for c in range(len(starts)):
        n = starts[c]
        error[c] = abs(min(force[n], delta[n]))
        if not rough[c]:
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
def solve_small(E: np.ndarray, F: np.ndarray) -> float:
    """Solve E S = F in place by Gaussian elimination with row pivoting: F becomes S.

    For small matrices, where a threaded BLAS takes longer to wake its threads than to compute.

    Returns:
        The smallest pivot over the largest one; F is of no use if it is tiny.
    """
    k, width = F.shape
    least, largest = np.inf, 0.0
    for j in range(k):
        best = j
        for i in range(j + 1, k):
            if abs(E[i, j]) > abs(E[best, j]):
                best = i
        if best != j:
            for l in range(j, k):
                E[j, l], E[best, l] = E[best, l], E[j, l]
            for l in range(width):
                F[j, l], F[best, l] = F[best, l], F[j, l]
        pivot = E[j, j]
        least, largest = min(least, abs(pivot)), max(largest, abs(pivot))
        if least <= 1e-14 * largest:
            return 0.0
        for i in range(j + 1, k):
            f = E[i, j] / pivot
            if f != 0.0:
                for l in range(j + 1, k):
                    E[i, l] -= f * E[j, l]
                for l in range(width):
                    F[i, l] -= f * F[j, l]
    for j in range(k - 1, -1, -1):
        for l in range(width):
            F[j, l] /= E[j, j]
        for i in range(j):
            f = E[i, j]
            if f != 0.0:
                for l in range(width):
                    F[i, l] -= f * F[j, l]
    return least / largest
