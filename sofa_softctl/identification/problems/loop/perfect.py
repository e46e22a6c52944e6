"""A recording that a model fits exactly: what an estimate should bring back to the last digit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sofa_softctl.identification.data.recording import Recording
from sofa_softctl.identification.problems.loop.problem import LoopProblem


def perfect(problem: LoopProblem, rho: np.ndarray, near: Recording) -> Recording:
    """What the model itself does with parameters rho, near a recording.

    Joint angles are those that it comes to; torques those that brought it there, so that a
    feedback that pulls to these angles has nothing to do.

    Args:
        problem: Of the recording.
        rho: Parameters that are to be found, shape (n_rho,).
        near: A recording that tells the motion, at the problem's rate.
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
    # Which node to begin at is free: what alternates is taken out, so that torques are smooth.
    sign = (-1.0) ** np.arange(len(torque))[:, None]
    torque -= sign * (sign * torque).mean(axis=0)
    return replace(near, name="perfect", inputs=np.hstack([torque, b]))
