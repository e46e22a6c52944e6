"""Search for causes of residuals: effects that the model leaves out, and wrong columns, ranked.

Every effect of the experiments is tested at the estimate, at the cost of a simulation with
derivatives. If a test is significant, or residuals are far above the noise, the most likely causes
are fitted, and ranked by the decrease of the cost: a linearisation at a wrong estimate ranks badly.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import stats

from sofa_softctl.errors import IdentificationError, SimulationError
from sofa_softctl.identification.causes.cause import SETTINGS as CAUSE_SETTINGS
from sofa_softctl.identification.causes.cause import Cause, Kind
from sofa_softctl.identification.causes.checks import (
    contradiction,
    covariance,
    unexplained_channels,
)
from sofa_softctl.identification.causes.columns import fits_of_changes
from sofa_softctl.identification.causes.effort import SearchTime, SearchTooLongError
from sofa_softctl.identification.causes.extended import (
    ExtendedEstimate,
    with_effect,
    with_fixed,
)
from sofa_softctl.identification.causes.ranking import join_ties, order
from sofa_softctl.identification.causes.refit import BetterMinimum, Refit, better_without, refit
from sofa_softctl.identification.causes.score import (
    Score,
    UndetectableBias,
    score,
    undetectable_biases,
)
from sofa_softctl.identification.causes.sticking import fits_without_sticking
from sofa_softctl.identification.fitting.estimate import Estimate
from sofa_softctl.identification.fitting.gauss_newton import SearchResult
from sofa_softctl.identification.fitting.residual import StackedResidual
from sofa_softctl.identification.model.experiment import Experiment


@dataclass(frozen=True)
class CauseSearchSettings:
    """Levels of significance, and effort."""

    significance_level: float = 2e-2
    """Level of significance of all tests of causes together."""
    far_cost_ratio: float = 2.0
    """Cost, relative to the expected one, above which columns may be wrong [-]."""
    fits_max: int = 4
    """Largest number of effects that are fitted if residuals are near the noise."""
    fits_max_far: int = 10
    """Largest number of effects that are fitted if residuals are far from the noise."""
    predicted_ratio_min: float = 0.5
    """Smallest predicted decrease of the cost, relative to that of an effect with which noise
    explains the residuals, of effects that are still fitted [-]."""
    payloads_max: int = 2
    """Largest number of payloads that are fitted: the tests tell which places are near."""
    tie_cost_difference: float = 6.0
    """Difference of costs below which causes fit equally well, relative to the residuals' variance
    if that is above 1 [-]: the better one is e^3 = 20 times as likely."""
    correlation_min: float = 3.0
    """Covariance of successive residuals above which they are not white [standard deviations]."""
    cost_excess_max: float = 3.0
    """Excess of the cost over the expected one that noise explains [standard deviations]."""
    deviation_ratio_max: float = 3.0
    """Largest standard deviation of an effect that is reported, relative to its size [-]."""
    sticking_fraction_min: float = 0.5
    """Smallest fraction of the cost above noise that a signal that sticks explains [-]: of many
    windows one may fit some of it."""


SETTINGS = CauseSearchSettings()
HALF_WIDTH = float(stats.norm.ppf(0.975))
"""Half-width of intervals [standard deviations]."""

Progress = Callable[[str], None]


@dataclass(frozen=True, eq=False)
class Causes:
    """Detected causes, with the tests of all causes."""

    found: tuple[Cause, ...]
    """Causes that fit better than noise explains, best first."""
    hidden: tuple[UndetectableBias, ...]
    """Effects that would shift parameters before these data show them, worst first."""
    scores: tuple[Score, ...]
    """Tests of all effects, most significant first."""
    untested: dict[str, str]
    """Reason by name of an effect that could not be tested."""
    better: BetterMinimum | None = None
    """Better fit of the same model, or None. If there is one, causes are not reported."""
    postponed: float = 0.0
    """Expected time of a search that was not made, as it takes longer than a minute, or 0 [s]."""

    @property
    def first(self) -> Cause | None:
        """Most likely cause, or None."""
        return self.found[0] if self.found else None

    @property
    def untested_sentences(self) -> list[str]:
        """Sentences on effects that could not be tested, with the reason."""
        texts = [
            reason if name in reason else f"{name}. {reason}"
            for name, reason in self.untested.items()
        ]
        return [f"Not tested: {text}" for text in texts]

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-serialisable dict."""
        return {
            "found": [item.to_dict() for item in self.found],
            "could_not_show": [item.to_dict() for item in self.hidden],
            "tests": [
                {
                    "name": score.name,
                    "change": score.change,
                    "deviation": score.deviation,
                    "unit": score.parameter.unit,
                    "decrease": score.decrease,
                    "p_value": score.p_value,
                }
                for score in self.scores
            ],
            "untested": self.untested,
            "better_fit": None if self.better is None else vars(self.better),
            "postponed_seconds": self.postponed,
        }


