"""Steepest descent on summed squared errors, with gradients by the adjoint.

Source: Caldwell, Coleman, Correll, "Optimal parameter identification for discrete mechanical
systems with application to flexible object manipulation", section 4-E.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from time import perf_counter

import numpy as np

from sofa_softctl.base.suggestions import sentence
from sofa_softctl.errors import IdentificationError, SimulationError
from sofa_softctl.identification.data.signal_checks import suspicious_channels
from sofa_softctl.identification.fitting.gauss_newton import Termination
from sofa_softctl.identification.fitting.reduced import adjoint_gradient
from sofa_softctl.identification.fitting.residual import StackedResidual, check_shapes
from sofa_softctl.identification.model.experiment import Experiment
from sofa_softctl.identification.model.parameter import Parameter, bounds, starts

ALPHA, BETA = 0.4, 0.4
"""Parameters of the Armijo line search, as in the paper."""
GRADIENT = 1.138e-3
"""Norm of the gradient at the end of the paper's descent."""
FLAT = 1e-3
"""Relative slope at the end of ours."""
TINY = 1e-300
"""In place of zero."""
SHORTEST = 1e-16
"""Shortest step of a line search, as share of the first."""


@dataclass(frozen=True, eq=False)
class Iterate:
    """One iterate of a descent."""

    rho: np.ndarray
    """Parameters, shape (n_rho,)."""
    cost: float
    """J_d [unit of the outputs, squared]."""
    gradient: np.ndarray
    """dJ_d/drho, shape (n_rho,)."""
    step: float
    """gamma of the step to it: rho = rho before - gamma * gradient there."""
    outputs: tuple[np.ndarray, ...]
    """Predicted outputs of each experiment, each of shape (n_times, n_outputs)."""
    relative_slope: float
    """Largest change of the cost, as share of it, if a parameter changed by its scale [-]."""

    @property
    def gradient_norm(self) -> float:
        """|DJ_d|."""
        return float(np.linalg.norm(self.gradient))


@dataclass(frozen=True, eq=False)
class Descent:
    """Iterates and status of a descent."""

    parameters: tuple[Parameter, ...]
    """Names, units and bounds of rho."""
    iterates: tuple[Iterate, ...]
    """The start, then the end of each iteration."""
    termination: Termination
    """Reason why it ended."""
    simulations: int
    """Simulations for costs alone, in line searches."""
    gradients: int
    """Simulations with an adjoint sweep."""
    rejected: int
    """Failed simulations: the step was shortened."""
    seconds: float
    """Wall time [s]."""

    @property
    def rho(self) -> np.ndarray:
        """Final parameters, shape (n_rho,)."""
        return self.iterates[-1].rho

    @property
    def iterations(self) -> int:
        """Number of steps."""
        return len(self.iterates) - 1

    def until(self, gradient_norm: float = GRADIENT) -> int | None:
        """Number of steps to this norm of the gradient, the paper's stop; None: not reached."""
        reached = (at.gradient_norm <= gradient_norm for at in self.iterates)
        return next((count for count, there in enumerate(reached) if there), None)


def descend(
    experiments: Sequence[Experiment],
    parameters: Sequence[Parameter] | None = None,
    *,
    channels: Sequence[str] | None = None,
    terminal: bool = True,
    alpha: float = ALPHA,
    beta: float = BETA,
    first_step: float | None = None,
    gradient_norm: float = GRADIENT,
    relative_slope: float = FLAT,
    most: int = 200,
    progress: Callable[[int, float, float], None] | None = None,
    warn: Callable[[str], None] | None = None,
) -> Descent:
    """Steepest descent on J_d = sum_k e_k' e_k + e_kf' e_kf over chosen outputs.

    A step is gamma = first * beta^j with the least j for which parameters stay positive (within
    their bounds), the model can be simulated, and
    J_d(rho - gamma DJ_d) <= J_d(rho) - alpha gamma |DJ_d|^2. The first gamma scales itself: in the
    first iteration it changes a parameter by its scale, later it is that of Barzilai and Borwein.

    It converges at a norm of the gradient, as in the paper, which has the units of cost and
    parameters, or at a relative slope, which has none.

    Args:
        experiments: Their costs are added; missing samples cost nothing.
        parameters: Replace starts and bounds of the experiments.
        channels: Names of the outputs to compare, in their own units; None: all.
        terminal: Count the last sample again, as the paper's m_d does.
        alpha: Least decrease of a step, as share of that predicted by the gradient.
        beta: Factor by which a step is shortened.
        first_step: First gamma of each line search, as in the paper; None: it scales itself.
        gradient_norm: |DJ_d| at convergence, as in the paper; 0: not asked.
        relative_slope: Relative slope at convergence, see `Iterate`; 0: not asked.
        most: Limit of iterations.
        progress: Called with the iteration, the cost and the norm of the gradient.
        warn: Called with each warning on the data, before the descent.

    Raises:
        IdentificationError: The model cannot be simulated at the start, or a channel is unknown.

    Source: section 4-E, and Lemma 1 behind `pull_back`; Barzilai, Borwein 1988, eq. (5).
    """
    began = perf_counter()
    path = _Path(StackedResidual(experiments, parameters), channels, terminal)
    at = path.start()
    if warn is not None:
        for text in _warnings(path.misfit, at):
            warn(text)
    iterates, termination = [at], Termination.EXHAUSTED
    for iteration in range(most + 1):
        if progress is not None:
            progress(iteration, at.cost, at.gradient_norm)
        if at.gradient_norm <= gradient_norm or at.relative_slope <= relative_slope:
            termination = Termination.CONVERGED
            break
        if iteration == most:
            break
        first = path.first_step(iterates) if first_step is None else first_step
        after = path.step(at, first, alpha, beta)
        if after is None:
            termination = Termination.STALLED
            break
        at = after
        iterates.append(at)
    return Descent(
        parameters=path.misfit.parameters,
        iterates=tuple(iterates),
        termination=termination,
        simulations=path.simulations,
        gradients=path.gradients,
        rejected=path.rejected,
        seconds=perf_counter() - began,
    )


