"""Sweeps over the steps of a motion: the discrete adjoint, and derivatives forwards."""

from __future__ import annotations

import numpy as np

from sofa_softctl.base.jit import njit
from sofa_softctl.identification.mechanism.arrays import Drive, Tree
from sofa_softctl.identification.mechanism.kernels.forces import input_gain
from sofa_softctl.identification.mechanism.kernels.linearization import linearise


@njit
def pull(
    tree: Tree,
    rho: np.ndarray,
    drive: Drive,
    dt: float,
    q: np.ndarray,
    multipliers: np.ndarray,
    by_q: np.ndarray,
    by_p: np.ndarray,
    by_rho: np.ndarray,
    by_inputs: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """The recursion (10) and the sum of (9), backwards; the covector of the start, by q and p.

    by_q, by_p: derivatives of the cost by states, shape (K + 1, n). Results are added to by_rho,
    shape (n_rho,), and to by_inputs, by u and target of each step, shape (K, n_u + m). A_k and B_k
    are never formed: one transposed solve a step.
    """
    n, n_u = q.shape[1], drive.u.shape[1]
    rest = np.zeros(n + multipliers.shape[1])
    a_q, a_p = by_q[-1].copy(), by_p[-1].copy()
    for k in range(q.shape[0] - 2, -1, -1):
        step = linearise(tree, rho, drive, k, dt, q[k], q[k + 1], multipliers[k])
        rest[:n] = a_q + step.p_next.T @ a_p
        rest[n:] = 0.0
        y = np.linalg.solve(step.kkt.T, rest)
        by_rho += step.p_rho.T @ a_p - step.r_rho.T @ y
        push_force = dt * (drive.share * a_p - (1.0 - drive.share) * y[:n])
        for i in range(n):
            for s in range(by_inputs.shape[1]):
                by_inputs[k, s] += push_force[i] * input_gain(drive, k, i, s, n_u)
        a_q = by_q[k] + step.p_q.T @ a_p - step.r_q.T @ y[:n]
        a_p = by_p[k] - y[:n]
    return a_q, a_p


@njit
def push(
    tree: Tree,
    rho: np.ndarray,
    drive: Drive,
    dt: float,
    q: np.ndarray,
    multipliers: np.ndarray,
    z_q: np.ndarray,
    z_p: np.ndarray,
) -> None:
    """z_k+1 = A_k z_k + B_k, from their first entries on, both (K + 1, n, n_rho)."""
    n = q.shape[1]
    for k in range(q.shape[0] - 1):
        step = linearise(tree, rho, drive, k, dt, q[k], q[k + 1], multipliers[k])
        rest = -step.r_rho
        rest[:n] -= step.r_q @ z_q[k] + z_p[k]
        y = np.linalg.solve(step.kkt, rest)
        z_q[k + 1] = y[:n]
        z_p[k + 1] = step.p_next @ z_q[k + 1] + step.p_q @ z_q[k] + step.p_rho
