"""Arrival cost: the likelihood of samples before a sliding window, as a quadratic form.

The sum of r^2 over samples, r(rho) linearised at the last estimate whose window had them, is
rho' F rho - 2 b' rho + constant. F and b add up, so that every sample counts once: in the window
with the model itself, afterwards with this form. Also known as an information filter.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from typing_extensions import override

from sofa_softctl.identification.fitting.residual import Fit
from sofa_softctl.identification.model.channel import Channel
from sofa_softctl.identification.model.experiment import Experiment, PulledBack
from sofa_softctl.identification.model.parameter import Parameter


@dataclass(frozen=True, eq=False)
class ArrivalCost:
    """Information of samples that left the window."""

    information: np.ndarray
    """F [1 / units], shape (n_rho, n_rho)."""
    b: np.ndarray
    """F times the best fit to these samples [1 / units], shape (n_rho,)."""
    spread: np.ndarray
    """Covariance of b: F for noise of outputs only, more with noisy inputs, (n_rho, n_rho)."""

    @staticmethod
    def none(count: int) -> ArrivalCost:
        """Return an arrival cost without information on `count` parameters."""
        square = np.zeros((count, count))
        return ArrivalCost(square, np.zeros(count), square)

    def __add__(self, other: ArrivalCost) -> ArrivalCost:
        return ArrivalCost(
            self.information + other.information, self.b + other.b, self.spread + other.spread
        )

    def discount(self, factor: float) -> ArrivalCost:
        """Return the arrival cost with the weight of each sample multiplied by `factor`."""
        return ArrivalCost(factor * self.information, factor * self.b, factor**2 * self.spread)

    def experiment(self, parameters: tuple[Parameter, ...]) -> LinearExperiment:
        """Return an experiment with one sample of combinations of parameters, with noise 1."""
        units = np.sqrt(np.diag(self.information))
        units[units == 0.0] = 1.0
        size, axes = np.linalg.eigh(self.information / np.outer(units, units))
        is_determined = size > 1e-12
        root, axes = np.sqrt(size[is_determined])[:, None], axes[:, is_determined].T
        return LinearExperiment(
            parameters, root * axes * units, axes @ (self.b / units) / root[:, 0]
        )


class LinearExperiment(Experiment):
    """One measured sample of linear combinations of parameters."""

    name = "samples before the window"
    inputs: tuple[Channel, ...] = ()
    time = np.zeros(1)
    parameters: tuple[Parameter, ...]
    channels: tuple[Channel, ...]
    measured: np.ndarray

    def __init__(
        self, parameters: tuple[Parameter, ...], rows: np.ndarray, values: np.ndarray
    ) -> None:
        self.parameters, self.rows, self.measured = parameters, rows, values[None]
        self.channels = tuple(Channel(f"combination {k}", "-") for k in range(len(rows)))

    def outputs(self, rho: np.ndarray) -> np.ndarray:
        """Return the combinations, shape (1, n_combinations)."""
        return (self.rows @ rho)[None]

    @override
    def sensitivities(self, rho: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self.outputs(rho), self.rows[None]

    @override
    def pull_back(
        self, rho: np.ndarray, gradient: Callable[[np.ndarray], np.ndarray]
    ) -> PulledBack:
        outputs = self.outputs(rho)
        return PulledBack(outputs, gradient(outputs)[0] @ self.rows, np.zeros((1, 0)))


@dataclass(frozen=True, eq=False)
class LinearisedWindow:
    """Contributions of the samples of a window to an arrival cost."""

    time: np.ndarray
    """Times [s], shape (n,)."""
    information: np.ndarray
    """F of each sample, shape (n, n_rho, n_rho)."""
    b: np.ndarray
    """b of each sample, shape (n, n_rho)."""
    inflation: np.ndarray
    """Deviation of b relative to noise of outputs only, by parameter, shape (n_rho,)."""

    @staticmethod
    def from_fit(fit: Fit, rho: np.ndarray, inflation: np.ndarray) -> LinearisedWindow:
        """Linearise a fit at its estimate."""
        J = np.where(fit.is_measured[..., None], fit.sensitivities / fit.deviations[:, None], 0.0)
        r = np.where(fit.is_measured, fit.residuals, 0.0)
        F = np.einsum("tyi,tyj->tij", J, J)
        return LinearisedWindow(fit.time, F, F @ rho - np.einsum("tyi,ty->ti", J, r), inflation)

    def cost_before(self, time: float) -> ArrivalCost:
        """Arrival cost of the samples before a time."""
        is_before = self.time < time
        F = self.information[is_before].sum(axis=0)
        return ArrivalCost(
            F, self.b[is_before].sum(axis=0), np.outer(self.inflation, self.inflation) * F
        )

    def since(self, time: float) -> LinearisedWindow:
        """Return the samples at and after a time."""
        is_after = self.time >= time
        return LinearisedWindow(
            self.time[is_after], self.information[is_after], self.b[is_after], self.inflation
        )
