"""Residuals of MuJoCo's rollouts, as functions of the parameters."""

from __future__ import annotations

from time import process_time

import numpy as np

from benchmarks.mujoco.mjcf import along, inertial, mjcf
from benchmarks.mujoco.record import load, rollout
from sofa_softctl.identification.mechanism.problem import MechanismProblem
from sofa_softctl.identification.model.recording import Recording


class Rollouts:
    """Measured outputs of a recording beside MuJoCo's, in standard deviations.

    Models are compiled once and edited; a rollout has no Python in its loop. Recorded forces are
    interpolated linearly at the middles of MuJoCo's steps.

    Args:
        problem: Of a motion that starts at rest, with all coordinates zero.
        recording: Sampled at the problem's time steps, without missing samples.
        scale: Parameters are searched in multiples of these, shape (n_rho,).
        per_sample: Steps of MuJoCo for each sample.
        integrator: MuJoCo's name of its integrator.
    """

    def __init__(
        self,
        problem: MechanismProblem,
        recording: Recording,
        scale: np.ndarray,
        *,
        per_sample: int,
        integrator: str,
    ) -> None:
        self.problem, self.recording, self.scale = problem, recording, scale
        self.every = per_sample
        step = problem.dt / per_sample
        text = mjcf(problem, scale, step=step, integrator=integrator)
        self._spec = load().MjSpec.from_string(text)
        middles = step * (np.arange((len(recording.time) - 1) * per_sample + 1) + 0.5)
        self._forces = np.column_stack(
            [np.interp(middles, recording.time, column) for column in recording.inputs.T]
        )
        tree = problem.mechanism.tree
        unknown = np.unique(tree.body[tree.mass.parameter >= 0])
        self._of_unknown_mass = [problem.mechanism.joints[k].name for k in unknown]
        self._deviation = np.array([one.deviation for one in problem.channels])
        self.simulations = 0
        self.trace: list[tuple[float, np.ndarray]] = []
        """Processor time after each evaluation of one point, and the point."""

    def residuals(self, x: np.ndarray) -> np.ndarray:
        """Residuals, shape (n_residuals,) of one point (n_rho,), (n_residuals, m) of (n_rho, m)."""
        points = x.reshape(len(self.scale), -1).T * self.scale
        outputs = rollout(
            [self._model(rho) for rho in points], np.zeros(self._coordinates), self._forces
        )[:, :: self.every]
        self.simulations += len(points)
        weighted = (outputs - self.recording.outputs) / self._deviation
        found = weighted.reshape(len(points), -1).T
        if len(points) == 1:
            self.trace.append((process_time(), points[0]))
        return found if x.ndim > 1 else found[:, 0]

    def jacobian(self, x: np.ndarray) -> np.ndarray:
        """Forward differences, all in one batch of rollouts, shape (n_residuals, n_rho)."""
        eps = np.sqrt(np.finfo(float).eps) * np.maximum(1.0, np.abs(x))
        points = x[:, None] + np.column_stack([np.zeros(len(x)), np.diag(eps)])
        found = self.residuals(points)
        return (found[:, 1:] - found[:, :1]) / eps

    @property
    def _coordinates(self) -> int:
        return len(self.problem.mechanism.coordinates)

    def _model(self, rho: np.ndarray) -> object:
        """MuJoCo's model with other parameters."""
        mechanism = self.problem.mechanism
        for joint in self._of_unknown_mass:
            body, carried = self._spec.body(joint), inertial(joint, mechanism, rho)
            assert carried is not None
            body.mass, body.ipos, body.fullinertia = carried
        for name, stiffness, rest, damping in zip(
            mechanism.coordinates, *along(mechanism, rho), strict=True
        ):
            joint = self._spec.joint(name)
            joint.stiffness[0], joint.springref, joint.damping[0] = stiffness, rest, damping
        return self._spec.compile()
