"""The likeliest inputs of a recorded mechanism, by Gauss-Newton steps along its motion.

Each step is one sweep back and one forward over the linearised motion, see `kernels.smoother`: the
time grows linearly with its length.
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
from sofa_softctl.identification.mechanism.signals import Settled
from sofa_softctl.identification.mechanism.start import Start
from sofa_softctl.identification.mechanism.variational import Trajectory, simulate

if TYPE_CHECKING:
    from sofa_softctl.identification.mechanism.experiment import MechanismExperiment

ON_NODE = 1e-3
"""Samples closer to the end of a step than this share of it are taken there."""


@dataclass(frozen=True, eq=False)
class Motion:
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
    """Their derivatives by q, shape (K + 1, n_y, n)."""
    y_rho: np.ndarray
    """Explicit ones by rho, shape (K + 1, n_y, n_rho)."""
    cost: float
    """Sum of squares [-]."""


@dataclass(frozen=True, eq=False)
class Smoothed:
    """A motion with the likeliest inputs, linearised."""

    motion: Motion
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
    """Of the cost, as predicted for the first column."""


class InputSmoother:
    """Motions of a recorded mechanism whose noisy forces have errors.

    Args:
        experiment: With at least one noisy force.
    """

    def __init__(self, experiment: MechanismExperiment) -> None:
        problem = experiment.problem
        self.experiment, self.problem = experiment, problem
        self.own = () if problem.from_feedback else problem.compared
        """Outputs besides the coordinates of the feedback."""
        fed = problem.feedback.channels if problem.feedback else ()
        self.outputs = (*self.own, *fed)
        """All measured outputs."""
        self.deviations = np.array([output.deviation for output in self.outputs])
        seen = experiment.recording.outputs[:, : len(self.own)]
        self.seen = np.hstack([seen, experiment.fed_signals])
        """What was measured, NaN where missing, shape (n_t, n_y)."""
        forces = [force.channel for force in problem.forces]
        self.noisy = np.flatnonzero([force.deviation > 0.0 for force in forces])
        """Indices of the noisy forces."""
        begin = np.array([parameter.start for parameter in experiment.parameters])
        drive, to_middles = experiment.drive_of(begin)
        self.forces = drive.u[:, self.noisy]
        """Them as recorded, in the middle of each step, shape (K, m)."""
        self.added = np.zeros_like(self.forces)
        """What was added to the recorded ones where data are simulated, shape (K, m)."""
        spread = [np.linalg.norm(W.sum(axis=0)) for W in to_middles[: len(forces)]]
        self.sigma = np.array(
            [forces[j].deviation * spread[j] / np.sqrt(experiment.steps) for j in self.noisy]
        )
        """Deviations of their errors: white, with the low-frequency power of the samples' noise."""
        free_start = isinstance(problem.start, Settled)
        self.shifts = len(fed) if free_start else 0
        """Number of unknown errors of the start."""
        time, dt, count = experiment.time, problem.dt, experiment.steps
        at = (time - time[0]) / dt
        self.at = np.where(np.abs(at - np.rint(at)) < ON_NODE, np.rint(at), at)
        """Samples, in steps from the start."""
        step = np.floor(self.at)
        self._step, self._share = step.astype(np.int64), self.at - step
        self.sample = cubic(dt, count + 1, self.at * dt)[0]
        """Interpolation from the nodes to the samples."""

    def first(self, rho: np.ndarray) -> Motion:
        """The motion under the feedback, with the feedback's forces as errors."""
        run, base = self.experiment.run(rho), self._base(rho)
        q, given = run.trajectory.q, run.drive
        errors = np.zeros((len(given.u), len(self.noisy)))
        if len(given.fed):
            middle = 0.5 * (q[1:] + q[:-1])[:, given.fed]
            gain = np.broadcast_to(given.gain, (len(given.u), *given.gain.shape[1:]))
            pushed = np.einsum("kij,kj->ki", gain, given.target - middle)
            along = given.gain_u[given.fed][:, self.noisy]
            errors = pushed @ np.linalg.pinv(along).T
        drive = base._replace(u=base.u.copy())
        errors = errors - self.added
        drive.u[:, self.noisy] += errors
        shift = np.zeros(self.shifts)
        # The same motion: simulated without the feedback, it may be unstable.
        return self._judged(rho, shift, errors, drive, self._start(rho, shift), run.trajectory)

    def redrawn(
        self, motion: Motion, deviations: np.ndarray, random: np.random.Generator
    ) -> tuple[InputSmoother, Motion]:
        """The same with data simulated by a motion, and that motion beside them.

        Args:
            motion: Taken as true, with its forces.
            deviations: Noise of the outputs, then of the noisy forces of steps, shape (n_y + m,).
            random: Random generator.
        """
        other, n_y = copy(self), self.seen.shape[1]
        noise = deviations[:n_y] * random.standard_normal(self.seen.shape)
        other.seen = self.sample @ motion.y + np.where(np.isfinite(self.seen), noise, np.nan)
        errors = deviations[n_y:] * random.standard_normal(self.forces.shape)
        other.added = self.added + motion.errors + errors
        other.forces = self.forces + motion.errors + errors
        start = motion.start, motion.by_shift
        judged = other._judged(
            motion.rho, motion.shift, -errors, motion.drive, start, motion.trajectory
        )
        return other, judged

    def resumed(self, found: Smoothed, rho: np.ndarray) -> Motion:
        """The motion with the errors of one of a like model; deviations are fed back."""
        motion = found.motion
        return self._simulated(rho, motion.shift, motion.errors, self._steering(found))

    def moved(self, found: Smoothed, rho: np.ndarray, change: np.ndarray) -> Motion:
        """The motion after a change, a weight of each column; deviations are fed back."""
        motion = found.motion
        errors = motion.errors - found.feed @ change
        shift = motion.shift + found.shift @ change
        return self._simulated(rho, shift, errors, self._steering(found))

    def _steering(self, found: Smoothed) -> Steering:
        """Feedback to a motion, by its own gains."""
        motion = found.motion
        gain = np.zeros((len(found.gain), motion.drive.u.shape[1], found.gain.shape[2]))
        gain[:, self.noisy] = found.gain
        return Steering(gain, np.hstack([motion.trajectory.q, motion.trajectory.p]))

    def _simulated(
        self, rho: np.ndarray, shift: np.ndarray, errors: np.ndarray, steering: Steering
    ) -> Motion:
        base = self._base(rho)
        drive = base._replace(u=base.u.copy())
        drive.u[:, self.noisy] += errors
        start, by_shift = self._start(rho, shift)
        trajectory = simulate(self.problem.mechanism, rho, start, drive, self.problem.dt, steering)
        errors = (drive.u - base.u)[:, self.noisy]  # as steered
        return self._judged(rho, shift, errors, drive, (start, by_shift), trajectory)

    def _judged(
        self,
        rho: np.ndarray,
        shift: np.ndarray,
        errors: np.ndarray,
        drive: Drive,
        start: tuple[Start, np.ndarray],
        trajectory: Trajectory,
    ) -> Motion:
        """A motion with its outputs and its cost."""
        drive = self.experiment.with_gains(rho, drive)  # errors are amplified, too
        y, y_q, y_rho = self._read(rho, trajectory.q)
        residuals = (self.sample @ y - self.seen) / self.deviations
        cost = float(np.nansum(residuals**2) + np.sum((errors / self.sigma) ** 2))
        return Motion(rho, shift, errors, drive, *start, trajectory, y, y_q, y_rho, cost)

    def _base(self, rho: np.ndarray) -> Drive:
        """Recorded forces, without the feedback."""
        drive, _ = self.experiment.drive_of(rho)
        drive.u[:, self.noisy] += self.added
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
        first = len(self.problem.forces)
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
        if not self.own:
            return coordinates
        own = self.problem.read(rho, q)
        joined = [np.concatenate(pair, axis=1) for pair in zip(own, coordinates, strict=True)]
        return joined[0], joined[1], joined[2]

    def at_samples(self, y_q: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Changes of the outputs at the samples, linear within a step, (n_t, n_y, columns)."""
        at_nodes = y_q @ x[:, : y_q.shape[2]]
        after = np.minimum(self._step + 1, len(at_nodes) - 1)
        share = self._share[:, None, None]
        return (1.0 - share) * at_nodes[self._step] + share * at_nodes[after]

    def linearised(self, motion: Motion) -> Smoothed:
        """The Gauss-Newton step of the errors, and their change with the parameters."""
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
        residuals = self.sample @ motion.y - self.seen
        there = np.isfinite(residuals)
        explicit = self.sample @ motion.y_rho.reshape(len(motion.y), -1)
        rows = np.concatenate(
            [residuals[..., None], explicit.reshape(*residuals.shape, len(rho))], axis=2
        )
        weight = there / self.deviations
        values = weight[..., None] * np.where(there[..., None], rows, 0.0)
        samples = Samples(self._step, self._share, motion.y_q, weight, values)
        errors = np.zeros((K, m, columns))
        errors[:, :, 0] = motion.errors
        start = np.zeros((2 * n, columns))
        start[:n, 1:], start[n:, 1:] = motion.start.q_rho, path.p_start_rho
        return self.swept(motion, steps, samples, errors, start)

    def swept(
        self,
        motion: Motion,
        steps: Steps,
        samples: Samples,
        errors: np.ndarray,
        start: np.ndarray,
    ) -> Smoothed:
        """Both sweeps over linearised steps, from changes of the start (2 n, columns)."""
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
        return Smoothed(motion, steps, samples, gain, feed, shift, x, u, decrease)
