"""Forces of drives, dampers and frictions, and their slopes.

Steps of the midpoint variational integrator.

Source: Caldwell, Coleman, Correll 2014, eqs. (3) to (6).
"""

from __future__ import annotations

import numpy as np

from sofa_softctl.base.jit import njit
from sofa_softctl.identification.mechanism.kernels.arrays import Drive, Steering, Tree
from sofa_softctl.identification.mechanism.kernels.frames import frames, value
from sofa_softctl.identification.mechanism.kernels.lagrangian import lagrangian
from sofa_softctl.identification.mechanism.kernels.rows import measure


@njit
def force(tree: Tree, rho: np.ndarray, drive: Drive, k: int, q: np.ndarray, v: np.ndarray):  # type: ignore[no-untyped-def]
    """F_c at the middle of step k, shape (n,)."""
    F = drive.gain_u @ drive.u[k]
    gain = drive.gain[min(k, drive.gain.shape[0] - 1)]
    for i in range(drive.fed.shape[0]):
        for j in range(drive.fed.shape[0]):
            F[drive.fed[i]] -= gain[i, j] * (q[drive.fed[j]] - drive.target[k, j])
    for d in range(tree.damper.shape[0]):
        c = tree.damper[d]
        F[c] -= value(tree.damping, d, rho) * v[c]
    for f in range(tree.rubbing.shape[0]):
        c = tree.rubbing[f]
        F[c] -= value(tree.friction, f, rho) * np.tanh(v[c] / tree.creep[f])
    return F


@njit
def add_resistance(tree: Tree, rho: np.ndarray, v: np.ndarray, out: np.ndarray):  # type: ignore[no-untyped-def]
    """out -= slopes of the forces of dampers and Coulomb frictions by v, shape (n,)."""
    for d in range(tree.damper.shape[0]):
        out[tree.damper[d]] -= value(tree.damping, d, rho)
    for f in range(tree.rubbing.shape[0]):
        c, creep = tree.rubbing[f], tree.creep[f]
        t = np.tanh(v[c] / creep)
        out[c] -= value(tree.friction, f, rho) * (1.0 - t * t) / creep


@njit
def add_force_slope(
    tree: Tree, rho: np.ndarray, drive: Drive, k: int, dt: float, v: np.ndarray, kkt: np.ndarray
) -> None:
    """kkt += derivative of F_d- by q_k+1."""
    begin = 1.0 - drive.share
    gain = drive.gain[min(k, drive.gain.shape[0] - 1)]
    for i in range(drive.fed.shape[0]):
        for j in range(drive.fed.shape[0]):
            kkt[drive.fed[i], drive.fed[j]] -= begin * 0.5 * dt * gain[i, j]
    F_v = np.zeros(v.shape[0])
    add_resistance(tree, rho, v, F_v)
    for i in range(v.shape[0]):
        kkt[i, i] += begin * F_v[i]


@njit
def input_gain(drive: Drive, k: int, i: int, s: int, n_u: int) -> float:
    """Force on coordinate i for a unit of signal s of step k: an input or a target."""
    if s < n_u:
        return drive.gain_u[i, s]
    gain = drive.gain[min(k, drive.gain.shape[0] - 1)]
    for a in range(drive.fed.shape[0]):
        if drive.fed[a] == i:
            return gain[a, s - n_u]
    return 0.0


OF_CREEP = 1e-3
"""A coordinate's last Newton step, at most, in its friction's creep of a time step."""


