"""Gain, offset and delay of a measured output.

Delayed measurements: the delay as a parameter of an experiment.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from scipy.sparse import csr_array
from typing_extensions import override

from sofa_softctl.errors import IdentificationError
from sofa_softctl.identification.data.interpolation import cubic
from sofa_softctl.identification.effects.wrapped import Wrapped
from sofa_softctl.identification.model.effect import Effect, check_signal
from sofa_softctl.identification.model.experiment import Experiment, PulledBack
from sofa_softctl.identification.model.parameter import Parameter


@dataclass(frozen=True)
class SensorGain(Effect):
    """A sensor shows (1 + gain) times its quantity."""

    channel: str
    """Name of the output."""

    @override
    def of(self, experiment: Experiment) -> Experiment:
        return _Sensed(experiment, self.parameter, self.channel, relative=True)


@dataclass(frozen=True)
class SensorOffset(Effect):
    """A sensor shows its quantity plus an offset."""

    channel: str
    """Name of the output."""

    @override
    def of(self, experiment: Experiment) -> Experiment:
        return _Sensed(experiment, self.parameter, self.channel, relative=False)


@dataclass(frozen=True)
class SensorDelay(Effect):
    """A sensor shows its quantity late."""

    channel: str
    """Name of the output."""

    @override
    def of(self, experiment: Experiment) -> Experiment:
        return Delayed(experiment, self.parameter, (self.channel,))


@dataclass(frozen=True, eq=False)
class _Sensed(Wrapped):
    """An experiment with a gain or an offset of one output: y + gain y, or y + offset."""

    experiment: Experiment
    parameter: Parameter
    channel: str
    relative: bool
    position: int | None = field(default=None, kw_only=True, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_signal(self.channel, self.channels, f"{self.name}: there is no output")

    @property
    def own(self) -> Parameter:
        return self.parameter

    def outputs(self, rho: np.ndarray) -> np.ndarray:
        others, value = self.split(rho)
        return self._shown(self.experiment.outputs(others), value)

    def sensitivities(self, rho: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        others, value = self.split(rho)
        y, by_rho = self.experiment.sensitivities(others)
        return self._shown(y, value), self.joined(self._scaled(by_rho, value), self._direction(y))

    def pull_back(
        self, rho: np.ndarray, gradient: Callable[[np.ndarray], np.ndarray]
    ) -> PulledBack:
        others, value = self.split(rho)
        swept = self.experiment.pull_back(
            others, lambda y: self._scaled(gradient(self._shown(y, value)), value)
        )
        outputs = self._shown(swept.outputs, value)
        own = float(np.sum(gradient(outputs) * self._direction(swept.outputs)))
        return PulledBack(outputs, self.joined(swept.by_parameters, own), swept.by_inputs)

    def _shown(self, y: np.ndarray, value: float) -> np.ndarray:
        return y + value * self._direction(y)

    def _direction(self, y: np.ndarray) -> np.ndarray:
        """What a unit of the parameter adds to the outputs, shape (n_t, n_y)."""
        found = np.zeros_like(y)
        found[:, self._column] = y[:, self._column] if self.relative else 1.0
        return found

    def _scaled(self, values: np.ndarray, value: float) -> np.ndarray:
        """Derivatives of the outputs before the change as those after it, or weights back."""
        found = np.array(values)
        if self.relative:
            found[:, self._column] *= 1.0 + value
        return found

    @property
    def _column(self) -> int:
        return [one.name for one in self.channels].index(self.channel)


UNEVEN = 1e-6
"""Largest deviation from an even time step, relative to it."""


@dataclass(frozen=True, eq=False)
class Delayed(Wrapped):
    """An experiment measured with a delay: `measured` at t is the output at t - delay.

    Outputs between samples are interpolated by cubics, which are smooth in the delay, and are
    constant before the first sample and after the last. For a time-invariant robot that starts at
    rest, a delay of the inputs has the same effect.

    Raises:
        IdentificationError: The experiment's times are uneven, it has a parameter of that name, or
            no such channel.
    """

    experiment: Experiment
    """The experiment without delay."""
    delay: Parameter
    """Delay [s], with bounds; negative: the clock of the measurements is ahead."""
    late: tuple[str, ...] = ()
    """Names of the channels that are late; none: all."""
    position: int | None = field(default=None, kw_only=True, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not even(self.time):
            raise IdentificationError(f"{self.name}: a delay needs samples at even times.")
        for name in self.late:
            check_signal(name, self.channels, f"{self.name}: there is no output")

    @property
    def own(self) -> Parameter:
        """The delay."""
        return self.delay

    def outputs(self, rho: np.ndarray) -> np.ndarray:
        """Outputs at t - delay, shape (n_times, n_outputs)."""
        others, delay = self.split(rho)
        return self._shifted(shift(self.time, delay)[0], self.experiment.outputs(others))

    def sensitivities(self, rho: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Outputs at t - delay, and derivatives: shapes (n_t, n_y), (n_t, n_y, n_rho)."""
        others, delay = self.split(rho)
        S, by_delay = shift(self.time, delay)
        y, by_rho = self.experiment.sensitivities(others)
        return self._shifted(S, y), self.joined(
            self._shifted(S, by_rho), self._changed(by_delay, y)
        )

    def pull_back(
        self, rho: np.ndarray, gradient: Callable[[np.ndarray], np.ndarray]
    ) -> PulledBack:
        """Derivatives by the adjoint of the experiment, with shifted weights."""
        others, delay = self.split(rho)
        S, by_delay = shift(self.time, delay)
        swept = self.experiment.pull_back(
            others, lambda y: self._shifted(S.T, gradient(self._shifted(S, y)))
        )
        outputs = self._shifted(S, swept.outputs)
        late = float(np.sum(gradient(outputs) * self._changed(by_delay, swept.outputs)))
        return PulledBack(outputs, self.joined(swept.by_parameters, late), swept.by_inputs)

    def _shifted(self, S: csr_array, values: np.ndarray) -> np.ndarray:
        """S times the columns of late channels, of values (n_t, n_y) or (n_t, n_y, n_rho)."""
        found, chosen = np.array(values), values[:, self._columns]
        found[:, self._columns] = (S @ chosen.reshape(S.shape[1], -1)).reshape(chosen.shape)
        return found

    def _changed(self, by_delay: csr_array, y: np.ndarray) -> np.ndarray:
        """Outputs by the delay, 0 for channels that are not late, shape (n_t, n_y)."""
        found = np.zeros_like(y)
        found[:, self._columns] = by_delay @ y[:, self._columns]
        return found

    @property
    def _columns(self) -> np.ndarray:
        return np.flatnonzero([not self.late or one.name in self.late for one in self.channels])


def even(time: np.ndarray) -> bool:
    """Whether times are evenly spaced."""
    steps = np.diff(time)
    return bool(np.abs(steps - steps.mean()).max() <= UNEVEN * steps.mean())


def shift(time: np.ndarray, delay: float) -> tuple[csr_array, csr_array]:
    """Interpolation of samples at t - delay, and its derivative by the delay, shapes (n_t, n_t).

    Args:
        time: Even times of the samples [s], shape (n_t,).
        delay: Delay [s]; without one, the interpolation is the identity.
    """
    n, dt = len(time), float(np.mean(np.diff(time)))
    S, slope = cubic(1.0, n, np.arange(n) - delay / dt, hold=True)
    return S, slope * (-1.0 / dt)
