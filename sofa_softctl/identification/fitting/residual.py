"""Weighted residuals of several experiments and priors, stacked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sofa_softctl.errors import IdentificationError, SimulationError
from sofa_softctl.identification.model.channel import Channel
from sofa_softctl.identification.model.experiment import Experiment
from sofa_softctl.identification.model.parameter import Parameter


@dataclass(frozen=True, eq=False)
class Fit:
    """Measured and predicted outputs of one experiment, at some parameters."""

    name: str
    """Name of the experiment."""
    time: np.ndarray
    """Times [s], shape (n_times,)."""
    channels: tuple[Channel, ...]
    """Channels of the columns, with the noise that weights the data."""
    measured: np.ndarray
    """Measured outputs, NaN where missing, shape (n_times, n_outputs)."""
    outputs: np.ndarray
    """Predicted outputs, shape (n_times, n_outputs)."""
    sensitivities: np.ndarray
    """Derivatives of the outputs by all parameters, 0 for other models', (n_t, n_y, n_rho)."""
    unknowns: int = 0
    """Number of unknowns in addition to the parameters, such as inputs."""

    @property
    def deviations(self) -> np.ndarray:
        """Standard deviation of each channel's noise [unit], shape (n_outputs,)."""
        return np.array([channel.deviation for channel in self.channels])

    @property
    def is_measured(self) -> np.ndarray:
        """Mask of measured samples, shape (n_times, n_outputs)."""
        return np.isfinite(self.measured)

    @property
    def residuals(self) -> np.ndarray:
        """(predicted - measured) / deviation [-], NaN where missing, shape (n_times, n_outputs)."""
        return (self.outputs - self.measured) / self.deviations

    @property
    def rows(self) -> tuple[np.ndarray, np.ndarray]:
        """Residuals of measured samples and their Jacobian: shapes (m,), (m, n_rho)."""
        jacobian = self.sensitivities / self.deviations[:, None]
        return self.residuals[self.is_measured], jacobian[self.is_measured]