NONE = Causes((), (), (), {})
"""Result without any test."""


def find_causes(
    estimate: Estimate,
    experiments: Sequence[Experiment],
    half_widths: np.ndarray,
    expected: float,
    progress: Progress | None = None,
    is_limited: bool = False,
) -> Causes:
    """Test all effects of the experiments, fit the likeliest causes, and rank them.

    Args:
        estimate: Estimate from the experiments.
        experiments: Experiments as they were given to the estimate.
        half_widths: Half-widths of the parameters' intervals, NaN if not fitted, shape (n_rho,).
        expected: Expected cost of a correct model, due to noise [-].
        progress: Called with a description of each step.
        is_limited: Whether a search that takes longer than a minute is left out.
    """
    search = _Search(estimate, experiments, half_widths, expected, progress, is_limited)
    try:
        search.test()
        causes = search.rank_causes()
    except SearchTooLongError as error:
        return replace(NONE, postponed=error.seconds)
    better = better_without(causes[0], estimate, experiments) if search.far and causes else None
    causes = () if better else causes
    level = SETTINGS.significance_level / max(len(search.scores), 1)
    detected_names = {score.name for score in causes}
    is_fitted = np.isfinite(half_widths)
    widths = dict(
        zip(estimate.names, np.where(is_fitted, half_widths, np.inf).tolist(), strict=True)
    )
    hidden_effects = undetectable_biases(
        [score for score, _ in search.scores if score.name not in detected_names],
        level,
        widths,
        {parameter.name: parameter.unit for parameter in estimate.parameters},
        estimate.values(),
    )
    scores = tuple(score for score, _ in search.scores)
    return Causes(causes, hidden_effects, scores, search.untested, better)


def expected_seconds(estimate: Estimate, experiments: Sequence[Experiment]) -> float:
    """Expected time of `find_causes` before the noise of inputs is known [s]."""
    time = SearchTime(estimate, experiments, is_limited=False)
    return time.total_seconds(_expected_fits(estimate, estimate.data))


def _expected_fits(estimate: Estimate, expected: float) -> int:
    return SETTINGS.fits_max_far if _is_far(estimate, expected) else 0


def _is_far(estimate: Estimate, expected: float) -> bool:
    return estimate.cost > SETTINGS.far_cost_ratio * expected or not estimate.status.ok


