"""Gain, offset and delay of a recorded input, of experiments that can take other inputs."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from typing_extensions import override

from sofa_softctl.errors import IdentificationError
from sofa_softctl.identification.effects.sensors import even, shift
from sofa_softctl.identification.effects.wrapped import Wrapped
from sofa_softctl.identification.model.effect import Effect, check_signal
from sofa_softctl.identification.model.experiment import Experiment, PulledBack
from sofa_softctl.identification.model.parameter import Parameter

STEP = 1e-4
"""Change of an input, relative to its size, for central differences: rounding of 1e-12 in a
simulation leaves 1e-8 of a derivative [-]."""


@dataclass(frozen=True)
class DriveEffect(Effect):
    """A change of a recorded input that drives a model, linear in what was recorded."""

    channel: str
    """Name of the input."""

    @abstractmethod
    def change(self, u: np.ndarray, time: np.ndarray, value: float) -> np.ndarray:
        """What is added to the recorded input u, 0 at 0, shape (n_t,)."""

    @abstractmethod
    def slope(self, u: np.ndarray, time: np.ndarray, value: float) -> np.ndarray:
        """Its derivative by the parameter, shape (n_t,)."""

    @abstractmethod
    def back(self, weights: np.ndarray, time: np.ndarray, value: float) -> np.ndarray:
        """Weights of the changed input as weights of the recorded one, shape (n_t,)."""

    @override
    def of(self, experiment: Experiment) -> Experiment:
        return _Driven(experiment, self)


@dataclass(frozen=True)
class DriveGain(DriveEffect):
    """A model is driven by (1 + gain) times what was recorded."""

    @override
    def change(self, u: np.ndarray, time: np.ndarray, value: float) -> np.ndarray:
        return value * u

    @override
    def slope(self, u: np.ndarray, time: np.ndarray, value: float) -> np.ndarray:
        return u

    @override
    def back(self, weights: np.ndarray, time: np.ndarray, value: float) -> np.ndarray:
        return (1.0 + value) * weights


@dataclass(frozen=True)
class DriveOffset(DriveEffect):
    """A model is driven by what was recorded plus an offset."""

    @override
    def change(self, u: np.ndarray, time: np.ndarray, value: float) -> np.ndarray:
        return np.full_like(u, value)

    @override
    def slope(self, u: np.ndarray, time: np.ndarray, value: float) -> np.ndarray:
        return np.ones_like(u)

    @override
    def back(self, weights: np.ndarray, time: np.ndarray, value: float) -> np.ndarray:
        return weights


@dataclass(frozen=True)
class DriveDelay(DriveEffect):
    """A model is driven later than was recorded, by cubics through even samples."""

    @override
    def change(self, u: np.ndarray, time: np.ndarray, value: float) -> np.ndarray:
        found: np.ndarray = shift(time, value)[0] @ u - u
        return found

    @override
    def slope(self, u: np.ndarray, time: np.ndarray, value: float) -> np.ndarray:
        found: np.ndarray = shift(time, value)[1] @ u
        return found

    @override
    def back(self, weights: np.ndarray, time: np.ndarray, value: float) -> np.ndarray:
        found: np.ndarray = shift(time, value)[0].T @ weights
        return found

    @override
    def of(self, experiment: Experiment) -> Experiment:
        if not even(experiment.time):
            raise IdentificationError(f"{experiment.name}: a delay needs samples at even times.")
        return super().of(experiment)


@dataclass(frozen=True, eq=False)
class _Driven(Wrapped):
    """An experiment with an effect on one recorded input.

    Where measured outputs are computed from inputs, they change, too: by as much less is predicted.
    """

    experiment: Experiment
    effect: DriveEffect
    position: int | None = field(default=None, kw_only=True, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_signal(self.effect.channel, self.inputs, f"{self.name}: there is no input")
        if self.experiment.recorded_inputs is None or self._changed(0.0) is None:
            raise IdentificationError(
                f"{self.name}: the effect '{self.own.name}' needs an experiment whose inputs can "
                "be changed: with a `recording` and with_input_errors."
            )

    @property
    def own(self) -> Parameter:
        """The parameter of the effect."""
        return self.effect.parameter

    def outputs(self, rho: np.ndarray) -> np.ndarray:
        others, value = self.split(rho)
        driven = self._driven(value)
        return driven.outputs(others) - self._moved(driven)

    def sensitivities(self, rho: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        others, value = self.split(rho)
        driven = self._driven(value)
        y, by_rho = driven.sensitivities(others)
        by_own = self._by_own(others, value)
        return y - self._moved(driven), self.joined(by_rho, by_own)

    def _by_own(self, others: np.ndarray, value: float) -> np.ndarray:
        """Outputs by the parameter, shape (n_t, n_y).

        Central differences, extrapolated to no step (Richardson): motions near an unstable rest
        turn 1e-4 of an input into so much that a plain difference is off by as much, and effects
        that other parameters undo seem to show.
        """
        u = self._recorded[:, self._column]
        slope = self.effect.slope(u, self.time, value)
        largest = float(np.abs(slope).max())
        if largest == 0.0:
            return np.zeros((len(self.time), len(self.channels)))
        size = float(np.abs(u).max()) or self.inputs[self._column].deviation or 1.0
        step = STEP * size / largest
        here = self.effect.change(u, self.time, value)
        whole, half = (self._difference(others, here, by * slope) / by for by in (step, 0.5 * step))
        found: np.ndarray = (4.0 * half - whole) / 3.0
        return found

    def _difference(self, others: np.ndarray, here: np.ndarray, by: np.ndarray) -> np.ndarray:
        """Half the difference of the outputs with more of the input, and with less of it."""
        above, below = (self._changed_by(here + sign * by) for sign in (1.0, -1.0))
        found: np.ndarray = above.outputs(others) - self._moved(above)
        return 0.5 * (found - below.outputs(others) + self._moved(below))

    def pull_back(
        self, rho: np.ndarray, gradient: Callable[[np.ndarray], np.ndarray]
    ) -> PulledBack:
        others, value = self.split(rho)
        driven = self._driven(value)
        moved = self._moved(driven)
        swept = driven.pull_back(others, lambda y: gradient(y - moved))
        outputs = swept.outputs - moved
        weights = gradient(outputs)
        through = swept.by_inputs - driven.measured_by_inputs(weights)
        column, u = self._column, self._recorded[:, self._column]
        own = float(through[:, column] @ self.effect.slope(u, self.time, value))
        by_inputs = through.copy()
        by_inputs[:, column] = self.effect.back(through[:, column], self.time, value)
        by_inputs += self.experiment.measured_by_inputs(weights)
        return PulledBack(outputs, self.joined(swept.by_parameters, own), by_inputs)

    def _driven(self, value: float) -> Experiment:
        """The experiment with the effect on its inputs."""
        found = self._changed(value)
        assert found is not None  # checked when it was made
        return found

    def _changed(self, value: float) -> Experiment | None:
        u = self._recorded[:, self._column]
        return self._changed_by(self.effect.change(u, self.time, value))

    def _changed_by(self, change: np.ndarray) -> Experiment:
        errors = np.zeros_like(self._recorded)
        errors[:, self._column] = change
        found = self.experiment.with_input_errors(errors)
        return found if found is None else Experiment.checked(found)  # type: ignore[return-value]

    def _moved(self, driven: Experiment) -> np.ndarray:
        """By how much outputs that are computed from inputs changed, shape (n_t, n_y)."""
        return np.nan_to_num(driven.measured - self.measured, nan=0.0)

    @property
    def _recorded(self) -> np.ndarray:
        recorded = self.experiment.recorded_inputs
        assert recorded is not None  # checked when it was made
        return recorded

    @property
    def _column(self) -> int:
        return [one.name for one in self.inputs].index(self.effect.channel)
