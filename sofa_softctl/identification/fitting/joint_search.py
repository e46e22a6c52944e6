"""Gauss-Newton steps that change parameters and unknown inputs simultaneously.

Finding the most likely inputs for each set of parameters takes several steps each time, and may
fail if parameters are wrong. Here both change in every step. A search by the profile likelihood
continues from the result and decides whether it has converged.

Each experiment eliminates the best change of its unknowns, which leaves residuals r and a Jacobian
J by the parameters. A step solves min |r + J d|^2 within the bounds, and is halved until the cost
falls by a tenth of the predicted decrease (Armijo).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from scipy.optimize import lsq_linear

from sofa_softctl.errors import SimulationError
from sofa_softctl.identification.fitting.residual import Fit, StackedResidual
from sofa_softctl.identification.model.parameter import bounds


@dataclass(frozen=True)
class JointSearchSettings:
    """Limits of the search."""

    steps_max: int = 100
    """Largest number of steps."""
    decrease_min: float = 1e-2
    """Predicted decrease of the cost at which steps end [-]: a tenth of a deviation, squared."""
    armijo_ratio_min: float = 0.1
    """Smallest decrease of the cost by a step, relative to the predicted one [-]."""
    step_fraction_min: float = 1e-3
    """Shortest step, relative to the full one [-]."""


SETTINGS = JointSearchSettings()


class ReducedResidual(NamedTuple):
    """Residuals after the best change of the unknowns, and their Jacobian by the parameters."""

    residuals: np.ndarray
    """Residuals [standard deviations], shape (m,)."""
    jacobian: np.ndarray
    """Derivatives by the experiment's parameters, shape (m, n_rho)."""


@runtime_checkable
class JointExperiment(Protocol):
    """Experiment whose unknowns can be changed along with its parameters.

    A state consists of parameters and values of the unknowns, not necessarily the most likely ones.
    """

    def state(self, rho: np.ndarray) -> Any:
        """Return a state at parameters rho."""

    def with_parameters(self, state: Any, rho: np.ndarray) -> Any:
        """Return a state at parameters rho with the unknowns of another experiment's state."""

    def cost(self, state: Any) -> float:
        """Sum of squared residuals of a state [-]."""

    def rows(self, state: Any) -> ReducedResidual:
        """Linearise at a state, and eliminate the best change of the unknowns."""

    def step_towards(self, state: Any, rho: np.ndarray, fraction: float) -> Any:
        """Return the state at other parameters, with a fraction of the best change of unknowns."""

    def set_state(self, state: Any) -> None:
        """Start the next search for the most likely unknowns from a state."""

    @property
    def current_state(self) -> Any:
        """State from which the next search for the most likely unknowns starts."""


def approach(
    misfit: StackedResidual,
    start: np.ndarray,
    free: np.ndarray,
    progress: Callable[[int, float], None] | None = None,
    *,
    steps_max: int = SETTINGS.steps_max,
    start_states: list[Any] | None = None,
) -> tuple[np.ndarray, int, float]:
    """Return parameters near a minimum of the cost, the number of steps, and the cost there.

    Joint experiments keep the unknowns at the returned parameters.

    Args:
        misfit: Residuals of all experiments and priors.
        start: All parameters, shape (n_rho,).
        free: Mask of the parameters to fit, shape (n_rho,).
        progress: Called with the number of steps and the cost.
        steps_max: Limit of steps; equals the returned number if the search did not end by itself.
        start_states: `current_states` at this start, or None for new ones.

    Raises:
        SimulationError: The model cannot be simulated at the start.
    """
    lower, upper = bounds(misfit.parameters)
    scale = np.array([parameter.scale for parameter in misfit.parameters])
    search = _AllExperiments(misfit)
    rho, start_states = start.copy(), search.begin(start, start_states)
    cost = search.cost(start_states, rho)
    count = 0
    for count in range(1, steps_max + 1):
        r, J = search.rows(start_states, rho)
        change_bounds = (lower - rho)[free] / scale[free], (upper - rho)[free] / scale[free]
        change = np.zeros(len(rho))
        step = lsq_linear((J * scale)[:, free], -r, change_bounds)
        change[free] = scale[free] * step.x
        decrease = cost - 2.0 * step.cost
        if decrease < SETTINGS.decrease_min:
            break
        fraction = 1.0
        while fraction > SETTINGS.step_fraction_min:
            try:
                trial_rho = rho + fraction * change
                trial_states = search.step_towards(start_states, trial_rho, fraction)
                trial_cost = search.cost(trial_states, trial_rho)
            except SimulationError:
                trial_cost = np.inf
            if cost - trial_cost > SETTINGS.armijo_ratio_min * fraction * decrease:
                break
            fraction *= 0.5
        else:
            break
        rho, start_states, cost = trial_rho, trial_states, trial_cost
        if progress is not None:
            progress(count, cost)
    search.set_states(start_states)
    return rho, count, float(cost)


