"""Residuals of a correct model with noisy inputs, simulated with drawn noise, and tests.

Noise of an input passes through the model: its residuals are correlated over time and larger than
the noise of the outputs. The tests compare the total energy, and the energies in frequency bands
and time windows: noise of inputs is amplified near the resonances of a model; a wrong model shows
first in the other bands.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np
from scipy import fft, stats

from sofa_softctl.errors import SimulationError
from sofa_softctl.identification.fitting.estimate import Estimate, as_fitted
from sofa_softctl.identification.fitting.reduced import sample_blocks
from sofa_softctl.identification.fitting.residual import Fit, StackedResidual
from sofa_softctl.identification.model.experiment import Experiment
from sofa_softctl.identification.uncertainty.identifiability import (
    SETTINGS as IDENTIFIABILITY,
)
from sofa_softctl.identification.uncertainty.identifiability import (
    magnitudes,
    reduced_jacobian,
)
from sofa_softctl.identification.uncertainty.prediction import kept_samples


@dataclass(frozen=True)
class SimulatedResidualSettings:
    """Numbers of the simulation and of its tests."""

    draw_count: int = 24
    """Number of realisations of the noise, each of which takes a simulation of every experiment."""
    draws_min: int = 16
    """Smallest number of draws that can be simulated."""
    noise_fraction: float = 0.1
    """Fraction of the noise of inputs that is drawn; its effect is scaled by the inverse, as if it
    were linear, which intervals assume too [-]. With all of it a simulation may fail."""
    window_count: int = 10
    """Number of time windows."""
    freedom_correction: float = 9.0
    """Relative reduction of the degrees of freedom from n draws, times n [-]: p-values down to
    1e-4, of chi squares and of sums of two, are then too small by a factor of 3 at most."""
    energy_fraction_min: float = 1e-6
    """Smallest energy of a part, relative to the total [-]. Parameters may fit a part exactly, as
    an offset fits the mean; its residual energy is then due to rounding and the search's
    tolerance."""


SETTINGS = SimulatedResidualSettings()


def energies(r: np.ndarray) -> np.ndarray:
    """Energy of residuals in each frequency band, then in each time window.

    Bands are octaves of the cosine transform, missing samples taken as 0; windows are tenths of
    the time.

    Args:
        r: Residuals, NaN where missing, shape (n,).

    Returns:
        Sums of squares, shape (n_parts,), about log2(n) + 10.
    """
    n, r = len(r), np.nan_to_num(r)
    octaves = sorted({0, *(2**k for k in range((n - 1).bit_length()))})
    windows = np.unique(np.linspace(0, n, SETTINGS.window_count, endpoint=False).astype(int))
    power = np.square(fft.dct(r, norm="ortho"))
    return np.concatenate([np.add.reduceat(power, octaves), np.add.reduceat(np.square(r), windows)])


def total_energy(parts: np.ndarray) -> np.ndarray:
    """Sum of squares of residuals, given `energies`, shape (..., n_parts) to (...)."""
    energy: np.ndarray = 0.5 * parts.sum(axis=-1)  # bands have all of it, and windows have
    return energy


def total_p_value(measured: np.ndarray, drawn: np.ndarray) -> float:
    """p-value of the total energy.

    Args:
        measured: Energies of the residuals, shape (n_parts,).
        drawn: Energies of simulated residuals due to noise, shape (n_draws, n_parts).
    """
    return empirical_p_value(float(total_energy(measured)), total_energy(drawn))


def small_p_value(measured: np.ndarray, drawn: np.ndarray) -> float:
    """p-value of a total energy that is this small; arguments as of `total`."""
    return empirical_p_value(float(total_energy(measured)), total_energy(drawn), lower=True)


def pattern_p_value(measured: np.ndarray, drawn: np.ndarray) -> float:
    """p-value of `band` at the total energy that noise leaves: of the pattern, not of the size."""
    energy = float(total_energy(measured))
    return (
        largest_part_p_value(measured * float(total_energy(drawn).mean()) / energy, drawn)
        if energy > 0.0
        else 1.0
    )


def largest_part_p_value(measured: np.ndarray, drawn: np.ndarray) -> float:
    """p-value of the largest energy of any frequency band or time window (Bonferroni).

    Args:
        measured: Energies of the residuals, shape (n_parts,).
        drawn: Energies of simulated residuals due to noise, shape (n_draws, n_parts).
    """
    energy_min = SETTINGS.energy_fraction_min * float(total_energy(drawn).mean())
    measured, drawn = np.maximum(measured, energy_min), np.maximum(drawn, energy_min)
    p_values = [empirical_p_value(float(a), b) for a, b in zip(measured, drawn.T, strict=True)]
    return min(1.0, len(p_values) * min(p_values))


def empirical_p_value(energy: float, drawn: np.ndarray, *, lower: bool = False) -> float:
    """Probability that another draw has this energy, or more; with `lower`, or less.

    Energies are modelled as scaled chi squares, whose degrees of freedom are fitted to the draws;
    their ratio to the mean of the draws has an F distribution.

    Source: degrees of freedom by maximum likelihood of the gamma distribution (Minka 2002, first
        step), which few draws overestimate by a factor n / (n - 3), and mixtures of several chi
        squares more: `freedom_correction` corrects both.
    """
    n, mean = len(drawn), float(drawn.mean())
    if mean <= 0.0:
        return 1.0 if lower or energy <= 0.0 else 0.0
    s = np.log(mean) - float(np.mean(np.log(np.maximum(drawn, 1e-300))))
    s = max(s, 1e-12)
    shape = (3.0 - s + np.sqrt((s - 3.0) ** 2 + 24.0 * s)) / (12.0 * s)
    freedom = 2.0 * shape * max(1.0 - SETTINGS.freedom_correction / n, 0.1)
    tail = stats.f.cdf if lower else stats.f.sf
    return float(tail(energy / mean, freedom, n * freedom))


@dataclass(frozen=True, eq=False)
class ResidualReference:
    """Energies of simulated residuals of correct models with the declared noise."""

    fitted: tuple[np.ndarray, ...]
    """`energies` of each fitted experiment's residuals [-], each of shape (n_draws, n_y, n_parts).

    The residuals themselves would take n_draws times the memory of the data.
    """
    held_out: tuple[np.ndarray, ...]
    """Energies of each held-out experiment's residuals [-]."""
    effects: tuple[np.ndarray, ...]
    """Effect of drawn noise of inputs on predicted - measured of each experiment, fitted ones
    first, at `prediction.kept_samples` [units], shape (n_draws, n_picks, n_outputs).

    For experiments with unknowns, the effect of all noise.
    """
    draws: int
    """Number of draws, 0 if a simulation was not possible."""
    seconds: float
    """Wall time [s]."""


