"""Energy of the bending, twisting and warping of hexahedra that their mean strain does not see.

A hexahedron has the mean deformation gradient F = sum_a x_a g_a^T and four hourglass vectors
q_m = sum_a gamma_ma x_a, which vanish for linear fields. To first order, Green's strain varies in
it by sym(F^T q_m (grad h_m)^T), with h = (xi eta, eta zeta, zeta xi, xi eta zeta). Its energy is

    W = 1/2 sum_mn Q_m^T H_mn Q_n,    Q_m = F^T q_m,

with the constant matrix H of `hourglass_stiffness`. Turning the element changes no Q: W is free of
rigid motions without any rotation, and a polynomial, whose derivatives are exact:

    f_a = -sum_m D_ma^T T_m,   T_m = sum_n H_mn Q_n,   D_ma = dQ_m/dx_a = g_a q_m^T + gamma_ma F^T
    K_ab = sum_mn D_ma^T H_mn D_nb + sum_m ((T_m . g_a) gamma_mb + gamma_ma (T_m . g_b)) I,

where the second sum, the geometric stiffness, need not be positive.

Source: Flanagan and Belytschko 1981 for g and gamma; Reese, "A large deformation solid-shell
concept based on reduced integration with hourglass stabilization", 2007, for stabilisation by
enhanced strains; the energy in F^T q is ours.
"""

from __future__ import annotations

import numpy as np

from sofa_softctl.base.jit import njit


@njit
def _strains(
    x: np.ndarray,
    element: np.ndarray,
    g: np.ndarray,
    gamma: np.ndarray,
    F: np.ndarray,
    q: np.ndarray,
    Q: np.ndarray,
) -> None:
    """Compute F, q_m as rows and Q, from differences to the first node."""
    for i in range(3):
        x0 = x[element[0], i]
        F[i, 0] = F[i, 1] = F[i, 2] = 0.0
        q[0, i] = q[1, i] = q[2, i] = q[3, i] = 0.0
        for a in range(1, 8):
            dx = x[element[a], i] - x0
            for j in range(3):
                F[i, j] += dx * g[a, j]
            for m in range(4):
                q[m, i] += dx * gamma[a, m]
    for m in range(4):
        for j in range(3):
            Q[3 * m + j] = F[0, j] * q[m, 0] + F[1, j] * q[m, 1] + F[2, j] * q[m, 2]


@njit
def forces(
    x: np.ndarray,
    elements: np.ndarray,
    g: np.ndarray,
    gamma: np.ndarray,
    T: np.ndarray,
    out: np.ndarray,
) -> None:
    """Compute -D(x)^T T of each element.

    Args:
        x: Positions, shape (n, 3).
        elements: Hexahedra, shape (m, 8).
        g: Mean gradients of the shape functions [1/length], shape (m, 8, 3).
        gamma: Hourglass shapes [-], shape (m, 8, 4).
        T: Tensions by (m, i) of each element [force], shape (m, 12).
        out: Forces on the nodes, shape (m, 8, 3).
    """
    F, q, Q = np.empty((3, 3)), np.empty((4, 3)), np.empty(12)
    for e in range(elements.shape[0]):
        _strains(x, elements[e], g[e], gamma[e], F, q, Q)
        for a in range(8):
            out[e, a, :] = 0.0
            for m in range(4):
                t0, t1, t2 = T[e, 3 * m], T[e, 3 * m + 1], T[e, 3 * m + 2]
                along = t0 * g[e, a, 0] + t1 * g[e, a, 1] + t2 * g[e, a, 2]
                shape = gamma[e, a, m]
                for i in range(3):
                    turned = F[i, 0] * t0 + F[i, 1] * t1 + F[i, 2] * t2
                    out[e, a, i] -= along * q[m, i] + shape * turned


@njit
def rates(
    x: np.ndarray,
    v: np.ndarray,
    elements: np.ndarray,
    g: np.ndarray,
    gamma: np.ndarray,
    out: np.ndarray,
) -> None:
    """Compute D(x) v of each element: how Q changes at x along v, shape (m, 12).

    It is F(v)^T q(x) + F(x)^T q(v), symmetric in x and v; Q itself is half of D(x) x. Arguments
    as for `forces`.
    """
    F, q, G, r = np.empty((3, 3)), np.empty((4, 3)), np.empty((3, 3)), np.empty((4, 3))
    Q = np.empty(12)
    for e in range(elements.shape[0]):
        _strains(x, elements[e], g[e], gamma[e], F, q, Q)
        _strains(v, elements[e], g[e], gamma[e], G, r, Q)
        for m in range(4):
            for j in range(3):
                total = 0.0
                for i in range(3):
                    total += G[i, j] * q[m, i] + F[i, j] * r[m, i]
                out[e, 3 * m + j] = total


@njit
def _derivative(
    x: np.ndarray,
    element: np.ndarray,
    g: np.ndarray,
    gamma: np.ndarray,
    F: np.ndarray,
    q: np.ndarray,
    Q: np.ndarray,
    D: np.ndarray,
) -> None:
    """D = dQ/dx at x, shape (12, 24); F, q and Q are memory."""
    _strains(x, element, g, gamma, F, q, Q)
    for m in range(4):
        for a in range(8):
            for i in range(3):
                for j in range(3):
                    D[3 * m + i, 3 * a + j] = g[a, i] * q[m, j] + gamma[a, m] * F[j, i]


