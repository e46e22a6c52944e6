"""The likeliest inputs of a recorded mechanism, by Gauss-Newton steps along its motion.

Recorded forces u have errors e_k in each step, white with deviation sigma, and an equilibrium start
has a shift s by the errors of the measured coordinates. Minimised is

    sum_i |(y(t_i) - measured_i) / deviation|^2 + sum_k |e_k / sigma|^2

over e and s, along the motion q(e, s) of the variational integrator. Each Gauss-Newton step is one
sweep back and one forward over the linearised motion, see `kernels.smoother`: the time grows
linearly with its length. New motions are steered to the old one, since open-loop ones may be
unstable; the forces of the steering count as errors.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sofa_softctl.identification.data.interpolation import cubic
from sofa_softctl.identification.mechanism.kernels import smoother
from sofa_softctl.identification.mechanism.kernels.arrays import Drive, Steering
from sofa_softctl.identification.mechanism.kernels.smoother import Samples, Steps
from sofa_softctl.identification.mechanism.signals import EquilibriumStart
from sofa_softctl.identification.mechanism.start import Start
from sofa_softctl.identification.mechanism.variational import Trajectory, simulate

if TYPE_CHECKING:
    from sofa_softctl.identification.mechanism.experiment import MechanismExperiment

NODE_DISTANCE_MAX = 1e-3
"""Distance from the end of a step, relative to the step, below which samples count as there [-]."""


@dataclass(frozen=True, eq=False)
class SmoothedTrajectory:
    """A simulated motion, and its cost."""

    rho: np.ndarray
    """Parameters, shape (n_rho,)."""
    shift: np.ndarray
    """Errors of the first measured coordinates of the feedback, shape (m_fed,)."""
    errors: np.ndarray
    """Errors of the noisy forces, shape (K, m)."""
    drive: Drive
    """Forces, errors included."""
    start: Start
    """Start."""
    by_shift: np.ndarray
    """q_0 by the shift, shape (n, m_fed)."""
    trajectory: Trajectory
    """The motion."""
    y: np.ndarray
    """Outputs at the nodes, shape (K + 1, n_y)."""
    y_q: np.ndarray
    """Derivatives of the outputs by q, shape (K + 1, n_y, n)."""
    y_rho: np.ndarray
    """Explicit ones by rho, shape (K + 1, n_y, n_rho)."""
    cost: float
    """Sum of squares [-]."""


@dataclass(frozen=True, eq=False)
class SmootherStep:
    """Trajectory, with its linearisation and the Gauss-Newton step to the most likely inputs."""

    motion: SmoothedTrajectory
    steps: Steps
    samples: Samples
    gain: np.ndarray
    """Shape (K, m, 2 n)."""
    feed: np.ndarray
    """Shape (K, m, 1 + n_rho)."""
    shift: np.ndarray
    """Change of the start's shift, shape (m_fed, 1 + n_rho)."""
    x: np.ndarray
    """Change of the states, shape (K + 1, 2 n, 1 + n_rho)."""
    u: np.ndarray
    """Change of the errors, shape (K, m, 1 + n_rho)."""
    decrease: float
    """Predicted decrease of the cost for the first column [-]."""


