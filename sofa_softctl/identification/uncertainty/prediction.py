"""Prediction bands: where measurements are to be expected if the model is right.

The variance of predicted - measured is J C J' by errors of the parameters, J the sensitivities and
C the covariance of the intervals, plus that of the outputs' noise, plus that of the noise of inputs
through the model. The last is known from draws, at a number of samples that does not depend on the
length of a recording; J C J' is found block by block.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from sofa_softctl.identification.fitting.estimate import Estimate
from sofa_softctl.identification.fitting.reduced import BLOCK
from sofa_softctl.identification.fitting.residual import Fit
from sofa_softctl.identification.model.experiment import Experiment
from sofa_softctl.identification.uncertainty.coverage import Coverage, coverage, shares_of_draws
from sofa_softctl.identification.uncertainty.identifiability import (
    CONFIDENCE,
    Identifiability,
    known_covariance,
)

PICKS = 1000
"""Most samples of a recording at which a band is kept, and noise of inputs is drawn."""
NEGLIGIBLE = 1e-3
"""Change of a prediction, in deviations of its noise, that is too small to matter."""
SMOOTH = 50
"""Variances by draws are averaged over 1 / so much of the time."""


@dataclass(frozen=True, eq=False)
class PredictionBand:
    """95 % bands of the channels of one experiment, and how many samples are inside."""

    experiment: str
    """Name of the recording."""
    channels: tuple[str, ...]
    """Names of the channels."""
    at: np.ndarray
    """Samples at which the half-width is kept, shape (n_picks,)."""
    half_width: np.ndarray
    """About the predicted outputs [units], infinite where unknown, shape (n_picks, n_outputs)."""
    samples: np.ndarray
    """Number of measured samples of each channel, shape (n_outputs,)."""
    inside: np.ndarray
    """Number of these that are inside the band, shape (n_outputs,)."""
    complete: bool
    """Whether the band has all noise; False: the effect of the noise of inputs is unknown."""


@dataclass(frozen=True, eq=False)
class Predictions:
    """Prediction bands of a report."""

    fitted: tuple[PredictionBand, ...]
    """Of the fitted experiments."""
    held_out: tuple[PredictionBand, ...]
    """Of the held-out experiments."""
    coverage: Coverage | None
    """Of all held-out samples; None: there are none."""
    by_channel: tuple[tuple[Coverage, ...], ...]
    """Of each channel of each held-out experiment."""


def picks(n: int) -> np.ndarray:
    """Indices of at most `PICKS` of n samples, evenly spread, with both ends."""
    return np.unique(np.linspace(0, n - 1, min(n, PICKS)).round().astype(int))


def predictions(
    estimate: Estimate,
    trust: Identifiability,
    experiments: Sequence[Experiment],
    hold_out: Sequence[Experiment],
    held_out: Sequence[Fit],
    effects: Sequence[np.ndarray] | None,
) -> Predictions:
    """Bands of all experiments, and how many held-out samples are inside.

    Args:
        estimate: The estimate.
        trust: Its covariance.
        experiments: Those that were fitted.
        hold_out: Held-out experiments.
        held_out: Their measured and predicted outputs.
        effects: Of drawn noise of inputs on predicted - measured at `picks` [units], for each
            experiment an array of shape (n_draws, n_picks, n_outputs); None: inputs are exact;
            empty: unknown.
    """
    fits, everything = [*estimate.fits, *held_out], [*experiments, *hold_out]
    without: list[np.ndarray | None] = [None] * len(fits)
    drawn = effects or without
    makers = [
        _Band(estimate, trust, fit, effect, own=not (one.outputs_from_inputs or fit.unknowns))
        for fit, one, effect in zip(fits, everything, drawn, strict=True)
    ]
    bands = [one.band(complete=effects is None or len(effects) > 0) for one in makers]
    n = len(estimate.fits)
    shares = shares_of_draws(makers[n:])
    channels = tuple(
        tuple(
            coverage(int(k), int(m), share)
            for k, m, share in zip(band.inside, band.samples, each, strict=True)
        )
        for band, each in zip(bands[n:], shares, strict=True)
    )
    return Predictions(tuple(bands[:n]), tuple(bands[n:]), _total(bands[n:], shares), channels)


def _total(bands: Sequence[PredictionBand], shares: Sequence[np.ndarray]) -> Coverage | None:
    """Of all samples of several experiments."""
    samples = np.concatenate([one.samples for one in bands]) if bands else np.zeros(0)
    if not samples.sum():
        return None
    weights = samples / samples.sum()
    share = np.nan_to_num(np.concatenate(shares)).T @ weights
    inside = sum(int(one.inside.sum()) for one in bands)
    return coverage(inside, int(samples.sum()), share)


class _Band:
    """The band of one experiment."""

    def __init__(
        self,
        estimate: Estimate,
        trust: Identifiability,
        fit: Fit,
        effects: np.ndarray | None,
        *,
        own: bool,
    ) -> None:
        C, self.lost = known_covariance(estimate, trust)
        values, vectors = np.linalg.eigh(C)
        self.root = vectors * np.sqrt(np.maximum(values, 0.0))  # C = root root', (n_rho, n_rho)
        self.fit, self.effects, self.at = fit, effects, picks(len(fit.time))
        self.noise = fit.deviations * own  # of the outputs, besides what was drawn
        self.freedom = trust.freedom if trust.distribution == "Student-t" else np.inf
        self.by_inputs = self._variance_by_inputs()

    def band(self, *, complete: bool) -> PredictionBand:
        """Half-widths at picks, and the samples inside, counted block by block."""
        n, samples, inside = len(self.fit.time), 0, 0
        length = max(1, BLOCK // max(1, self.fit.sensitivities[0].size))
        for begin in range(0, n, length):
            block = np.arange(begin, min(begin + length, n))
            error = np.abs(self.fit.outputs[block] - self.fit.measured[block])
            samples = samples + np.isfinite(error).sum(axis=0)
            inside = inside + (error <= self.half_width(block)).sum(axis=0)
        return PredictionBand(
            experiment=self.fit.name,
            channels=tuple(one.name for one in self.fit.channels),
            at=self.at,
            half_width=self.half_width(self.at),
            samples=np.asarray(samples),
            inside=np.asarray(inside),
            complete=complete,
        )

    def half_width(self, at: np.ndarray) -> np.ndarray:
        """Half-widths at these samples [units], infinite where unknown, shape (n, n_outputs)."""
        J = self.fit.sensitivities[at]  # (n, n_y, n_rho)
        declared = ((J @ self.root) ** 2).sum(axis=2) + self.noise**2
        drawn = np.column_stack([np.interp(at, self.at, one) for one in self.by_inputs.T])
        variance = declared + drawn
        draws = np.inf if self.effects is None else len(self.effects)
        share = drawn / np.maximum(variance, 1e-300)
        half = _reach(share**2 / draws + (1.0 - share) ** 2 / self.freedom) * np.sqrt(variance)
        moved = np.abs(J @ self.lost.T).max(axis=2, initial=0.0)
        return np.where(moved > NEGLIGIBLE * self.fit.deviations, np.inf, half)

    def _variance_by_inputs(self) -> np.ndarray:
        """Variance by noise of inputs at picks [units^2], shape (n_picks, n_outputs)."""
        if self.effects is None:
            return np.zeros((len(self.at), len(self.fit.channels)))
        found = np.mean(self.effects**2, axis=0)
        window = np.ones(max(1, len(found) // SMOOTH))
        weight = np.convolve(np.ones(len(found)), window, mode="same")
        smooth = [np.convolve(one, window, mode="same") / weight for one in found.T]
        return np.column_stack(smooth)


def _reach(inverse_freedom: np.ndarray) -> np.ndarray:
    """Deviations of an interval of Student's t, whose degrees of freedom need not be whole.

    Expansion about the normal quantile z, within 0.3 % from 8 degrees of freedom on. Degrees of
    freedom of a sum of estimated variances are those of Welch and Satterthwaite.

    Source: Abramowitz, Stegun, "Handbook of Mathematical Functions", 26.7.5.
    """
    z = float(stats.norm.ppf(0.5 + CONFIDENCE / 2.0))
    first = (z**3 + z) / 4.0
    second = (5.0 * z**5 + 16.0 * z**3 + 3.0 * z) / 96.0
    found: np.ndarray = z + first * inverse_freedom + second * inverse_freedom**2
    return found
