"""Gain, offset and delay of a recorded input, of experiments that can take other inputs."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from typing_extensions import override

from sofa_softctl.errors import IdentificationError
from sofa_softctl.identification.effects.sensors import delay_matrices, is_evenly_spaced
from sofa_softctl.identification.effects.wrapped import ExtendedExperiment
from sofa_softctl.identification.model.experiment import (
    Effect,
    Experiment,
    PulledBack,
    check_signal,
)
from sofa_softctl.identification.model.parameter import Parameter


@dataclass(frozen=True)
class DriveEffect(Effect):
    """Change of a recorded input that drives a model, linear in the recorded signal."""

    channel: str
    """Name of the input."""
    simulations: ClassVar[float] = 4.0
    """Four simulations without derivatives, for a difference, and one with them."""

    @abstractmethod
    def change(self, u: np.ndarray, time: np.ndarray, value: float) -> np.ndarray:
        """Return the change of the recorded input u, 0 for value 0, shape (n_t,)."""

    @abstractmethod
    def slope(self, u: np.ndarray, time: np.ndarray, value: float) -> np.ndarray:
        """Return the derivative of the change by the parameter, shape (n_t,)."""

    @abstractmethod
    def pull_weights_back(self, weights: np.ndarray, time: np.ndarray, value: float) -> np.ndarray:
        """Convert weights of the changed input to weights of the recorded one, shape (n_t,)."""

    @override
    def add_to(self, experiment: Experiment) -> Experiment:
        return _DrivenExperiment(experiment, self)


@dataclass(frozen=True)
class DriveGain(DriveEffect):
    """Gain of an input: (1 + gain) times the recorded signal drives the model."""

    @override
    def change(self, u: np.ndarray, time: np.ndarray, value: float) -> np.ndarray:
        return value * u

    @override
    def slope(self, u: np.ndarray, time: np.ndarray, value: float) -> np.ndarray:
        return u

    @override
    def pull_weights_back(self, weights: np.ndarray, time: np.ndarray, value: float) -> np.ndarray:
        return (1.0 + value) * weights


@dataclass(frozen=True)
class DriveOffset(DriveEffect):
    """Offset of an input: the recorded signal plus an offset drives the model."""

    @override
    def change(self, u: np.ndarray, time: np.ndarray, value: float) -> np.ndarray:
        return np.full_like(u, value)

    @override
    def slope(self, u: np.ndarray, time: np.ndarray, value: float) -> np.ndarray:
        return np.ones_like(u)

    @override
    def pull_weights_back(self, weights: np.ndarray, time: np.ndarray, value: float) -> np.ndarray:
        return weights


@dataclass(frozen=True)
class DriveDelay(DriveEffect):
    """Delay of an input: the model is driven later, by cubics through even samples."""

    @override
    def change(self, u: np.ndarray, time: np.ndarray, value: float) -> np.ndarray:
        delayed: np.ndarray = delay_matrices(time, value)[0] @ u - u
        return delayed

    @override
    def slope(self, u: np.ndarray, time: np.ndarray, value: float) -> np.ndarray:
        derivative: np.ndarray = delay_matrices(time, value)[1] @ u
        return derivative

    @override
    def pull_weights_back(self, weights: np.ndarray, time: np.ndarray, value: float) -> np.ndarray:
        weights_before: np.ndarray = delay_matrices(time, value)[0].T @ weights
        return weights_before

    @override
    def add_to(self, experiment: Experiment) -> Experiment:
        if not is_evenly_spaced(experiment.time):
            raise IdentificationError(f"{experiment.name}: a delay needs samples at even times.")
        return super().add_to(experiment)


@dataclass(frozen=True, eq=False)
class _DrivenExperiment(ExtendedExperiment):
    """Experiment with an effect on one recorded input.

    Measured outputs that are computed from inputs change too; their change is subtracted from the
    predictions instead.
    """

    experiment: Experiment
    effect: DriveEffect
    position: int | None = field(default=None, kw_only=True, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_signal(self.effect.channel, self.inputs, f"{self.name}: there is no input")
        if self.experiment.recorded_inputs is None or self._with_change(0.0) is None:
            raise IdentificationError(
                f"{self.name}: the effect '{self.effect_parameter.name}' needs an experiment "
                "whose inputs can "
                "be changed: with a `recording` and with_input_errors."
            )

    @property
    def effect_parameter(self) -> Parameter:
        """Parameter of the effect."""
        return self.effect.parameter

    def outputs(self, rho: np.ndarray) -> np.ndarray:
        experiment_rho, value = self.split(rho)
        driven = self._drive(value)
        return driven.outputs(experiment_rho) - self._measured_change(driven)

    def sensitivities(self, rho: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        experiment_rho, value = self.split(rho)
        driven = self._drive(value)
        y, by_rho = driven.sensitivities(experiment_rho)
        by_effect = self._by_own(experiment_rho, value)
        return y - self._measured_change(driven), self.join_derivatives(by_rho, by_effect)

    def _by_own(self, experiment_rho: np.ndarray, value: float) -> np.ndarray:
        """Return the derivative of the outputs by the parameter, shape (n_t, n_y).

        Central differences are extrapolated to a zero step (Richardson): near an unstable rest,
        motions amplify 1e-4 of an input so much that a single difference has large errors, and
        effects that other parameters compensate seem to be significant.
        """
        u = self._recorded_inputs[:, self._column]
        slope = self.effect.slope(u, self.time, value)
        largest = float(np.abs(slope).max())
        if largest == 0.0:
            return np.zeros((len(self.time), len(self.channels)))
        size = float(np.abs(u).max()) or self.inputs[self._column].deviation or 1.0
        # Rounding errors of 1e-12 in a simulation become 1e-8 of a derivative.
        step = 1e-4 * size / largest
        change = self.effect.change(u, self.time, value)
        full_step_slope, half_step_slope = (
            self._difference(experiment_rho, change, factor * slope) / factor
            for factor in (step, 0.5 * step)
        )
        extrapolated: np.ndarray = (4.0 * half_step_slope - full_step_slope) / 3.0
        return extrapolated

    def _difference(
        self, experiment_rho: np.ndarray, change: np.ndarray, step: np.ndarray
    ) -> np.ndarray:
        """Return half the difference of the outputs for a larger and a smaller input."""
        increased, decreased = (self._changed_by(change + sign * step) for sign in (1.0, -1.0))
        outputs: np.ndarray = increased.outputs(experiment_rho) - self._measured_change(increased)
        return 0.5 * (
            outputs - decreased.outputs(experiment_rho) + self._measured_change(decreased)
        )

    def pull_back(
        self, rho: np.ndarray, gradient: Callable[[np.ndarray], np.ndarray]
    ) -> PulledBack:
        experiment_rho, value = self.split(rho)
        driven = self._drive(value)
        measured_change = self._measured_change(driven)
        swept = driven.pull_back(experiment_rho, lambda y: gradient(y - measured_change))
        outputs = swept.outputs - measured_change
        weights = gradient(outputs)
        input_weights = swept.by_inputs - driven.measured_by_inputs(weights)
        column, u = self._column, self._recorded_inputs[:, self._column]
        by_effect = float(input_weights[:, column] @ self.effect.slope(u, self.time, value))
        by_inputs = input_weights.copy()
        by_inputs[:, column] = self.effect.pull_weights_back(
            input_weights[:, column], self.time, value
        )
        by_inputs += self.experiment.measured_by_inputs(weights)
        return PulledBack(outputs, self.join_derivatives(swept.by_parameters, by_effect), by_inputs)

    def _drive(self, value: float) -> Experiment:
        """Return the experiment with the effect on its inputs."""
        experiment = self._with_change(value)
        assert experiment is not None  # checked when it was made
        return experiment

    def _with_change(self, value: float) -> Experiment | None:
        u = self._recorded_inputs[:, self._column]
        return self._changed_by(self.effect.change(u, self.time, value))

    def _changed_by(self, change: np.ndarray) -> Experiment:
        errors = np.zeros_like(self._recorded_inputs)
        errors[:, self._column] = change
        experiment = self.experiment.with_input_errors(errors)
        return experiment if experiment is None else Experiment.checked(experiment)  # type: ignore[return-value]

    def _measured_change(self, driven: Experiment) -> np.ndarray:
        """Return the change of outputs that are computed from inputs, shape (n_t, n_y)."""
        return np.nan_to_num(driven.measured - self.measured, nan=0.0)

    @property
    def _recorded_inputs(self) -> np.ndarray:
        recorded = self.experiment.recorded_inputs
        assert recorded is not None  # checked when it was made
        return recorded

    @property
    def _column(self) -> int:
        return [channel.name for channel in self.inputs].index(self.effect.channel)
