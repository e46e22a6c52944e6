"""Exact tangent of corotational tetrahedra: the derivative of their rotations.

When the nodes of an element move by dx_b, its rotation turns by omega = sum_b G_b dx_b. Its forces
are f_a = -sum_b K_ab (x_b - R X_b), K_ab as in `corotational`, so that exactly

    -df_a = sum_b K_ab dx_b + B_a omega,    B_a = sum_c K_ac [x_c]x + [f_a]x,

with [v]x the matrix of v cross. Only B and G are stored: the exact tangent of an element is
K_ab + B_a G_b. It is symmetric for the polar decomposition of the deformation gradient; for SOFA's
polar and svd, which decompose the edges, and for large it is asymmetric by a few per cent.
"""

from __future__ import annotations

import numpy as np

from sofa_softctl.base.jit import njit
from sofa_softctl.runtime.kernels.elasticity.corotational import GRADIENT, LARGE, SMALL


@njit
def tangent_factors(
    x: np.ndarray,
    x0: np.ndarray,
    elements: np.ndarray,
    method: int,
    frames0: np.ndarray,
    rotations: np.ndarray,
    h: np.ndarray,
    stiffness: np.ndarray,
    B: np.ndarray,
    G: np.ndarray,
) -> None:
    """Compute B and G of each element.

    Args:
        x, x0: Present and rest positions, shape (n, 3).
        elements: Tetrahedra, shape (m, 4).
        method: A method of `corotational`; inverted elements of SVD are treated as in POLAR.
        frames0: Frames at rest, shape (m, 3, 3).
        rotations, h: Outputs of `corotational.rotate` at x, shapes (m, 3, 3) and (m, 4, 3).
        stiffness: V lambda and V mu of each element, shape (m, 2).
        B, G: Outputs, shape (m, 4, 3, 3).
    """
    work = np.empty((2, 3, 3))
    rotation_gradients(x, elements, method, frames0, rotations, h, G)
    for e in range(elements.shape[0]):
        if method == SMALL:
            B[e] = 0.0
            continue
        t, r = elements[e], rotations[e]
        _response(x, x0, t, r, h[e], stiffness[e, 0], stiffness[e, 1], work, B[e])


@njit
def rotation_gradients(
    x: np.ndarray,
    elements: np.ndarray,
    method: int,
    frames0: np.ndarray,
    rotations: np.ndarray,
    h: np.ndarray,
    G: np.ndarray,
) -> None:
    """Compute G of each element; arguments as for `tangent_factors`."""
    directions, work = np.zeros((4, 3)), np.empty((2, 3, 3))
    for e in range(elements.shape[0]):
        t, r = elements[e], rotations[e]
        if method == SMALL:
            G[e] = 0.0
        elif method == LARGE:
            _edges_turn(x[t[0]], x[t[1]], x[t[2]], G[e])
        elif method == GRADIENT:
            _polar_turn(x, t, h[e], work, G[e])
        else:
            directions[0] = 0.0
            for k in range(3):  # row k of the present frame: R times the row at rest
                for i in range(3):
                    total = 0.0
                    for j in range(3):
                        total += r[i, j] * frames0[e, k, j]
                    directions[k + 1, i] = total
                    directions[0, i] -= total
            _polar_turn(x, t, directions, work, G[e])


@njit
def _cross(a0: float, a1: float, a2: float, b0: float, b1: float, b2: float) -> tuple:
    """A cross b, without arrays: those cost more than the product."""
    return a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0


@njit
def _edges_turn(a: np.ndarray, b: np.ndarray, c: np.ndarray, G: np.ndarray) -> None:
    """Compute G of the frame of the first two edges."""
    d0, d1, d2 = b[0] - a[0], b[1] - a[1], b[2] - a[2]
    e0, e1, e2 = c[0] - a[0], c[1] - a[1], c[2] - a[2]
    length = np.sqrt(d0 * d0 + d1 * d1 + d2 * d2)
    axis = (d0 / length, d1 / length, d2 / length)
    n0, n1, n2 = _cross(d0, d1, d2, e0, e1, e2)
    area = np.sqrt(n0 * n0 + n1 * n1 + n2 * n2)
    y0, y1, y2 = _cross(n0 / area, n1 / area, n2 / area, axis[0], axis[1], axis[2])
    to_b, to_c = _cross(e0, e1, e2, y0, y1, y2), _cross(y0, y1, y2, d0, d1, d2)
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        G[1, i, j] = -axis[k] / length
        G[1, i, k] = axis[j] / length
        G[1, i, i] = 0.0
    for i in range(3):
        for j in range(3):
            G[1, i, j] -= axis[i] * to_b[j] / area
            G[2, i, j] = -axis[i] * to_c[j] / area
            G[0, i, j] = -G[1, i, j] - G[2, i, j]
            G[3, i, j] = 0.0


