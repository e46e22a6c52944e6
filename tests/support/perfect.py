"""Recordings that a model fits exactly, for tests of estimates."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from scenes.flexible_loop.problem import LoopProblem
from sofa_softctl.identification.model.recording import Recording


def perfect(problem: LoopProblem, rho: np.ndarray, near: Recording) -> Recording:
    """A recording of the model itself with parameters rho, near a given recording.

    Joint angles are those of its simulation, and torques include the feedback there, so that a
    feedback to these angles is zero.

    Args:
        problem: Problem of the recording.
        rho: True parameters, shape (n_rho,).
        near: Recording of the motion, at the problem's rate.
    """
    experiment = problem.experiment(near)
    drive, motion = experiment.drive(rho), experiment.trajectory(rho)
    b = motion.q[:, drive.fed]
    middle = 0.5 * (b[1:] + b[:-1])
    pulled = np.einsum("kij,kj->ki", drive.gain, middle - drive.target)
    torque = np.empty_like(b)
    torque[0] = near.inputs[0, : b.shape[1]]
    for k, mean in enumerate(drive.u - pulled):  # the model takes means of neighbours
        torque[k + 1] = 2.0 * mean - torque[k]
    # The first torque is free: the alternating part is removed, so that torques are smooth.
    sign = (-1.0) ** np.arange(len(torque))[:, None]
    torque -= sign * (sign * torque).mean(axis=0)
    return replace(near, name="perfect", inputs=np.hstack([torque, b]))
