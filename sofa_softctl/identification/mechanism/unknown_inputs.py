"""Experiment of a mechanism whose noisy inputs are unknowns: errors in variables.

Recorded forces have errors, which drive the simulation as well. Where they are taken as exact,
estimates are biased. Here the errors are unknowns, one of each noisy force a step, weighed by their
own noise: for given parameters, the likeliest ones minimise

    sum ((predicted - measured) / deviation)^2 + sum (error / deviation)^2.

They are found by Gauss-Newton steps (see `input_smoother`). To a search, the recorded forces are
further channels, compared with the likeliest ones: the sum of all squares is the profile likelihood
of the parameters.

A feedback to measured coordinates is left out: these are compared as they were measured, and what
it would push is left to the errors of forces.

Source: Fuller 1987, "Measurement error models", chapter 3 (maximum likelihood of the functional
    model, consistent for known variances); the recursion of Bryson, Ho 1975, section 13.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sofa_softctl.errors import SimulationError
from sofa_softctl.identification.effects.sensors import SensorDelay
from sofa_softctl.identification.fitting.joint_search import ReducedResidual
from sofa_softctl.identification.mechanism.input_smoother import (
    InputSmoother,
    SmoothedTrajectory,
    SmootherStep,
)
from sofa_softctl.identification.model.channel import Channel
from sofa_softctl.identification.model.experiment import Experiment
from sofa_softctl.identification.model.parameter import Parameter

if TYPE_CHECKING:
    from sofa_softctl.identification.mechanism.experiment import MechanismExperiment
    from sofa_softctl.identification.model.experiment import Effect


@dataclass(frozen=True)
class UnknownInputSettings:
    """Limits of the search for the most likely inputs."""

    steps_max: int = 50
    """Limit of Gauss-Newton steps."""
    decrease_min: float = 1e-2
    """Predicted decrease of the cost at which steps end [-]: a tenth of a deviation, squared."""
    armijo_ratio_min: float = 0.1
    """Smallest decrease of the cost by a step, relative to the predicted one [-]."""
    step_fraction_min: float = 1e-3
    """Shortest step, relative to the full one [-]."""


SETTINGS = UnknownInputSettings()


class UnknownInputs(Experiment):
    """A recorded run of a mechanism whose noisy forces are unknowns.

    Its channels are the measured outputs, then the noisy forces.

    Args:
        experiment: With at least one noisy force.
    """

    name: str
    parameters: tuple[Parameter, ...]
    channels: tuple[Channel, ...]
    inputs: tuple[Channel, ...] = ()
    time: np.ndarray
    measured: np.ndarray
    unknowns: int

    def __init__(self, experiment: MechanismExperiment) -> None:
        self.smoother = smoother = InputSmoother(experiment)
        self.name, self.parameters = experiment.name, experiment.parameters
        forces = [force.channel for force in experiment.problem.forces]
        pairs = zip(smoother.noisy, smoother.sigma.tolist(), strict=True)
        noisy = [replace(forces[j], deviation=s) for j, s in pairs]
        self.channels = (*smoother.outputs, *noisy)
        self.unknowns = smoother.forces.size + smoother.shifts
        steps = np.arange(len(smoother.forces))
        nodes = np.unique(np.concatenate([smoother.at, steps]))
        self.time = experiment.time[0] + experiment.problem.dt * nodes
        self._rows = np.searchsorted(nodes, smoother.at), np.searchsorted(nodes, steps)
        self.measured = self._table(smoother.measured, smoother.forces, np.nan)
        self._last: SmootherStep | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Without the last motion, which is larger than all else."""
        return vars(self) | {"_last": None}

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes of the experiment."""
        return self.smoother.experiment.notes

    @property
    def effects(self) -> tuple[Effect, ...]:
        """Effects of the experiment, except delays of sensors, which need exact inputs."""
        effects_of_experiment = self.smoother.experiment.effects
        return tuple(
            effect for effect in effects_of_experiment if not isinstance(effect, SensorDelay)
        )

    def outputs(self, rho: np.ndarray) -> np.ndarray:
        """Return outputs and forces with the most likely errors, shape (n_times, n_y + m)."""
        step = self._find_likeliest(rho)
        motion = step.motion
        forces = self.smoother.forces + motion.errors
        return self._table(self.smoother.sample @ motion.y, forces)

    def sensitivities(self, rho: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return outputs, forces, and their derivatives, including changes of the errors."""
        step = self._find_likeliest(rho)
        motion, n = step.motion, step.x.shape[1] // 2
        by_rho = motion.y_rho + motion.y_q @ step.x[:, :n, 1:]
        sampled = self.smoother.sample @ by_rho.reshape(len(by_rho), -1)
        shape = (len(self.smoother.measured), *by_rho.shape[1:])
        return self.outputs(rho), self._table(sampled.reshape(shape), step.u[:, :, 1:])

    def residuals_of_noise(
        self, rho: np.ndarray, draws: int, random: np.random.Generator
    ) -> np.ndarray:
        """Return linearised residuals that are due only to noise, with fixed parameters.

        Returns:
            Residuals [standard deviations], NaN where missing, shape (draws, n_times, n_y + m).
        """
        step = self._find_likeliest(rho)
        samples, n2 = step.samples, step.steps.A.shape[1]
        e = (
            random.standard_normal((*self.smoother.measured.shape, draws))
            * (samples.weight > 0.0)[..., None]
        )
        e_u = random.standard_normal((*step.motion.errors.shape, draws))
        steps = step.steps._replace(B=np.zeros((len(step.steps.B), n2, draws)))
        noise = samples._replace(values=e), self.smoother.sigma[:, None] * e_u
        parts = self.smoother.solve_sweeps(step.motion, steps, *noise, np.zeros((n2, draws)))
        rows = e + samples.weight[..., None] * self.smoother.at_samples(step.motion.y_q, parts.x)
        residuals = self._table(rows, e_u + parts.u / self.smoother.sigma[:, None])
        missing = np.isnan(self.measured)
        residuals[missing] = np.nan
        return np.moveaxis(residuals, -1, 0)

    def redrawn(
        self, rho: np.ndarray, channels: Sequence[Channel], random: np.random.Generator
    ) -> UnknownInputs:
        """Return the run simulated again, where the most likely forces at rho are the true ones."""
        deviations = np.array([channel.deviation for channel in channels])
        simulated = copy(self)
        simulated.smoother, motion = self.smoother.redrawn(
            self._find_likeliest(rho).motion, deviations, random
        )
        simulated.measured = simulated._table(
            simulated.smoother.measured, simulated.smoother.forces, np.nan
        )
        simulated._last = simulated.smoother.linearise_trajectory(motion)
        return simulated

    def export_unknowns(self, rho: np.ndarray) -> SmoothedTrajectory:
        """Return the trajectory with the most likely errors, for `import_unknowns`."""
        return self._find_likeliest(rho).motion

    def import_unknowns(self, unknowns: SmoothedTrajectory) -> None:
        """Start the next search for the most likely errors from a trajectory."""
        self._last = self.smoother.linearise_trajectory(unknowns)

    def state(self, rho: np.ndarray) -> SmootherStep:
        """A state at parameters rho."""
        return self.smoother.linearise_trajectory(
            self.smoother.trajectory_from_feedback(np.array(rho, dtype=float))
        )

    def with_parameters(self, state: SmootherStep, rho: np.ndarray) -> SmootherStep:
        """Simulate with rho and the unknowns of a state, with steering to its trajectory."""
        return self.smoother.linearise_trajectory(
            self.smoother.with_parameters_of(state, np.array(rho, dtype=float))
        )

    def cost(self, state: SmootherStep) -> float:
        """Sum of its squared residuals [-]."""
        return state.motion.cost

    def rows(self, state: SmootherStep) -> ReducedResidual:
        """Linearise at a state, and eliminate the best change of the unknowns."""
        samples = state.samples
        at_samples = self.smoother.at_samples(state.motion.y_q, state.x)
        of_samples = (samples.values + samples.weight[..., None] * at_samples)[samples.weight > 0.0]
        of_steps = state.u.copy()
        of_steps[:, :, 0] += state.motion.errors
        of_steps /= self.smoother.sigma[:, None]
        rows = np.concatenate([of_samples, of_steps.reshape(-1, of_steps.shape[2])])
        return ReducedResidual(rows[:, 0], rows[:, 1:])

    def step_towards(self, state: SmootherStep, rho: np.ndarray, fraction: float) -> SmootherStep:
        """Return the state at other parameters, after a fraction of the best change for them."""
        rho = np.array(rho, dtype=float)
        change = np.concatenate([[fraction], rho - state.motion.rho])
        return self.smoother.linearise_trajectory(self.smoother.step_from(state, rho, change))

    def set_state(self, state: SmootherStep | None) -> None:
        """Start the next search for the most likely unknowns from a state."""
        self._last = state

    @property
    def current_state(self) -> SmootherStep | None:
        """State from which the next search for the most likely unknowns starts."""
        return self._last

    def _table(
        self, of_samples: np.ndarray, of_steps: np.ndarray, elsewhere: float = 0.0
    ) -> np.ndarray:
        """Place values of samples, and of steps at their starts, in the rows of `time`."""
        n_y = of_samples.shape[1]
        table = np.full((len(self.time), n_y + of_steps.shape[1], *of_samples.shape[2:]), elsewhere)
        table[self._rows[0], :n_y], table[self._rows[1], n_y:] = of_samples, of_steps
        return table

    def _find_likeliest(self, rho: np.ndarray) -> SmootherStep:
        """Find the trajectory with the most likely errors; the last one is cached.

        Raises:
            SimulationError: The model cannot be simulated, or the steps do not converge.
        """
        rho = np.array(rho, dtype=float)
        last = self._last
        if last is not None and np.array_equal(last.motion.rho, rho):
            step = last
        else:
            step = self._begin(rho)
        for _ in range(SETTINGS.steps_max):
            if step.decrease < SETTINGS.decrease_min:
                self._last = step
                return step
            step = self.smoother.linearise_trajectory(self._take_step(step))
        raise SimulationError(
            f"{self.name}: the likeliest inputs were not found in {SETTINGS.steps_max} "
            "Gauss-Newton steps."
        )

    def _begin(self, rho: np.ndarray) -> SmootherStep:
        """Return a first trajectory: the last one after a change by rho, or with the feedback."""
        last = self._last
        if last is not None:
            change = np.concatenate([[0.0], rho - last.motion.rho])
            try:
                return self.smoother.linearise_trajectory(
                    self.smoother.step_from(last, rho, change)
                )
            except SimulationError:
                pass
        return self.smoother.linearise_trajectory(self.smoother.trajectory_from_feedback(rho))

    def _take_step(self, step: SmootherStep) -> SmoothedTrajectory:
        """Return a trajectory of less cost, along the Gauss-Newton step."""
        fraction, cost_before = 1.0, step.motion.cost
        while fraction > SETTINGS.step_fraction_min:
            change = np.zeros(step.u.shape[2])
            change[0] = fraction
            try:
                motion = self.smoother.step_from(step, step.motion.rho, change)
                if cost_before - motion.cost > SETTINGS.armijo_ratio_min * fraction * step.decrease:
                    return motion
            except SimulationError:
                pass
            fraction *= 0.5
        raise SimulationError(
            f"{self.name}: no inputs near the recorded ones fit better, though some are predicted."
        )