class StackedResidual:
    """Residuals in standard deviations, as functions of shared parameters.

    Args:
        experiments: One or more experiments; parameters of the same name are shared.
        parameters: Order of rho; by default the parameters of the experiments, in their order.
        deviations: Noise by name of the channel, in place of the channel's own.

    Raises:
        IdentificationError: No experiment, conflicting declarations of a parameter, a parameter
            that is missing in `parameters`, or noise that is not positive.
    """

    def __init__(
        self,
        experiments: Sequence[Experiment],
        parameters: Sequence[Parameter] | None = None,
        *,
        deviations: Mapping[str, float] | None = None,
    ) -> None:
        if not experiments:
            raise IdentificationError("There are no data: give an experiment.")
        self.experiments = tuple(map(Experiment.checked, experiments))
        for experiment in self.experiments:
            _check_names(experiment.parameters, experiment.name)
        self.parameters = tuple(
            _merge_parameters(self.experiments) if parameters is None else parameters
        )
        _check_names(self.parameters, "The estimate")
        self.names = tuple(parameter.name for parameter in self.parameters)
        self._parameter_indices = [
            self._find_parameters(experiment) for experiment in self.experiments
        ]
        self.channels = [
            _weighted_channels(experiment, deviations or {}) for experiment in self.experiments
        ]
        self._prior_indices = [
            i for i, parameter in enumerate(self.parameters) if parameter.prior is not None
        ]
        self._priors = [
            parameter.prior for parameter in self.parameters if parameter.prior is not None
        ]

    def experiment_parameters(self, experiment: int, rho: np.ndarray) -> np.ndarray:
        """Return the parameters of one experiment, in its order."""
        return rho[self._parameter_indices[experiment]]

    def parameter_indices(self, experiment: int) -> np.ndarray:
        """Return the indices of one experiment's parameters among all, in its order."""
        return self._parameter_indices[experiment]

    def scatter_derivatives(self, experiment: int, values: np.ndarray) -> np.ndarray:
        """Return derivatives by all parameters (last axis), 0 for those of other experiments."""
        padded = np.zeros((*values.shape[:-1], len(self.parameters)))
        padded[..., self._parameter_indices[experiment]] = values
        return padded

    def fits(self, rho: np.ndarray) -> tuple[Fit, ...]:
        """Simulate each experiment, and return its measured and predicted outputs.

        Raises:
            SimulationError: A model cannot be simulated with rho, or its outputs are not finite.
        """
        return tuple(self.fit(k, rho) for k in range(len(self.experiments)))

    def stack_residuals(
        self, fits: Sequence[Fit], rho: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return residuals of data, then of priors, and their Jacobian, shapes (m,), (m, n_rho)."""
        pairs = [fit.rows for fit in fits]
        prior_residuals = (
            rho[self._prior_indices] - [prior.mean for prior in self._priors]
        ) / self.prior_deviations
        prior_jacobian = np.zeros((len(self._prior_indices), len(rho)))
        prior_jacobian[np.arange(len(self._prior_indices)), self._prior_indices] = (
            1.0 / self.prior_deviations
        )
        return (
            np.concatenate([*(r for r, _ in pairs), prior_residuals]),
            np.concatenate([*(J for _, J in pairs), prior_jacobian]),
        )

    @property
    def prior_deviations(self) -> np.ndarray:
        """Standard deviations of the priors [unit], shape (n_priors,)."""
        return np.array([prior.deviation for prior in self._priors])

    @property
    def prior_information(self) -> np.ndarray:
        """Information of the priors: 1 / deviation^2, 0 without one, shape (n_rho,)."""
        information = np.zeros(len(self.parameters))
        information[self._prior_indices] = self.prior_deviations**-2.0
        return information

    def fit(self, k: int, rho: np.ndarray) -> Fit:
        """Simulate experiment k, and return its measured and predicted outputs, see `fits`."""
        experiment = self.experiments[k]
        result = experiment.sensitivities(self.experiment_parameters(k, rho))
        if not isinstance(result, tuple | list) or len(result) != 2:
            raise IdentificationError(
                f"{experiment.name}: sensitivities must return two arrays, outputs and their "
                f"derivatives. Got: {type(result).__name__}."
            )
        outputs, sensitivities = result
        check_shapes(experiment, outputs, sensitivities)
        if not (np.isfinite(outputs).all() and np.isfinite(sensitivities).all()):
            raise SimulationError(f"{experiment.name}: the model's outputs are not finite.")
        return Fit(
            name=experiment.name,
            time=experiment.time,
            channels=self.channels[k],
            measured=experiment.measured,
            outputs=outputs,
            sensitivities=self.scatter_derivatives(k, sensitivities),
            unknowns=experiment.unknowns,
        )

    def _find_parameters(self, experiment: Experiment) -> np.ndarray:
        """Return the indices of an experiment's parameters among all."""
        for parameter in experiment.parameters:
            if parameter.name not in self.names:
                raise IdentificationError(
                    f"{experiment.name} depends on '{parameter.name}', which is not among the "
                    f"parameters: {', '.join(self.names)}. To keep it constant, fix it."
                )
        return np.array(
            [self.names.index(parameter.name) for parameter in experiment.parameters], dtype=int
        )


def check_shapes(
    experiment: Experiment, outputs: np.ndarray, sensitivities: np.ndarray | None = None
) -> None:
    """Raise IdentificationError if arrays of an experiment have wrong shapes."""
    shape = (len(experiment.time), len(experiment.channels))
    _check_shape(experiment.name, "measured", experiment.measured, shape, "(n_times, n_outputs)")
    _check_shape(experiment.name, "outputs", outputs, shape, "(n_times, n_outputs)")
    if sensitivities is not None:
        _check_shape(
            *(experiment.name, "derivatives of the outputs", sensitivities),
            *((*shape, len(experiment.parameters)), "(n_times, n_outputs, n_rho)"),
        )


def _check_shape(
    location: str, label: str, array: np.ndarray, shape: tuple[int, ...], meaning: str
) -> None:
    if np.shape(array) != shape:
        raise IdentificationError(
            f"{location}: expected {label} of shape {meaning} = {shape}. Got: {np.shape(array)}."
        )


def _check_names(parameters: Sequence[Parameter], location: str) -> None:
    names = [parameter.name for parameter in parameters]
    for name in names:
        if names.count(name) > 1:
            raise IdentificationError(
                f"{location} has two parameters '{name}': give each a name of its own."
            )


def _merge_parameters(experiments: Sequence[Experiment]) -> list[Parameter]:
    """Return the parameters of all experiments, each name once."""
    parameters: dict[str, Parameter] = {}
    for experiment in experiments:
        for parameter in experiment.parameters:
            if parameters.setdefault(parameter.name, parameter) != parameter:
                raise IdentificationError(
                    f"{experiment.name} declares '{parameter.name}' as {parameter}, another "
                    "experiment as "
                    f"{parameters[parameter.name]}. Give `parameters` to choose one."
                )
    return list(parameters.values())


def _weighted_channels(
    experiment: Experiment, deviations: Mapping[str, float]
) -> tuple[Channel, ...]:
    channels = tuple(
        Channel(
            channel.name,
            channel.unit,
            deviations.get(channel.name, channel.deviation),
            channel.largest,
        )
        for channel in experiment.channels
    )
    for channel in channels:
        if not 0.0 < channel.deviation < np.inf:
            raise IdentificationError(
                f"{experiment.name}: the noise of '{channel.name}' is {channel.deviation:g} "
                f"{channel.unit}. "
                "Expected a positive standard deviation: it weights the data."
            )
    return channels
