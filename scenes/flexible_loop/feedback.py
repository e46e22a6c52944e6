"""Finite-horizon LQR feedback that keeps a simulated arm near its measured joint angles.

Source: Caldwell, Coleman, Correll 2014, section IV-C: F_c = T_meas - K (b - b_meas), K from the
model linearised around b_meas. The paper feeds back only positions: of the gain on the state, the
block on b is used, computed at the first rho and constant afterwards, so that (9) is the gradient.
"""

from __future__ import annotations

import numpy as np
from scipy.signal import savgol_filter

from sofa_softctl.identification.mechanism import adjoint
from sofa_softctl.identification.mechanism.mechanism import Mechanism
from sofa_softctl.identification.mechanism.start import settle
from sofa_softctl.identification.mechanism.variational import Trajectory, free

from . import baxter

ANGLE = 0.02
"""Deviation of a joint angle that costs as much as `TORQUE` [rad]."""
TORQUE = 1.0
"""Torque that costs as much as `ANGLE` [N m]."""
EVERY = 0.1
"""Time between linearisations; the motion is slow [s]."""
AROUND = 0.25
"""Measured angles before and after that are smoothed by a cubic, for the linearisation [s]."""


def gains(mechanism: Mechanism, rho: np.ndarray, b: np.ndarray, dt: float) -> np.ndarray:
    """Feedback gains of all steps on the arm's joint angles.

    Args:
        mechanism: Arm and loop.
        rho: Parameters, shape (n_rho,).
        b: Measured joint angles, shape (K + 1, 7).
        dt: Time step [s].

    Returns:
        Gains [N m / rad], shape (K, 7, 7).
    """
    m, interval = b.shape[1], round(EVERY / dt)
    window = min(2 * round(AROUND / dt) + 1, len(b) - 1 + len(b) % 2)
    smooth = savgol_filter(b, window, 3, axis=0)
    path = _equilibria(mechanism, rho, smooth[:-1:interval], dt)
    drive = free(mechanism, 1)
    gain_u = np.zeros((len(mechanism.coordinates), m))
    gain_u[:m] = np.eye(m)
    drive = drive._replace(gain_u=gain_u, u=np.zeros((1, m)))
    gains_of_steps = np.empty((len(b) - 1, m, m))
    weight = np.zeros(2 * path.q.shape[1])
    weight[:m] = ANGLE**-2
    P = np.diag(weight)
    for at in range(len(path.q) - 1, -1, -1):
        point = Trajectory(dt, path.q[[at, at]], path.p[[at, at]], path.multipliers[[at]], path.p)
        A, _, C = adjoint.linearise(mechanism, rho, drive, point, 0)
        for k in range(min((at + 1) * interval, len(gains_of_steps)) - 1, at * interval - 1, -1):
            PC = P @ C
            K = np.linalg.solve(np.eye(m) / TORQUE**2 + C.T @ PC, PC.T @ A)
            P = A.T @ P @ (A - C @ K) + np.diag(weight)
            P = 0.5 * (P + P.T)
            gains_of_steps[k] = K[:, :m]
    return gains_of_steps


def _equilibria(mechanism: Mechanism, rho: np.ndarray, b: np.ndarray, dt: float) -> Trajectory:
    """Return equilibria of the loop at postures of the arm."""
    q, mu, held = np.zeros(len(mechanism.coordinates)), None, baxter.JOINTS
    rows = []
    for angles in b:
        q[: len(angles)] = angles
        equilibrium = settle(mechanism, rho, q, held, mu)
        q, mu = equilibrium.start.q.copy(), equilibrium.multipliers
        rows.append((q.copy(), mu * dt))
    path, impulses = (np.array(part) for part in zip(*rows, strict=True))
    return Trajectory(dt, path, np.zeros_like(path), impulses, np.zeros((path.shape[1], 0)))
