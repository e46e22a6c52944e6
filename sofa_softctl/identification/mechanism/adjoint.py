"""Linearised steps, forward sensitivities and adjoint gradients of simulated motions.

Source: Caldwell, Coleman, Correll 2014, section II-B and Lemma 1. Departures: the printed (8a) and
(8b) give total derivatives ("depends on B_k-1") where Lemma 1 needs explicit ones, and (7b), (8a)
leave out the derivatives of the multipliers. Here both come from the KKT system of the step,
[[D2 D1 L_d + D2 F_d-, -D1 h(q_k)^T], [D1 h(q_k+1), 0]]. A start that depends on the parameters
adds lambda_0 dx_0/drho to (9).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sofa_softctl.identification.mechanism import kernels
from sofa_softctl.identification.mechanism.kernels.arrays import Drive
from sofa_softctl.identification.mechanism.mechanism import Mechanism
from sofa_softctl.identification.mechanism.start import Start
from sofa_softctl.identification.mechanism.variational import Trajectory


@dataclass(frozen=True, eq=False)
class Cost:
    """A cost J of a motion, running costs plus a terminal one, with its derivatives."""

    value: float
    """J."""
    by_q: np.ndarray
    """D1 l_d by q, plus D1 m_d at the last step, shape (K + 1, n)."""
    by_p: np.ndarray
    """The same by p, shape (K + 1, n)."""
    by_rho: np.ndarray
    """Explicit derivative, sum of D2 l_d, plus D2 m_d, shape (n_rho,)."""


@dataclass(frozen=True, eq=False)
class Gradient:
    """Derivatives of a cost."""

    by_rho: np.ndarray
    """DJ_d(rho) of eq. (9), shape (n_rho,)."""
    by_inputs: np.ndarray
    """Derivatives by u and target at the middle of each step, shape (K, n_u + m)."""
    by_start: tuple[np.ndarray, np.ndarray]
    """lambda_0: derivatives by q_0 and p_0, each of shape (n,)."""


def gradient(
    mechanism: Mechanism,
    rho: np.ndarray,
    start: Start,
    drive: Drive,
    trajectory: Trajectory,
    cost: Cost,
) -> Gradient:
    """Derivatives of a cost by one backward sweep, eqs. (9) and (10).

    The time hardly grows with the number of parameters: one transposed solve a step.
    """
    rho = np.asarray(rho, dtype=float)
    by_rho, path = cost.by_rho.astype(float), _path(trajectory)
    by_inputs = np.zeros((len(drive.u), drive.u.shape[1] + len(drive.fed)))
    covectors = (np.ascontiguousarray(cost.by_q), np.ascontiguousarray(cost.by_p))
    a_q, a_p = kernels.pull(mechanism.tree, rho, drive, *path, *covectors, by_rho, by_inputs)
    by_rho += a_q @ start.q_rho + a_p @ trajectory.p_start_rho
    return Gradient(by_rho, by_inputs, (a_q, a_p))


def sensitivities(
    mechanism: Mechanism, rho: np.ndarray, start: Start, drive: Drive, trajectory: Trajectory
) -> tuple[np.ndarray, np.ndarray]:
    """dq_k/drho and dp_k/drho of all steps by a forward sweep, each of shape (K + 1, n, n_rho)."""
    z_q = np.zeros((*trajectory.q.shape, len(mechanism.parameters)))
    z_p = np.zeros_like(z_q)
    z_q[0], z_p[0] = start.q_rho, trajectory.p_start_rho
    rho = np.asarray(rho, dtype=float)
    kernels.push(mechanism.tree, rho, drive, *_path(trajectory), z_q, z_p)
    return z_q, z_p


def linearise(
    mechanism: Mechanism, rho: np.ndarray, drive: Drive, trajectory: Trajectory, k: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A_k, B_k of eq. (6), and C_k, the derivative by u and target of the step.

    Returns:
        d(q, p)_k+1 by (q, p)_k, by rho and by inputs: (2 n, 2 n), (2 n, n_rho), (2 n, n_u + m).
    """
    rho, n = np.asarray(rho, dtype=float), trajectory.q.shape[1]
    dt, q, multipliers = _path(trajectory)
    step = kernels.linearise(mechanism.tree, rho, drive, k, dt, q[k], q[k + 1], multipliers[k])
    gains = _gains(drive, k)
    upper = np.hstack([step.r_q, np.eye(n), step.r_rho[:n], (1.0 - drive.share) * dt * gains])
    lower = np.zeros((len(step.r_rho) - n, upper.shape[1]))
    lower[:, 2 * n : 2 * n + len(rho)] = step.r_rho[n:]
    by_q = -np.linalg.solve(step.kkt, np.vstack([upper, lower]))[:n]
    direct = np.hstack([step.p_q, np.zeros((n, n)), step.p_rho, drive.share * dt * gains])
    full = np.vstack([by_q, step.p_next @ by_q + direct])
    A, B, C = np.split(full, [2 * n, 2 * n + len(rho)], axis=1)
    return A, B, C


def _gains(drive: Drive, k: int) -> np.ndarray:
    """Derivatives of forces by u and target, shape (n, n_u + m)."""
    fed = np.zeros((len(drive.gain_u), len(drive.fed)))
    fed[drive.fed] = drive.gain[min(k, len(drive.gain) - 1)]
    return np.hstack([drive.gain_u, fed])


def _path(trajectory: Trajectory) -> tuple[float, np.ndarray, np.ndarray]:
    return trajectory.dt, trajectory.q, trajectory.multipliers