class _Search:
    """The tests and fits of one report."""

    def __init__(
        self,
        estimate: Estimate,
        experiments: Sequence[Experiment],
        half_widths: np.ndarray,
        expected: float,
        progress: Progress | None,
        is_limited: bool,
    ) -> None:
        self.estimate, self.experiments = estimate, experiments
        self.half_widths, self.expected, self.progress = half_widths, expected, progress
        self.scores: list[tuple[Score, ExtendedEstimate]] = []
        self.untested: dict[str, str] = {}
        self._ends: dict[str, tuple[StackedResidual, np.ndarray]] = {}
        self.is_white = not any(
            experiment.unknowns or any(channel.deviation for channel in experiment.inputs)
            for experiment in estimate.experiments
        )
        self.far = _is_far(estimate, expected)
        self.time = SearchTime(estimate, experiments, is_limited=is_limited)

    def test(self) -> None:
        """Test all effects and fixed parameters, and sort the tests, most significant first."""
        seconds = self.time.total_seconds(_expected_fits(self.estimate, self.expected))
        self.time.check(seconds)
        tests = [(name, with_effect) for name in self.time.effects]
        tests += [(name, with_fixed) for name in self.estimate.fixed]
        for k, (name, extend) in enumerate(tests):
            self.time.check(0.0)
            self._report(
                f"testing what the model may leave out, about {max(seconds, 1.0):.0f} s: {name}, "
                f"{k + 1} of {len(tests)}"
            )
            try:
                extended = extend(self.estimate, self.experiments, name)
                self.scores.append((score(extended), extended))
            except (IdentificationError, SimulationError) as error:
                self.untested[name] = str(error)
        self.scores.sort(key=lambda pair: (pair[0].p_value, -pair[0].decrease))

    def rank_causes(self) -> tuple[Cause, ...]:
        """Fit the likely causes, and return those that noise does not explain, best first."""
        causes = self._recordings()
        # Recordings that explain the residuals make fits of effects, which take long, needless.
        if not _explains(causes):
            causes += self._effects()
        level = SETTINGS.significance_level
        causes = sorted((cause for cause in causes if cause.p_value < level), key=order)
        if not causes:
            return ()
        most = max(cause.decrease for cause in causes)
        causes = [
            replace(cause, explained=self._explained_fraction(cause, most)) for cause in causes
        ]
        causes = join_ties(causes, self._tie_difference(causes[0]))
        causes[0] = self._examine(causes[0])
        if causes[0].fits_coloured_noise:
            white_fraction = max(0.0, 1.0 - causes[0].kept)
            causes = [
                replace(cause, explained=white_fraction * cause.explained) for cause in causes
            ]
        return tuple(causes)

    def _explained_fraction(self, cause: Cause, most: float) -> float:
        """Fraction of the cost above noise; of the largest decrease if that leaves noise."""
        remaining_cost = self.estimate.cost - most - self.expected
        excess = most
        if remaining_cost > SETTINGS.cost_excess_max * np.sqrt(2.0 * self.expected):
            excess = max(excess, self.estimate.cost - self.expected)
        return float(min(1.0, max(0.0, cause.decrease) / excess))

    def _examine(self, cause: Cause) -> Cause:
        """Return the cause with `kept` and `unexplained`, if residuals with it are independent."""
        if not self.is_white or cause.name not in self._ends:
            return cause
        misfit, rho = self._ends[cause.name]
        fits = misfit.fits(rho)
        if self.far:  # the remaining cost says what the correlation does
            return replace(
                cause, unexplained=() if cause.explains_residuals else unexplained_channels(fits)
            )
        before_correlation, chance_deviation = covariance(self.estimate.fits)
        after_correlation, _ = covariance(fits)
        if (
            min(before_correlation, after_correlation)
            <= SETTINGS.correlation_min * chance_deviation
        ):
            return cause
        return replace(cause, kept=after_correlation / before_correlation)

    def _report(self, text: str) -> None:
        if self.progress is not None:
            self.progress(text)

    def _tie_difference(self, best: Cause) -> float:
        return SETTINGS.tie_cost_difference * max(
            1.0, (self.estimate.cost - best.decrease) / self.expected
        )

    def _effects(self) -> list[Cause]:
        """Fit the most likely effects."""
        level = SETTINGS.significance_level / max(len(self.scores), 1)
        likely = [
            (effect_score, extended_estimate)
            for effect_score, extended_estimate in self.scores
            if self.far or effect_score.p_value < level
        ]
        likely.sort(key=lambda pair: (pair[0].p_value > 0.5, -pair[0].decrease))
        likely = [pair for pair in likely if np.isfinite(pair[0].deviation)]
        payloads = [pair for pair in likely if pair[0].name.startswith("payload.")]
        likely = [pair for pair in likely if pair not in payloads[SETTINGS.payloads_max :]]
        likely = likely[: SETTINGS.fits_max_far if self.far else SETTINGS.fits_max]
        simulations = sum(self.time.fit_simulations(test.name) for test, _ in likely)
        self.time.check(simulations * self.time.simulation)
        causes, decrease_min = [], 0.0
        for effect_score, extended in likely:
            if effect_score.decrease < decrease_min:
                continue
            self._report(f"fitting {effect_score.name}")
            try:
                fit = refit(extended, effect_score)
                if fit.deviation > SETTINGS.deviation_ratio_max * abs(fit.change):
                    continue
                cause = self._effect(effect_score, extended, fit)
                causes.append(cause)
                if cause.left <= cause.noise_max:  # others must explain about as much
                    decrease_min = SETTINGS.predicted_ratio_min * effect_score.decrease
                self._ends[effect_score.name] = extended.misfit, fit.found.rho
            except SimulationError as error:
                self.untested[effect_score.name] = str(error)
        return causes

    def _effect(self, score: Score, extended: ExtendedEstimate, fit: Refit) -> Cause:
        widening = score.deviation * np.sqrt(score.decrease) / max(abs(score.change), 1e-300)
        half_width = (
            HALF_WIDTH * fit.deviation * max(1.0, widening)
        )  # noise of inputs that were taken as exact
        return self._cause(
            score.name,
            "effect" if extended.added else "fixed",
            fit.found,
            adds_to_model=extended.added and score.parameter.lower == 0.0,
            contradiction=contradiction(fit.found, extended.misfit.parameters),
            change=fit.change,
            unit=score.parameter.unit,
            low=fit.change - half_width,
            high=fit.change + half_width,
        )

    def _recordings(self) -> list[Cause]:
        """Fit recordings without signals that stick, or with columns swapped or reversed."""
        causes, excess = list[Cause](), self.estimate.cost - self.expected
        try:
            for signal, end in fits_without_sticking(self.estimate, self.experiments, self._report):
                text = signal.text(self.estimate.fits[signal.experiment])
                cause = self._change(signal.name, "samples", end, text)
                if cause.decrease > SETTINGS.sticking_fraction_min * excess:
                    causes.append(replace(cause, p_value=max(cause.p_value, signal.p_value)))
            if self.far and not _explains(causes):
                pairs = fits_of_changes(self.estimate, self.experiments, self._report)
                causes += [self._change(c.name, "columns", end, c.text) for c, end in pairs]
        except IdentificationError as error:
            self.untested["swapped columns"] = str(error)
        return causes

    def _change(self, name: str, kind: Kind, end: SearchResult, text: str) -> Cause:
        contradictory = contradiction(end, self.estimate.parameters)
        return self._cause(name, kind, end, text=text, contradiction=contradictory)

    def _cause(self, name: str, kind: Kind, end: SearchResult, **fields: Any) -> Cause:
        """Make the cause from the result of the fit with it."""
        estimate, decrease = self.estimate, self.estimate.cost - end.cost
        size: dict[str, Any] = {
            "text": "",
            "change": np.nan,
            "unit": "",
            "low": np.nan,
            "high": np.nan,
        }
        rows = zip(estimate.names, estimate.free, end.rho[: len(estimate.rho)] - estimate.rho,
                   self.half_widths, strict=True)  # fmt: skip
        shifts = {
            parameter_name: (float(change), float(change / half_width))
            for parameter_name, free, change, half_width in rows
            if free
        }
        variance = max(1.0, end.cost / self.expected)
        noise_max = CAUSE_SETTINGS.rms_ratio_max
        if self.is_white:
            excess = SETTINGS.cost_excess_max * np.sqrt(2.0 / self.expected)
            noise_max = min(noise_max, float(np.sqrt(1.0 + excess)))
        tests = max(len(self.scores), 1)
        return Cause(
            name=name,
            kind=kind,
            p_value=min(1.0, tests * float(stats.chi2.sf(max(decrease, 0.0) / variance, 1))),
            decrease=float(decrease),
            explained=1.0,
            left=float(np.sqrt(end.cost / self.expected)),
            shifts={parameter_name: change for parameter_name, (change, _) in shifts.items()},
            half_widths={parameter_name: change for parameter_name, (_, change) in shifts.items()},
            noise_max=noise_max,
            **size | fields,
        )


def _explains(causes: Sequence[Cause]) -> bool:
    return any(cause.left <= cause.noise_max for cause in causes)
