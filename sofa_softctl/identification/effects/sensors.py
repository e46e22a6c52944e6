"""Gain, offset and delay of a measured output."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from scipy.sparse import csr_array
from typing_extensions import override

from sofa_softctl.errors import IdentificationError
from sofa_softctl.identification.data.interpolation import cubic
from sofa_softctl.identification.effects.wrapped import ExtendedExperiment
from sofa_softctl.identification.model.experiment import (
    Effect,
    Experiment,
    PulledBack,
    check_signal,
)
from sofa_softctl.identification.model.parameter import Parameter


@dataclass(frozen=True)
class SensorGain(Effect):
    """Gain of a sensor, which shows (1 + gain) times its quantity."""

    channel: str
    """Name of the output."""
    simulations: ClassVar[float] = 0.0
    """The motion stays the same."""

    @override
    def add_to(self, experiment: Experiment) -> Experiment:
        return _SensedExperiment(experiment, self.parameter, self.channel, relative=True)


@dataclass(frozen=True)
class SensorOffset(Effect):
    """Offset of a sensor, which shows its quantity plus an offset."""

    channel: str
    """Name of the output."""
    simulations: ClassVar[float] = 0.0
    """The motion stays the same."""

    @override
    def add_to(self, experiment: Experiment) -> Experiment:
        return _SensedExperiment(experiment, self.parameter, self.channel, relative=False)


@dataclass(frozen=True)
class SensorDelay(Effect):
    """Delay of a sensor."""

    channel: str
    """Name of the output."""
    simulations: ClassVar[float] = 0.0
    """The motion stays the same."""

    @override
    def add_to(self, experiment: Experiment) -> Experiment:
        return Delayed(experiment, self.parameter, (self.channel,))


@dataclass(frozen=True, eq=False)
class _SensedExperiment(ExtendedExperiment):
    """Experiment with a gain or an offset of one output: y + gain y, or y + offset."""

    experiment: Experiment
    parameter: Parameter
    channel: str
    relative: bool
    position: int | None = field(default=None, kw_only=True, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_signal(self.channel, self.channels, f"{self.name}: there is no output")

    @property
    def effect_parameter(self) -> Parameter:
        return self.parameter

    def outputs(self, rho: np.ndarray) -> np.ndarray:
        experiment_rho, value = self.split(rho)
        return self._show(self.experiment.outputs(experiment_rho), value)

    def sensitivities(self, rho: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        experiment_rho, value = self.split(rho)
        y, by_rho = self.experiment.sensitivities(experiment_rho)
        return self._show(y, value), self.join_derivatives(
            self._scale(by_rho, value), self._direction(y)
        )

    def pull_back(
        self, rho: np.ndarray, gradient: Callable[[np.ndarray], np.ndarray]
    ) -> PulledBack:
        experiment_rho, value = self.split(rho)
        swept = self.experiment.pull_back(
            experiment_rho, lambda y: self._scale(gradient(self._show(y, value)), value)
        )
        outputs = self._show(swept.outputs, value)
        by_effect = float(np.sum(gradient(outputs) * self._direction(swept.outputs)))
        return PulledBack(
            outputs, self.join_derivatives(swept.by_parameters, by_effect), swept.by_inputs
        )

    def _show(self, y: np.ndarray, value: float) -> np.ndarray:
        return y + value * self._direction(y)

    def _direction(self, y: np.ndarray) -> np.ndarray:
        """Return the change of the outputs per unit of the parameter, shape (n_t, n_y)."""
        direction = np.zeros_like(y)
        direction[:, self._column] = y[:, self._column] if self.relative else 1.0
        return direction

    def _scale(self, values: np.ndarray, value: float) -> np.ndarray:
        """Scale derivatives of the outputs by the gain, or weights of outputs in an adjoint."""
        scaled = np.array(values)
        if self.relative:
            scaled[:, self._column] *= 1.0 + value
        return scaled

    @property
    def _column(self) -> int:
        return [channel.name for channel in self.channels].index(self.channel)


@dataclass(frozen=True, eq=False)
class Delayed(ExtendedExperiment):
    """Experiment measured with a delay: `measured` at t is the output at t - delay.

    Outputs between samples are interpolated by cubics, which are smooth in the delay, and are
    constant before the first sample and after the last. For a time-invariant robot that starts at
    rest, a delay of the inputs has the same effect.

    Raises:
        IdentificationError: The experiment's times are uneven, it has a parameter of that name, or
            no such channel.
    """

    experiment: Experiment
    """Experiment without delay."""
    delay: Parameter
    """Delay [s], with bounds; negative if the clock of the measurements is fast."""
    late: tuple[str, ...] = ()
    """Names of the delayed channels; () means all of them."""
    position: int | None = field(default=None, kw_only=True, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not is_evenly_spaced(self.time):
            raise IdentificationError(f"{self.name}: a delay needs samples at even times.")
        for name in self.late:
            check_signal(name, self.channels, f"{self.name}: there is no output")

    @property
    def effect_parameter(self) -> Parameter:
        """Delay."""
        return self.delay

    def outputs(self, rho: np.ndarray) -> np.ndarray:
        """Return the outputs at t - delay, shape (n_times, n_outputs)."""
        experiment_rho, delay = self.split(rho)
        return self._shift_late(
            delay_matrices(self.time, delay)[0], self.experiment.outputs(experiment_rho)
        )

    def sensitivities(self, rho: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the outputs at t - delay, and derivatives, (n_t, n_y), (n_t, n_y, n_rho)."""
        experiment_rho, delay = self.split(rho)
        S, by_delay = delay_matrices(self.time, delay)
        y, by_rho = self.experiment.sensitivities(experiment_rho)
        return self._shift_late(S, y), self.join_derivatives(
            self._shift_late(S, by_rho), self._delay_derivative(by_delay, y)
        )

    def pull_back(
        self, rho: np.ndarray, gradient: Callable[[np.ndarray], np.ndarray]
    ) -> PulledBack:
        """Return the derivatives by the adjoint of the experiment, with shifted weights."""
        experiment_rho, delay = self.split(rho)
        S, by_delay = delay_matrices(self.time, delay)
        swept = self.experiment.pull_back(
            experiment_rho, lambda y: self._shift_late(S.T, gradient(self._shift_late(S, y)))
        )
        outputs = self._shift_late(S, swept.outputs)
        late_derivative = float(
            np.sum(gradient(outputs) * self._delay_derivative(by_delay, swept.outputs))
        )
        return PulledBack(
            outputs, self.join_derivatives(swept.by_parameters, late_derivative), swept.by_inputs
        )

    def _shift_late(self, S: csr_array, values: np.ndarray) -> np.ndarray:
        """Multiply delayed columns of values, (n_t, n_y) or (n_t, n_y, n_rho), by S."""
        shifted, late_values = np.array(values), values[:, self._columns]
        shifted[:, self._columns] = (S @ late_values.reshape(S.shape[1], -1)).reshape(
            late_values.shape
        )
        return shifted

    def _delay_derivative(self, by_delay: csr_array, y: np.ndarray) -> np.ndarray:
        """Return the derivative of the outputs by the delay, shape (n_t, n_y)."""
        changes = np.zeros_like(y)
        changes[:, self._columns] = by_delay @ y[:, self._columns]
        return changes

    @property
    def _columns(self) -> np.ndarray:
        return np.flatnonzero(
            [not self.late or channel.name in self.late for channel in self.channels]
        )


def is_evenly_spaced(time: np.ndarray) -> bool:
    """Return True if times are evenly spaced, within 1e-6 of the time step."""
    steps = np.diff(time)
    return bool(np.abs(steps - steps.mean()).max() <= 1e-6 * steps.mean())


def delay_matrices(time: np.ndarray, delay: float) -> tuple[csr_array, csr_array]:
    """Return matrices to samples at t - delay, and their derivative by the delay, (n_t, n_t).

    Args:
        time: Even times of the samples [s], shape (n_t,).
        delay: Delay [s]; 0 gives the identity.
    """
    n, dt = len(time), float(np.mean(np.diff(time)))
    S, slope = cubic(1.0, n, np.arange(n) - delay / dt, is_constant_outside=True)
    return S, slope * (-1.0 / dt)
