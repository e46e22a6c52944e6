"""Base class of experiments with one more parameter, which changes inputs or outputs."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np

from sofa_softctl.errors import IdentificationError
from sofa_softctl.identification.model.channel import Channel
from sofa_softctl.identification.model.experiment import Experiment, Refinement
from sofa_softctl.identification.model.parameter import Parameter

if TYPE_CHECKING:
    from sofa_softctl.identification.model.experiment import Effect
    from sofa_softctl.identification.model.recording import Recording


class ExtendedExperiment(Experiment):
    """Experiment with one more parameter.

    Derive dataclasses from it, with the fields `experiment` and `position`, whose default is None.
    Members equal those of the experiment unless a subclass changes them. Inputs cannot be unknowns:
    the search for them would have to account for the parameter.

    Raises:
        IdentificationError: The experiment has a parameter of that name already.
    """

    experiment: Experiment
    """Experiment without the parameter."""
    position: int | None
    """Index of the parameter among all; by default it is the last one."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "experiment", Experiment.checked(self.experiment))
        if self.position is None:
            object.__setattr__(self, "position", len(self.experiment.parameters))
        if self.effect_parameter.name in [
            parameter.name for parameter in self.experiment.parameters
        ]:
            raise IdentificationError(
                f"{self.name} has a parameter '{self.effect_parameter.name}' already."
            )

    @property
    @abstractmethod
    def effect_parameter(self) -> Parameter:
        """Added parameter."""

    def apply_to(self, experiment: Experiment) -> Self:
        """Return another experiment with this change; it may have further parameters at the end."""
        return cast(Self, replace(cast(Any, self), experiment=experiment))

    def split(self, rho: np.ndarray) -> tuple[np.ndarray, float]:
        """Split rho into the parameters of the experiment, and the added one."""
        rho = np.asarray(rho, dtype=float)
        assert self.position is not None
        return np.delete(rho, self.position), float(rho[self.position])

    def join_derivatives(self, by_rho: np.ndarray, by_own: np.ndarray | float) -> np.ndarray:
        """Join derivatives by the experiment's parameters (last axis) and by the added one."""
        assert self.position is not None
        return np.insert(by_rho, self.position, by_own, axis=-1)

    @property
    def name(self) -> str:
        """Name of the recording."""
        return self.experiment.name

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Parameters of the experiment, and the added one."""
        experiment_parameters = self.experiment.parameters
        return (
            *experiment_parameters[: self.position],
            self.effect_parameter,
            *experiment_parameters[self.position :],
        )

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
        """True if the experiment computes its outputs from inputs."""
        return self.experiment.outputs_from_inputs

    @property
    def recorded_inputs(self) -> np.ndarray | None:
        """Recorded inputs of the experiment."""
        return self.experiment.recorded_inputs

    @property
    def effects(self) -> tuple[Effect, ...] | None:
        """Effects of the experiment."""
        return self.experiment.effects

    def outputs(self, rho: np.ndarray) -> np.ndarray:
        """Predicted outputs, shape (n_times, n_outputs)."""
        return self.sensitivities(rho)[0]

    def refinements(self) -> tuple[Refinement, ...]:
        """Return the refinements of the experiment, with the same change."""
        return tuple(
            replace(refinement, make=partial(_make_extended, self, refinement.make))
            for refinement in self.experiment.refinements()
        )

    @property
    def has_adjoint(self) -> bool:
        """True if the experiment has an adjoint."""
        return self.experiment.has_adjoint

    def measured_by_inputs(self, weights: np.ndarray) -> np.ndarray:
        """Return this derivative of the experiment, shape (n_times, n_inputs)."""
        return self.experiment.measured_by_inputs(weights)

    def with_input_errors(self, errors: np.ndarray) -> Self | None:
        """Return the changed experiment with other inputs, or None if not possible."""
        changed = self.experiment.with_input_errors(errors)
        return None if changed is None else self.apply_to(changed)

    def with_recording(self, change: Callable[[Recording], Recording]) -> Self | None:
        """Return the changed experiment of the changed recording, or None if not possible."""
        changed = self.experiment.with_recording(change)
        return None if changed is None else self.apply_to(changed)


def _make_extended(wrapped: ExtendedExperiment, make: Callable[[], Experiment]) -> Experiment:
    return wrapped.apply_to(make())
