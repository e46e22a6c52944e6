"""Compiled loops of `spline` over points, corners and outputs.

Corner c of a cell has sign +1 in direction i where bit i of c is set, else -1.
"""

from __future__ import annotations

import numpy as np

from sofa_softctl.base.jit import njit

BLOCK = 512
"""Outputs of a block: their sums (1 + d, 512) stay in the first-level cache."""


@njit
def _corner(xi: np.ndarray, c: int, s: np.ndarray, without: np.ndarray) -> tuple[float, float]:
    """P = prod a_i with a_i = 1 + s_i xi_i, and Q = 2 + sum (s_i xi_i - xi_i^2), of corner c.

    Args:
        xi: Position in the cell, shape (d,).
        c: Number of the corner.
        s: Output: signs of the corner, shape (d,).
        without: Output: P without the factor of each direction, shape (d,).
    """
    d = len(xi)
    P, Q = 1.0, 2.0
    for i in range(d):
        s[i] = 1.0 if (c >> i) & 1 else -1.0
        without[i] = P
        P *= 1.0 + s[i] * xi[i]
        Q += s[i] * xi[i] - xi[i] * xi[i]
    right = 1.0
    for i in range(d - 1, -1, -1):
        without[i] *= right
        right *= 1.0 + s[i] * xi[i]
    return P, Q


@njit
def _weigh(xi: np.ndarray, s: np.ndarray, without: np.ndarray, W: np.ndarray) -> None:
    """Weights and their first derivatives at a point; W (2^d, 1 + d, 1 + d), see `weights`."""
    d = len(xi)
    scale = 0.5 ** (d + 1)
    for c in range(1 << d):
        P, Q = _corner(xi, c, s, without)
        W[c, 0, 0] = scale * P * Q
        for k in range(d):
            W[c, 0, 1 + k] = scale * (s[k] * without[k] * Q + P * (s[k] - 2.0 * xi[k]))
        for i in range(d):
            b = scale * s[i] * (xi[i] * xi[i] - 1.0)
            W[c, 1 + i, 0] = b * P
            for k in range(d):
                W[c, 1 + i, 1 + k] = b * s[k] * without[k]
            W[c, 1 + i, 1 + i] += scale * s[i] * 2.0 * xi[i] * P


@njit
def _without_both(xi: np.ndarray, s: np.ndarray, k: int, l: int) -> float:
    """P without the factors of directions k and l."""
    product = 1.0
    for i in range(len(xi)):
        if i != k and i != l:
            product *= 1.0 + s[i] * xi[i]
    return product


@njit
def _weigh_twice(xi: np.ndarray, s: np.ndarray, without: np.ndarray, H: np.ndarray) -> None:
    """Second derivatives of the weights at a point; H (2^d, 1 + d, d, d), symmetric."""
    d = len(xi)
    scale = 0.5 ** (d + 1)
    for c in range(1 << d):
        P, Q = _corner(xi, c, s, without)
        for k in range(d):
            q_k = s[k] - 2.0 * xi[k]
            H[c, 0, k, k] = scale * 2.0 * (s[k] * without[k] * q_k - P)
            for i in range(d):
                H[c, 1 + i, k, k] = 0.0
            H[c, 1 + k, k, k] = scale * 2.0 * (s[k] * P + 2.0 * xi[k] * without[k])
            for l in range(k):
                product = s[k] * s[l] * _without_both(xi, s, k, l)
                q_l = s[l] - 2.0 * xi[l]
                H[c, 0, k, l] = scale * (
                    product * Q + s[k] * without[k] * q_l + s[l] * without[l] * q_k
                )
                for i in range(d):
                    H[c, 1 + i, k, l] = scale * s[i] * (xi[i] * xi[i] - 1.0) * product
                H[c, 1 + k, k, l] += scale * s[k] * 2.0 * xi[k] * s[l] * without[l]
                H[c, 1 + l, k, l] += scale * s[l] * 2.0 * xi[l] * s[k] * without[k]
                for j in range(1 + d):
                    H[c, j, l, k] = H[c, j, k, l]


