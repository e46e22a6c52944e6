"""Tests of residuals against simulated ones: total energy, frequency bands, time windows.

Noise of inputs is amplified near the resonances of a model; a wrong model shows first in the other
bands.

Residuals of a correct model with noisy inputs, by Monte Carlo simulation.

Noise of an input passes through the model: its residuals are correlated over time and larger than
the noise of the outputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np
from scipy import fft, stats

from sofa_softctl.errors import SimulationError
from sofa_softctl.identification.fitting.estimate import Estimate, as_fitted
from sofa_softctl.identification.fitting.reduced import blocks
from sofa_softctl.identification.fitting.residual import Fit, StackedResidual
from sofa_softctl.identification.model.experiment import Experiment
from sofa_softctl.identification.uncertainty.identifiability import (
    SINGULAR,
    reduced_jacobian,
    sizes,
)
from sofa_softctl.identification.uncertainty.prediction import picks

WINDOWS = 10
"""Number of time windows."""
CAUTION = 9.0
"""Degrees of freedom from n draws are reduced by this over n: p-values down to 1e-4, of chi squares
and of sums of two, are then too small by a factor of 3 at most."""

NEGLIGIBLE = 1e-6
"""Share of the total energy: parts with less count as having as much. Parameters may fit a part
exactly, as an offset does the mean: what is left of it is rounding and the search's tolerance."""


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
    windows = np.unique(np.linspace(0, n, WINDOWS, endpoint=False).astype(int))
    power = np.square(fft.dct(r, norm="ortho"))
    return np.concatenate([np.add.reduceat(power, octaves), np.add.reduceat(np.square(r), windows)])


def total_energy(parts: np.ndarray) -> np.ndarray:
    """Sum of squares of residuals, given `energies`, shape (..., n_parts) to (...)."""
    found: np.ndarray = 0.5 * parts.sum(axis=-1)  # bands have all of it, and windows have
    return found


def total(here: np.ndarray, drawn: np.ndarray) -> float:
    """p-value of the total energy.

    Args:
        here: Energies of the residuals, shape (n_parts,).
        drawn: Those of simulated residuals of noise, shape (n_draws, n_parts).
    """
    return empirical_p_value(float(total_energy(here)), total_energy(drawn))


def small(here: np.ndarray, drawn: np.ndarray) -> float:
    """p-value of a total energy that is this small; arguments as of `total`."""
    return empirical_p_value(float(total_energy(here)), total_energy(drawn), lower=True)


def pattern(here: np.ndarray, drawn: np.ndarray) -> float:
    """p-value of `band` at the total energy that noise leaves: of the pattern, not of the size."""
    energy = float(total_energy(here))
    return band(here * float(total_energy(drawn).mean()) / energy, drawn) if energy > 0.0 else 1.0


def band(here: np.ndarray, drawn: np.ndarray) -> float:
    """p-value of the largest energy of any frequency band or time window (Bonferroni).

    Args:
        here: Energies of the residuals, shape (n_parts,).
        drawn: Those of simulated residuals of noise, shape (n_draws, n_parts).
    """
    least = NEGLIGIBLE * float(total_energy(drawn).mean())
    here, drawn = np.maximum(here, least), np.maximum(drawn, least)
    found = [empirical_p_value(float(a), b) for a, b in zip(here, drawn.T, strict=True)]
    return min(1.0, len(found) * min(found))


def empirical_p_value(energy: float, drawn: np.ndarray, *, lower: bool = False) -> float:
    """Probability that another draw has this energy, or more; with `lower`, or less.

    Energies are modelled as scaled chi squares, whose degrees of freedom are fitted to the draws;
    their ratio to the mean of the draws has an F distribution.

    Source: degrees of freedom by maximum likelihood of the gamma distribution (Minka 2002, first
        step), which few draws overestimate by a factor n / (n - 3), and mixtures of several chi
        squares more: `CAUTION` corrects both.
    """
    n, mean = len(drawn), float(drawn.mean())
    if mean <= 0.0:
        return 1.0 if lower or energy <= 0.0 else 0.0
    s = np.log(mean) - float(np.mean(np.log(np.maximum(drawn, 1e-300))))
    s = max(s, 1e-12)
    shape = (3.0 - s + np.sqrt((s - 3.0) ** 2 + 24.0 * s)) / (12.0 * s)
    freedom = 2.0 * shape * max(1.0 - CAUTION / n, 0.1)
    tail = stats.f.cdf if lower else stats.f.sf
    return float(tail(energy / mean, freedom, n * freedom))


DRAWS = 24
"""Realisations of the noise: each takes a simulation of every experiment."""
SHARE = 0.1
"""Scale of the drawn noise of inputs, by whose inverse its effect is scaled: linear, as intervals.

With the full drawn noise on top of the recorded one a simulation may fail.
"""
FEWEST = 16
"""Least number of draws that can be simulated."""


@dataclass(frozen=True, eq=False)
class Expected:
    """Energies of simulated residuals of correct models with noise as declared."""

    fitted: tuple[np.ndarray, ...]
    """`energies` of each fitted experiment's residuals [-], each of shape (n_draws, n_y, n_parts).

    The residuals themselves would take n_draws times the memory of the data.
    """
    held_out: tuple[np.ndarray, ...]
    """The same for held-out experiments."""
    effects: tuple[np.ndarray, ...]
    """Effect of drawn noise of inputs on predicted - measured of each experiment, fitted ones
    first, at `prediction.picks` [units], shape (n_draws, n_picks, n_outputs).

    Where there are unknowns: what all noise leaves.
    """
    draws: int
    """Number of draws; 0: not possible."""
    seconds: float
    """Wall time [s]."""


