"""Energy of the bending, twisting and warping of hexahedra that their mean strain does not see.

A hexahedron has the mean deformation gradient F = sum_a x_a g_a^T and four hourglass vectors
q_m = sum_a gamma_ma x_a, which vanish for linear fields. To first order, Green's strain varies in
it by sym(F^T q_m (grad h_m)^T), with h = (xi eta, eta zeta, zeta xi, xi eta zeta). Its energy is

    W = 1/2 sum_mn Q_m^T H_mn Q_n,    Q_m = F^T q_m,

with the constant matrix H of `hourglass_stiffness`. Turning the element changes no Q: W is free of
rigid motions without any rotation, and a polynomial, whose derivatives are exact:

    f_a = -sum_m D_ma^T T_m,   T_m = sum_n H_mn Q_n,   D_ma = dQ_m/dx_a = g_a q_m^T + gamma_ma F^T
    K_ab = sum_mn D_ma^T H_mn D_nb + sum_m ((T_m . g_a) gamma_mb + gamma_ma (T_m . g_b)) I

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
def _tensions(H: np.ndarray, Q: np.ndarray, T: np.ndarray) -> None:
    """T = H Q, by rows of the symmetric H."""
    T[:] = 0.0
    for s in range(12):
        for r in range(12):
            T[r] += H[s, r] * Q[s]


@njit
def energies(
    x: np.ndarray,
    elements: np.ndarray,
    g: np.ndarray,
    gamma: np.ndarray,
    H: np.ndarray,
    out: np.ndarray,
) -> None:
    """Compute W of each element.

    Args:
        x: Positions, shape (n, 3).
        elements: Hexahedra, shape (m, 8).
        g: Mean gradients of the shape functions [1/length], shape (m, 8, 3).
        gamma: Hourglass shapes [-], shape (m, 8, 4).
        H: Stiffness by (m, i) and (n, j) [force/length], shape (m, 12, 12).
        out: Output, shape (m,).
    """
    F, q, Q, T = np.empty((3, 3)), np.empty((4, 3)), np.empty(12), np.empty(12)
    for e in range(elements.shape[0]):
        _strains(x, elements[e], g[e], gamma[e], F, q, Q)
        _tensions(H[e], Q, T)
        total = 0.0
        for s in range(12):
            total += Q[s] * T[s]
        out[e] = 0.5 * total


@njit
def forces(
    x: np.ndarray,
    elements: np.ndarray,
    g: np.ndarray,
    gamma: np.ndarray,
    H: np.ndarray,
    out: np.ndarray,
) -> None:
    """Compute the forces on the nodes of each element, shape (m, 8, 3); see `energies`."""
    F, q, Q, T = np.empty((3, 3)), np.empty((4, 3)), np.empty(12), np.empty(12)
    for e in range(elements.shape[0]):
        _strains(x, elements[e], g[e], gamma[e], F, q, Q)
        _tensions(H[e], Q, T)
        for a in range(8):
            out[e, a, :] = 0.0
            for m in range(4):
                t0, t1, t2 = T[3 * m], T[3 * m + 1], T[3 * m + 2]
                along = t0 * g[e, a, 0] + t1 * g[e, a, 1] + t2 * g[e, a, 2]
                shape = gamma[e, a, m]
                for i in range(3):
                    turned = F[i, 0] * t0 + F[i, 1] * t1 + F[i, 2] * t2
                    out[e, a, i] -= along * q[m, i] + shape * turned


@njit(fastmath=True)
def stiffness(
    x: np.ndarray,
    elements: np.ndarray,
    g: np.ndarray,
    gamma: np.ndarray,
    H: np.ndarray,
    out: np.ndarray,
) -> None:
    """Compute K of each element by (a, i) and (b, j), shape (m, 24, 24); see `energies`."""
    F, q, Q, T = np.empty((3, 3)), np.empty((4, 3)), np.empty(12), np.empty(12)
    D, HD = np.empty((12, 24)), np.empty((12, 24))
    for e in range(elements.shape[0]):
        _strains(x, elements[e], g[e], gamma[e], F, q, Q)
        _tensions(H[e], Q, T)
        for m in range(4):
            for a in range(8):
                for i in range(3):
                    for j in range(3):
                        D[3 * m + i, 3 * a + j] = g[e, a, i] * q[m, j] + gamma[e, a, m] * F[j, i]
        K = out[e]
        HD[:] = 0.0
        for r in range(12):
            for s in range(12):
                h = H[e, r, s]
                for c in range(24):
                    HD[r, c] += h * D[s, c]
        K[:] = 0.0
        for r in range(12):
            for k in range(24):
                d = D[r, k]
                for c in range(24):
                    K[k, c] += d * HD[r, c]
        for a in range(8):
            for b in range(8):
                total = 0.0
                for m in range(4):
                    t0, t1, t2 = T[3 * m], T[3 * m + 1], T[3 * m + 2]
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


@njit
def add_product(
    v: np.ndarray, elements: np.ndarray, K: np.ndarray, factor: float, out: np.ndarray
) -> None:
    """out += factor K v, with K of each element from `stiffness`; v and out of shape (n, 3)."""
    u, f = np.empty(24), np.empty(24)
    for e in range(elements.shape[0]):
        for a in range(8):
            for i in range(3):
                u[3 * a + i] = v[elements[e, a], i]
        f[:] = 0.0
        for c in range(24):
            for k in range(24):
                f[k] += K[e, c, k] * u[c]
        for a in range(8):
            for i in range(3):
                out[elements[e, a], i] += factor * f[3 * a + i]


@njit
def add_matrix(K: np.ndarray, factor: float, slots: np.ndarray, values: np.ndarray) -> None:
    """values[slots] += factor K, node pairs in the order of `hexahedral.element_pairs`.

    Args:
        K: From `stiffness`, shape (m, 24, 24).
        factor: Scale of the matrix [-].
        slots: Index of each pair's block, ~index if its transpose is stored, shape (m, 36).
        values: Blocks, shape (k, 3, 3).
    """
    for e in range(K.shape[0]):
        pair = 0
        for a in range(8):
            for b in range(a + 1):
                slot = slots[e, pair]
                pair += 1
                row, col = 3 * a, 3 * b
                if slot < 0:
                    slot = ~slot
                    row, col = col, row
                for i in range(3):
                    for j in range(3):
                        values[slot, i, j] += factor * K[e, row + i, col + j]
