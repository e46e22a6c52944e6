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
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sofa_softctl.errors import SimulationError
from sofa_softctl.identification.effects.sensors import SensorDelay
from sofa_softctl.identification.fitting.joint_search import ReducedResidual
from sofa_softctl.identification.mechanism.input_smoother import InputSmoother, Motion, Smoothed
from sofa_softctl.identification.model.channel import Channel
from sofa_softctl.identification.model.experiment import Experiment
from sofa_softctl.identification.model.parameter import Parameter

if TYPE_CHECKING:
    from sofa_softctl.identification.mechanism.experiment import MechanismExperiment
    from sofa_softctl.identification.model.effect import Effect

ITERATIONS = 50
"""Limit of Gauss-Newton steps."""
DECREASE = 1e-2
"""Predicted decrease of the cost at which they end: a tenth of a deviation, squared [-]."""
ARMIJO = 0.1
"""Least share of a predicted decrease that a step must bring."""
SHORTEST = 1e-3
"""Shortest step."""


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
        self.measured = self._table(smoother.seen, smoother.forces, np.nan)
        self._last: Smoothed | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Without the last motion, which is larger than all else."""
        return vars(self) | {"_last": None}

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes of the experiment."""
        return self.smoother.experiment.notes

    @property
    def effects(self) -> tuple[Effect, ...]:
        """Those of the experiment; delays of sensors are for exact inputs."""
        known = self.smoother.experiment.effects
        return tuple(one for one in known if not isinstance(one, SensorDelay))

    def outputs(self, rho: np.ndarray) -> np.ndarray:
        """Outputs and forces under the likeliest errors, shape (n_times, n_y + m)."""
        found = self._smoothed(rho)
        motion = found.motion
        forces = self.smoother.forces + motion.errors
        return self._table(self.smoother.sample @ motion.y, forces)

    def sensitivities(self, rho: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Outputs and forces, and their derivatives, the errors' own changes included."""
        found = self._smoothed(rho)
        motion, n = found.motion, found.x.shape[1] // 2
        by_rho = motion.y_rho + motion.y_q @ found.x[:, :n, 1:]
        sampled = self.smoother.sample @ by_rho.reshape(len(by_rho), -1)
        shape = (len(self.smoother.seen), *by_rho.shape[1:])
        return self.outputs(rho), self._table(sampled.reshape(shape), found.u[:, :, 1:])

    def residuals_of_noise(
        self, rho: np.ndarray, draws: int, random: np.random.Generator
    ) -> np.ndarray:
        """Residuals that noise alone leaves, linearised, parameters held.

        Returns:
            In standard deviations, NaN where missing, shape (draws, n_times, n_y + m).
        """
        found = self._smoothed(rho)
        samples, n2 = found.samples, found.steps.A.shape[1]
        e = (
            random.standard_normal((*self.smoother.seen.shape, draws))
            * (samples.weight > 0.0)[..., None]
        )
        e_u = random.standard_normal((*found.motion.errors.shape, draws))
        steps = found.steps._replace(B=np.zeros((len(found.steps.B), n2, draws)))
        noise = samples._replace(values=e), self.smoother.sigma[:, None] * e_u
        parts = self.smoother.swept(found.motion, steps, *noise, np.zeros((n2, draws)))
        rows = e + samples.weight[..., None] * self.smoother.at_samples(found.motion.y_q, parts.x)
        left = self._table(rows, e_u + parts.u / self.smoother.sigma[:, None])
        missing = np.isnan(self.measured)
        left[missing] = np.nan
        return np.moveaxis(left, -1, 0)

    def redrawn(
        self, rho: np.ndarray, channels: Sequence[Channel], random: np.random.Generator
    ) -> UnknownInputs:
        """See Experiment; the likeliest forces at rho are taken as true."""
        deviations = np.array([channel.deviation for channel in channels])
        other = copy(self)
        other.smoother, motion = self.smoother.redrawn(
            self._smoothed(rho).motion, deviations, random
        )
        other.measured = other._table(other.smoother.seen, other.smoother.forces, np.nan)
        other._last = other.smoother.linearised(motion)
        return other

    def export_unknowns(self, rho: np.ndarray) -> Motion:
        """The motion with the likeliest errors, for `resume` in another process."""
        return self._smoothed(rho).motion

    def import_unknowns(self, unknowns: Motion) -> None:
        """Go on from a motion of `unknowns`, when the likeliest errors are asked for."""
        self._last = self.smoother.linearised(unknowns)

    def state(self, rho: np.ndarray) -> Smoothed:
        """A state at parameters rho."""
        return self.smoother.linearised(self.smoother.first(np.array(rho, dtype=float)))

    def with_parameters(self, state: Smoothed, rho: np.ndarray) -> Smoothed:
        """See `Lifted`; deviations from the motion of the state are fed back."""
        return self.smoother.linearised(self.smoother.resumed(state, np.array(rho, dtype=float)))

    def cost(self, state: Smoothed) -> float:
        """Sum of its squared residuals [-]."""
        return state.motion.cost

    def rows(self, state: Smoothed) -> ReducedResidual:
        """Residuals after the best change of the unknowns."""
        samples = state.samples
        at_samples = self.smoother.at_samples(state.motion.y_q, state.x)
        of_samples = (samples.values + samples.weight[..., None] * at_samples)[samples.weight > 0.0]
        of_steps = state.u.copy()
        of_steps[:, :, 0] += state.motion.errors
        of_steps /= self.smoother.sigma[:, None]
        rows = np.concatenate([of_samples, of_steps.reshape(-1, of_steps.shape[2])])
        return ReducedResidual(rows[:, 0], rows[:, 1:])

    def step_towards(self, state: Smoothed, rho: np.ndarray, share: float) -> Smoothed:
        """The state at other parameters, after a share of the best change for these."""
        rho = np.array(rho, dtype=float)
        change = np.concatenate([[share], rho - state.motion.rho])
        return self.smoother.linearised(self.smoother.moved(state, rho, change))

    def set_state(self, state: Smoothed | None) -> None:
        """Go on from a state when the likeliest unknowns are asked for."""
        self._last = state

    @property
    def current_state(self) -> Smoothed | None:
        """The state from which it goes on."""
        return self._last

    def _table(
        self, of_samples: np.ndarray, of_steps: np.ndarray, elsewhere: float = 0.0
    ) -> np.ndarray:
        """Values of samples and of steps in the rows of `time`; a step's are at its start."""
        n_y = of_samples.shape[1]
        found = np.full((len(self.time), n_y + of_steps.shape[1], *of_samples.shape[2:]), elsewhere)
        found[self._rows[0], :n_y], found[self._rows[1], n_y:] = of_samples, of_steps
        return found

    def _smoothed(self, rho: np.ndarray) -> Smoothed:
        """The motion with the likeliest errors; the last one is kept.

        Raises:
            SimulationError: The model cannot be simulated, or the steps do not end.
        """
        rho = np.array(rho, dtype=float)
        last = self._last
        if last is not None and np.array_equal(last.motion.rho, rho):
            found = last
        else:
            found = self._begun(rho)
        for _ in range(ITERATIONS):
            if found.decrease < DECREASE:
                self._last = found
                return found
            found = self.smoother.linearised(self._stepped(found))
        raise SimulationError(
            f"{self.name}: the likeliest inputs were not found in {ITERATIONS} Gauss-Newton steps."
        )

    def _begun(self, rho: np.ndarray) -> Smoothed:
        """A motion to begin with: the last one's change by rho, or that under the feedback."""
        last = self._last
        if last is not None:
            change = np.concatenate([[0.0], rho - last.motion.rho])
            try:
                return self.smoother.linearised(self.smoother.moved(last, rho, change))
            except SimulationError:
                pass
        return self.smoother.linearised(self.smoother.first(rho))

    def _stepped(self, found: Smoothed) -> Motion:
        """A motion of less cost, along the Gauss-Newton step."""
        share, before = 1.0, found.motion.cost
        while share > SHORTEST:
            change = np.zeros(found.u.shape[2])
            change[0] = share
            try:
                motion = self.smoother.moved(found, found.motion.rho, change)
                if before - motion.cost > ARMIJO * share * found.decrease:
                    return motion
            except SimulationError:
                pass
            share *= 0.5
        raise SimulationError(
            f"{self.name}: no inputs near the recorded ones fit better, though some are predicted."
        )
