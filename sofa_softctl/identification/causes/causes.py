"""Causes of what a model does not predict: effects that it leaves out, and wrong columns, ranked.

Every effect of the experiments is tested at the estimate, at the cost of a simulation with
derivatives. Where a test is significant, or residuals are far above the noise, the likeliest causes
are fitted, and ranked by the decrease of the cost: a linearisation at a wrong estimate ranks badly.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import stats

from sofa_softctl.errors import IdentificationError, SimulationError
from sofa_softctl.identification.causes.cause import LEFT, Cause, Kind
from sofa_softctl.identification.causes.columns import fits_of_changes
from sofa_softctl.identification.causes.extended import (
    Extended,
    effect_names,
    with_effect,
    with_fixed,
)
from sofa_softctl.identification.causes.refit import Better, Refit, better_without, refit
from sofa_softctl.identification.causes.score import Hidden, Score, hidden, score
from sofa_softctl.identification.fitting.estimate import Estimate
from sofa_softctl.identification.fitting.gauss_newton import SearchResult
from sofa_softctl.identification.fitting.residual import Fit, StackedResidual
from sofa_softctl.identification.model.experiment import Experiment

DOUBT_IN_ALL = 2e-2
"""Level of significance of all tests of causes together."""
FAR = 2.0
"""Mean square residuals above this, in that of noise, are far from it: columns may be wrong [-]."""
FITTED, FITTED_FAR = 4, 10
"""Most effects that are fitted, where residuals are near the noise, and far from it."""
ALIKE = 6.0
"""Causes whose costs differ by less fit alike: the better one is e^3 = 20 times as likely. In units
of the residuals' variance, where that is above 1."""
CORRELATED = 3.0
"""Covariance of successive residuals above which it is none of white noise, in its deviations."""
CLOSE = 3.0
"""A cost that is above that of noise by so many of its standard deviations is explained [-]."""
UNKNOWN = 3.0
"""Effects whose deviation exceeds this multiple of their size are none to name [-]."""
HALF = float(stats.norm.ppf(0.975))
"""Half-width of intervals, in standard deviations."""

Progress = Callable[[str], None]


@dataclass(frozen=True, eq=False)
class Causes:
    """Tested causes, and those that were found."""

    found: tuple[Cause, ...]
    """Causes that fit better than noise explains, best first."""
    hidden: tuple[Hidden, ...]
    """Effects that would shift parameters before these data show them, worst first."""
    scores: tuple[Score, ...]
    """Tests of all effects, most significant first."""
    untested: dict[str, str]
    """Effects that could not be tested, and why."""
    better: Better | None = None
    """A better fit of the same model: the estimate is a local minimum, where causes are not judged.

    None: none was found."""

    @property
    def first(self) -> Cause | None:
        """The likeliest cause; None: none was found."""
        return self.found[0] if self.found else None

    @property
    def untested_sentences(self) -> list[str]:
        """What could not be tested, and why."""
        found = [why if name in why else f"{name}. {why}" for name, why in self.untested.items()]
        return [f"Not tested: {text}" for text in found]

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "found": [one.to_dict() for one in self.found],
            "could_not_show": [one.to_dict() for one in self.hidden],
            "tests": [
                {
                    "name": one.name,
                    "change": one.change,
                    "deviation": one.deviation,
                    "unit": one.parameter.unit,
                    "decrease": one.decrease,
                    "p_value": one.p_value,
                }
                for one in self.scores
            ],
            "untested": self.untested,
            "better_fit": None if self.better is None else vars(self.better),
        }


NONE = Causes((), (), (), {})
"""Nothing was tested."""


def find_causes(
    estimate: Estimate,
    experiments: Sequence[Experiment],
    half_widths: np.ndarray,
    expected: float,
    progress: Progress | None = None,
) -> Causes:
    """Test all effects of the experiments, fit the likeliest causes, and rank them.

    Args:
        estimate: Of the experiments.
        experiments: As they were given.
        half_widths: Of the intervals of the parameters, NaN where not fitted, shape (n_rho,).
        expected: Cost that noise leaves, of a model that is right [-].
        progress: Called with what is done.
    """
    search = _Search(estimate, experiments, half_widths, expected, progress)
    search.test()
    found = search.ranked()
    better = better_without(found[0], estimate, experiments) if search.far and found else None
    found = () if better else found
    level = DOUBT_IN_ALL / max(len(search.scores), 1)
    named = {one.name for one in found}
    known = np.isfinite(half_widths)
    widths = dict(zip(estimate.names, np.where(known, half_widths, np.inf).tolist(), strict=True))
    unseen = hidden(
        [one for one, _ in search.scores if one.name not in named],
        level,
        widths,
        {one.name: one.unit for one in estimate.parameters},
        estimate.values(),
    )
    scores = tuple(one for one, _ in search.scores)
    return Causes(found, unseen, scores, search.untested, better)


