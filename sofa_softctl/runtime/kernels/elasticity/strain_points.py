"""Forces and stiffness of strain points: places where the strain of some nodes is measured.

Point p has a stencil of nodes with gradients g_a, whose sum is zero, and the deformation gradient
F = sum_a x_a g_a^T. The stencils of all points are one list: that of point p begins at `first[p]`.
With the energy V W(F), its stress P = V dW/dF and its tangent A = V d2W/dF2,

    f_a = -P g_a,    K_ab = -df_a/dx_b = sum_kl g_a[k] A[(., k), (., l)] g_b[l].

A point in a linear tetrahedron is one case, a strain that is averaged over several elements, or one
at a Gauss point of a quadratic element, are others: see `components.elasticity.strain_points`.
"""

from __future__ import annotations

import numpy as np

from sofa_softctl.base.jit import njit


@njit
def _gradient(
    u: np.ndarray, nodes: np.ndarray, g: np.ndarray, start: int, end: int, out: np.ndarray
) -> None:
    """out = sum_a u_a g_a^T, from differences so that far from the origin nothing cancels."""
    for i in range(3):
        u0 = u[nodes[start], i]
        d0 = d1 = d2 = 0.0
        for k in range(start + 1, end):
            du = u[nodes[k], i] - u0
            d0 += du * g[k, 0]
            d1 += du * g[k, 1]
            d2 += du * g[k, 2]
        out[i, 0], out[i, 1], out[i, 2] = d0, d1, d2


@njit
def gradients(
    u: np.ndarray, first: np.ndarray, nodes: np.ndarray, g: np.ndarray, out: np.ndarray
) -> None:
    """Compute the gradient of u at each point.

    Args:
        u: Positions, velocities or displacements, shape (n, 3).
        first: Start of each point's stencil in `nodes` and `g`, shape (p + 1,).
        nodes, g: Nodes of all stencils and their gradients [1/length], shapes (s,) and (s, 3).
        out: Output, shape (p, 3, 3).
    """
    for p in range(out.shape[0]):
        _gradient(u, nodes, g, first[p], first[p + 1], out[p])


@njit
def add_stress(
    first: np.ndarray,
    nodes: np.ndarray,
    g: np.ndarray,
    stress: np.ndarray,
    factor: float,
    out: np.ndarray,
) -> None:
    """out_a += factor P g_a.

    Args:
        first, nodes, g: As for `gradients`.
        stress: P of each point, shape (p, 3, 3).
        factor: Scale of the forces [-].
        out: Output, shape (n, 3).
    """
    for p in range(stress.shape[0]):
        P = stress[p]
        for k in range(first[p], first[p + 1]):
            a = nodes[k]
            for i in range(3):
                out[a, i] += factor * (P[i, 0] * g[k, 0] + P[i, 1] * g[k, 1] + P[i, 2] * g[k, 2])


@njit
def add_product(
    v: np.ndarray,
    first: np.ndarray,
    nodes: np.ndarray,
    g: np.ndarray,
    tangents: np.ndarray,
    factor: float,
    out: np.ndarray,
) -> None:
    """out += factor K v.

    Args:
        v: Velocities or displacements, shape (n, 3).
        first, nodes, g: As for `gradients`.
        tangents: A of each point, by (i, j) and (k, l) of F, shape (p, 9, 9), symmetric.
        factor: Scale of the product [-].
        out: Output, shape (n, 3).
    """
    D, P = np.empty((3, 3)), np.empty((3, 3))
    for p in range(tangents.shape[0]):
        _gradient(v, nodes, g, first[p], first[p + 1], D)
        A = tangents[p]
        for i in range(3):
            for j in range(3):
                row, total = A[3 * i + j], 0.0
                for k in range(3):
                    for l in range(3):
                        total += row[3 * k + l] * D[k, l]
                P[i, j] = factor * total
        for k in range(first[p], first[p + 1]):
            a = nodes[k]
            for i in range(3):
                out[a, i] += P[i, 0] * g[k, 0] + P[i, 1] * g[k, 1] + P[i, 2] * g[k, 2]


@njit
def _contract(
    A: np.ndarray, k: int, g0: float, g1: float, g2: float
) -> tuple[float, float, float, float, float, float, float, float, float]:
    """Return sum_l A[(i, k), (j, l)] g[l] by (i, j): scalars, which stay in registers."""
    a, b, c = A[k], A[3 + k], A[6 + k]
    return (
        a[0] * g0 + a[1] * g1 + a[2] * g2,
        a[3] * g0 + a[4] * g1 + a[5] * g2,
        a[6] * g0 + a[7] * g1 + a[8] * g2,
        b[0] * g0 + b[1] * g1 + b[2] * g2,
        b[3] * g0 + b[4] * g1 + b[5] * g2,
        b[6] * g0 + b[7] * g1 + b[8] * g2,
        c[0] * g0 + c[1] * g1 + c[2] * g2,
        c[3] * g0 + c[4] * g1 + c[5] * g2,
        c[6] * g0 + c[7] * g1 + c[8] * g2,
    )


@njit(fastmath=True)
def add_matrix(
    first: np.ndarray,
    g: np.ndarray,
    tangents: np.ndarray,
    factor: float,
    slots: np.ndarray,
    values: np.ndarray,
) -> None:
    """values[slots] += factor K, node pairs in the order of `stencil_pairs`.

    Args:
        first, g: As for `gradients`.
        tangents: As for `add_product`.
        factor: Scale of the matrix [-].
        slots: Index of each pair's block, ~index if its transpose is stored, shape (q,).
        values: Blocks, shape (k, 3, 3).
    """
    pair = 0
    for p in range(tangents.shape[0]):
        A, start, end = tangents[p], first[p], first[p + 1]
        for b in range(start, end):
            g0, g1, g2 = factor * g[b, 0], factor * g[b, 1], factor * g[b, 2]
            u = _contract(A, 0, g0, g1, g2)
            v = _contract(A, 1, g0, g1, g2)
            w = _contract(A, 2, g0, g1, g2)
            for a in range(b, end):
                slot = slots[pair]
                pair += 1
                h0, h1, h2 = g[a, 0], g[a, 1], g[a, 2]
                k01, k10 = h0 * u[1] + h1 * v[1] + h2 * w[1], h0 * u[3] + h1 * v[3] + h2 * w[3]
                k02, k20 = h0 * u[2] + h1 * v[2] + h2 * w[2], h0 * u[6] + h1 * v[6] + h2 * w[6]
                k12, k21 = h0 * u[5] + h1 * v[5] + h2 * w[5], h0 * u[7] + h1 * v[7] + h2 * w[7]
                if slot < 0:
                    slot = ~slot
                    k01, k10, k02, k20, k12, k21 = k10, k01, k20, k02, k21, k12
                block = values[slot]
                block[0, 0] += h0 * u[0] + h1 * v[0] + h2 * w[0]
                block[0, 1] += k01
                block[0, 2] += k02
                block[1, 0] += k10
                block[1, 1] += h0 * u[4] + h1 * v[4] + h2 * w[4]
                block[1, 2] += k12
                block[2, 0] += k20
                block[2, 1] += k21
                block[2, 2] += h0 * u[8] + h1 * v[8] + h2 * w[8]


def stencil_pairs(first: np.ndarray, nodes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and columns of the node pairs a >= b of each stencil, shapes (q,)."""
    sizes = np.diff(first)
    index = np.arange(len(nodes))
    lengths = np.repeat(first[1:], sizes) - index  # of the column below each node b
    columns = np.repeat(index, lengths)
    rows = columns + np.arange(len(columns)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return nodes[rows], nodes[columns]