def simulate_residuals(
    estimate: Estimate,
    experiments: Sequence[Experiment],
    hold_out: Sequence[Experiment] = (),
    held_out: Sequence[Fit] = (),
    *,
    draws: int = SETTINGS.draw_count,
    seed: int = 0,
) -> ResidualReference | None:
    """Draw noise of inputs and outputs, simulate with it at the estimate, and refit linearly.

    Args:
        estimate: Estimate at which to simulate.
        experiments: Experiments of the estimate, in its order.
        hold_out: Held-out experiments.
        held_out: Measured and predicted outputs of the held-out experiments.
        draws: Number of realisations of the noise.
        seed: Seed of the draws.

    Returns:
        Energies of the residuals, or None if all inputs are exact.
    """
    experiments = as_fitted(estimate, experiments)
    began = perf_counter()
    misfit = StackedResidual([*experiments, *hold_out], estimate.parameters)
    if not any(_has_noisy_inputs(experiment) for experiment in misfit.experiments):
        return None
    all_experiments, fits = misfit.experiments, [*estimate.fits, *held_out]
    refit, random = _Refit(estimate), np.random.default_rng(seed)
    try:
        exact = [
            _difference(experiment, misfit, k, estimate.rho)
            for k, experiment in enumerate(all_experiments)
        ]
        smoothed = {
            k: experiment.residuals_of_noise(
                misfit.experiment_parameters(k, estimate.rho), draws, random
            )
            for k, experiment in enumerate(all_experiments)
            if experiment.unknowns
        }
    except SimulationError:
        return ResidualReference((), (), (), 0, perf_counter() - began)
    has_output_noise = [not experiment.outputs_from_inputs for experiment in all_experiments]
    energies_of_draws, effects = [], []
    kept_indices = [kept_samples(len(fit.time)) for fit in fits]
    for draw in range(draws):
        disturbed_experiments = [
            with_input_noise(experiment, random) for experiment in all_experiments
        ]
        if any(experiment is None for experiment in disturbed_experiments):
            return ResidualReference((), (), (), 0, perf_counter() - began)
        try:
            differences = [
                _difference(experiment, misfit, k, estimate.rho)
                for k, experiment in enumerate(disturbed_experiments)
            ]
        except SimulationError:
            continue
        errors_of_draw = [
            _mask_missing(
                (b - a) / (SETTINGS.noise_fraction * fit.deviations)
                + draws_outputs * random.standard_normal(a.shape),
                fit,
            )
            for a, b, fit, draws_outputs in zip(
                exact, differences, fits, has_output_noise, strict=True
            )
        ]
        errors_of_draw = [
            smoothed[k][draw] if k in smoothed else errors
            for k, errors in enumerate(errors_of_draw)
        ]
        effects.append(
            [
                np.nan_to_num(errors[p]) * fit.deviations
                if k in smoothed
                else (b - a)[p] / SETTINGS.noise_fraction
                for k, (a, b, errors, p, fit) in enumerate(
                    zip(exact, differences, errors_of_draw, kept_indices, fits, strict=True)
                )
            ]
        )
        residuals_of_draw = refit.refit_residuals(errors_of_draw, fits, random)
        energies_of_draws.append(
            [np.array([energies(r) for r in values.T]) for values in residuals_of_draw]
        )
    if len(energies_of_draws) < SETTINGS.draws_min:
        return ResidualReference((), (), (), 0, perf_counter() - began)
    energies_by_experiment = tuple(
        np.array(values) for values in zip(*energies_of_draws, strict=True)
    )
    n = len(experiments)
    by_inputs = tuple(np.array(values) for values in zip(*effects, strict=True))
    return ResidualReference(
        energies_by_experiment[:n],
        energies_by_experiment[n:],
        by_inputs,
        len(energies_of_draws),
        perf_counter() - began,
    )


