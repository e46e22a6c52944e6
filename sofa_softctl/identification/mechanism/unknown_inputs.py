"""Experiment of a mechanism whose noisy inputs are unknowns: errors in variables.

Recorded forces have errors, which drive the simulation as well. Where they are taken as exact,
estimates are biased. Here the errors are unknowns, one of each noisy force a step, weighed by their
own noise: for given parameters, the likeliest ones minimise

    sum ((predicted - measured) / deviation)^2 + sum (error / deviation)^2.

They are found by Gauss-Newton steps, each one sweep back and one forward over the motion (see
`smoother_kernels`): the time grows linearly with its length. To a search, the recorded forces are
further channels, compared with the likeliest ones: the sum of all squares is the profile likelihood
of the parameters.

A feedback to measured coordinates is left out: these are compared as they were measured, and what
it would push is left to the errors of forces.

Source: Fuller 1987, "Measurement error models", chapter 3 (maximum likelihood of the functional
    model, consistent for known variances); the recursion of Bryson, Ho 1975, section 13.3.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sofa_softctl.errors import SimulationError
from sofa_softctl.identification.data.interpolation import cubic
from sofa_softctl.identification.experiment import Channel, Experiment
from sofa_softctl.identification.fitting.joint_search import Rows
from sofa_softctl.identification.mechanism import smoother_kernels
from sofa_softctl.identification.mechanism.arrays import Drive, Steering
from sofa_softctl.identification.mechanism.signals import Settled
from sofa_softctl.identification.mechanism.smoother_kernels import Samples, Steps
from sofa_softctl.identification.mechanism.start import Start
from sofa_softctl.identification.mechanism.variational import Trajectory, simulate
from sofa_softctl.identification.parameter import Parameter

if TYPE_CHECKING:
    from sofa_softctl.identification.mechanism.experiment import MechanismExperiment

ITERATIONS = 50
"""Limit of Gauss-Newton steps."""
DECREASE = 1e-2
"""Predicted decrease of the cost at which they end: a tenth of a deviation, squared [-]."""
ARMIJO = 0.1
"""Least share of a predicted decrease that a step must bring."""
SHORTEST = 1e-3
"""Shortest step."""
ON_NODE = 1e-3
"""Samples closer to the end of a step than this share of it are taken there."""


@dataclass(frozen=True, eq=False)
class _Motion:
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
class _Smoothed:
    """A motion with the likeliest inputs, linearised."""

    motion: _Motion
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


class UnknownInputs(Experiment):
    """A recorded run of a mechanism whose noisy forces are unknowns.

    Its channels are the measured outputs, then the noisy forces.

    Args:
        experiment: With at least one noisy force.
    """

    name: str
    parameters: tuple[Parameter, ...]
    channels: tuple[Channel, ...]
    inputs: tuple[Channel, ...] = ()
    time: np.ndarray
    measured: np.ndarray
    unknowns: int

    def __init__(self, experiment: MechanismExperiment) -> None:
        problem = experiment.problem
        self.experiment, self.problem = experiment, problem
        self.name, self.parameters = experiment.name, experiment.parameters
        self._own = () if problem.from_feedback else problem.compared
        fed = problem.feedback.channels if problem.feedback else ()
        outputs = (*self._own, *fed)
        self._deviations = np.array([one.deviation for one in outputs])
        seen = experiment.recording.outputs[:, : len(self._own)]
        self._seen = np.hstack([seen, experiment.fed_signals])  # (n_t, n_y)
        forces = [one.channel for one in problem.forces]
        self._noisy = np.flatnonzero([one.deviation > 0.0 for one in forces])
        begin = np.array([one.start for one in self.parameters])
        drive, to_middles = experiment.drive_of(begin)
        spread = [np.linalg.norm(W.sum(axis=0)) for W in to_middles[: len(forces)]]
        # White noise of a step with the low-frequency power of the samples' noise.
        self._sigma = np.array(
            [forces[j].deviation * spread[j] / np.sqrt(experiment.steps) for j in self._noisy]
        )
        pairs = zip(self._noisy, self._sigma.tolist(), strict=True)
        self.channels = (*outputs, *(replace(forces[j], deviation=s) for j, s in pairs))
        self.unknowns = self._sigma.size * experiment.steps + self._shifts
        self._place_samples()
        self.measured = self._table(self._seen, drive.u[:, self._noisy], np.nan)
        self._last: _Smoothed | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Without the last motion, which is larger than all else."""
        return vars(self) | {"_last": None}

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes of the experiment."""
        return self.experiment.notes

    def outputs(self, rho: np.ndarray) -> np.ndarray:
        """Outputs and forces under the likeliest errors, shape (n_times, n_y + m)."""
        found = self._smoothed(rho)
        motion = found.motion
        base = self._base(motion.rho).u[:, self._noisy]
        return self._table(self._sample @ motion.y, base + motion.errors)

    def sensitivities(self, rho: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Outputs and forces, and their derivatives, the errors' own changes included."""
        found = self._smoothed(rho)
        motion, n = found.motion, found.x.shape[1] // 2
        by_rho = motion.y_rho + motion.y_q @ found.x[:, :n, 1:]
        sampled = self._sample @ by_rho.reshape(len(by_rho), -1)
        shape = (len(self._seen), *by_rho.shape[1:])
        return self.outputs(rho), self._table(sampled.reshape(shape), found.u[:, :, 1:])

    def residuals_of_noise(
        self, rho: np.ndarray, draws: int, random: np.random.Generator
    ) -> np.ndarray:
        """Residuals that noise alone leaves, linearised, parameters held.

        Returns:
            In standard deviations, NaN where missing, shape (draws, n_times, n_y + m).
        """
        found = self._smoothed(rho)
        samples, n2 = found.samples, found.steps.A.shape[1]
        e = random.standard_normal((*self._seen.shape, draws)) * (samples.weight > 0.0)[..., None]
        e_u = random.standard_normal((*found.motion.errors.shape, draws))
        steps = found.steps._replace(B=np.zeros((len(found.steps.B), n2, draws)))
        noise = samples._replace(values=e), self._sigma[:, None] * e_u
        parts = self._swept(found.motion, steps, *noise, np.zeros((n2, draws)))
        rows = e + samples.weight[..., None] * self._at_samples(found.motion.y_q, parts.x)
        left = self._table(rows, e_u + parts.u / self._sigma[:, None])
        missing = np.isnan(self.measured)
        left[missing] = np.nan
        return np.moveaxis(left, -1, 0)

    def state(self, rho: np.ndarray) -> _Smoothed:
        """See `Lifted`."""
        return self._linearised(self._first(np.array(rho, dtype=float), None))

    def cost(self, state: _Smoothed) -> float:
        """See `Lifted`."""
        return state.motion.cost

    def rows(self, state: _Smoothed) -> Rows:
        """See `Lifted`."""
        samples = state.samples
        at_samples = self._at_samples(state.motion.y_q, state.x)
        of_samples = (samples.values + samples.weight[..., None] * at_samples)[samples.weight > 0.0]
        of_steps = state.u.copy()
        of_steps[:, :, 0] += state.motion.errors
        of_steps /= self._sigma[:, None]
        rows = np.concatenate([of_samples, of_steps.reshape(-1, of_steps.shape[2])])
        return Rows(rows[:, 0], rows[:, 1:])

    def moved(self, state: _Smoothed, rho: np.ndarray, share: float) -> _Smoothed:
        """See `Lifted`."""
        rho = np.array(rho, dtype=float)
        change = np.concatenate([[share], rho - state.motion.rho])
        return self._linearised(self._moved(state, rho, change))

    def keep(self, state: _Smoothed | None) -> None:
        """See `Lifted`."""
        self._last = state

    @property
    def kept(self) -> _Smoothed | None:
        """See `Lifted`."""
        return self._last

    @property
    def _free_start(self) -> bool:
        """Whether the start depends on measured coordinates, whose errors are unknown."""
        return isinstance(self.problem.start, Settled)

    def _place_samples(self) -> None:
        """Steps and shares of the samples, and the table of times."""
        time, dt, count = self.experiment.time, self.problem.dt, self.experiment.steps
        at = (time - time[0]) / dt
        at = np.where(np.abs(at - np.rint(at)) < ON_NODE, np.rint(at), at)
        step = np.floor(at)
        self._step, self._share = step.astype(np.int64), at - step
        self._sample = cubic(dt, count + 1, at * dt)[0]
        nodes = np.unique(np.concatenate([at, np.arange(count)]))
        self.time = time[0] + dt * nodes
        self._rows = np.searchsorted(nodes, at), np.searchsorted(nodes, np.arange(count))

    def _table(
        self, of_samples: np.ndarray, of_steps: np.ndarray, elsewhere: float = 0.0
    ) -> np.ndarray:
        """Values of samples and of steps in the rows of `time`; a step's are at its start."""
        n_y = of_samples.shape[1]
        found = np.full((len(self.time), n_y + of_steps.shape[1], *of_samples.shape[2:]), elsewhere)
        found[self._rows[0], :n_y], found[self._rows[1], n_y:] = of_samples, of_steps
        return found

    def _smoothed(self, rho: np.ndarray) -> _Smoothed:
        """The motion with the likeliest errors; the last one is kept.

        Raises:
            SimulationError: The model cannot be simulated, or the steps do not end.
        """
        rho = np.array(rho, dtype=float)
        last = self._last
        if last is not None and np.array_equal(last.motion.rho, rho):
            found = last
        else:
            found = self._linearised(self._first(rho, last))
        for _ in range(ITERATIONS):
            if found.decrease < DECREASE:
                self._last = found
                return found
            found = self._linearised(self._stepped(found))
        raise SimulationError(
            f"{self.name}: the likeliest inputs were not found in {ITERATIONS} Gauss-Newton steps."
        )

    def _first(self, rho: np.ndarray, last: _Smoothed | None) -> _Motion:
        """A motion from the last one's change by rho; else with the feedback's forces as errors."""
        if last is not None:
            change = np.concatenate([[0.0], rho - last.motion.rho])
            try:
                return self._moved(last, rho, change)
            except SimulationError:
                pass
        run, base = self.experiment.run(rho), self._base(rho)
        q, given = run.trajectory.q, run.drive
        errors = np.zeros((len(given.u), len(self._noisy)))
        if len(given.fed):
            middle = 0.5 * (q[1:] + q[:-1])[:, given.fed]
            gain = np.broadcast_to(given.gain, (len(given.u), *given.gain.shape[1:]))
            pushed = np.einsum("kij,kj->ki", gain, given.target - middle)
            along = given.gain_u[given.fed][:, self._noisy]
            errors = pushed @ np.linalg.pinv(along).T
        drive = base._replace(u=base.u.copy())
        drive.u[:, self._noisy] += errors
        shift = np.zeros(self._shifts)
        # The same motion: simulated without the feedback, it may be unstable.
        return self._judged(rho, shift, errors, drive, self._start(rho, shift), run.trajectory)

    def _stepped(self, found: _Smoothed) -> _Motion:
        """A motion of less cost, along the Gauss-Newton step."""
        share, before = 1.0, found.motion.cost
        while share > SHORTEST:
            change = np.zeros(found.u.shape[2])
            change[0] = share
            try:
                motion = self._moved(found, found.motion.rho, change)
                if before - motion.cost > ARMIJO * share * found.decrease:
                    return motion
            except SimulationError:
                pass
            share *= 0.5
        raise SimulationError(
            f"{self.name}: no inputs near the recorded ones fit better, though some are predicted."
        )

    def _moved(self, found: _Smoothed, rho: np.ndarray, change: np.ndarray) -> _Motion:
        """The motion after a change, a weight of each column; deviations are fed back."""
        motion = found.motion
        gain = np.zeros((len(found.gain), motion.drive.u.shape[1], found.gain.shape[2]))
        gain[:, self._noisy] = found.gain
        path = np.hstack([motion.trajectory.q, motion.trajectory.p])
        errors = motion.errors - found.feed @ change
        shift = motion.shift + found.shift @ change
        return self._simulated(rho, shift, errors, Steering(gain, path))

    def _simulated(
        self, rho: np.ndarray, shift: np.ndarray, errors: np.ndarray, steering: Steering
    ) -> _Motion:
        base = self._base(rho)
        drive = base._replace(u=base.u.copy())
        drive.u[:, self._noisy] += errors
        start, by_shift = self._start(rho, shift)
        trajectory = simulate(self.problem.mechanism, rho, start, drive, self.problem.dt, steering)
        errors = (drive.u - base.u)[:, self._noisy]  # as steered
        return self._judged(rho, shift, errors, drive, (start, by_shift), trajectory)

    def _judged(
        self,
        rho: np.ndarray,
        shift: np.ndarray,
        errors: np.ndarray,
        drive: Drive,
        start: tuple[Start, np.ndarray],
        trajectory: Trajectory,
    ) -> _Motion:
        """A motion with its outputs and its cost."""
        y, y_q, y_rho = self._read(rho, trajectory.q)
        residuals = (self._sample @ y - self._seen) / self._deviations
        cost = float(np.nansum(residuals**2) + np.sum((errors / self._sigma) ** 2))
        return _Motion(rho, shift, errors, drive, *start, trajectory, y, y_q, y_rho, cost)

    def _base(self, rho: np.ndarray) -> Drive:
        """Recorded forces, without the feedback."""
        drive, _ = self.experiment.drive_of(rho)
        n_f = drive.u.shape[1]
        return drive._replace(
            fed=drive.fed[:0],
            gain=np.zeros((1, 0, 0)),
            target=np.zeros((len(drive.u), 0)),
            rate=np.ascontiguousarray(drive.rate[:, :n_f]),
            delay=drive.delay[:n_f],
        )

    @property
    def _shifts(self) -> int:
        """Number of unknown errors of the start."""
        return self._seen.shape[1] - len(self._own) if self._free_start else 0

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
        coordinates = (q[:, fed], by_q, np.zeros((m, len(fed), len(rho))))
        if not self._own:
            return coordinates
        own = self.problem.read(rho, q)
        joined = [np.concatenate(pair, axis=1) for pair in zip(own, coordinates, strict=True)]
        return joined[0], joined[1], joined[2]

    def _at_samples(self, y_q: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Changes of the outputs at the samples, linear within a step, (n_t, n_y, columns)."""
        at_nodes = y_q @ x[:, : y_q.shape[2]]
        after = np.minimum(self._step + 1, len(at_nodes) - 1)
        share = self._share[:, None, None]
        return (1.0 - share) * at_nodes[self._step] + share * at_nodes[after]

    def _linearised(self, motion: _Motion) -> _Smoothed:
        """The Gauss-Newton step of the errors, and their change with the parameters."""
        mechanism, rho = self.problem.mechanism, motion.rho
        path, n = motion.trajectory, motion.trajectory.q.shape[1]
        K, m, columns = *motion.errors.shape, 1 + len(rho)
        steps = Steps(
            np.empty((K, 2 * n, 2 * n)), np.zeros((K, 2 * n, columns)), np.empty((K, 2 * n, m))
        )
        smoother_kernels.linearise_steps(
            mechanism.tree, rho, motion.drive, self.problem.dt, path.q, path.multipliers,
            self._noisy, *steps,
        )  # fmt: skip
        residuals = self._sample @ motion.y - self._seen
        there = np.isfinite(residuals)
        explicit = self._sample @ motion.y_rho.reshape(len(motion.y), -1)
        rows = np.concatenate(
            [residuals[..., None], explicit.reshape(*residuals.shape, len(rho))], axis=2
        )
        weight = there / self._deviations
        values = weight[..., None] * np.where(there[..., None], rows, 0.0)
        samples = Samples(self._step, self._share, motion.y_q, weight, values)
        errors = np.zeros((K, m, columns))
        errors[:, :, 0] = motion.errors
        start = np.zeros((2 * n, columns))
        start[:n, 1:], start[n:, 1:] = motion.start.q_rho, path.p_start_rho
        return self._swept(motion, steps, samples, errors, start)

    def _swept(
        self,
        motion: _Motion,
        steps: Steps,
        samples: Samples,
        errors: np.ndarray,
        start: np.ndarray,
    ) -> _Smoothed:
        """Both sweeps over linearised steps, from changes of the start (2 n, columns)."""
        K, m, columns = errors.shape
        n = motion.trajectory.q.shape[1]
        gain, feed = np.empty((K, m, 2 * n)), np.empty((K, m, columns))
        P, g, decrease = smoother_kernels.backward(steps, samples, errors, self._sigma, gain, feed)
        X = np.vstack([motion.by_shift, np.zeros_like(motion.by_shift)])
        slope = X.T @ (g + P @ start)
        shift = -np.linalg.solve(X.T @ P @ X, slope)
        decrease -= float(slope[:, 0] @ shift[:, 0])
        x, u = np.empty((K + 1, 2 * n, columns)), np.empty((K, m, columns))
        smoother_kernels.forward(steps, gain, feed, start + X @ shift, x, u)
        return _Smoothed(motion, steps, samples, gain, feed, shift, x, u, decrease)