def expected_residuals(
    estimate: Estimate,
    experiments: Sequence[Experiment],
    hold_out: Sequence[Experiment] = (),
    held_out: Sequence[Fit] = (),
    *,
    draws: int = DRAWS,
    seed: int = 0,
) -> Expected | None:
    """Draw noise of inputs and outputs, simulate with it at the estimate, and refit linearly.

    Args:
        estimate: Where to simulate.
        experiments: Those of the estimate, in its order.
        hold_out: Held-out experiments.
        held_out: Their measured and predicted outputs.
        draws: Realisations of the noise.
        seed: Seed of the draws.

    Returns:
        None where all inputs are exact.
    """
    experiments = as_fitted(estimate, experiments)
    began = perf_counter()
    misfit = StackedResidual([*experiments, *hold_out], estimate.parameters)
    if not any(_noisy(one) for one in misfit.experiments):
        return None
    everything, fits = misfit.experiments, [*estimate.fits, *held_out]
    refit, random = _Refit(estimate), np.random.default_rng(seed)
    try:
        exact = [_difference(one, misfit, k, estimate.rho) for k, one in enumerate(everything)]
        smoothed = {
            k: one.residuals_of_noise(misfit.of(k, estimate.rho), draws, random)
            for k, one in enumerate(everything)
            if one.unknowns
        }
    except SimulationError:
        return Expected((), (), (), 0, perf_counter() - began)
    owns = [not one.outputs_from_inputs for one in everything]
    found, effects = [], []
    at = [picks(len(fit.time)) for fit in fits]
    for draw in range(draws):
        other = [disturbed(one, random) for one in everything]
        if any(one is None for one in other):
            return Expected((), (), (), 0, perf_counter() - began)
        try:
            moved = [_difference(one, misfit, k, estimate.rho) for k, one in enumerate(other)]
        except SimulationError:
            continue
        d = [
            _kept((b - a) / (SHARE * fit.deviations) + own * random.standard_normal(a.shape), fit)
            for a, b, fit, own in zip(exact, moved, fits, owns, strict=True)
        ]
        d = [smoothed[k][draw] if k in smoothed else one for k, one in enumerate(d)]
        effects.append(
            [
                np.nan_to_num(one[p]) * fit.deviations if k in smoothed else (b - a)[p] / SHARE
                for k, (a, b, one, p, fit) in enumerate(zip(exact, moved, d, at, fits, strict=True))
            ]
        )
        left = refit.left(d, fits, random)
        found.append([np.array([energies(r) for r in one.T]) for one in left])
    if len(found) < FEWEST:
        return Expected((), (), (), 0, perf_counter() - began)
    each = tuple(np.array(one) for one in zip(*found, strict=True))
    n = len(experiments)
    by_inputs = tuple(np.array(one) for one in zip(*effects, strict=True))
    return Expected(each[:n], each[n:], by_inputs, len(found), perf_counter() - began)


def _noisy(experiment: Experiment) -> bool:
    """Whether noise of its inputs shows in its residuals."""
    return bool(experiment.unknowns) or bool(noise_of_inputs(experiment).any())


def noise_of_inputs(experiment: Experiment) -> np.ndarray:
    """Standard deviations of the inputs [units], shape (n_inputs,)."""
    return np.array([one.deviation for one in experiment.inputs])


def disturbed(experiment: Experiment, random: np.random.Generator) -> Experiment | None:
    """The experiment with drawn noise added to its inputs; None: not possible."""
    deviations = noise_of_inputs(experiment)
    if not deviations.any():
        return experiment
    errors = SHARE * deviations * random.standard_normal((len(experiment.time), len(deviations)))
    return experiment.with_input_errors(errors)


def _difference(
    experiment: Experiment | None, misfit: StackedResidual, k: int, rho: np.ndarray
) -> np.ndarray:
    """Predicted - measured [units]; both may depend on inputs."""
    assert experiment is not None
    return experiment.outputs(misfit.of(k, rho)) - experiment.measured


def _kept(d: np.ndarray, fit: Fit) -> np.ndarray:
    return np.where(fit.there, d, np.nan)


class _Refit:
    """Residuals after a linear refit of the parameters to drawn errors.

    The columns of J R^+, R the reduced Jacobian, are orthonormal up to the condition of J times
    rounding; they are made block by block.
    """

    def __init__(self, estimate: Estimate) -> None:
        self.free, self.known = estimate.free, estimate.prior_information > 0.0
        size = sizes(estimate)[self.free]
        R = reduced_jacobian(estimate)[:, self.free] * size
        self.inverse = size[:, None] * np.linalg.pinv(R, rcond=SINGULAR)  # (n_free, 2 n_rho + 1)
        self.of_priors = np.diag(np.sqrt(estimate.prior_information))[:, self.free]
        self.n = len(estimate.fits)

    def left(
        self, d: list[np.ndarray], fits: list[Fit], random: np.random.Generator
    ) -> list[np.ndarray]:
        """Errors less the effect of the refitted parameters."""
        drawn = np.where(self.known, random.standard_normal(len(self.known)), 0.0)
        projected = (self.of_priors @ self.inverse).T @ drawn
        for one, fit in zip(d[: self.n], fits[: self.n], strict=True):
            errors = replace(fit, measured=0.0 * fit.measured, outputs=one * fit.deviations)
            for r, J in blocks(errors):
                projected += (J[:, self.free] @ self.inverse).T @ r
        change = np.zeros(len(self.free))
        change[self.free] = -self.inverse @ projected
        return [
            one + fit.sensitivities @ change / fit.deviations
            for one, fit in zip(d, fits, strict=True)
        ]