class InputSmoother:
    """Motions of a recorded mechanism whose noisy forces have errors.

    Args:
        experiment: With at least one noisy force.
    """

    def __init__(self, experiment: MechanismExperiment) -> None:
        problem = experiment.problem
        self.experiment, self.problem = experiment, problem
        self.own_outputs = () if problem.from_feedback else problem.compared
        """Outputs without the coordinates of the feedback."""
        fed = problem.feedback.channels if problem.feedback else ()
        self.outputs = (*self.own_outputs, *fed)
        """All measured outputs."""
        self.deviations = np.array([output.deviation for output in self.outputs])
        measured_outputs = experiment.recording.outputs[:, : len(self.own_outputs)]
        self.measured = np.hstack([measured_outputs, experiment.fed_signals])
        """Measured outputs, NaN where missing, shape (n_t, n_y)."""
        forces = [force.channel for force in problem.forces]
        self.noisy = np.flatnonzero([force.deviation > 0.0 for force in forces])
        """Indices of the noisy forces."""
        begin = np.array([parameter.start for parameter in experiment.parameters])
        drive, to_middles = experiment.drive_of(begin)
        self.forces = drive.u[:, self.noisy]
        """Recorded noisy forces, in the middle of each step, shape (K, m)."""
        self.simulated_errors = np.zeros_like(self.forces)
        """Errors added to the recorded forces if data are simulated, shape (K, m)."""
        spread = [np.linalg.norm(W.sum(axis=0)) for W in to_middles[: len(forces)]]
        self.sigma = np.array(
            [forces[j].deviation * spread[j] / np.sqrt(experiment.steps) for j in self.noisy]
        )
        """Deviations of their errors: white, with the low-frequency power of the samples' noise."""
        free_start = isinstance(problem.start, EquilibriumStart)
        self.shifts = len(fed) if free_start else 0
        """Number of unknown errors of the start."""
        time, dt, count = experiment.time, problem.dt, experiment.steps
        at = (time - time[0]) / dt
        self.at = np.where(np.abs(at - np.rint(at)) < NODE_DISTANCE_MAX, np.rint(at), at)
        """Samples, in steps from the start."""
        step = np.floor(self.at)
        self._step, self._share = step.astype(np.int64), self.at - step
        self.sample = cubic(dt, count + 1, self.at * dt)[0]
        """Interpolation from the nodes to the samples."""

    def trajectory_from_feedback(self, rho: np.ndarray) -> SmoothedTrajectory:
        """Simulate with the feedback, and return its forces as errors of the inputs."""
        run, base = self.experiment.run(rho), self._base(rho)
        q, feedback_drive = run.trajectory.q, run.drive
        errors = np.zeros((len(feedback_drive.u), len(self.noisy)))
        if len(feedback_drive.fed):
            middle = 0.5 * (q[1:] + q[:-1])[:, feedback_drive.fed]
            gain = np.broadcast_to(
                feedback_drive.gain, (len(feedback_drive.u), *feedback_drive.gain.shape[1:])
            )
            feedback_forces = np.einsum("kij,kj->ki", gain, feedback_drive.target - middle)
            directions = feedback_drive.gain_u[feedback_drive.fed][:, self.noisy]
            errors = feedback_forces @ np.linalg.pinv(directions).T
        drive = base._replace(u=base.u.copy())
        errors = errors - self.simulated_errors
        drive.u[:, self.noisy] += errors
        shift = np.zeros(self.shifts)
        # The same motion: simulated without the feedback, it may be unstable.
        return self._evaluate(rho, shift, errors, drive, self._start(rho, shift), run.trajectory)

    def redrawn(
        self, motion: SmoothedTrajectory, deviations: np.ndarray, random: np.random.Generator
    ) -> tuple[InputSmoother, SmoothedTrajectory]:
        """Return a smoother with data simulated from a trajectory, and the trajectory itself.

        Args:
            motion: True trajectory, with its forces.
            deviations: Noise of the outputs, then of the noisy forces of steps, shape (n_y + m,).
            random: Random generator.
        """
        simulated, n_y = copy(self), self.measured.shape[1]
        noise = deviations[:n_y] * random.standard_normal(self.measured.shape)
        simulated.measured = self.sample @ motion.y + np.where(
            np.isfinite(self.measured), noise, np.nan
        )
        errors = deviations[n_y:] * random.standard_normal(self.forces.shape)
        simulated.simulated_errors = self.simulated_errors + motion.errors + errors
        simulated.forces = self.forces + motion.errors + errors
        start = motion.start, motion.by_shift
        evaluated = simulated._evaluate(
            motion.rho, motion.shift, -errors, motion.drive, start, motion.trajectory
        )
        return simulated, evaluated

    def with_parameters_of(self, step: SmootherStep, rho: np.ndarray) -> SmoothedTrajectory:
        """Simulate with rho and the errors of a step of a similar model, with steering."""
        motion = step.motion
        return self._simulate(rho, motion.shift, motion.errors, self._make_steering(step))

    def step_from(
        self, step: SmootherStep, rho: np.ndarray, change: np.ndarray
    ) -> SmoothedTrajectory:
        """Simulate after a change, a weight of each column, with steering to the old trajectory."""
        motion = step.motion
        errors = motion.errors - step.feed @ change
        shift = motion.shift + step.shift @ change
        return self._simulate(rho, shift, errors, self._make_steering(step))

    def _make_steering(self, step: SmootherStep) -> Steering:
        """Return the feedback to a trajectory, with the gains of its step."""
        motion = step.motion
        gain = np.zeros((len(step.gain), motion.drive.u.shape[1], step.gain.shape[2]))
        gain[:, self.noisy] = step.gain
        return Steering(gain, np.hstack([motion.trajectory.q, motion.trajectory.p]))

    def _simulate(
        self, rho: np.ndarray, shift: np.ndarray, errors: np.ndarray, steering: Steering
    ) -> SmoothedTrajectory:
        base = self._base(rho)
        drive = base._replace(u=base.u.copy())
        drive.u[:, self.noisy] += errors
        start, by_shift = self._start(rho, shift)
        trajectory = simulate(self.problem.mechanism, rho, start, drive, self.problem.dt, steering)
        errors = (drive.u - base.u)[:, self.noisy]  # as steered
        return self._evaluate(rho, shift, errors, drive, (start, by_shift), trajectory)

    def _evaluate(
        self,
        rho: np.ndarray,
        shift: np.ndarray,
        errors: np.ndarray,
        drive: Drive,
        start: tuple[Start, np.ndarray],
        trajectory: Trajectory,
    ) -> SmoothedTrajectory:
        """A motion with its outputs and its cost."""
        drive = self.experiment.with_gains(rho, drive)  # errors are amplified, too
        y, y_q, y_rho = self._read(rho, trajectory.q)
        residuals = (self.sample @ y - self.measured) / self.deviations
        cost = float(np.nansum(residuals**2) + np.sum((errors / self.sigma) ** 2))
        return SmoothedTrajectory(
            rho, shift, errors, drive, *start, trajectory, y, y_q, y_rho, cost
        )

    def _base(self, rho: np.ndarray) -> Drive:
        """Recorded forces, without the feedback."""
        drive, _ = self.experiment.drive_of(rho)
        drive.u[:, self.noisy] += self.simulated_errors
        of_forces = drive.signal < drive.u.shape[1]
        return drive._replace(
            fed=drive.fed[:0],
            gain=np.zeros((1, 0, 0)),
            target=np.zeros((len(drive.u), 0)),
            slope=np.ascontiguousarray(drive.slope[:, of_forces]),
            signal=drive.signal[of_forces],
            parameter=drive.parameter[of_forces],
        )

    def _start(self, rho: np.ndarray, shift: np.ndarray) -> tuple[Start, np.ndarray]:
        """The start, and q_0 by its shift."""
        errors = np.zeros((len(self.experiment.time), len(self.experiment.inputs)))
        first = len(self.problem.forces)  # column of the feedback's first coordinate
        errors[0, first : first + len(shift)] = shift
        start, by_inputs = self.experiment.with_input_errors(errors).start_of(rho)
        return start, by_inputs[:, first : first + len(shift)]

    def _read(self, rho: np.ndarray, q: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Own outputs, then coordinates of the feedback, with derivatives, at the nodes."""
        fed, m = self.experiment.fed, len(q)
        by_q = np.zeros((m, len(fed), q.shape[1]))
        by_q[:, range(len(fed)), fed] = 1.0
        offset, by_rho = self.experiment.fed_offset(rho)
        coordinates = (q[:, fed] + offset, by_q, np.broadcast_to(by_rho, (m, *by_rho.shape)))
        if not self.own_outputs:
            return coordinates
        of_outputs = self.problem.read(rho, q)
        joined = [
            np.concatenate(pair, axis=1) for pair in zip(of_outputs, coordinates, strict=True)
        ]
        return joined[0], joined[1], joined[2]

    def at_samples(self, y_q: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Return changes of the outputs at the samples, linear in a step, (n_t, n_y, columns)."""
        at_nodes = y_q @ x[:, : y_q.shape[2]]
        after = np.minimum(self._step + 1, len(at_nodes) - 1)
        share = self._share[:, None, None]
        return (1.0 - share) * at_nodes[self._step] + share * at_nodes[after]

    def linearise_trajectory(self, motion: SmoothedTrajectory) -> SmootherStep:
        """Compute the Gauss-Newton step of the errors, and their change with the parameters."""
        mechanism, rho = self.problem.mechanism, motion.rho
        path, n = motion.trajectory, motion.trajectory.q.shape[1]
        K, m, columns = *motion.errors.shape, 1 + len(rho)
        steps = Steps(
            np.empty((K, 2 * n, 2 * n)), np.zeros((K, 2 * n, columns)), np.empty((K, 2 * n, m))
        )
        smoother.linearise_steps(
            mechanism.tree, rho, motion.drive, self.problem.dt, path.q, path.multipliers,
            self.noisy, *steps,
        )  # fmt: skip
        residuals = self.sample @ motion.y - self.measured
        is_measured = np.isfinite(residuals)
        explicit = self.sample @ motion.y_rho.reshape(len(motion.y), -1)
        rows = np.concatenate(
            [residuals[..., None], explicit.reshape(*residuals.shape, len(rho))], axis=2
        )
        weight = is_measured / self.deviations
        values = weight[..., None] * np.where(is_measured[..., None], rows, 0.0)
        samples = Samples(self._step, self._share, motion.y_q, weight, values)
        errors = np.zeros((K, m, columns))
        errors[:, :, 0] = motion.errors
        start = np.zeros((2 * n, columns))
        start[:n, 1:], start[n:, 1:] = motion.start.q_rho, path.p_start_rho
        return self.solve_sweeps(motion, steps, samples, errors, start)

    def solve_sweeps(
        self,
        motion: SmoothedTrajectory,
        steps: Steps,
        samples: Samples,
        errors: np.ndarray,
        start: np.ndarray,
    ) -> SmootherStep:
        """Sweep back and forth over linearised steps, from changes of the start (2 n, columns)."""
        K, m, columns = errors.shape
        n = motion.trajectory.q.shape[1]
        gain, feed = np.empty((K, m, 2 * n)), np.empty((K, m, columns))
        P, g, decrease = smoother.backward(steps, samples, errors, self.sigma, gain, feed)
        X = np.vstack([motion.by_shift, np.zeros_like(motion.by_shift)])
        slope = X.T @ (g + P @ start)
        shift = -np.linalg.solve(X.T @ P @ X, slope)
        decrease -= float(slope[:, 0] @ shift[:, 0])
        x, u = np.empty((K + 1, 2 * n, columns)), np.empty((K, m, columns))
        smoother.forward(steps, gain, feed, start + X @ shift, x, u)
        return SmootherStep(motion, steps, samples, gain, feed, shift, x, u, decrease)
