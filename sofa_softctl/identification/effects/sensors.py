"""Gain, offset and delay of a measured output."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from sofa_softctl.identification.effect import Effect, check_signal
from sofa_softctl.identification.effects.delay import Delayed
from sofa_softctl.identification.effects.wrapped import Wrapped
from sofa_softctl.identification.experiment import Experiment, PulledBack
from sofa_softctl.identification.parameter import Parameter


@dataclass(frozen=True)
class SensorGain(Effect):
    """A sensor shows (1 + gain) times its quantity."""

    channel: str
    """Name of the output."""

    def of(self, experiment: Experiment) -> Experiment:
        """See Effect."""
        return _Sensed(experiment, self.parameter, self.channel, relative=True)


@dataclass(frozen=True)
class SensorOffset(Effect):
    """A sensor shows its quantity plus an offset."""

    channel: str
    """Name of the output."""

    def of(self, experiment: Experiment) -> Experiment:
        """See Effect."""
        return _Sensed(experiment, self.parameter, self.channel, relative=False)


@dataclass(frozen=True)
class SensorDelay(Effect):
    """A sensor shows its quantity late."""

    channel: str
    """Name of the output."""

    def of(self, experiment: Experiment) -> Experiment:
        """See Effect."""
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