def current_states(misfit: StackedResidual) -> list[Any]:
    """Return the states from which experiments continue, for `set_states`."""
    return [
        experiment.current_state if isinstance(experiment, JointExperiment) else None
        for experiment in misfit.experiments
    ]


def set_states(misfit: StackedResidual, states: list[Any]) -> None:
    """Set experiments to states returned by `current_states`."""
    for experiment, state in zip(misfit.experiments, states, strict=True):
        if isinstance(experiment, JointExperiment):
            experiment.set_state(state)


class _PlainExperiment:
    """Joint experiment without unknowns, whose state is a fit."""

    def __init__(self, misfit: StackedResidual, k: int) -> None:
        self.misfit, self.k = misfit, k

    def state(self, rho: np.ndarray) -> Fit:
        all_parameters = np.zeros(len(self.misfit.parameters))
        all_parameters[self.misfit.parameter_indices(self.k)] = rho
        return self.misfit.fit(self.k, all_parameters)

    def with_parameters(self, state: Fit, rho: np.ndarray) -> Fit:
        del state
        return self.state(rho)

    def cost(self, state: Fit) -> float:
        return float(np.sum(state.rows[0] ** 2))

    def rows(self, state: Fit) -> ReducedResidual:
        r, J = state.rows
        return ReducedResidual(r, J[:, self.misfit.parameter_indices(self.k)])

    def step_towards(self, state: Fit, rho: np.ndarray, fraction: float) -> Fit:
        del state, fraction
        return self.state(rho)

    def set_state(self, state: Fit) -> None:
        del state

    @property
    def current_state(self) -> None:
        return None


class _AllExperiments:
    """Stack of all experiments and the priors."""

    def __init__(self, misfit: StackedResidual) -> None:
        self.misfit = misfit
        self.parts: list[JointExperiment] = [
            experiment if isinstance(experiment, JointExperiment) else _PlainExperiment(misfit, k)
            for k, experiment in enumerate(misfit.experiments)
        ]

    def begin(self, rho: np.ndarray, start_states: list[Any] | None) -> list[Any]:
        """Return the states of all experiments, new ones unless they are in `start_states`."""
        pairs = enumerate(zip(self.parts, start_states or [None] * len(self.parts), strict=True))
        return [
            part.state(self.misfit.experiment_parameters(k, rho))
            if start_state is None
            else start_state
            for k, (part, start_state) in pairs
        ]

    def step_towards(self, states: list[Any], rho: np.ndarray, fraction: float) -> list[Any]:
        """States at other parameters."""
        pairs = enumerate(zip(self.parts, states, strict=True))
        return [
            part.step_towards(state, self.misfit.experiment_parameters(k, rho), fraction)
            for k, (part, state) in pairs
        ]

    def cost(self, states: list[Any], rho: np.ndarray) -> float:
        """Sum of squared residuals of data and priors [-]."""
        prior_residuals, _ = self.misfit.stack_residuals((), rho)
        costs = [part.cost(state) for part, state in zip(self.parts, states, strict=True)]
        return float(prior_residuals @ prior_residuals) + sum(costs)

    def rows(self, states: list[Any], rho: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return all residuals, and their derivatives by all parameters."""
        residuals, jacobians = ([block] for block in self.misfit.stack_residuals((), rho))
        for k, (part, state) in enumerate(zip(self.parts, states, strict=True)):
            r, J = part.rows(state)
            residuals.append(r)
            jacobians.append(self.misfit.scatter_derivatives(k, J))
        return np.concatenate(residuals), np.concatenate(jacobians)

    def set_states(self, states: list[Any]) -> None:
        """Set all experiments to these states."""
        for part, state in zip(self.parts, states, strict=True):
            part.set_state(state)
