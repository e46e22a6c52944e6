"""Experiment of a mechanism: a recorded run, simulated with derivatives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sparse
from typing_extensions import override

from sofa_softctl.errors import IdentificationError
from sofa_softctl.identification.data.interpolation import cubic, linear, zero_order_hold
from sofa_softctl.identification.data.sampling import check_steps
from sofa_softctl.identification.effects.sensors import SensorDelay, is_evenly_spaced
from sofa_softctl.identification.mechanism import adjoint
from sofa_softctl.identification.mechanism.kernels.arrays import Drive
from sofa_softctl.identification.mechanism.model import MechanismModel
from sofa_softctl.identification.mechanism.refinements import refinements_of
from sofa_softctl.identification.mechanism.signals import EquilibriumStart
from sofa_softctl.identification.mechanism.start import Start, project_start, rest, settle
from sofa_softctl.identification.mechanism.variational import Trajectory, simulate
from sofa_softctl.identification.model.channel import Channel
from sofa_softctl.identification.model.experiment import Experiment, PulledBack, Refinement
from sofa_softctl.identification.model.parameter import Parameter, starts
from sofa_softctl.identification.model.recording import Recording

if TYPE_CHECKING:
    from sofa_softctl.identification.model.experiment import Effect

REPORTED_PROJECTION_MIN = 1e-6
"""Projection of the start above which there is a note [rad] or [m]."""
REPORTED_STEP_DIFFERENCE_MIN = 1e-3
"""Relative difference of time steps of recording and model above which there is a note [-]."""


class MechanismExperiment(Experiment):
    """A recorded run of a mechanism, and its simulation.

    Raises:
        IdentificationError: The recording is too short.
    """

    name: str
    parameters: tuple[Parameter, ...]
    channels: tuple[Channel, ...]
    inputs: tuple[Channel, ...]
    time: np.ndarray

    def __init__(self, problem: MechanismModel, recording: Recording) -> None:
        self.problem = problem
        self.recording = recording
        self.name = recording.name
        self.parameters = problem.parameters
        self.channels = problem.compared
        self.inputs = problem.inputs
        self.time = recording.time
        self.steps = int(np.ceil((self.time[-1] - self.time[0]) / problem.dt - 1e-6))
        if self.steps < 3:
            raise IdentificationError(
                f"{self.name}: {self.time[-1] - self.time[0]:g} s are {self.steps} steps of "
                f"{problem.dt:g} s. Expected three or more."
            )
        check_steps(self.name, self.time, problem.dt)
        self._check_signals()
        self._last: tuple[bytes, Run] | None = None
        self._moved = 0.0

    def __getstate__(self) -> dict[str, Any]:
        """Without the last simulation, which is larger than all else."""
        return vars(self) | {"_last": None}

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """Notes on the start and the time step."""
        self.start_of(starts(self.parameters))
        notes, step = [], float(np.median(np.diff(self.time)))
        if self._moved >= REPORTED_PROJECTION_MIN:
            notes.append(
                f"the start was moved by {self._moved:.3g} (norm over all coordinates) onto the "
                "constraints"
            )
        if abs(step / self.problem.dt - 1.0) > REPORTED_STEP_DIFFERENCE_MIN:
            notes.append(
                f"recorded every {step:.4g} s, simulated every {self.problem.dt:.4g} s: inputs and "
                "predictions are interpolated"
            )
        return tuple(notes)

    @cached_property
    @override
    def measured(self) -> np.ndarray:
        if not self.problem.from_feedback:
            return self.recording.outputs
        rho = np.zeros(len(self.parameters))
        return self.problem.read(rho, self._measured_q)[0]

    @override
    def outputs(self, rho: np.ndarray) -> np.ndarray:
        return self.run(rho).outputs

    @override
    def sensitivities(self, rho: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        run, mechanism = self.run(rho), self.problem.mechanism
        z_q, _ = adjoint.sensitivities(mechanism, run.rho, run.start, run.drive, run.trajectory)
        at_nodes = run.y_rho + run.y_q @ z_q  # (K + 1, n_y, n_rho)
        flat = run.sample @ at_nodes.reshape(len(at_nodes), -1)
        by_rho = flat.reshape(len(self.time), *at_nodes.shape[1:])
        return run.outputs, by_rho if run.moved_rho is None else by_rho - run.moved_rho

    @override
    def pull_back(
        self, rho: np.ndarray, gradient: Callable[[np.ndarray], np.ndarray]
    ) -> PulledBack:
        run, problem = self.run(rho), self.problem
        weights = gradient(run.outputs)  # (n_times, n_y)
        at_nodes = run.sample.T @ weights  # (K + 1, n_y)
        by_q = np.einsum("ky,kyn->kn", at_nodes, run.y_q)
        direct = np.einsum("ky,kyr->r", at_nodes, run.y_rho)
        cost = adjoint.Cost(0.0, by_q, np.zeros_like(by_q), direct)
        swept = adjoint.gradient(
            problem.mechanism, run.rho, run.start, run.drive, run.trajectory, cost
        )
        by_inputs = np.column_stack(
            [W.T @ column for W, column in zip(run.to_middles, swept.by_inputs.T, strict=True)]
        ).reshape(len(self.time), len(self.inputs))
        by_inputs[0] += swept.by_start[0] @ run.start_inputs
        by_parameters = swept.by_rho
        if run.moved_rho is not None:
            by_parameters = by_parameters - np.einsum("ty,tyr->r", weights, run.moved_rho)
            by_inputs += self.measured_by_inputs(weights) - self._read_back(weights, rho)
        return PulledBack(run.outputs, by_parameters, by_inputs)

    def measured_by_inputs(self, weights: np.ndarray) -> np.ndarray:
        """Return this derivative, not zero if outputs are computed from the feedback."""
        return self._read_back(weights, np.zeros(len(self.parameters)))

    def _read_back(self, weights: np.ndarray, rho: np.ndarray) -> np.ndarray:
        """Return the derivative of sum(weights * outputs) by the inputs, through the feedback."""
        derivatives = np.zeros((len(self.time), len(self.inputs)))
        if self.problem.from_feedback:
            q = self._measured_q.copy()
            q[:, self.fed] -= self.fed_offset(rho)[0]
            by_q = self.problem.read(np.zeros(len(rho)), q)[1][:, :, self.fed]
            derivatives[:, len(self.problem.forces) :] = np.einsum("ty,tyn->tn", weights, by_q)
        return derivatives

    def with_input_errors(self, errors: np.ndarray) -> MechanismExperiment:
        """Return the changed experiment, with the same gains of a feedback."""
        inputs = self.recording.inputs + errors
        return MechanismExperiment(self.problem, replace(self.recording, inputs=inputs))

    def with_recording(self, change: Callable[[Recording], Recording]) -> MechanismExperiment:
        """Return the changed experiment, with the same gains of a feedback."""
        return MechanismExperiment(self.problem, change(self.recording))

    def with_unknown_inputs(self, planned_at: np.ndarray | None = None) -> Experiment | None:
        """Return the experiment with unknown forces; None unless they cover the feedback."""
        noisy = [force for force in self.problem.forces if force.channel.deviation > 0.0]
        fed = self.problem.feedback
        if not noisy:
            return None
        if fed and not set(fed.joints) <= {noisy_force.joint for noisy_force in noisy}:
            return None
        if fed and any(channel.deviation == 0.0 for channel in fed.channels):
            return None
        if planned_at is None or self.problem.from_feedback:
            return self.problem.with_unknown_inputs(self)
        planned = replace(self.recording, outputs=self.outputs(planned_at))
        return self.problem.with_unknown_inputs(MechanismExperiment(self.problem, planned))

    def refinements(self) -> tuple[Refinement, ...]:
        """Return refinements by half the time step, and by the finer models of the problem."""
        return refinements_of(self.problem, self.recording)

    @property
    @override
    def outputs_from_inputs(self) -> bool:
        return self.problem.from_feedback

    def trajectory(self, rho: np.ndarray) -> Trajectory:
        """The simulated motion."""
        return self.run(rho).trajectory

    def start(self, rho: np.ndarray) -> Start:
        """The start of the simulation."""
        return self.run(rho).start

    def drive(self, rho: np.ndarray) -> Drive:
        """Forces of the simulation."""
        return self.run(rho).drive

    @cached_property
    def fed(self) -> np.ndarray:
        """Indices of the feedback's coordinates, shape (m,)."""
        feedback = self.problem.feedback
        names = feedback.joints if feedback else ()
        return np.array([self.problem.mechanism.coordinate(name) for name in names], dtype=np.int64)

    @property
    def fed_signals(self) -> np.ndarray:
        """Measured coordinates of the feedback, shape (n_times, m)."""
        return self.recording.inputs[:, len(self.problem.forces) :]

    @cached_property
    def _measured_q(self) -> np.ndarray:
        """Configurations with the feedback's joints as measured, the others at zero."""
        q = np.zeros((len(self.time), len(self.problem.mechanism.coordinates)))
        q[:, self.fed] = self.fed_signals
        return q

    @property
    def effects(self) -> tuple[Effect, ...]:
        """Effects of the problem; delays need even times."""
        even_ = is_evenly_spaced(self.time)
        return tuple(
            effect
            for effect in self.problem.effects or ()
            if even_ or not isinstance(effect, SensorDelay)
        )

    def _check_signals(self) -> None:
        """IdentificationError for signals of delays, gains and offsets that there are not."""
        problem = self.problem
        forces = [force.channel.name for force in problem.forces]
        inputs, sensors = (
            [channel.name for channel in self.inputs],
            [channel.name for channel in problem.channels],
        )
        kinds = (
            (problem.delay, inputs, "input", "delay"),
            (problem.hold, forces, "force", "hold"),
            (problem.gain, [*forces, *sensors], "force or output", "have a gain"),
            (problem.offset, [*inputs, *sensors], "signal", "have an offset"),
        )
        for parameters_by_signal, valid_names, label, verb in kinds:
            for name in parameters_by_signal:
                if name not in valid_names:
                    hint = " Outputs that are delayed are wrapped in identification.Delayed."
                    raise IdentificationError(
                        f"{problem.name}: there is no {label} '{name}' to {verb}. Known: "
                        f"{', '.join(valid_names) or 'none'}.{hint if verb == 'delay' else ''}"
                    )
                problem.index(parameters_by_signal[name])

    def run(self, rho: np.ndarray) -> Run:
        """Simulate with rho; the last simulation is cached."""
        rho = np.asarray(rho, dtype=float)
        if self._last is None or self._last[0] != rho.tobytes():
            self._last = (rho.tobytes(), self._simulate(rho))
        return self._last[1]

    def _simulate(self, rho: np.ndarray) -> Run:
        problem = self.problem
        start, start_inputs = self.start_of(rho)
        drive, to_middles = self.drive_of(rho)
        trajectory = simulate(problem.mechanism, rho, start, drive, problem.dt)
        y, y_q, y_rho = problem.read(rho, trajectory.q)
        sample, _ = cubic(problem.dt, len(y), self.time - self.time[0])
        moved, moved_rho = self._measured_change(rho)
        return Run(
            rho,
            start,
            start_inputs,
            drive,
            to_middles,
            trajectory,
            sample,
            y_q,
            y_rho,
            sample @ y - moved,
            moved_rho,
        )

    def fed_offset(self, rho: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return offsets of the feedback's sensors, and derivatives by rho: (m,), (m, n_rho)."""
        fed = self.problem.feedback.channels if self.problem.feedback else ()
        offsets, by_rho = np.zeros(len(fed)), np.zeros((len(fed), len(self.parameters)))
        for column, channel in enumerate(fed):
            if channel.name in self.problem.offset:
                k = self.problem.index(self.problem.offset[channel.name])
                offsets[column], by_rho[column, k] = rho[k], 1.0
        return offsets, by_rho

    def _measured_change(self, rho: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """Return the change of outputs that are computed from the feedback, by sensor offsets.

        Returns:
            Change, and its derivative by rho (None if zero): (n_t, n_y), (n_t, n_y, n_rho).
        """
        offset, by_rho = self.fed_offset(rho)
        if not (self.problem.from_feedback and by_rho.any()):
            return np.zeros((len(self.time), len(self.channels))), None
        q = self._measured_q.copy()
        q[:, self.fed] -= offset
        y, y_q, _ = self.problem.read(np.zeros(len(rho)), q)
        return y - self.measured, -y_q[:, :, self.fed] @ by_rho

    def start_of(self, rho: np.ndarray) -> tuple[Start, np.ndarray]:
        """Return the start, and its derivative by the first sample of all inputs."""
        mechanism, declared_start = self.problem.mechanism, self.problem.start
        n, n_u = len(mechanism.coordinates), len(self.inputs)
        q, by_inputs = np.zeros(n), np.zeros((n, n_u))
        at = [mechanism.coordinate(name) for name in declared_start.q]
        if isinstance(declared_start, EquilibriumStart):
            q[at] = list(declared_start.q.values())
            offset, by_rho = self.fed_offset(rho)
            q[self.fed] = self.fed_signals[0] - offset
            still = self.problem.feedback.joints if self.problem.feedback else ()
            equilibrium = settle(mechanism, rho, q, still)
            by_inputs[:, len(self.problem.forces) :] = equilibrium.q_held
            moved = equilibrium.start.q_rho - equilibrium.q_held @ by_rho
            return replace(equilibrium.start, q_rho=moved), by_inputs
        start = rest(mechanism)
        start.q[at] = mechanism.values(declared_start.q.values(), rho)
        start.q_rho[at] = mechanism.by_rho(declared_start.q.values())
        at = [mechanism.coordinate(name) for name in declared_start.v]
        start.v[at] = mechanism.values(declared_start.v.values(), rho)
        start.v_rho[at] = mechanism.by_rho(declared_start.v.values())
        start, self._moved = project_start(mechanism, rho, start)
        return start, by_inputs

    def drive_of(self, rho: np.ndarray) -> tuple[Drive, list[sparse.csr_array]]:
        """Return signals at the midpoints of steps, and the matrices of their interpolation."""
        problem, names = self.problem, [channel.name for channel in self.inputs]
        n, n_f = len(problem.mechanism.coordinates), len(problem.forces)
        signals = [self._signal(rho, column) for column in range(len(names))]
        at = (
            np.column_stack([signal.at for signal in signals])
            if signals
            else np.zeros((self.steps, 0))
        )
        slopes = [(s, k, d) for s, signal in enumerate(signals) for k, d in signal.slopes.items()]
        gain_u = np.zeros((n, n_f))
        for column, force in enumerate(problem.forces):
            gain_u[problem.mechanism.coordinate(force.joint), column] = self._factor(rho, column)
        drive = Drive(
            gain_u=gain_u,
            u=np.ascontiguousarray(at[:, :n_f]),
            fed=self.fed,
            gain=problem.feedback.gain if problem.feedback else np.zeros((1, 0, 0)),
            target=np.ascontiguousarray(at[:, n_f:]),
            slope=np.array([d for _, _, d in slopes]).reshape(len(slopes), self.steps).T.copy(),
            signal=np.array([s for s, _, _ in slopes], dtype=np.int64),
            parameter=np.array([k for _, k, _ in slopes], dtype=np.int64),
            share=problem.share,
        )
        return self.with_gains(rho, drive), [signal.to_middles for signal in signals]

    def _signal(self, rho: np.ndarray, column: int) -> Signal:
        """An input at the middles of steps: later, held or with an offset, but without its gain."""
        problem, name = self.problem, self.inputs[column].name
        recorded, force = self.recording.inputs[:, column], column < len(problem.forces)
        middles = self.time[0] + problem.dt * (np.arange(self.steps) + 0.5)
        slopes: dict[int, np.ndarray] = {}
        late = problem.index(problem.delay[name]) if name in problem.delay else None
        middles = middles - (0.0 if late is None else rho[late])
        W, rate = linear(self.time, middles)
        share = 0.0
        if force and name in problem.hold:
            k = problem.index(problem.hold[name])
            share, still = rho[k], zero_order_hold(self.time, middles)
            slopes[k] = (still - W) @ recorded
            W = W + share * (still - W)
        if late is not None:
            slopes[late] = -(1.0 - share) * (rate @ recorded)
        at = W @ recorded
        if name in problem.offset:
            k, sign = problem.index(problem.offset[name]), 1.0 if force else -1.0
            at, slopes[k] = at + sign * rho[k], np.full(self.steps, sign)
        return Signal(at, W, slopes)

    def _factor(self, rho: np.ndarray, force: int) -> float:
        """1 + gain of a force."""
        name = self.inputs[force].name
        gain = self.problem.gain.get(name)
        return 1.0 if gain is None else 1.0 + float(rho[self.problem.index(gain)])

    def with_gains(self, rho: np.ndarray, drive: Drive) -> Drive:
        """Return the drive with derivatives by gains of its forces at their present values."""
        gains = self.problem.gain
        columns = [j for j, force in enumerate(self.problem.forces) if force.channel.name in gains]
        at = [self.problem.index(gains[self.inputs[j].name]) for j in columns]
        is_kept = ~np.isin(drive.parameter, at)
        gain_slopes = [drive.u[:, j] / self._factor(rho, j) for j in columns]
        return drive._replace(
            slope=np.ascontiguousarray(np.column_stack([drive.slope[:, is_kept], *gain_slopes])),
            signal=np.append(drive.signal[is_kept], columns).astype(np.int64),
            parameter=np.append(drive.parameter[is_kept], at).astype(np.int64),
        )


@dataclass(frozen=True, eq=False)
class Signal:
    """An input at the middles of steps."""

    at: np.ndarray
    """Values of the signal, shape (K,)."""
    to_middles: sparse.csr_array
    """Matrix from samples to middles of steps, shape (K, n_times)."""
    slopes: dict[int, np.ndarray]
    """Derivatives of the values by parameters, by their index, each of shape (K,)."""


@dataclass(frozen=True, eq=False)
class Run:
    """One simulation of an experiment."""

    rho: np.ndarray
    start: Start
    start_inputs: np.ndarray
    """dq_0 by the first sample of each input, shape (n, n_u)."""
    drive: Drive
    to_middles: list[sparse.csr_array]
    """Matrix from samples to midpoints of steps for each input."""
    trajectory: Trajectory
    sample: sparse.csr_array
    """Interpolation from time steps to sample times, shape (n_times, K + 1)."""
    y_q: np.ndarray
    """Outputs by q at the time steps, shape (K + 1, n_y, n)."""
    y_rho: np.ndarray
    """Explicit derivatives by rho at the time steps, shape (K + 1, n_y, n_rho)."""
    outputs: np.ndarray
    """Outputs at the sample times, shape (n_times, n_y)."""
    moved_rho: np.ndarray | None
    """Derivative of outputs that are computed from the feedback by rho, or None if zero."""