def _has_noisy_inputs(experiment: Experiment) -> bool:
    """Return True if noise of the inputs affects the residuals."""
    return bool(experiment.unknowns) or bool(noise_of_inputs(experiment).any())


def noise_of_inputs(experiment: Experiment) -> np.ndarray:
    """Standard deviations of the inputs [units], shape (n_inputs,)."""
    return np.array([channel.deviation for channel in experiment.inputs])


def with_input_noise(experiment: Experiment, random: np.random.Generator) -> Experiment | None:
    """Return the experiment with drawn noise added to its inputs, or None if not possible."""
    deviations = noise_of_inputs(experiment)
    if not deviations.any():
        return experiment
    errors = (
        SETTINGS.noise_fraction
        * deviations
        * random.standard_normal((len(experiment.time), len(deviations)))
    )
    return experiment.with_input_errors(errors)


def _difference(
    experiment: Experiment | None, misfit: StackedResidual, k: int, rho: np.ndarray
) -> np.ndarray:
    """Return predicted - measured [units]; both may depend on inputs."""
    assert experiment is not None
    return experiment.outputs(misfit.experiment_parameters(k, rho)) - experiment.measured


def _mask_missing(d: np.ndarray, fit: Fit) -> np.ndarray:
    return np.where(fit.is_measured, d, np.nan)


class _Refit:
    """Residuals after a linear refit of the parameters to drawn errors.

    The columns of J R^+, R the reduced Jacobian, are orthonormal up to the condition of J times
    rounding; they are made block by block.
    """

    def __init__(self, estimate: Estimate) -> None:
        self.free, self.known = estimate.free, estimate.prior_information > 0.0
        size = magnitudes(estimate)[self.free]
        R = reduced_jacobian(estimate)[:, self.free] * size
        self.inverse = size[:, None] * np.linalg.pinv(
            R, rcond=IDENTIFIABILITY.singular_value_tolerance
        )  # (n_free, 2 n_rho + 1)
        self.of_priors = np.diag(np.sqrt(estimate.prior_information))[:, self.free]
        self.n = len(estimate.fits)

    def refit_residuals(
        self, d: list[np.ndarray], fits: list[Fit], random: np.random.Generator
    ) -> list[np.ndarray]:
        """Return the errors minus the effect of the refitted parameters."""
        prior_errors = np.where(self.known, random.standard_normal(len(self.known)), 0.0)
        gradient = (self.of_priors @ self.inverse).T @ prior_errors
        for fit_errors, fit in zip(d[: self.n], fits[: self.n], strict=True):
            errors = replace(fit, measured=0.0 * fit.measured, outputs=fit_errors * fit.deviations)
            for r, J in sample_blocks(errors):
                gradient += (J[:, self.free] @ self.inverse).T @ r
        change = np.zeros(len(self.free))
        change[self.free] = -self.inverse @ gradient
        return [
            fit_errors + fit.sensitivities @ change / fit.deviations
            for fit_errors, fit in zip(d, fits, strict=True)
        ]