@njit
def weights(xi: np.ndarray) -> np.ndarray:
    """Weights and first derivatives at points xi (m, d), shape (m, 2^d, 1 + d, 1 + d)."""
    m, d = xi.shape
    s, without = np.empty(d), np.empty(d)
    W = np.empty((m, 1 << d, 1 + d, 1 + d))
    for p in range(m):
        _weigh(xi[p], s, without, W[p])
    return W


@njit
def weight_hessians(xi: np.ndarray) -> np.ndarray:
    """Second derivatives of the weights at points xi (m, d), shape (m, 2^d, 1 + d, d, d)."""
    m, d = xi.shape
    s, without = np.empty(d), np.empty(d)
    H = np.empty((m, 1 << d, 1 + d, d, d))
    for p in range(m):
        _weigh_twice(xi[p], s, without, H[p])
    return H


@njit(fastmath=True)
def _add(
    W: np.ndarray, factor: float, row: np.ndarray, chosen: np.ndarray, start: int, sums: np.ndarray
) -> None:
    """sums += the weights W (k,) of one function, times the numbers of a block of outputs."""
    width = sums.shape[1]
    for k in range(sums.shape[0]):
        w = W[k] * factor
        if len(chosen):
            for o in range(width):
                sums[k, o] += w * row[chosen[start + o]]
        else:
            for o in range(width):
                sums[k, o] += w * row[start + o]


@njit
def evaluate(
    xi: np.ndarray,
    half: np.ndarray,
    corners: np.ndarray,
    data: np.ndarray,
    chosen: np.ndarray,
    value: np.ndarray,
    gradient: np.ndarray,
) -> None:
    """Evaluate the splines and their gradients, see `spline.evaluate`.

    Args:
        xi: Position in the cell of each point, shape (m, d).
        half: Half the spacing of its cell, shape (m, d).
        corners: Row of `data` of each corner, shape (m, 2^d).
        data: Value and gradient at each corner, shape (c, 1 + d, n).
        chosen: Indices of selected outputs; all if it has length 0.
        value: Output, shape (m, number of outputs).
        gradient: Output, shape (m, number of outputs, d); of length 0 without it.
    """
    m, d = xi.shape
    n = value.shape[1]
    orders = 1 + d if len(gradient) else 1
    s, without = np.empty(d), np.empty(d)
    W = np.empty((1 << d, 1 + d, 1 + d))
    sums = np.empty((orders, min(n, BLOCK)))
    for p in range(m):
        _weigh(xi[p], s, without, W)
        for start in range(0, n, BLOCK):
            width = min(BLOCK, n - start)
            sums[:, :width] = 0.0
            for c in range(1 << d):
                for j in range(1 + d):
                    factor = half[p, j - 1] if j else 1.0
                    row = data[corners[p, c], j]
                    _add(W[c, j], factor, row, chosen, start, sums[:, :width])
            for o in range(width):
                value[p, start + o] = sums[0, o]
            for k in range(1, orders):
                for o in range(width):
                    gradient[p, start + o, k - 1] = sums[k, o] / half[p, k - 1]


@njit(fastmath=True)
def curvature(
    xi: np.ndarray,
    half: np.ndarray,
    corners: np.ndarray,
    data: np.ndarray,
    chosen: np.ndarray,
    w: np.ndarray,
) -> np.ndarray:
    """Return second derivatives of w . f, shape (m, d, d), see `spline.curvature`."""
    m, d = xi.shape
    s, without = np.empty(d), np.empty(d)
    H = np.empty((1 << d, 1 + d, d, d))
    total = np.zeros((m, d, d))
    for p in range(m):
        _weigh_twice(xi[p], s, without, H)
        for c in range(1 << d):
            for j in range(1 + d):
                row = data[corners[p, c], j]
                dot = 0.0
                if len(chosen):
                    for o in range(w.shape[1]):
                        dot += w[p, o] * row[chosen[o]]
                else:
                    for o in range(w.shape[1]):
                        dot += w[p, o] * row[o]
                dot *= half[p, j - 1] if j else 1.0
                for k in range(d):
                    for l in range(d):
                        total[p, k, l] += dot * H[c, j, k, l]
        for k in range(d):
            for l in range(d):
                total[p, k, l] /= half[p, k] * half[p, l]
    return total
