"""One measured run and the model of it: what every estimator works with."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from sofa_softctl.identification.parameter import Parameter


@dataclass(frozen=True)
class Channel:
    """One column of a recording."""

    name: str
    """As in the recording's header: 'b3', 'tip.x'."""
    unit: str
    """'m', 'mm', 'rad', 'N m', 'mN': of the numbers in memory."""
    deviation: float = 1.0
    """Standard deviation of its noise [unit]."""
    largest: float = math.inf
    """Largest magnitude that can be: numbers beyond it are refused as in wrong units [unit]."""


@dataclass(frozen=True, eq=False)
class PulledBack:
    """What an adjoint sweep gives: derivatives of one number, J, that depends on the outputs."""

    outputs: np.ndarray
    """Predicted outputs, shape (n_times, n_outputs)."""
    by_parameters: np.ndarray
    """dJ/drho, with what outputs depend on through the start as well, shape (n_rho,)."""
    by_inputs: np.ndarray
    """dJ/d(recorded inputs), outputs held fixed, shape (n_input_times, n_inputs)."""


class Experiment(Protocol):
    """A recording, with a model that predicts its measured outputs from parameters.

    Every method raises `SimulationError` where the model cannot be simulated with `rho`.
    """

    @property
    def name(self) -> str:
        """Of the recording, for people."""

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """What the model depends on; the order of rho."""

    @property
    def channels(self) -> tuple[Channel, ...]:
        """Measured outputs, with the noise of each."""

    @property
    def inputs(self) -> tuple[Channel, ...]:
        """Recorded inputs, with the noise of each (0: exact)."""

    @property
    def time(self) -> np.ndarray:
        """Of the measurements [s], shape (n_times,)."""

    @property
    def measured(self) -> np.ndarray:
        """Outputs as measured, NaN where they were not, shape (n_times, n_outputs)."""

    def outputs(self, rho: np.ndarray) -> np.ndarray:
        """Predicted outputs, shape (n_times, n_outputs)."""

    def sensitivities(self, rho: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Predicted outputs and their derivatives, shapes (n_t, n_y), (n_t, n_y, n_rho).

        Forward: the time grows with the number of parameters.
        """

    def pull_back(
        self, rho: np.ndarray, gradient: Callable[[np.ndarray], np.ndarray]
    ) -> PulledBack:
        """Derivatives of J by the adjoint: the time hardly depends on the number of parameters.

        Args:
            rho: Parameters, shape (n_rho,).
            gradient: Gives dJ/d(outputs) for the outputs, both of shape (n_times, n_outputs).
        """

    # And, where inputs have noise, a method more. Without it, nobody can say whether what a model
    # leaves is noise of the inputs:
    #
    #     def with_input_errors(self, errors: np.ndarray) -> Experiment | None
    #         The same with other inputs: recorded + errors (n_times, n_inputs); what is compared
    #         moves too where it is computed from them. None: this one cannot do that.
    #
    # And `outputs_from_inputs = True` where all that is compared is computed from recorded inputs,
    # so that the channels' noise is not one of its own but stands for that of the inputs.

    def measured_by_inputs(self, weights: np.ndarray) -> np.ndarray:
        """Derivative of sum(weights * measured) by the recorded inputs, (n_input_times, n_inputs).

        Zero, unless what is compared was computed from signals that also drive the model, as
        measured joint angles that are fed back: their noise then enters twice.
        """
