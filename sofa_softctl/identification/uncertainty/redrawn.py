"""Experiments with data that are simulated, with new noise, at given parameters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from typing_extensions import override

from sofa_softctl.errors import IdentificationError
from sofa_softctl.identification.model.channel import Channel
from sofa_softctl.identification.model.experiment import Experiment, PulledBack
from sofa_softctl.identification.model.parameter import Parameter


class Simulated(Experiment):
    """An experiment with other measured outputs.

    Args:
        experiment: The model, and its inputs.
        measured: The outputs, NaN where missing, shape (n_times, n_outputs).
    """

    name: str
    parameters: tuple[Parameter, ...]
    channels: tuple[Channel, ...]
    inputs: tuple[Channel, ...]
    time: np.ndarray
    measured: np.ndarray

    def __init__(self, experiment: Experiment, measured: np.ndarray) -> None:
        self.experiment, self.measured = experiment, measured
        self.name, self.parameters = experiment.name, experiment.parameters
        self.channels, self.inputs = experiment.channels, experiment.inputs
        self.time = experiment.time

    @override
    def outputs(self, rho: np.ndarray) -> np.ndarray:
        return self.experiment.outputs(rho)

    @override
    def sensitivities(self, rho: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self.experiment.sensitivities(rho)

    @override
    def pull_back(
        self, rho: np.ndarray, gradient: Callable[[np.ndarray], np.ndarray]
    ) -> PulledBack:
        return self.experiment.pull_back(rho, gradient)

    @property
    @override
    def has_adjoint(self) -> bool:
        return self.experiment.has_adjoint


@runtime_checkable
class Resumable(Protocol):
    """An experiment with unknowns, whose likeliest values can be sent to another process."""

    def carried(self, rho: np.ndarray) -> Any:
        """What `resume` takes, of parameters rho."""

    def resume(self, carried: Any) -> None:
        """Go on from there."""


def redrawn(
    experiment: Experiment,
    rho: np.ndarray,
    channels: Sequence[Channel],
    random: np.random.Generator,
) -> Experiment:
    """The run simulated anew, with drawn noise of inputs and outputs; samples stay missing.

    Args:
        experiment: With its recorded inputs taken as true, or with unknown inputs.
        rho: Its parameters, shape (n_rho,).
        channels: Its channels, with the noise to be drawn.
        random: Random generator.

    Raises:
        IdentificationError: Noise of its inputs cannot be added.
    """
    if experiment.unknowns:
        return experiment.redrawn(rho, channels, random)
    noise = np.array([one.deviation for one in experiment.inputs])
    other: Experiment | None = experiment
    if noise.any():
        errors = noise * random.standard_normal((len(experiment.time), len(noise)))
        other = experiment.with_input_errors(errors)
    if other is None:
        raise IdentificationError(
            f"{experiment.name}: a bootstrap needs its inputs with drawn noise, and "
            f"{type(experiment).__name__} has no with_input_errors. Add that method, or declare "
            "the inputs as exact."
        )
    outputs, measured = experiment.outputs(rho), experiment.measured
    if experiment.outputs_from_inputs:  # the noise of the inputs is that of the outputs
        drawn = outputs + other.measured - measured
    else:
        own = np.array([one.deviation for one in channels])
        drawn = outputs + own * random.standard_normal(outputs.shape)
    return Simulated(other, np.where(np.isfinite(measured), drawn, np.nan))