def _warnings(misfit: StackedResidual, start: Iterate) -> tuple[str, ...]:
    """Warnings on the data, at the start of a descent."""
    texts = [
        text
        for one, y, channels in zip(misfit.experiments, start.outputs, misfit.channels, strict=True)
        for text in suspicious_channels(one.measured, y, channels)
    ]
    return tuple(dict.fromkeys(texts))


class _Path:
    """Costs and gradients of a descent, counted."""

    def __init__(
        self, misfit: StackedResidual, channels: Sequence[str] | None, terminal: bool
    ) -> None:
        self.misfit = misfit
        self.weights = [_weights(one, channels, terminal) for one in misfit.experiments]
        self.lower, self.upper = bounds(misfit.parameters)
        self.scale = np.array([one.scale for one in misfit.parameters])
        self.simulations = self.gradients = self.rejected = 0

    def start(self) -> Iterate:
        rho = starts(self.misfit.parameters)
        try:
            return self.at(rho, 0.0)
        except SimulationError as error:
            raise IdentificationError(
                f"The model cannot be simulated at the start: {sentence(str(error))} Give another "
                "start."
            ) from error

    def at(self, rho: np.ndarray, step: float) -> Iterate:
        """Cost and gradient by one adjoint sweep per experiment."""
        self.gradients += 1
        cost, gradient, outputs = 0.0, np.zeros(len(rho)), []
        for k, experiment in enumerate(self.misfit.experiments):
            swept = adjoint_gradient(
                experiment, self.misfit.experiment_parameters(k, rho), partial(self._by_outputs, k)
            )
            cost += self._cost(k, swept.outputs)
            gradient += self.misfit.scatter_derivatives(k, swept.by_parameters)
            outputs.append(swept.outputs)
        change = float(np.abs(gradient * self.scale).max(initial=0.0))
        return Iterate(rho, cost, gradient, step, tuple(outputs), change / max(cost, TINY))

    def first_step(self, iterates: Sequence[Iterate]) -> float:
        """The first gamma of the next line search."""
        last = iterates[-1]
        longest = 1.0 / float(np.abs(last.gradient / self.scale).max(initial=TINY))
        if len(iterates) == 1:
            return longest
        moved, bent = last.rho - iterates[-2].rho, last.gradient - iterates[-2].gradient
        curved = float(moved @ bent)
        return min(float(moved @ moved) / curved, longest) if curved > 0.0 else longest

    def step(self, at: Iterate, first: float, alpha: float, beta: float) -> Iterate | None:
        """The next iterate; None if no step decreases the cost enough."""
        gamma, slope = first, float(at.gradient @ at.gradient)
        while gamma > SHORTEST * first:
            rho = at.rho - gamma * at.gradient
            inside = (rho > self.lower).all() and (rho < self.upper).all()
            if inside and self.cost(rho) <= at.cost - alpha * gamma * slope:
                return self.at(rho, gamma)
            gamma *= beta
        return None

    def cost(self, rho: np.ndarray) -> float:
        """J_d; infinite where the model cannot be simulated."""
        self.simulations += 1
        try:
            return sum(
                self._cost(k, experiment.outputs(self.misfit.experiment_parameters(k, rho)))
                for k, experiment in enumerate(self.misfit.experiments)
            )
        except SimulationError:
            self.rejected += 1
            return float("inf")

    def _by_outputs(self, k: int, outputs: np.ndarray) -> np.ndarray:
        """dJ_d/d(outputs), 0 where data are missing, shape (n_times, n_outputs)."""
        check_shapes(self.misfit.experiments[k], outputs)
        errors = np.nan_to_num(outputs - self.misfit.experiments[k].measured, nan=0.0)
        found: np.ndarray = 2.0 * self.weights[k] * errors
        return found

    def _cost(self, k: int, outputs: np.ndarray) -> float:
        measured = self.misfit.experiments[k].measured
        cost = float(np.nansum(self.weights[k] * (outputs - measured) ** 2))
        return cost if np.isfinite(outputs).all() else float("inf")


def _weights(experiment: Experiment, channels: Sequence[str] | None, terminal: bool) -> np.ndarray:
    """Weight of each sample, shape (n_times, n_outputs)."""
    names = [one.name for one in experiment.channels]
    for name in channels or ():
        if name not in names:
            raise IdentificationError(
                f"{experiment.name} has no output '{name}'. It has: {', '.join(names)}."
            )
    counted = np.array([channels is None or name in channels for name in names], dtype=float)
    weights = np.tile(counted, (len(experiment.time), 1))
    if terminal:
        weights[-1] *= 2.0
    return weights
