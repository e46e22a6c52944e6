"""Experiments with data simulated with new noise at given parameters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from typing_extensions import override

from sofa_softctl.errors import IdentificationError
from sofa_softctl.identification.model.channel import Channel
from sofa_softctl.identification.model.experiment import Experiment, PulledBack
from sofa_softctl.identification.model.parameter import Parameter


class ExperimentWithOutputs(Experiment):
    """Experiment whose measured outputs are replaced.

    Args:
        experiment: Experiment with the model and its inputs.
        measured: New measured outputs, NaN where missing, shape (n_times, n_outputs).
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
class ExperimentWithUnknowns(Protocol):
    """Experiment with unknowns, whose most likely values can be sent to another process."""

    def export_unknowns(self, rho: np.ndarray) -> Any:
        """Return the most likely unknowns at parameters rho, for `import_unknowns`."""

    def import_unknowns(self, unknowns: Any) -> None:
        """Start the next search for the most likely unknowns from these."""


def simulate_with_noise(
    experiment: Experiment,
    rho: np.ndarray,
    channels: Sequence[Channel],
    random: np.random.Generator,
) -> Experiment:
    """Simulate the run with drawn noise of inputs and outputs; missing samples stay missing.

    Args:
        experiment: Experiment whose recorded inputs count as true, or with unknown inputs.
        rho: Parameters of the experiment, shape (n_rho,).
        channels: Channels of the experiment, with the noise to be drawn.
        random: Random generator.

    Raises:
        IdentificationError: Noise of the inputs cannot be added.
    """
    if experiment.unknowns:
        return experiment.redrawn(rho, channels, random)
    noise = np.array([channel.deviation for channel in experiment.inputs])
    disturbed: Experiment | None = experiment
    if noise.any():
        errors = noise * random.standard_normal((len(experiment.time), len(noise)))
        disturbed = experiment.with_input_errors(errors)
    if disturbed is None:
        raise IdentificationError(
            f"{experiment.name}: a bootstrap needs its inputs with drawn noise, and "
            f"{type(experiment).__name__} has no with_input_errors. Add that method, or declare "
            "the inputs as exact."
        )
    outputs, measured = experiment.outputs(rho), experiment.measured
    if experiment.outputs_from_inputs:  # noise of the inputs is noise of the outputs
        simulated = outputs + disturbed.measured - measured
    else:
        deviations = np.array([channel.deviation for channel in channels])
        simulated = outputs + deviations * random.standard_normal(outputs.shape)
    return ExperimentWithOutputs(disturbed, np.where(np.isfinite(measured), simulated, np.nan))
