"""What the stiffness of corotational tetrahedra leaves out: that their rotations turn with x.

When the nodes of an element move by dx_b, its rotation turns by omega = sum_b G_b dx_b. Its forces
are f_a = -sum_b K_ab (x_b - R X_b), K_ab as in `corotational`, so that exactly

    -df_a = sum_b K_ab dx_b + B_a omega,    B_a = sum_c K_ac [x_c]x + [f_a]x,

with [v]x the matrix of v cross. B and G are all that is kept: the exact tangent of an element is
K_ab + B_a G_b. It is symmetric for the polar decomposition of the deformation gradient; not for
SOFA's polar and svd, which decompose the edges, and not for large, by a few per cent.
"""

from __future__ import annotations

import numpy as np

from sofa_softctl.runtime.kernels.corotational import GRADIENT, LARGE, SMALL
from sofa_softctl.runtime.kernels.jit import njit


@njit
def turning(
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
    """B and G of each element.

    Args:
        x, x0: Positions now and at rest, shape (n, 3).
        elements: Tetrahedra, shape (m, 4).
        method: A method of `corotational`; inverted elements of SVD are taken as POLAR's.
        frames0: Frames at rest, shape (m, 3, 3).
        rotations, h: From `corotational.rotate` at x, shapes (m, 3, 3) and (m, 4, 3).
        stiffness: V lambda and V mu of each element, shape (m, 2).
        B, G: Outputs, shape (m, 4, 3, 3).
    """
    q = np.empty((3, 3))
    for e in range(elements.shape[0]):
        B[e], G[e] = 0.0, 0.0
        if method == SMALL:
            continue
        t, r = elements[e], rotations[e]
        if method == LARGE:
            _edges_turn(x[t[0]], x[t[1]], x[t[2]], G[e])
        elif method == GRADIENT:
            _polar_turn(x, t, h[e], G[e])
        else:
            for k in range(3):  # row k of the frame now: R times that at rest
                for i in range(3):
                    q[k, i] = 0.0
                    for j in range(3):
                        q[k, i] += r[i, j] * frames0[e, k, j]
            directions = np.zeros((4, 3))
            directions[1:] = q
            directions[0] = -(q[0] + q[1] + q[2])
            _polar_turn(x, t, directions, G[e])
        _response(x, x0, t, r, h[e], stiffness[e, 0], stiffness[e, 1], B[e])


@njit
def _cross_matrix(v: np.ndarray, factor: float, out: np.ndarray) -> None:
    """out += factor [v]x."""
    out[0, 1] -= factor * v[2]
    out[0, 2] += factor * v[1]
    out[1, 0] += factor * v[2]
    out[1, 2] -= factor * v[0]
    out[2, 0] -= factor * v[1]
    out[2, 1] += factor * v[0]


@njit
def _edges_turn(a: np.ndarray, b: np.ndarray, c: np.ndarray, G: np.ndarray) -> None:
    """G of the frame of the first two edges."""
    ab, ac = b - a, c - a
    length = np.sqrt((ab * ab).sum())
    axis = ab / length
    n = np.cross(ab, ac)
    area = np.sqrt((n * n).sum())
    y = np.cross(n / area, axis)
    _cross_matrix(axis, 1.0 / length, G[1])
    to_b, to_c = np.cross(ac, y) / area, np.cross(y, ab) / area
    for i in range(3):
        for j in range(3):
            G[1, i, j] -= axis[i] * to_b[j]
            G[2, i, j] -= axis[i] * to_c[j]
            G[0, i, j] = -G[1, i, j] - G[2, i, j]


@njit
def _polar_turn(x: np.ndarray, element: np.ndarray, directions: np.ndarray, G: np.ndarray) -> None:
    """G of the rotation Q in E = S Q, where E Q^T = sum_a x_a d_a^T: S = E Q^T is symmetric.

    (tr(S) I - S) omega = sum_a d_a cross dx_a.
    """
    S = np.zeros((3, 3))
    for a in range(4):
        for i in range(3):
            for j in range(3):
                S[i, j] += (x[element[a], i] - x[element[0], i]) * directions[a, j]
    trace = S[0, 0] + S[1, 1] + S[2, 2]
    D = -0.5 * (S + S.T)
    for i in range(3):
        D[i, i] += trace
    inverse = np.linalg.inv(D)
    cross = np.empty((3, 3))
    for a in range(4):
        cross[:] = 0.0
        _cross_matrix(directions[a], 1.0, cross)
        G[a] = inverse @ cross


@njit
def _response(
    x: np.ndarray,
    x0: np.ndarray,
    element: np.ndarray,
    r: np.ndarray,
    h: np.ndarray,
    lam: float,
    mu: float,
    B: np.ndarray,
) -> None:
    """B_a = sum_c K_ac [x_c]x + [f_a]x, x_c relative to the first node."""
    first = element[0]
    strain = np.zeros((3, 3))
    for a in range(1, 4):
        t = element[a]
        for i in range(3):
            u = x[t, i] - x[first, i]
            for j in range(3):
                u -= r[i, j] * (x0[t, j] - x0[first, j])
            for j in range(3):
                strain[i, j] += u * h[a, j]
    stress = _stress(strain, lam, mu)
    for a in range(4):
        _cross_matrix(stress @ h[a], -1.0, B[a])
    for axis in range(3):
        i, j = (axis + 1) % 3, (axis + 2) % 3
        strain[:] = 0.0
        for c in range(1, 4):  # x cross e_axis has x_j at i and -x_i at j
            t = element[c]
            for k in range(3):
                strain[i, k] += (x[t, j] - x[first, j]) * h[c, k]
                strain[j, k] -= (x[t, i] - x[first, i]) * h[c, k]
        stress = _stress(strain, lam, mu)
        for a in range(4):
            B[a, :, axis] += stress @ h[a]


@njit
def _stress(strain: np.ndarray, lam: float, mu: float) -> np.ndarray:
    stress = mu * (strain + strain.T)
    trace = lam * (strain[0, 0] + strain[1, 1] + strain[2, 2])
    for i in range(3):
        stress[i, i] += trace
    return stress


@njit
def add_turning_matrix(
    B: np.ndarray, G: np.ndarray, factor: float, slots: np.ndarray, values: np.ndarray
) -> None:
    """values[slots] += factor times the symmetric part of B G, see `corotational.add_matrix`."""
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
                block = B[e, row] @ G[e, col] + (B[e, col] @ G[e, row]).T
                for i in range(3):
                    for j in range(3):
                        values[slot, i, j] += 0.5 * factor * block[i, j]


@njit
def add_turning_product(
    v: np.ndarray,
    elements: np.ndarray,
    B: np.ndarray,
    G: np.ndarray,
    factor: float,
    transposed: float,
    out: np.ndarray,
) -> None:
    """out += factor (B G + transposed (B G)^T) v."""
    for e in range(elements.shape[0]):
        omega, back = np.zeros(3), np.zeros(3)
        for b in range(4):
            moved = v[elements[e, b]]
            omega += G[e, b] @ moved
            back += B[e, b].T @ moved
        for a in range(4):
            out[elements[e, a]] += factor * (B[e, a] @ omega + transposed * (G[e, a].T @ back))
