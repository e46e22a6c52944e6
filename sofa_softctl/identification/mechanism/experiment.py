"""Experiment of a mechanism: a recorded run, simulated with derivatives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sparse

from sofa_softctl.errors import IdentificationError
from sofa_softctl.identification.data.interpolation import cubic, linear
from sofa_softctl.identification.data.recording import Recording
from sofa_softctl.identification.data.sampling import check_steps
from sofa_softctl.identification.experiment import Channel, Experiment, PulledBack
from sofa_softctl.identification.mechanism import adjoint
from sofa_softctl.identification.mechanism.arrays import Drive
from sofa_softctl.identification.mechanism.signals import Settled
from sofa_softctl.identification.mechanism.start import Start, projected, rest, settle
from sofa_softctl.identification.mechanism.variational import Trajectory, simulate
from sofa_softctl.identification.parameter import Parameter, starts

if TYPE_CHECKING:
    from sofa_softctl.identification.mechanism.problem import MechanismProblem
    from sofa_softctl.identification.mechanism.unknown_inputs import UnknownInputs

MOVED = 1e-6
"""Projection of the start above which there is a note [rad] or [m]."""
OFF_STEP = 1e-3
"""Relative difference of time steps of recording and model above which there is a note."""


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

    def __init__(self, problem: MechanismProblem, recording: Recording) -> None:
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
        if self._moved >= MOVED:
            notes.append(
                f"the start was moved by {self._moved:.3g} (norm over all coordinates) onto the "
                "constraints"
            )
        if abs(step / self.problem.dt - 1.0) > OFF_STEP:
            notes.append(
                f"recorded every {step:.4g} s, simulated every {self.problem.dt:.4g} s: inputs and "
                "predictions are interpolated"
            )
        return tuple(notes)

    @cached_property
    def measured(self) -> np.ndarray:
        """See Experiment."""
        if not self.problem.from_feedback:
            return self.recording.outputs
        rho = np.zeros(len(self.parameters))
        return self.problem.read(rho, self._measured_q)[0]

    def outputs(self, rho: np.ndarray) -> np.ndarray:
        """See Experiment."""
        return self.run(rho).outputs

    def sensitivities(self, rho: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """See Experiment."""
        run, mechanism = self.run(rho), self.problem.mechanism
        z_q, _ = adjoint.sensitivities(mechanism, run.rho, run.start, run.drive, run.trajectory)
        at_nodes = run.y_rho + run.y_q @ z_q  # (K + 1, n_y, n_rho)
        flat = run.sample @ at_nodes.reshape(len(at_nodes), -1)
        by_rho = flat.reshape(len(self.time), *at_nodes.shape[1:])
        return run.outputs, by_rho

    def pull_back(
        self, rho: np.ndarray, gradient: Callable[[np.ndarray], np.ndarray]
    ) -> PulledBack:
        """See Experiment."""
        run, problem = self.run(rho), self.problem
        weights = gradient(run.outputs)  # (n_times, n_y)
        at_nodes = run.sample.T @ weights  # (K + 1, n_y)
        by_q = np.einsum("ky,kyn->kn", at_nodes, run.y_q)
        direct = np.einsum("ky,kyr->r", at_nodes, run.y_rho)
        cost = adjoint.Cost(0.0, by_q, np.zeros_like(by_q), direct)
        found = adjoint.gradient(
            problem.mechanism, run.rho, run.start, run.drive, run.trajectory, cost
        )
        by_inputs = np.column_stack(
            [W.T @ column for W, column in zip(run.to_middles, found.by_inputs.T, strict=True)]
        ).reshape(len(self.time), len(self.inputs))
        by_inputs[0] += found.by_start[0] @ run.start_inputs
        return PulledBack(run.outputs, found.by_rho, by_inputs)

    def measured_by_inputs(self, weights: np.ndarray) -> np.ndarray:
        """See Experiment; not zero where outputs are computed from the feedback's coordinates."""
        found = np.zeros((len(self.time), len(self.inputs)))
        if self.problem.from_feedback:
            rho = np.zeros(len(self.parameters))
            by_q = self.problem.read(rho, self._measured_q)[1][:, :, self.fed]
            found[:, len(self.problem.forces) :] = np.einsum("ty,tyn->tn", weights, by_q)
        return found

    def with_input_errors(self, errors: np.ndarray) -> MechanismExperiment:
        """See Experiment; gains of a feedback are kept."""
        inputs = self.recording.inputs + errors
        return MechanismExperiment(self.problem, replace(self.recording, inputs=inputs))

    def with_recording(self, change: Callable[[Recording], Recording]) -> MechanismExperiment:
        """See Experiment; gains of a feedback are kept."""
        return MechanismExperiment(self.problem, change(self.recording))

    def with_unknown_inputs(self, planned_at: np.ndarray | None = None) -> UnknownInputs | None:
        """See Experiment; None without noisy forces, or where they do not cover the feedback."""
        from sofa_softctl.identification.mechanism.unknown_inputs import UnknownInputs

        noisy = [one for one in self.problem.forces if one.channel.deviation > 0.0]
        fed = self.problem.feedback
        if not noisy:
            return None
        if fed and not set(fed.joints) <= {one.joint for one in noisy}:
            return None
        if fed and any(one.deviation == 0.0 for one in fed.channels):
            return None
        if planned_at is None or self.problem.from_feedback:
            return UnknownInputs(self)
        planned = replace(self.recording, outputs=self.outputs(planned_at))
        return UnknownInputs(MechanismExperiment(self.problem, planned))

    @property
    def outputs_from_inputs(self) -> bool:
        """See Experiment."""
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

    def _index(self, parameter: str) -> int:
        names = [one.name for one in self.parameters]
        if parameter not in names:
            raise IdentificationError(
                f"{self.problem.name}: there is no parameter '{parameter}'. Known: "
                f"{', '.join(names) or 'none'}."
            )
        return names.index(parameter)

    def run(self, rho: np.ndarray) -> Run:
        """The simulation with rho; the last one is cached."""
        rho = np.asarray(rho, dtype=float)
        if self._last is None or self._last[0] != rho.tobytes():
            self._last = (rho.tobytes(), self._simulated(rho))
        return self._last[1]

    def _simulated(self, rho: np.ndarray) -> Run:
        problem = self.problem
        start, start_inputs = self.start_of(rho)
        drive, to_middles = self.drive_of(rho)
        trajectory = simulate(problem.mechanism, rho, start, drive, problem.dt)
        y, y_q, y_rho = problem.read(rho, trajectory.q)
        sample, _ = cubic(problem.dt, len(y), self.time - self.time[0])
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
            sample @ y,
        )

    def start_of(self, rho: np.ndarray) -> tuple[Start, np.ndarray]:
        """The start, and its derivative by the first sample of all inputs."""
        mechanism, given = self.problem.mechanism, self.problem.start
        n, n_u = len(mechanism.coordinates), len(self.inputs)
        q, by_inputs = np.zeros(n), np.zeros((n, n_u))
        at = [mechanism.coordinate(name) for name in given.q]
        if isinstance(given, Settled):
            q[at] = list(given.q.values())
            q[self.fed] = self.fed_signals[0]
            held = self.problem.feedback.joints if self.problem.feedback else ()
            found = settle(mechanism, rho, q, held)
            by_inputs[:, len(self.problem.forces) :] = found.q_held
            return found.start, by_inputs
        start = rest(mechanism)
        start.q[at] = mechanism.values(given.q.values(), rho)
        start.q_rho[at] = mechanism.by_rho(given.q.values())
        at = [mechanism.coordinate(name) for name in given.v]
        start.v[at] = mechanism.values(given.v.values(), rho)
        start.v_rho[at] = mechanism.by_rho(given.v.values())
        start, self._moved = projected(mechanism, rho, start)
        return start, by_inputs

    def drive_of(self, rho: np.ndarray) -> tuple[Drive, list[sparse.csr_array]]:
        """Signals at the midpoints of steps, and the matrices of their interpolation."""
        problem, signals = self.problem, self.recording.inputs
        n, n_f = len(problem.mechanism.coordinates), len(problem.forces)
        names = [channel.name for channel in self.inputs]
        for name in problem.delay:
            if name not in names:
                raise IdentificationError(
                    f"{problem.name}: there is no input '{name}' to delay. Known: "
                    f"{', '.join(names) or 'none'}. Outputs that are delayed are wrapped in "
                    "identification.Delayed."
                )
        late = [self._index(problem.delay[n]) if n in problem.delay else -1 for n in names]
        middles = self.time[0] + problem.dt * (np.arange(self.steps) + 0.5)
        pairs = {k: linear(self.time, middles - (rho[k] if k >= 0 else 0.0)) for k in {*late, -1}}
        at, rate = np.zeros((self.steps, len(names))), np.zeros((self.steps, len(names)))
        for column, k in enumerate(late):
            at[:, column] = pairs[k][0] @ signals[:, column]
            rate[:, column] = pairs[k][1] @ signals[:, column]
        gain_u = np.zeros((n, n_f))
        for column, force in enumerate(problem.forces):
            gain_u[problem.mechanism.coordinate(force.joint), column] = 1.0
        gain = problem.feedback.gain if problem.feedback else np.zeros((1, 0, 0))
        drive = Drive(
            gain_u=gain_u,
            u=np.ascontiguousarray(at[:, :n_f]),
            fed=self.fed,
            gain=gain,
            target=np.ascontiguousarray(at[:, n_f:]),
            rate=rate,
            delay=np.array(late, dtype=np.int64),
            share=problem.share,
        )
        return drive, [pairs[k][0] for k in late]


@dataclass(frozen=True, eq=False)
class Run:
    """One simulation of an experiment."""

    rho: np.ndarray
    start: Start
    start_inputs: np.ndarray
    """dq_0 by the first sample of each input, shape (n, n_u)."""
    drive: Drive
    to_middles: list[sparse.csr_array]
    """For each input the matrix from samples to midpoints of steps."""
    trajectory: Trajectory
    sample: sparse.csr_array
    """Interpolation from time steps to sample times, shape (n_times, K + 1)."""
    y_q: np.ndarray
    """Outputs by q at the time steps, shape (K + 1, n_y, n)."""
    y_rho: np.ndarray
    """Explicit derivatives by rho at the time steps, shape (K + 1, n_y, n_rho)."""
    outputs: np.ndarray
    """Outputs at the sample times, shape (n_times, n_y)."""