class _Search:
    """The tests and fits of one report."""

    def __init__(
        self,
        estimate: Estimate,
        experiments: Sequence[Experiment],
        half_widths: np.ndarray,
        expected: float,
        progress: Progress | None,
    ) -> None:
        self.estimate, self.experiments = estimate, experiments
        self.half_widths, self.expected, self.progress = half_widths, expected, progress
        self.scores: list[tuple[Score, Extended]] = []
        self.untested: dict[str, str] = {}
        self._ends: dict[str, tuple[StackedResidual, np.ndarray]] = {}
        self.far = estimate.cost > FAR * expected or not estimate.status.ok

    def test(self) -> None:
        """Score tests of all effects and of fixed parameters, most significant first."""
        effects = effect_names(self.estimate, self.experiments)
        wanted = [(name, with_effect) for name in effects]
        wanted += [(name, with_fixed) for name in self.estimate.fixed]
        for k, (name, extend) in enumerate(wanted):
            self._say(f"testing what the model may leave out: {name}, {k + 1} of {len(wanted)}")
            try:
                extended = extend(self.estimate, self.experiments, name)
                self.scores.append((score(extended), extended))
            except (IdentificationError, SimulationError) as error:
                self.untested[name] = str(error)
        self.scores.sort(key=lambda pair: (pair[0].p_value, -pair[0].decrease))

    def ranked(self) -> tuple[Cause, ...]:
        """Causes that fit better than noise explains, best first, with those that fit alike."""
        found = self._columns() if self.far else []
        if all(one.left > LEFT for one in found):  # else fits of effects take long for nothing
            found += self._effects()
        level = DOUBT_IN_ALL
        found = sorted((one for one in found if one.p_value < level), key=lambda one: -one.decrease)
        found = [replace(one, explained=self._explained(one, found[0])) for one in found]
        found[:1] = [replace(one, kept=self._kept(one)) for one in found[:1]]
        if found and found[0].beside:
            share = max(0.0, 1.0 - found[0].kept)
            found = [replace(one, explained=share * one.explained) for one in found]
        best = [one for one in found if found[0].decrease - one.decrease <= self._alike(found[0])]
        names = tuple(one.name for one in best)
        return tuple(
            replace(one, alike=tuple(name for name in names if name != one.name))
            if one in best
            else one
            for one in found
        )

    def _explained(self, one: Cause, best: Cause) -> float:
        """Share of the cost above that of noise; where the best leaves noise, of its decrease."""
        left = self.estimate.cost - best.decrease - self.expected
        above = best.decrease
        if left > CLOSE * np.sqrt(2.0 * self.expected):
            above = max(above, self.estimate.cost - self.expected)
        return float(min(1.0, max(0.0, one.decrease) / above))

    def _kept(self, one: Cause) -> float:
        """See `Cause.kept`; not where noise of inputs makes residuals that are not white.

        Far from the noise, what is left of the cost says as much.
        """
        experiments = self.estimate.experiments
        white = not any(
            each.unknowns or any(c.deviation for c in each.inputs) for each in experiments
        )
        if self.far or not white or one.name not in self._ends:
            return 0.0
        misfit, rho = self._ends[one.name]
        before, chance = covariance(self.estimate.fits)
        after, _ = covariance(misfit.fits(rho))
        return after / before if min(before, after) > CORRELATED * chance else 0.0

    def _say(self, text: str) -> None:
        if self.progress is not None:
            self.progress(text)

    def _alike(self, best: Cause) -> float:
        return ALIKE * max(1.0, (self.estimate.cost - best.decrease) / self.expected)

    def _effects(self) -> list[Cause]:
        """Fits with the likeliest effects."""
        level = DOUBT_IN_ALL / max(len(self.scores), 1)
        likely = [(one, at) for one, at in self.scores if self.far or one.p_value < level]
        likely.sort(key=lambda pair: (pair[0].p_value > 0.5, -pair[0].decrease))
        likely = [pair for pair in likely if np.isfinite(pair[0].deviation)]
        found = []
        for one, extended in likely[: FITTED_FAR if self.far else FITTED]:
            self._say(f"fitting {one.name}")
            try:
                fit = refit(extended, one)
                if fit.deviation > UNKNOWN * abs(fit.change):
                    continue
                found.append(self._effect(one, extended, fit))
                self._ends[one.name] = extended.misfit, fit.found.rho
            except SimulationError as error:
                self.untested[one.name] = str(error)
        return found

    def _effect(self, one: Score, extended: Extended, fit: Refit) -> Cause:
        wider = one.deviation * np.sqrt(one.decrease) / max(abs(one.change), 1e-300)
        half = HALF * fit.deviation * max(1.0, wider)  # noise of inputs that were taken as exact
        return self._cause(
            one.name,
            "effect" if extended.added else "fixed",
            fit.found,
            change=fit.change,
            unit=one.parameter.unit,
            low=fit.change - half,
            high=fit.change + half,
        )

    def _columns(self) -> list[Cause]:
        """Fits with columns that are swapped or reversed."""
        try:
            pairs = fits_of_changes(self.estimate, self.experiments, self.progress)
        except IdentificationError as error:
            self.untested["swapped columns"] = str(error)
            return []
        return [self._cause(change.name, "columns", end, text=change.text) for change, end in pairs]

    def _cause(self, name: str, kind: Kind, end: SearchResult, **others: Any) -> Cause:
        """What a fit with it explains, and changes."""
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
        shifts = {one: (float(by), float(by / half)) for one, free, by, half in rows if free}
        variance = max(1.0, end.cost / self.expected)
        tests = max(len(self.scores), 1)
        return Cause(
            name=name,
            kind=kind,
            p_value=min(1.0, tests * float(stats.chi2.sf(max(decrease, 0.0) / variance, 1))),
            decrease=float(decrease),
            explained=1.0,
            left=float(np.sqrt(end.cost / self.expected)),
            shifts={one: by for one, (by, _) in shifts.items()},
            half_widths={one: by for one, (_, by) in shifts.items()},
            **size | others,
        )


def covariance(fits: Sequence[Fit]) -> tuple[float, float]:
    """Sum of products of successive residuals, and its standard deviation of white noise [-]."""
    products = [one.residuals[1:] * one.residuals[:-1] for one in fits]
    count = sum(int(np.isfinite(each).sum()) for each in products)
    return sum(float(np.nansum(each)) for each in products), float(np.sqrt(count))
