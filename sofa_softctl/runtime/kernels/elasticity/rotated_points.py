"""Stiffness of strain points that is linear elasticity in a rotated frame.

With the rotation R of a point, h_a = R g_a, and Lame's parameters mu and lambda times its volume,
the K of `strain_points` for the time steps of `corotational_energy` is

    K_ab = mu ((h_a . h_b) I + h_b h_a^T) + lambda h_a h_b^T

Without the tangents of all points, (9, 9) each, products take a third of the time, matrices half.
"""

from __future__ import annotations

import numpy as np

from sofa_softctl.base.jit import njit
from sofa_softctl.runtime.kernels.elasticity.strain_points import _gradient


@njit
def add_product(
    v: np.ndarray,
    first: np.ndarray,
    nodes: np.ndarray,
    g: np.ndarray,
    rotations: np.ndarray,
    parameters: np.ndarray,
    factor: float,
    out: np.ndarray,
) -> None:
    """out += factor K v.

    Args:
        v, first, nodes, g, factor, out: As for `strain_points.add_product`.
        rotations: R of each point, shape (p, 3, 3).
        parameters: Mu and lambda times volume [energy], shape (p, 2).
    """
    D, E = np.empty((3, 3)), np.empty((3, 3))
    for p in range(rotations.shape[0]):
        _gradient(v, nodes, g, first[p], first[p + 1], D)
        R, mu, lam = rotations[p], factor * parameters[p, 0], factor * parameters[p, 1]
        for i in range(3):
            for j in range(3):
                E[i, j] = R[0, i] * D[0, j] + R[1, i] * D[1, j] + R[2, i] * D[2, j]
        pressure = lam * (E[0, 0] + E[1, 1] + E[2, 2])
        for i in range(3):
            for j in range(3):
                D[i, j] = mu * (E[i, j] + E[j, i])
            D[i, i] += pressure
        for k in range(first[p], first[p + 1]):
            t0 = D[0, 0] * g[k, 0] + D[0, 1] * g[k, 1] + D[0, 2] * g[k, 2]
            t1 = D[1, 0] * g[k, 0] + D[1, 1] * g[k, 1] + D[1, 2] * g[k, 2]
            t2 = D[2, 0] * g[k, 0] + D[2, 1] * g[k, 1] + D[2, 2] * g[k, 2]
            for i in range(3):
                out[nodes[k], i] += R[i, 0] * t0 + R[i, 1] * t1 + R[i, 2] * t2


@njit(fastmath=True)
def add_matrix(
    first: np.ndarray,
    g: np.ndarray,
    rotations: np.ndarray,
    parameters: np.ndarray,
    factor: float,
    slots: np.ndarray,
    values: np.ndarray,
) -> None:
    """values[slots] += factor K; arguments as for `strain_points.add_matrix` and `add_product`."""
    longest = 0
    for p in range(rotations.shape[0]):
        longest = max(longest, first[p + 1] - first[p])
    h = np.empty((longest, 3))
    pair = 0
    for p in range(rotations.shape[0]):
        R, start = rotations[p], first[p]
        count = first[p + 1] - start
        mu, lam = factor * parameters[p, 0], factor * parameters[p, 1]
        for k in range(count):
            for i in range(3):
                h[k, i] = (
                    R[i, 0] * g[start + k, 0]
                    + R[i, 1] * g[start + k, 1]
                    + R[i, 2] * g[start + k, 2]
                )
        for b in range(count):
            u0, u1, u2 = mu * h[b, 0], mu * h[b, 1], mu * h[b, 2]
            w0, w1, w2 = lam * h[b, 0], lam * h[b, 1], lam * h[b, 2]
            for a in range(b, count):
                slot = slots[pair]
                pair += 1
                h0, h1, h2 = h[a, 0], h[a, 1], h[a, 2]
                along = h0 * u0 + h1 * u1 + h2 * u2
                k01, k10 = u0 * h1 + h0 * w1, u1 * h0 + h1 * w0
                k02, k20 = u0 * h2 + h0 * w2, u2 * h0 + h2 * w0
                k12, k21 = u1 * h2 + h1 * w2, u2 * h1 + h2 * w1
                if slot < 0:
                    slot = ~slot
                    k01, k10, k02, k20, k12, k21 = k10, k01, k20, k02, k21, k12
                block = values[slot]
                block[0, 0] += along + (u0 + w0) * h0
                block[0, 1] += k01
                block[0, 2] += k02
                block[1, 0] += k10
                block[1, 1] += along + (u1 + w1) * h1
                block[1, 2] += k12
                block[2, 0] += k20
                block[2, 1] += k21
                block[2, 2] += along + (u2 + w2) * h2
