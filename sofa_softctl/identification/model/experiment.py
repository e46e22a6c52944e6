"""Experiment: a recording with the model that predicts it, its effects and its refinements."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, ClassVar

from sofa_softctl.base.suggestions import did_you_mean, list_names
from sofa_softctl.errors import IdentificationError
from sofa_softctl.identification.model.parameter import Parameter

if TYPE_CHECKING:
    from sofa_softctl.identification.model.channel import Channel

    pass
from typing import TYPE_CHECKING, Any

import numpy as np

from sofa_softctl.identification.model.channel import Channel

if TYPE_CHECKING:
    from sofa_softctl.identification.model.recording import Recording

    pass


@dataclass(frozen=True)
class Effect(ABC):
    """Term that a model leaves out: an offset of a sensor, friction in a joint, a delay.

    An effect that is switched on is estimated with the other parameters; the others are tested for.
    """

    parameter: Parameter
    """Size of the effect; searches start at 0, without the effect. The name of the parameter is
    also the name of the effect, such as 'offset.b3' or 'friction.elbow'."""
    simulations: ClassVar[float] = 1.0
    """Time of a simulation with the derivative by it, relative to one without it [-], for the
    expected time of tests; 0 if a simulation without it is enough."""

    @property
    def name(self) -> str:
        """Name in commands and reports."""
        return self.parameter.name

    @abstractmethod
    def add_to(self, experiment: Experiment) -> Experiment:
        """Return the experiment with this parameter as its last one.

        With the parameter at 0, the outputs equal those of the experiment bit for bit.

        Raises:
            IdentificationError: The experiment cannot have this effect.
        """


def check_signal(name: str, channels: Sequence[Channel], location: str) -> None:
    """Raise IdentificationError, which begins with `location`, if no channel has that name."""
    valid_names = [channel.name for channel in channels]
    if name not in valid_names:
        raise IdentificationError(
            f"{location} '{name}'.{did_you_mean(name, valid_names)} Known: "
            f"{list_names(valid_names, similar_to=name)}."
        )


def matches(name: str, pattern: str) -> bool:
    """Return True if a name equals or matches a pattern such as 'offset.*'."""
    return name == pattern or fnmatchcase(name, pattern)


@dataclass(frozen=True)
class Refinement:
    """The model of a recorded run with half the time step, or half the size of its elements."""

    name: str
    """Name, the same for all experiments of a problem: 'dt', 'mesh', 'links'."""
    of: str
    """Refined quantity, for reports: 'time step', 'mesh'."""
    text: str
    """Description for reports: 'with a time step of 5 instead of 10 ms'."""
    make: Callable[[], Experiment]
    """Function that makes the finer experiment, with the same parameters and data.

    Raises:
        SoftctlError: The model cannot be refined in this way; the message says what to do.
    """
    order: int = 1
    """Order p of the discretisation error, which falls by 2^-p; the lower value if uncertain."""
    cost: float = 2.0
    """Estimated time of a simulation divided by the time of the unrefined experiment [-]."""

    @property
    def error_per_change(self) -> float:
        """Whole discretisation error divided by the change due to this refinement [-].

        Source: Richardson 1911; Roache 1994, with the order given.
        """
        return 1.0 / (1.0 - 0.5**self.order)


MEMBERS = (
    "name",
    "parameters",
    "channels",
    "inputs",
    "time",
    "measured",
    "outputs",
    "sensitivities",
)
"""Members that a subclass must define."""
PAGE = "docs/how-to/identify-a-model.md#what-an-experiment-needs"
"""Page of the documentation on experiments, for errors."""


@dataclass(frozen=True, eq=False)
class PulledBack:
    """Result of an adjoint sweep: derivatives of J, a scalar function of the outputs."""

    outputs: np.ndarray
    """Predicted outputs, shape (n_times, n_outputs)."""
    by_parameters: np.ndarray
    """dJ/drho, including the dependence through the start, shape (n_rho,)."""
    by_inputs: np.ndarray
    """dJ/d(recorded inputs), outputs held fixed, shape (n_input_times, n_inputs)."""


class Experiment(ABC):
    """A recorded run, with a model that predicts its measured outputs from parameters.

    A subclass defines, as attributes, properties or dataclass fields, the `name` of the recording;
    `parameters` in the order of rho; `channels` and `inputs`, the measured outputs and recorded
    inputs with their noise; `time` of the samples [s], shape (n_times,); and `measured` outputs,
    NaN where missing, shape (n_times, n_outputs). It defines the methods `outputs` and
    `sensitivities`. All other members have defaults, such as `notes`, shown before the search.

    Methods raise `SimulationError` if the model cannot be simulated with `rho`.
    """

    @staticmethod
    def checked(experiment: Any) -> Experiment:
        """Return the experiment itself.

        Raises:
            IdentificationError: The class does not derive from `Experiment`, or a member without
                a default is missing.
        """
        kind = type(experiment).__name__
        if not isinstance(experiment, Experiment):
            raise IdentificationError(
                f"{kind} does not derive from sofa_softctl.identification.Experiment: write class "
                f"{kind}(Experiment). See {PAGE}."
            )
        if missing := [name for name in MEMBERS if not hasattr(experiment, name)]:
            raise IdentificationError(
                f"{kind} is not an experiment: it has no {' and no '.join(missing)}. See {PAGE}."
            )
        return experiment

    if TYPE_CHECKING:  # at run time dataclasses would take a property for the default of a field

        @property
        @abstractmethod
        def name(self) -> str:
            """Name of the recording."""

        @property
        @abstractmethod
        def parameters(self) -> tuple[Parameter, ...]:
            """Parameters of the model, in the order of rho."""

        @property
        @abstractmethod
        def channels(self) -> tuple[Channel, ...]:
            """Measured outputs with their noise."""

        @property
        @abstractmethod
        def inputs(self) -> tuple[Channel, ...]:
            """Recorded inputs with their noise (0: exact)."""

        @property
        @abstractmethod
        def time(self) -> np.ndarray:
            """Times of the samples [s], shape (n_times,)."""

        @property
        @abstractmethod
        def measured(self) -> np.ndarray:
            """Measured outputs, NaN where missing, shape (n_times, n_outputs)."""

        @property
        def notes(self) -> tuple[str, ...]:
            """Notes on the model of this run, shown before the search; none by default."""

        @property
        def outputs_from_inputs(self) -> bool:
            """True if all measured outputs are computed from recorded inputs; False by default.

            The noise of the channels then represents the noise of the inputs, which is not counted
            a second time.
            """

        @property
        def unknowns(self) -> int:
            """Number of unknowns in addition to the parameters, such as inputs; 0 by default."""
    else:
        notes = ()
        outputs_from_inputs = False
        unknowns = 0

    @property
    def recorded_inputs(self) -> np.ndarray | None:
        """Recorded inputs, shape (n_times, n_inputs), by default of `recording` if there is one.

        None if unknown; then gains and delays of inputs cannot be estimated.
        """
        return getattr(getattr(self, "recording", None), "inputs", None)

    @property
    def effects(self) -> tuple[Effect, ...] | None:
        """Effects that can be switched on; `effects_of` returns those that are not switched on yet.

        None, the default, means gain, offset and delay of each signal.
        """
        return None

    @abstractmethod
    def outputs(self, rho: np.ndarray) -> np.ndarray:
        """Predicted outputs, shape (n_times, n_outputs)."""

    @abstractmethod
    def sensitivities(self, rho: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Predicted outputs and their derivatives, shapes (n_t, n_y), (n_t, n_y, n_rho).

        Forward sensitivities: the computing time grows with the number of parameters.
        """

    def pull_back(
        self, rho: np.ndarray, gradient: Callable[[np.ndarray], np.ndarray]
    ) -> PulledBack:
        """Return the derivatives of J by one adjoint sweep, for any number of parameters.

        Without an adjoint, confidence intervals leave out the noise of inputs.

        Args:
            rho: Parameters, shape (n_rho,).
            gradient: Returns dJ/d(outputs) at the outputs, both of shape (n_times, n_outputs).

        Raises:
            NotImplementedError: The experiment has no adjoint; `has_adjoint` is False.
        """
        raise NotImplementedError(f"{type(self).__name__} has no pull_back.")

    @property
    def has_adjoint(self) -> bool:
        """True if `pull_back` is implemented."""
        return type(self).pull_back is not Experiment.pull_back

    def measured_by_inputs(self, weights: np.ndarray) -> np.ndarray:
        """Derivative of sum(weights * measured) by the recorded inputs, (n_times, n_inputs).

        Zero by default. It is not zero if `measured` is computed from signals that also drive the
        model, such as measured joint angles that are fed back: their noise then enters twice.
        """
        del weights
        return np.zeros((len(self.time), len(self.inputs)))

    def with_input_errors(self, errors: np.ndarray) -> Experiment | None:
        """Return the experiment with inputs recorded + errors, shape (n_times, n_inputs).

        `measured` changes too if it is computed from them. The default returns None: not possible;
        then residuals of a model with noisy inputs cannot be tested.
        """
        del errors
        return None

    def with_recording(self, change: Callable[[Recording], Recording]) -> Experiment | None:
        """Return the experiment of a changed recording, such as one with swapped columns.

        The default returns None: not possible; then swapped or reversed columns are not detected.
        """
        del change
        return None

    def with_unknown_inputs(self, planned_at: np.ndarray | None = None) -> Experiment | None:
        """Return the experiment with its noisy inputs as unknowns: errors in variables.

        Its channels include the noisy inputs, compared with the most likely ones; it has no noisy
        `inputs`. The default returns None: not possible; then noise of inputs widens the intervals
        and may bias estimates.

        Args:
            planned_at: Parameters whose predictions replace the measured outputs, for a motion
                that is not recorded yet; None keeps the recorded outputs.
        """
        del planned_at
        return None

    def residuals_of_noise(
        self, rho: np.ndarray, draws: int, random: np.random.Generator
    ) -> np.ndarray:
        """Residuals that are due only to noise, for an experiment with `unknowns`, rho fixed.

        Args:
            rho: Parameters at which the model is linearised, shape (n_rho,).
            draws: Number of realisations of the noise.
            random: Random generator.

        Returns:
            In standard deviations, NaN where missing, shape (draws, n_times, n_outputs).
        """
        raise NotImplementedError(f"{type(self).__name__} has no residuals_of_noise.")

    def redrawn(
        self, rho: np.ndarray, channels: Sequence[Channel], random: np.random.Generator
    ) -> Experiment:
        """Return the run simulated again with random noise, for an experiment with `unknowns`.

        Args:
            rho: Parameters of the simulation, shape (n_rho,).
            channels: Channels of the experiment, with the noise to be drawn.
            random: Random generator.
        """
        raise NotImplementedError(f"{type(self).__name__} has no redrawn.")

    def refinements(self) -> tuple[Refinement, ...]:
        """Return the same run with finer discretisations of the model; none by default."""
        return ()