@njit(fastmath=True)
def _combine_rows(factors: np.ndarray, rows: np.ndarray, out: np.ndarray) -> None:
    """out = sum of twelve rows times their factors, shapes (12,), (12, 24) and (24,)."""
    # Written out, so that sums stay in registers: `tangents` takes half of the time of loops.
    a, b, c, d, e, f = factors[0], factors[1], factors[2], factors[3], factors[4], factors[5]
    g, h, i, j, k, l = factors[6], factors[7], factors[8], factors[9], factors[10], factors[11]
    for n in range(24):
        first = a * rows[0, n] + b * rows[1, n] + c * rows[2, n] + d * rows[3, n]
        second = e * rows[4, n] + f * rows[5, n] + g * rows[6, n] + h * rows[7, n]
        out[n] = (
            first + second + i * rows[8, n] + j * rows[9, n] + k * rows[10, n] + l * rows[11, n]
        )


@njit(fastmath=True)
def tangents(
    x: np.ndarray,
    y: np.ndarray,
    elements: np.ndarray,
    g: np.ndarray,
    gamma: np.ndarray,
    H: np.ndarray,
    T: np.ndarray,
    out: np.ndarray,
) -> None:
    """Compute D(x)^T H D(y) + the geometric stiffness of tensions T, by (a, i) and (b, j).

    With x = y and T = 0 it is the stiffness of a time step, which is positive; with T = H Q that
    is exact. With T = H D(x) y it is the derivative of D(x)^T H D(x) y by x.

    Args:
        x, y: Positions, or velocities, shape (n, 3).
        elements, g, gamma, T: As for `forces`.
        H: Stiffness by (m, i) and (n, j) [force/length], shape (m, 12, 12).
        out: Output, shape (m, 24, 24).
    """
    F, q, Q = np.empty((3, 3)), np.empty((4, 3)), np.empty(12)
    left, right, product = np.empty((12, 24)), np.empty((12, 24)), np.empty((12, 24))
    for e in range(elements.shape[0]):
        _derivative(x, elements[e], g[e], gamma[e], F, q, Q, left)
        _derivative(y, elements[e], g[e], gamma[e], F, q, Q, right)
        K = out[e]
        for r in range(12):
            _combine_rows(H[e, r], right, product[r])
        for k in range(24):
            _combine_rows(left[:, k], product, K[k])
        for a in range(8):
            for b in range(8):
                total = 0.0
                for m in range(4):
                    t0, t1, t2 = T[e, 3 * m], T[e, 3 * m + 1], T[e, 3 * m + 2]
                    on_a = t0 * g[e, a, 0] + t1 * g[e, a, 1] + t2 * g[e, a, 2]
                    on_b = t0 * g[e, b, 0] + t1 * g[e, b, 1] + t2 * g[e, b, 2]
                    total += on_a * gamma[e, b, m] + gamma[e, a, m] * on_b
                for i in range(3):
                    K[3 * a + i, 3 * b + i] += total


@njit
def add_forces(elements: np.ndarray, f: np.ndarray, out: np.ndarray) -> None:
    """out[node] += f of each element and node, shapes (n, 3) and (m, 8, 3)."""
    for e in range(elements.shape[0]):
        for a in range(8):
            for i in range(3):
                out[elements[e, a], i] += f[e, a, i]


@njit(fastmath=True)
def add_product(
    v: np.ndarray, elements: np.ndarray, K: np.ndarray, factor: float, out: np.ndarray
) -> None:
    """out += factor K v, with K of each element from `tangents`; v and out of shape (n, 3)."""
    u, f = np.empty(24), np.empty(24)
    for e in range(elements.shape[0]):
        for a in range(8):
            for i in range(3):
                u[3 * a + i] = v[elements[e, a], i]
        for k in range(24):
            total = 0.0
            for c in range(24):
                total += K[e, k, c] * u[c]
            f[k] = total
        for a in range(8):
            for i in range(3):
                out[elements[e, a], i] += factor * f[3 * a + i]


@njit
def add_matrix(K: np.ndarray, factor: float, slots: np.ndarray, values: np.ndarray) -> None:
    """values[slots] += factor K, node pairs in the order of `hexahedral.element_pairs`.

    Args:
        K: From `tangents`, symmetric, shape (m, 24, 24).
        factor: Scale of the matrix [-].
        slots: Index of each pair's block, ~index if its transpose is stored, shape (m, 36).
        values: Blocks, shape (k, 3, 3).
    """
    for e in range(K.shape[0]):
        pair = 0
        for a in range(8):
            for b in range(a + 1):
                slot = slots[e, pair]
                is_one_node = a != b and slot == slots[e, a * (a + 3) // 2]  # of a wedge
                pair += 1
                row, col = 3 * a, 3 * b
                if slot < 0:
                    slot = ~slot
                    row, col = col, row
                for i in range(3):
                    for j in range(3):
                        values[slot, i, j] += factor * K[e, row + i, col + j]
                        if is_one_node:
                            values[slot, j, i] += factor * K[e, row + i, col + j]
