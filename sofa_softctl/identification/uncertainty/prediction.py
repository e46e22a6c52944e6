"""Prediction bands, which should contain 95 % of the measurements if the model is right.

The variance of predicted - measured is J C J' by errors of the parameters, J the sensitivities and
C the covariance of the intervals, plus the variance of the outputs' noise, plus the variance of the
noise of inputs through the model. The last is estimated from draws, at a number of samples that
does not depend on the length of a recording; J C J' is computed block by block.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from sofa_softctl.identification.fitting.estimate import Estimate
from sofa_softctl.identification.fitting.reduced import BLOCK_SIZE
from sofa_softctl.identification.fitting.residual import Fit
from sofa_softctl.identification.model.experiment import Experiment
from sofa_softctl.identification.uncertainty.coverage import (
    Coverage,
    coverage,
    draw_inside_fractions,
)
from sofa_softctl.identification.uncertainty.identifiability import (
    CONFIDENCE,
    Identifiability,
    split_covariance,
)


@dataclass(frozen=True, eq=False)
class PredictionBand:
    """95 % bands of the channels of one experiment, with the number of samples inside."""

    experiment: str
    """Name of the recording."""
    channels: tuple[str, ...]
    """Names of the channels."""
    at: np.ndarray
    """Indices of the samples at which the half-width is stored, shape (n_picks,)."""
    half_width: np.ndarray
    """Half-width of the band [units], infinite where unknown, shape (n_picks, n_outputs)."""
    samples: np.ndarray
    """Number of measured samples of each channel, shape (n_outputs,)."""
    inside: np.ndarray
    """Number of measured samples inside the band, shape (n_outputs,)."""
    complete: bool
    """True if the band includes all noise; False if the effect of noise of inputs is unknown."""


@dataclass(frozen=True, eq=False)
class Predictions:
    """Prediction bands of a report."""

    fitted: tuple[PredictionBand, ...]
    """Bands of the fitted experiments."""
    held_out: tuple[PredictionBand, ...]
    """Bands of the held-out experiments."""
    coverage: Coverage | None
    """Coverage of all held-out samples, or None without such samples."""
    by_channel: tuple[tuple[Coverage, ...], ...]
    """Coverage of each channel of each held-out experiment."""


def kept_samples(n: int) -> np.ndarray:
    """Indices of at most 1000 of n samples, evenly spread, with both ends."""
    return np.unique(np.linspace(0, n - 1, min(n, 1000)).round().astype(int))


def predictions(
    estimate: Estimate,
    trust: Identifiability,
    experiments: Sequence[Experiment],
    hold_out: Sequence[Experiment],
    held_out: Sequence[Fit],
    effects: Sequence[np.ndarray] | None,
) -> Predictions:
    """Compute bands of all experiments, and count the held-out samples inside.

    Args:
        estimate: Estimate of the parameters.
        trust: Covariance of the estimate.
        experiments: Fitted experiments.
        hold_out: Held-out experiments.
        held_out: Measured and predicted outputs of the held-out experiments.
        effects: Effect of drawn noise of inputs on predicted - measured at `kept_samples` [units],
            an array of shape (n_draws, n_picks, n_outputs) for each experiment; None if inputs are
            exact, () if it is unknown.
    """
    fits, all_experiments = [*estimate.fits, *held_out], [*experiments, *hold_out]
    no_effects: list[np.ndarray | None] = [None] * len(fits)
    effects_by_fit = effects or no_effects
    makers = [
        _Band(
            estimate,
            trust,
            fit,
            effect,
            has_output_noise=not (experiment.outputs_from_inputs or fit.unknowns),
        )
        for fit, experiment, effect in zip(fits, all_experiments, effects_by_fit, strict=True)
    ]
    bands = [maker.band(complete=effects is None or len(effects) > 0) for maker in makers]
    n = len(estimate.fits)
    fractions = draw_inside_fractions(makers[n:])
    channels = tuple(
        tuple(
            coverage(int(k), int(m), share)
            for k, m, share in zip(band.inside, band.samples, band_fractions, strict=True)
        )
        for band, band_fractions in zip(bands[n:], fractions, strict=True)
    )
    return Predictions(
        tuple(bands[:n]), tuple(bands[n:]), _total_coverage(bands[n:], fractions), channels
    )


def _total_coverage(
    bands: Sequence[PredictionBand], fractions: Sequence[np.ndarray]
) -> Coverage | None:
    """Coverage of all samples of several experiments."""
    samples = np.concatenate([band.samples for band in bands]) if bands else np.zeros(0)
    if not samples.sum():
        return None
    weights = samples / samples.sum()
    inside_fractions = np.nan_to_num(np.concatenate(fractions)).T @ weights
    inside = sum(int(band.inside.sum()) for band in bands)
    return coverage(inside, int(samples.sum()), inside_fractions)


class _Band:
    """Band of one experiment."""

    def __init__(
        self,
        estimate: Estimate,
        trust: Identifiability,
        fit: Fit,
        effects: np.ndarray | None,
        *,
        has_output_noise: bool,
    ) -> None:
        C, self.lost = split_covariance(estimate, trust)
        values, vectors = np.linalg.eigh(C)
        self.root = vectors * np.sqrt(np.maximum(values, 0.0))  # C = root root', (n_rho, n_rho)
        self.fit, self.effects, self.at = fit, effects, kept_samples(len(fit.time))
        self.noise = fit.deviations * has_output_noise  # of the outputs; the draws may include it
        self.freedom = trust.freedom if trust.distribution == "Student-t" else np.inf
        self.by_inputs = self._variance_by_inputs()

    def band(self, *, complete: bool) -> PredictionBand:
        """Compute half-widths, and count the samples inside block by block."""
        n, samples, inside = len(self.fit.time), 0, 0
        length = max(1, BLOCK_SIZE // max(1, self.fit.sensitivities[0].size))
        for begin in range(0, n, length):
            block = np.arange(begin, min(begin + length, n))
            error = np.abs(self.fit.outputs[block] - self.fit.measured[block])
            samples = samples + np.isfinite(error).sum(axis=0)
            inside = inside + (error <= self.half_width(block)).sum(axis=0)
        return PredictionBand(
            experiment=self.fit.name,
            channels=tuple(channel.name for channel in self.fit.channels),
            at=self.at,
            half_width=self.half_width(self.at),
            samples=np.asarray(samples),
            inside=np.asarray(inside),
            complete=complete,
        )

    def half_width(self, index: np.ndarray) -> np.ndarray:
        """Return the half-widths at samples [units], infinite where unknown, (n, n_outputs)."""
        J = self.fit.sensitivities[index]  # (n, n_y, n_rho)
        output_variance = ((J @ self.root) ** 2).sum(axis=2) + self.noise**2
        input_variance = np.column_stack(
            [np.interp(index, self.at, column) for column in self.by_inputs.T]
        )
        variance = output_variance + input_variance
        draws = np.inf if self.effects is None else len(self.effects)
        input_fraction = input_variance / np.maximum(variance, 1e-300)
        half_widths = _half_width_ratio(
            input_fraction**2 / draws + (1.0 - input_fraction) ** 2 / self.freedom
        ) * np.sqrt(variance)
        undetermined_change = np.abs(J @ self.lost.T).max(axis=2, initial=0.0)
        return np.where(undetermined_change > 1e-3 * self.fit.deviations, np.inf, half_widths)

    def _variance_by_inputs(self) -> np.ndarray:
        """Variance by noise of inputs at kept samples [units^2], shape (n_picks, n_outputs)."""
        if self.effects is None:
            return np.zeros((len(self.at), len(self.fit.channels)))
        variance = np.mean(self.effects**2, axis=0)
        window = np.ones(max(1, len(variance) // 50))  # a moving average over 2 % of the time
        weight = np.convolve(np.ones(len(variance)), window, mode="same")
        smooth = [np.convolve(column, window, mode="same") / weight for column in variance.T]
        return np.column_stack(smooth)


def _half_width_ratio(inverse_freedom: np.ndarray) -> np.ndarray:
    """Half-width of an interval of Student's t [deviations]; degrees of freedom may be fractional.

    Expansion about the normal quantile z, within 0.3 % for 8 or more degrees of freedom. Degrees of
    freedom of a sum of estimated variances follow Welch and Satterthwaite.

    Source: Abramowitz, Stegun, "Handbook of Mathematical Functions", 26.7.5.
    """
    z = float(stats.norm.ppf(0.5 + CONFIDENCE / 2.0))
    first = (z**3 + z) / 4.0
    second = (5.0 * z**5 + 16.0 * z**3 + 3.0 * z) / 96.0
    return np.asarray(z + first * inverse_freedom + second * inverse_freedom**2)
