"""Delayed measurements: the delay as a parameter of an experiment."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array

from sofa_softctl.errors import IdentificationError
from sofa_softctl.identification.compatibility import as_experiment
from sofa_softctl.identification.data.interpolation import cubic
from sofa_softctl.identification.data.recording import Recording
from sofa_softctl.identification.experiment import Channel, Experiment, PulledBack
from sofa_softctl.identification.parameter import Parameter

UNEVEN = 1e-6
"""Largest deviation from an even time step, relative to it."""


@dataclass(frozen=True, eq=False)
class Delayed(Experiment):
    """An experiment measured with a delay: `measured` at t is the output at t - delay.

    Outputs between samples are interpolated by cubics, which are smooth in the delay, and are
    constant before the first sample and after the last. For a time-invariant robot that starts at
    rest, a delay of the inputs has the same effect.

    Raises:
        IdentificationError: The experiment's times are uneven, or it has a parameter of that name.
    """

    experiment: Experiment
    """The experiment without delay."""
    delay: Parameter
    """Delay [s], with bounds; negative: the clock of the measurements is ahead."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "experiment", as_experiment(self.experiment))
        steps = np.diff(self.time)
        if np.abs(steps - steps.mean()).max() > UNEVEN * steps.mean():
            raise IdentificationError(f"{self.name}: a delay needs samples at even times.")
        if self.delay.name in [one.name for one in self.experiment.parameters]:
            raise IdentificationError(f"{self.name} has a parameter '{self.delay.name}' already.")

    @property
    def name(self) -> str:
        """Name of the recording."""
        return self.experiment.name

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Parameters of the experiment, then the delay."""
        return (*self.experiment.parameters, self.delay)

    @property
    def channels(self) -> tuple[Channel, ...]:
        """Measured outputs."""
        return self.experiment.channels

    @property
    def inputs(self) -> tuple[Channel, ...]:
        """Recorded inputs."""
        return self.experiment.inputs

    @property
    def time(self) -> np.ndarray:
        """Times of the samples [s], shape (n_times,)."""
        return self.experiment.time

    @property
    def measured(self) -> np.ndarray:
        """Measured outputs, shape (n_times, n_outputs)."""
        return self.experiment.measured

    def outputs(self, rho: np.ndarray) -> np.ndarray:
        """Outputs at t - delay, shape (n_times, n_outputs)."""
        shift, _ = self._shift(rho[-1])
        shifted: np.ndarray = shift @ self.experiment.outputs(rho[:-1])
        return shifted

    def sensitivities(self, rho: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Outputs at t - delay, and derivatives: shapes (n_t, n_y), (n_t, n_y, n_rho)."""
        shift, by_delay = self._shift(rho[-1])
        y, by_rho = self.experiment.sensitivities(rho[:-1])
        flat = shift @ by_rho.reshape(len(y), -1)
        late = (by_delay @ y)[..., None]
        return shift @ y, np.concatenate((flat.reshape(by_rho.shape), late), axis=-1)

    def pull_back(
        self, rho: np.ndarray, gradient: Callable[[np.ndarray], np.ndarray]
    ) -> PulledBack:
        """Derivatives by the adjoint of the experiment, with shifted weights."""
        shift, by_delay = self._shift(rho[-1])
        swept = self.experiment.pull_back(rho[:-1], lambda y: shift.T @ gradient(shift @ y))
        weights = gradient(shift @ swept.outputs)
        late = float(np.sum(weights * (by_delay @ swept.outputs)))
        return PulledBack(
            outputs=shift @ swept.outputs,
            by_parameters=np.append(swept.by_parameters, late),
            by_inputs=swept.by_inputs,
        )

    def measured_by_inputs(self, weights: np.ndarray) -> np.ndarray:
        """As of the experiment, shape (n_times, n_inputs)."""
        return self.experiment.measured_by_inputs(weights)

    @property
    def has_adjoint(self) -> bool:
        """As of the experiment."""
        return self.experiment.has_adjoint

    @property
    def outputs_from_inputs(self) -> bool:
        """As of the experiment."""
        return self.experiment.outputs_from_inputs

    def with_input_errors(self, errors: np.ndarray) -> Delayed | None:
        """The same with other inputs, or None, as of the experiment."""
        other = self.experiment.with_input_errors(errors)
        return None if other is None else replace(self, experiment=other)

    def with_recording(self, change: Callable[[Recording], Recording]) -> Delayed | None:
        """The same of the changed recording, or None, as of the experiment."""
        other = self.experiment.with_recording(change)
        return None if other is None else replace(self, experiment=other)

    def _shift(self, delay: float) -> tuple[csr_array, csr_array]:
        """Interpolation at t - delay, and its derivative by the delay, shapes (n_t, n_t)."""
        n, dt = len(self.time), float(np.mean(np.diff(self.time)))
        shift, slope = cubic(dt, n, dt * np.arange(n) - delay, hold=True)
        return shift, -slope
