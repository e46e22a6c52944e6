"""Derivatives of a step of the variational integrator.

Source: Caldwell, Coleman, Correll 2014, eqs. (7), (8) and (13); A_k and B_k from the KKT system of
the step, multipliers included, which the printed (7b), (8a), (8b) are not.

Sweeps over the steps of a motion: the discrete adjoint, and derivatives forwards.
"""

from __future__ import annotations

import numpy as np

from sofa_softctl.base.jit import njit
from sofa_softctl.identification.mechanism.kernels.arrays import Drive, Lagrangian, Linear, Tree
from sofa_softctl.identification.mechanism.kernels.frames import frames
from sofa_softctl.identification.mechanism.kernels.lagrangian import lagrangian
from sofa_softctl.identification.mechanism.kernels.rows import add_curvature, measure
from sofa_softctl.identification.mechanism.kernels.steps import add_resistance, input_gain


@njit(separate=True)
def linearise(
    tree: Tree,
    rho: np.ndarray,
    drive: Drive,
    k: int,
    dt: float,
    q0: np.ndarray,
    q1: np.ndarray,
    multipliers: np.ndarray,
) -> Linear:
    """Derivatives of step k, from q0 to q1."""
    joint = tree.joint
    n, n_h, n_rho = joint.shape[0], tree.closed.kind.shape[0], rho.shape[0]
    v = (q1 - q0) / dt
    middle = 0.5 * (q0 + q1)
    L = lagrangian(tree, rho, middle, v, True)
    count = tree.parent.shape[0]
    at0, at1 = frames(tree, rho, q0), frames(tree, rho, q1)
    h, Dh0, Dh1 = np.empty(n_h), np.empty((n_h, count)), np.empty((n_h, count))
    measure(tree, tree.closed, rho, at0, h, Dh0)
    measure(tree, tree.closed, rho, at1, h, Dh1)
    curved = np.zeros((count, count))
    add_curvature(tree, at0, multipliers, curved)
    F_q, F_v = np.zeros((n, n)), np.zeros(n)
    gain = drive.gain[min(k, drive.gain.shape[0] - 1)]
    for i in range(drive.fed.shape[0]):
        for j in range(drive.fed.shape[0]):
            F_q[drive.fed[i], drive.fed[j]] -= gain[i, j]
    add_resistance(tree, rho, v, F_v)
    kkt = np.zeros((n + n_h, n + n_h))
    r_q, p_next, p_q = np.empty((n, n)), np.empty((n, n)), np.empty((n, n))
    end = drive.share
    begin = 1.0 - end
    for i in range(n):
        a = joint[i]
        for j in range(n):
            b = joint[j]
            qq, vv = 0.25 * dt * L.qq[a, b], L.vv[a, b] / dt
            qv, vq = 0.5 * L.qv[a, b], 0.5 * L.qv[b, a]
            by_q = 0.5 * dt * F_q[i, j]
            by_v = F_v[i] if i == j else 0.0
            kkt[i, j] = qq + qv - vq - vv + begin * (by_q + by_v)
            r_q[i, j] = qq - qv - vq + vv + begin * (by_q - by_v) - curved[a, b]
            p_next[i, j] = qq + qv + vq + vv + end * (by_q + by_v)
            p_q[i, j] = qq - qv + vq - vv + end * (by_q - by_v)
        for r in range(n_h):
            kkt[i, n + r] = -Dh0[r, a]
            kkt[n + r, i] = Dh1[r, a]
    r_rho, p_rho = np.zeros((n + n_h, n_rho)), np.zeros((n, n_rho))
    add_by_rho(tree, drive, dt, L, v, Dh1, curved, r_rho, p_rho)
    add_signals(drive, k, dt, r_rho, p_rho)
    return Linear(kkt, r_q, r_rho, p_next, p_q, p_rho)


@njit
def add_by_rho(
    tree: Tree,
    drive: Drive,
    dt: float,
    L: Lagrangian,
    v: np.ndarray,
    Dh1: np.ndarray,
    curved: np.ndarray,
    r_rho: np.ndarray,
    p_rho: np.ndarray,
) -> None:
    """Derivatives by parameters of masses, springs, dampers, frictions, lengths, targets."""
    joint, end = tree.joint, drive.share
    n, n_h, n_rho = joint.shape[0], Dh1.shape[0], r_rho.shape[1]
    begin = 1.0 - end
    for i in range(n):
        for m in range(n_rho):
            half = 0.5 * dt * L.q_rho[joint[i], m]
            r_rho[i, m] = half - L.v_rho[joint[i], m]
            p_rho[i, m] = half + L.v_rho[joint[i], m]
    for d in range(tree.damper.shape[0]):
        m, c = tree.damping.parameter[d], tree.damper[d]
        if m >= 0:
            change = -dt * tree.damping.factor[d] * v[c]
            r_rho[c, m] += begin * change
            p_rho[c, m] += end * change
    for f in range(tree.rubbing.shape[0]):
        m, c = tree.friction.parameter[f], tree.rubbing[f]
        if m >= 0:
            change = -dt * tree.friction.factor[f] * np.tanh(v[c] / tree.creep[f])
            r_rho[c, m] += begin * change
            p_rho[c, m] += end * change
    for f in range(tree.parent.shape[0]):  # places of joints that do not move
        m = tree.rigid.parameter[f]
        if m < 0:
            continue
        factor = tree.rigid.factor[f]
        for i in range(n):
            half, full = 0.5 * dt * L.qq[joint[i], f], L.qv[f, joint[i]]
            r_rho[i, m] += factor * (half - full - curved[joint[i], f])
            p_rho[i, m] += factor * (half + full)
        for r in range(n_h):
            r_rho[n + r, m] += factor * Dh1[r, f]
    for r in range(n_h):
        m = tree.closed.target.parameter[r]
        if m >= 0:
            r_rho[n + r, m] -= tree.closed.target.factor[r]


@njit
def add_signals(drive: Drive, k: int, dt: float, r_rho: np.ndarray, p_rho: np.ndarray) -> None:
    """Derivatives by parameters that change inputs or targets, such as delays."""
    n_u = drive.u.shape[1]
    for s in range(drive.signal.shape[0]):
        m = drive.parameter[s]
        for i in range(drive.gain_u.shape[0]):
            change = dt * drive.slope[k, s] * input_gain(drive, k, i, drive.signal[s], n_u)
            r_rho[i, m] += (1.0 - drive.share) * change
            p_rho[i, m] += drive.share * change


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
