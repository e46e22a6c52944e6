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
    """Their derivatives by all parameters, 0 for those of other models, (n_t, n_y, n_rho)."""
    unknowns: int = 0
    """Number of unknowns besides the parameters that its samples determine."""

    @property
    def deviations(self) -> np.ndarray:
        """Standard deviation of each channel's noise [unit], shape (n_outputs,)."""
        return np.array([one.deviation for one in self.channels])

    @property
    def there(self) -> np.ndarray:
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
        return self.residuals[self.there], jacobian[self.there]


class StackedResidual:
    """Residuals in standard deviations, as functions of shared parameters.

    Args:
        experiments: At least one; parameters of the same name are shared.
        parameters: The order of rho; None: those of the experiments, in their order.
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
        for one in self.experiments:
            _check_names(one.parameters, one.name)
        self.parameters = tuple(_united(self.experiments) if parameters is None else parameters)
        _check_names(self.parameters, "The estimate")
        self.names = tuple(one.name for one in self.parameters)
        self._places = [self._place(one) for one in self.experiments]
        self.channels = [_weighted(one, deviations or {}) for one in self.experiments]
        self._known = [i for i, one in enumerate(self.parameters) if one.prior is not None]
        self._priors = [one.prior for one in self.parameters if one.prior is not None]

    def of(self, experiment: int, rho: np.ndarray) -> np.ndarray:
        """The parameters of one experiment, in its order."""
        return rho[self._places[experiment]]

    def places(self, experiment: int) -> np.ndarray:
        """Indices of one experiment's parameters among all, in its order."""
        return self._places[experiment]

    def spread(self, experiment: int, own: np.ndarray) -> np.ndarray:
        """Values by one experiment's parameters (last axis) as values by all, 0 elsewhere."""
        everywhere = np.zeros((*own.shape[:-1], len(self.parameters)))
        everywhere[..., self._places[experiment]] = own
        return everywhere

    def fits(self, rho: np.ndarray) -> tuple[Fit, ...]:
        """Measured and predicted outputs of each experiment.

        Raises:
            SimulationError: A model cannot be simulated with rho, or its outputs are not finite.
        """
        return tuple(self.fit(k, rho) for k in range(len(self.experiments)))

    def stacked(self, fits: Sequence[Fit], rho: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Residuals of data, then of priors, and their Jacobian, shapes (m,), (m, n_rho)."""
        pairs = [one.rows for one in fits]
        known = (rho[self._known] - [one.mean for one in self._priors]) / self.prior_deviations
        of_priors = np.zeros((len(self._known), len(rho)))
        of_priors[np.arange(len(self._known)), self._known] = 1.0 / self.prior_deviations
        return (
            np.concatenate([*(r for r, _ in pairs), known]),
            np.concatenate([*(J for _, J in pairs), of_priors]),
        )

    @property
    def prior_deviations(self) -> np.ndarray:
        """Standard deviations of the priors [unit], shape (n_priors,)."""
        return np.array([one.deviation for one in self._priors])

    @property
    def prior_information(self) -> np.ndarray:
        """Information of the priors: 1 / deviation^2, 0 without one, shape (n_rho,)."""
        found = np.zeros(len(self.parameters))
        found[self._known] = self.prior_deviations**-2.0
        return found

    def fit(self, k: int, rho: np.ndarray) -> Fit:
        """Measured and predicted outputs of experiment k; see `fits`."""
        experiment = self.experiments[k]
        found = experiment.sensitivities(self.of(k, rho))
        if not isinstance(found, tuple | list) or len(found) != 2:
            raise IdentificationError(
                f"{experiment.name}: sensitivities must return two arrays, outputs and their "
                f"derivatives. Got: {type(found).__name__}."
            )
        outputs, sensitivities = found
        check_shapes(experiment, outputs, sensitivities)
        if not (np.isfinite(outputs).all() and np.isfinite(sensitivities).all()):
            raise SimulationError(f"{experiment.name}: the model's outputs are not finite.")
        return Fit(
            name=experiment.name,
            time=experiment.time,
            channels=self.channels[k],
            measured=experiment.measured,
            outputs=outputs,
            sensitivities=self.spread(k, sensitivities),
            unknowns=experiment.unknowns,
        )

    def _place(self, experiment: Experiment) -> np.ndarray:
        """Indices of an experiment's parameters among all."""
        for one in experiment.parameters:
            if one.name not in self.names:
                raise IdentificationError(
                    f"{experiment.name} depends on '{one.name}', which is not among the "
                    f"parameters: {', '.join(self.names)}. To keep it constant, fix it."
                )
        return np.array([self.names.index(one.name) for one in experiment.parameters], dtype=int)


def check_shapes(
    experiment: Experiment, outputs: np.ndarray, sensitivities: np.ndarray | None = None
) -> None:
    """IdentificationError if arrays of an experiment have wrong shapes."""
    shape = (len(experiment.time), len(experiment.channels))
    _check_shape(experiment.name, "measured", experiment.measured, shape, "(n_times, n_outputs)")
    _check_shape(experiment.name, "outputs", outputs, shape, "(n_times, n_outputs)")
    if sensitivities is not None:
        _check_shape(
            *(experiment.name, "derivatives of the outputs", sensitivities),
            *((*shape, len(experiment.parameters)), "(n_times, n_outputs, n_rho)"),
        )


def _check_shape(
    where: str, what: str, found: np.ndarray, shape: tuple[int, ...], meaning: str
) -> None:
    if np.shape(found) != shape:
        raise IdentificationError(
            f"{where}: expected {what} of shape {meaning} = {shape}. Got: {np.shape(found)}."
        )


def _check_names(parameters: Sequence[Parameter], where: str) -> None:
    names = [one.name for one in parameters]
    for name in names:
        if names.count(name) > 1:
            raise IdentificationError(
                f"{where} has two parameters '{name}': give each a name of its own."
            )


def _united(experiments: Sequence[Experiment]) -> list[Parameter]:
    """Parameters of all experiments, each name once."""
    found: dict[str, Parameter] = {}
    for experiment in experiments:
        for one in experiment.parameters:
            if found.setdefault(one.name, one) != one:
                raise IdentificationError(
                    f"{experiment.name} declares '{one.name}' as {one}, another experiment as "
                    f"{found[one.name]}. Give `parameters` to choose one."
                )
    return list(found.values())


def _weighted(experiment: Experiment, deviations: Mapping[str, float]) -> tuple[Channel, ...]:
    channels = tuple(
        Channel(one.name, one.unit, deviations.get(one.name, one.deviation), one.largest)
        for one in experiment.channels
    )
    for one in channels:
        if not 0.0 < one.deviation < np.inf:
            raise IdentificationError(
                f"{experiment.name}: the noise of '{one.name}' is {one.deviation:g} {one.unit}. "
                "Expected a positive standard deviation: it weights the data."
            )
    return channels