@njit
def _polar_turn(
    x: np.ndarray, element: np.ndarray, directions: np.ndarray, work: np.ndarray, G: np.ndarray
) -> None:
    """Compute G of the rotation Q in E = S Q; S = E Q^T = sum_a x_a d_a^T is symmetric.

    (tr(S) I - S) omega = sum_a d_a cross dx_a.
    """
    S, D = work[0], work[1]
    S[:] = 0.0
    for a in range(1, 4):
        for i in range(3):
            offset = x[element[a], i] - x[element[0], i]
            for j in range(3):
                S[i, j] += offset * directions[a, j]
    trace = S[0, 0] + S[1, 1] + S[2, 2]
    for i in range(3):
        for j in range(3):
            D[i, j] = -0.5 * (S[i, j] + S[j, i])
        D[i, i] += trace
    _invert(D, S)
    for a in range(4):
        d0, d1, d2 = directions[a, 0], directions[a, 1], directions[a, 2]
        for i in range(3):
            G[a, i, 0] = S[i, 1] * d2 - S[i, 2] * d1
            G[a, i, 1] = S[i, 2] * d0 - S[i, 0] * d2
            G[a, i, 2] = S[i, 0] * d1 - S[i, 1] * d0


@njit
def _invert(m: np.ndarray, out: np.ndarray) -> None:
    """out = m^-1."""
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        for p in range(3):
            q, r = (p + 1) % 3, (p + 2) % 3
            out[p, i] = m[j, q] * m[k, r] - m[j, r] * m[k, q]
    det = m[0, 0] * out[0, 0] + m[0, 1] * out[1, 0] + m[0, 2] * out[2, 0]
    for i in range(3):
        for j in range(3):
            out[i, j] /= det


@njit
def _response(
    x: np.ndarray,
    x0: np.ndarray,
    element: np.ndarray,
    r: np.ndarray,
    h: np.ndarray,
    lam: float,
    mu: float,
    work: np.ndarray,
    B: np.ndarray,
) -> None:
    """B_a = sum_c K_ac [x_c]x + [f_a]x, x_c relative to the first node."""
    first = element[0]
    strain, stress = work[0], work[1]
    strain[:] = 0.0
    for a in range(1, 4):
        t = element[a]
        for i in range(3):
            u = x[t, i] - x[first, i]
            for j in range(3):
                u -= r[i, j] * (x0[t, j] - x0[first, j])
            for j in range(3):
                strain[i, j] += u * h[a, j]
    _stress(strain, lam, mu, stress)
    for a in range(4):
        for i in range(3):
            p = (stress[i, 0] * h[a, 0] + stress[i, 1] * h[a, 1]) + stress[i, 2] * h[a, 2]
            j, k = (i + 1) % 3, (i + 2) % 3
            B[a, j, k] = p  # [-stress h]x
            B[a, k, j] = -p
        B[a, 0, 0] = B[a, 1, 1] = B[a, 2, 2] = 0.0
    for axis in range(3):
        i, j = (axis + 1) % 3, (axis + 2) % 3
        strain[:] = 0.0
        for c in range(1, 4):  # x cross e_axis has x_j at i and -x_i at j
            t = element[c]
            for k in range(3):
                strain[i, k] += (x[t, j] - x[first, j]) * h[c, k]
                strain[j, k] -= (x[t, i] - x[first, i]) * h[c, k]
        _stress(strain, lam, mu, stress)
        for a in range(4):
            for k in range(3):
                B[a, k, axis] += (
                    stress[k, 0] * h[a, 0] + stress[k, 1] * h[a, 1] + stress[k, 2] * h[a, 2]
                )


@njit
def _stress(strain: np.ndarray, lam: float, mu: float, out: np.ndarray) -> None:
    trace = lam * (strain[0, 0] + strain[1, 1] + strain[2, 2])
    for i in range(3):
        for j in range(3):
            out[i, j] = mu * (strain[i, j] + strain[j, i])
        out[i, i] += trace


@njit
def add_turning_matrix(
    B: np.ndarray,
    G: np.ndarray,
    transposed: float,
    factor: float,
    slots: np.ndarray,
    values: np.ndarray,
) -> None:
    """values[slots] += factor (B G + transposed (B G)^T) / 2, see `corotational.add_matrix`.

    `transposed` is 1 for the symmetric part, and -1 for the antisymmetric one.
    """
    for e in range(B.shape[0]):
        pair = 0
        for a in range(4):
            for b in range(a + 1):
                slot = slots[e, pair]
                pair += 1
                row, col = a, b
                if slot < 0:
                    slot = ~slot
                    row, col = b, a
                for i in range(3):
                    for j in range(3):
                        total = 0.0
                        for k in range(3):
                            total += B[e, row, i, k] * G[e, col, k, j]
                            total += transposed * B[e, col, j, k] * G[e, row, k, i]
                        values[slot, i, j] += 0.5 * factor * total