@njit
def simulate(
    tree: Tree,
    rho: np.ndarray,
    drive: Drive,
    dt: float,
    q0: np.ndarray,
    p0: np.ndarray,
    v0: np.ndarray,
    q: np.ndarray,
    p: np.ndarray,
    multipliers: np.ndarray,
    steering: Steering,
    tolerance: float,
    iterations_max: int,
) -> int:
    """Simulate into q and p, shape (K + 1, n), and multipliers, (K, n_h); return completed steps.

    v0 is the first guess of Newton's iteration, which ends when a coordinate changes by less than
    `tolerance`, and by less than friction resolves. Ends at a step that does not converge.
    Steering changes u of the drive.
    """
    joint = tree.joint
    n, n_h, count = joint.shape[0], tree.closed.kind.shape[0], tree.parent.shape[0]
    steps = q.shape[0] - 1
    q[0], p[0] = q0, p0
    rates = v0.copy()
    guess = np.zeros(n_h)
    h, Dh0, Dh1 = np.empty(n_h), np.empty((n_h, count)), np.empty((n_h, count))
    kkt, rest = np.zeros((n + n_h, n + n_h)), np.empty(n + n_h)
    end, tolerances = drive.share, np.full(n, tolerance)
    for f in range(tree.rubbing.shape[0]):
        if value(tree.friction, f, rho) > 0.0:
            c = tree.rubbing[f]
            tolerances[c] = min(tolerances[c], OF_CREEP * tree.creep[f] * dt)
    measure(tree, tree.closed, rho, frames(tree, rho, q0), h, Dh0)
    for k in range(steps):
        if steering.gain.shape[0]:
            steer(drive.u[k], steering.gain[k], q[k], p[k], steering.path[k])
        q_begin, lam = q[k], guess.copy()
        q_end = q_begin + dt * rates
        converged = False
        for _ in range(iterations_max):
            v = (q_end - q_begin) / dt
            L = lagrangian(tree, rho, 0.5 * (q_begin + q_end), v, False)
            measure(tree, tree.closed, rho, frames(tree, rho, q_end), h, Dh1)
            F = force(tree, rho, drive, k, 0.5 * (q_begin + q_end), v)
            for i in range(n):
                a = joint[i]
                total = p[k, i] + 0.5 * dt * L.q[a] - L.v[a] + (1.0 - end) * dt * F[i]
                for r in range(n_h):
                    total -= Dh0[r, a] * lam[r]
                    kkt[i, n + r] = -Dh0[r, a]
                    kkt[n + r, i] = Dh1[r, a]
                rest[i] = total
                for j in range(n):
                    b = joint[j]
                    kkt[i, j] = (
                        0.25 * dt * L.qq[a, b] + 0.5 * (L.qv[a, b] - L.qv[b, a]) - L.vv[a, b] / dt
                    )
            add_force_slope(tree, rho, drive, k, dt, v, kkt)
            rest[n:] = h
            if not np.all(np.isfinite(rest)):
                return k
            change = np.linalg.solve(kkt, rest)
            q_end = q_end - change[:n]
            lam = lam - change[n:]
            hold_reversed(tree, rho, v, q_begin, q_end)
            if np.all(np.abs(change[:n]) < tolerances):
                converged = True
                break
        if not converged:
            return k
        v = (q_end - q_begin) / dt
        L = lagrangian(tree, rho, 0.5 * (q_begin + q_end), v, False)
        F = force(tree, rho, drive, k, 0.5 * (q_begin + q_end), v)
        for i in range(n):
            p[k + 1, i] = 0.5 * dt * L.q[joint[i]] + L.v[joint[i]] + end * dt * F[i]
        rates, guess = v, lam
        q[k + 1], multipliers[k] = q_end, lam
        measure(tree, tree.closed, rho, frames(tree, rho, q_end), h, Dh0)
    return steps


@njit
def hold_reversed(
    tree: Tree, rho: np.ndarray, v: np.ndarray, q_begin: np.ndarray, q_end: np.ndarray
) -> None:
    """Leave rubbing coordinates at rest whose speed was v, and which an iteration reverses.

    Newton's iteration with friction may go to and fro about rest for ever. From rest, where
    friction has its largest slope, it goes to the solution from one side.
    """
    for f in range(tree.rubbing.shape[0]):
        c = tree.rubbing[f]
        if value(tree.friction, f, rho) > 0.0 and v[c] * (q_end[c] - q_begin[c]) < 0.0:
            q_end[c] = q_begin[c]


@njit
def steer(u: np.ndarray, gain: np.ndarray, q: np.ndarray, p: np.ndarray, path: np.ndarray) -> None:
    """u -= gain ((q, p) - path)."""
    n = q.shape[0]
    for i in range(u.shape[0]):
        for j in range(n):
            u[i] -= gain[i, j] * (q[j] - path[j]) + gain[i, n + j] * (p[j] - path[n + j])
