"""Forces of drives, dampers and frictions, and their slopes."""

from __future__ import annotations

import numpy as np

from sofa_softctl.base.jit import njit
from sofa_softctl.identification.mechanism.arrays import Drive, Tree
from sofa_softctl.identification.mechanism.kernels.frames import value


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
