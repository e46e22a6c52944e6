"""Base class of experiments with one more parameter, which changes inputs or outputs of another."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np

from sofa_softctl.errors import IdentificationError
from sofa_softctl.identification.model.channel import Channel
from sofa_softctl.identification.model.effect import Refinement
from sofa_softctl.identification.model.experiment import Experiment
from sofa_softctl.identification.model.parameter import Parameter

if TYPE_CHECKING:
    from sofa_softctl.identification.data.recording import Recording
    from sofa_softctl.identification.model.effect import Effect


class Wrapped(Experiment):
    """An experiment with one more parameter.

    Derive dataclasses from it, with the fields `experiment` and `position`, whose default is None.
    Members are those of the experiment unless a subclass changes them. Errors of inputs are no
    unknowns: what the parameter changes would have to enter the search for them.

    Raises:
        IdentificationError: The experiment has a parameter of that name already.
    """

    experiment: Experiment
    """The experiment without the parameter."""
    position: int | None
    """Index of the parameter among all; None: after those of the experiment."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "experiment", Experiment.checked(self.experiment))
        if self.position is None:
            object.__setattr__(self, "position", len(self.experiment.parameters))
        if self.own.name in [one.name for one in self.experiment.parameters]:
            raise IdentificationError(f"{self.name} has a parameter '{self.own.name}' already.")

    @property
    @abstractmethod
    def own(self) -> Parameter:
        """The added parameter."""

    def around(self, other: Experiment) -> Self:
        """The same change of another experiment, which may have more parameters, at the end."""
        return cast(Self, replace(cast(Any, self), experiment=other))

    def split(self, rho: np.ndarray) -> tuple[np.ndarray, float]:
        """The parameters of the experiment, and the own one."""
        rho = np.asarray(rho, dtype=float)
        assert self.position is not None
        return np.delete(rho, self.position), float(rho[self.position])

    def joined(self, by_rho: np.ndarray, by_own: np.ndarray | float) -> np.ndarray:
        """Derivatives by all parameters (last axis) of those by the experiment's and the own."""
        assert self.position is not None
        return np.insert(by_rho, self.position, by_own, axis=-1)

    @property
    def name(self) -> str:
        """Name of the recording."""
        return self.experiment.name

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Parameters of the experiment, and the own one."""
        others = self.experiment.parameters
        return (*others[: self.position], self.own, *others[self.position :])

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

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes of the experiment."""
        return self.experiment.notes

    @property
    def outputs_from_inputs(self) -> bool:
        """As of the experiment."""
        return self.experiment.outputs_from_inputs

    @property
    def recorded_inputs(self) -> np.ndarray | None:
        """As of the experiment."""
        return self.experiment.recorded_inputs

    @property
    def effects(self) -> tuple[Effect, ...] | None:
        """As of the experiment."""
        return self.experiment.effects

    def outputs(self, rho: np.ndarray) -> np.ndarray:
        """Predicted outputs, shape (n_times, n_outputs)."""
        return self.sensitivities(rho)[0]

    def refinements(self) -> tuple[Refinement, ...]:
        """Those of the experiment, changed in the same way."""
        return tuple(
            replace(one, make=partial(_around, self, one.make))
            for one in self.experiment.refinements()
        )

    @property
    def has_adjoint(self) -> bool:
        """As of the experiment."""
        return self.experiment.has_adjoint

    def measured_by_inputs(self, weights: np.ndarray) -> np.ndarray:
        """As of the experiment, shape (n_times, n_inputs)."""
        return self.experiment.measured_by_inputs(weights)

    def with_input_errors(self, errors: np.ndarray) -> Self | None:
        """The same with other inputs, or None, as of the experiment."""
        other = self.experiment.with_input_errors(errors)
        return None if other is None else self.around(other)

    def with_recording(self, change: Callable[[Recording], Recording]) -> Self | None:
        """The same of the changed recording, or None, as of the experiment."""
        other = self.experiment.with_recording(change)
        return None if other is None else self.around(other)


def _around(wrapped: Wrapped, make: Callable[[], Experiment]) -> Experiment:
    return wrapped.around(make())
