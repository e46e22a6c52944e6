"""Diagnostics of an estimate, most severe first, and of searches from several starts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sofa_softctl.base.suggestions import sentence
from sofa_softctl.identification.data.units import quantity
from sofa_softctl.identification.fitting.estimate import Estimate
from sofa_softctl.identification.fitting.outliers import mask_outliers
from sofa_softctl.identification.fitting.residual import Fit
from sofa_softctl.identification.fitting.starts import Minimum
from sofa_softctl.identification.report.diagnostic import Diagnostic, Level, join_names
from sofa_softctl.identification.report.interval_diagnostics import (
    inside,
    on_bands,
    on_bootstrap,
    on_discretisation,
)
from sofa_softctl.identification.report.residual_diagnostics import on_causes, on_residuals
from sofa_softctl.identification.uncertainty.identifiability import SETTINGS as IDENTIFIABILITY
from sofa_softctl.identification.uncertainty.identifiability import Direction
from sofa_softctl.identification.uncertainty.validation import rms, weighted_minima

if TYPE_CHECKING:
    from sofa_softctl.identification.report.report import Report


@dataclass(frozen=True)
class DiagnosticSettings:
    """Thresholds above which diagnostics are reported."""

    held_out_ratio_max: float = 1.5
    """Largest RMS residual of held-out data, relative to noise or to fitted data [-]."""
    explained_fraction_min: float = 0.5
    """Smallest fraction explained by a cause that is reported before the end of the search [-]."""
    lost_rms_min: float = 30.0
    """RMS residual above which a search that did not converge is lost [standard deviations]."""
    rms_max: float = 3.0
    """Largest RMS residual of a search that converged [standard deviations]."""
    tie_cost_difference: float = 6.0
    """Difference of costs below which minima fit equally well, relative to the residuals' variance
    if that is above 1 [-]: the better one is e^3 = 20 times as likely."""
    listed_difference_min: float = 1e-2
    """Smallest relative difference of a parameter that is listed [-]."""
    listed_max: int = 4
    """Largest number of parameters that are listed."""


SETTINGS = DiagnosticSettings()
SEVERITY = {"bad": 0, "look": 1, "good": 2}


def diagnostics(report: Report) -> tuple[Diagnostic, ...]:
    """Return all diagnostics, most severe first."""
    estimate = report.estimate
    causes, ended = on_causes(report), _on_search(report)
    results = [ended, *causes] if _not_at_the_end(report) else [*causes, ended]
    results = _on_data(report) + results + on_starts(estimate)
    results += [Diagnostic("look", _at_bound(estimate, name)) for name in estimate.at_bound]
    results += [Diagnostic("look", _unobservable(estimate, name)) for name in estimate.unobservable]
    results += [_on_direction(diagnostic) for diagnostic in report.trust.blind]
    results += [Diagnostic("look", sentence(_capital(text))) for text in estimate.warnings]
    results += on_residuals(report) + _on_same(report) + _on_held_out(report)
    results += on_bands(report) + on_discretisation(report) + on_bootstrap(report)
    results += _on_inputs(report) + _on_branches(report) + _on_candidates(report)
    return tuple(sorted(results, key=lambda diagnostic: SEVERITY[diagnostic.level]))


def _on_data(report: Report) -> list[Diagnostic]:
    """Report sensors that seem to have failed if neither noise nor a cause explains residuals."""
    first = report.causes.first
    if all(residual.right for residual in report.residuals) or (
        first is not None and first.explains_residuals
    ):
        return []
    results = []
    for name, doubts in report.doubts.items():
        other_count = len(doubts) - 1
        remark = f" There are {other_count} more such notes." if other_count > 1 else ""
        remark = " There is one more such note." if other_count == 1 else remark
        results.append(Diagnostic("bad", f"{sentence(f'In {name}, {doubts[0]}')}{remark}"))
    return results


def _not_at_the_end(report: Report) -> bool:
    """Return True if the end of the search is more important than the first cause."""
    first, ok = report.causes.first, report.estimate.status.ok
    if first is None or first.explains_residuals:
        return False
    return not ok or first.explained < SETTINGS.explained_fraction_min


def _on_search(report: Report) -> Diagnostic:
    """Report the end of the search, and residuals that are far above the noise."""
    estimate = report.estimate
    residual_rms = rms(
        np.concatenate([mask_outliers(fit, report.outliers).ravel() for fit in estimate.fits])
    )
    if not estimate.status.ok:
        excess_text = (
            f"Residuals of {residual_rms:.3g} deviations are left: a local minimum, or the model "
            "is wrong"
        )
        advice = f"{excess_text}. Try --starts 8. " if residual_rms > SETTINGS.lost_rms_min else ""
        return Diagnostic("bad", f"{advice}{estimate.message}")
    if residual_rms <= SETTINGS.rms_max or all(residual.right for residual in report.residuals):
        return Diagnostic("good", estimate.message)
    text = f"The search converged to residuals of {residual_rms:.3g} deviations"
    count = len(estimate.searches)
    if count == 1:
        level: Level = "bad" if _not_at_the_end(report) else "look"
        return Diagnostic(level, f"{text}: a local minimum, or the model is wrong. Try --starts 8.")
    same_count = estimate.minima[0].count if estimate.minima else 1
    return Diagnostic(
        "look",
        f"{text}, as did {same_count} of {count} searches: "
        + ("the model is probably wrong." if 2 * same_count > count else "try more --starts."),
    )


def _on_same(report: Report) -> list[Diagnostic]:
    """Report recordings that were given twice."""
    fits, results = report.estimate.fits, []
    for k, later_fit in enumerate(fits):
        if any(_is_same_recording(later_fit, earlier_fit) for earlier_fit in fits[:k]):
            text = (
                f"{later_fit.name} was given twice: its samples count double, intervals are too "
                "narrow"
            )
            results.append(Diagnostic("look", f"{text}. Give it once."))
    results += [
        Diagnostic(
            "look",
            f"{fit.name} is both fitted and held out: that does not validate the model. "
            "Hold out another recording.",
        )
        for fit in _held_out_twice(report)
    ]
    return results


def _held_out_twice(report: Report) -> list[Fit]:
    fitted = report.estimate.fits
    held_out = [validation.fit for validation in report.validations]
    return [
        fit for fit in held_out if any(_is_same_recording(fit, fitted_fit) for fitted_fit in fitted)
    ]


def _is_same_recording(fit: Fit, other_fit: Fit) -> bool:
    return np.array_equal(fit.time, other_fit.time) and np.array_equal(
        fit.measured, other_fit.measured, equal_nan=True
    )


def _on_held_out(report: Report) -> list[Diagnostic]:
    if not report.validations:
        return [Diagnostic("look", "No held-out data: the model is not validated.")]
    share = "" if on_bands(report) else f" {inside(report)}"
    text = (
        f"Held-out data are predicted within {report.rms_held_out:.2f} deviations, fitted data "
        f"within {report.rms:.2f}.{share}"
    )
    if _held_out_twice(report):
        return [Diagnostic("look", text)]
    if report.rms_held_out <= SETTINGS.held_out_ratio_max or all(
        residual.right for residual in report.held_out
    ):
        return [Diagnostic("good", text)]
    if report.rms_held_out > SETTINGS.held_out_ratio_max * report.rms:
        level: Level = "bad" if all(residual.judged for residual in report.held_out) else "look"
        return [Diagnostic(level, f"{text} The model does not generalise to other motions.")]
    return [Diagnostic("look", f"{text} Both are more than noise explains.")]


def _on_inputs(report: Report) -> list[Diagnostic]:
    total_variances = np.diag(report.trust.covariance)
    input_variances = np.diag(report.trust.input_covariance)
    percentages = {
        name: 100.0 * input_variance / total_variance
        for name, input_variance, total_variance in zip(
            report.trust.names, input_variances, total_variances, strict=True
        )
        if np.isfinite(total_variance) and input_variance > 0.5 * total_variance
    }
    if not percentages:
        return []
    lowest, highest = (
        f"{limit:.0f}" for limit in (min(percentages.values()), max(percentages.values()))
    )
    span = lowest if lowest == highest else f"{lowest} to {highest}"
    text = (
        f"{span} % of the variance of {join_names(list(percentages), 'others')} is noise of "
        "recorded "
        "inputs: better sensors for these help most."
    )
    return [Diagnostic("look", text)]


def _on_branches(report: Report) -> list[Diagnostic]:
    """Report other branches of the motion that fit nearly equally well."""
    estimate = report.estimate
    other_minima = weighted_minima(estimate)[1:]
    if not other_minima:
        return []
    end, probability = other_minima[0]
    values = zip(estimate.names, end.rho, estimate.rho, strict=True)
    farthest_parameter = max(
        values, key=lambda value: abs(value[1] - value[2]) / max(abs(value[2]), 1e-300)
    )
    text = (
        f"Inputs on {len(other_minima) + 1} branches of the motion explain the data: with "
        f"{farthest_parameter[0]} = "
        f"{farthest_parameter[1]:.4g} instead of {farthest_parameter[2]:.4g} at "
        f"{probability:.0%}. Intervals take account of them."
    )
    return [Diagnostic("look", text)]


def _on_candidates(report: Report) -> list[Diagnostic]:
    worse = [
        candidate.name
        for candidate in report.candidates
        if np.isfinite(candidate.gain) and candidate.gain < 0.0
    ]
    if not worse:
        return []
    text = (
        f"Recording {join_names(worse, 'others')} would make the estimate worse: samples are "
        "weighted "
        "only by noise of outputs, and these would add noise of inputs."
    )
    return [Diagnostic("look", text)]


def _at_bound(estimate: Estimate, name: str) -> str:
    parameter = estimate.parameters[estimate.names.index(name)]
    value = estimate.value(name)
    side = "lower" if abs(value - parameter.lower) < abs(value - parameter.upper) else "upper"
    bound = parameter.lower if side == "lower" else parameter.upper
    return f"{name} ended at its {side} bound, {quantity(f'{bound:.4g}', parameter.unit)}."


def _unobservable(estimate: Estimate, name: str) -> str:
    parameter = estimate.parameters[estimate.names.index(name)]
    reason = "has its prior" if parameter.prior is not None else "was kept at its start"
    value = quantity(f"{estimate.value(name):.4g}", parameter.unit)
    return f"The data do not depend on {name}: it {reason}, {value}. Record a motion that does."


def _on_direction(direction: Direction) -> Diagnostic:
    several = len(direction.large) > 1
    shares = " (each relative to its value)" if several else ""
    if direction.by_priors and direction.with_priors <= IDENTIFIABILITY.unidentifiable_deviation:
        return Diagnostic("good", f"{_capital(direction.sentence)}{shares}; intervals have that.")
    advice = "Fix one of them, give a prior," if several else "Give a prior,"
    return Diagnostic(
        "bad" if direction.deviation > IDENTIFIABILITY.unidentifiable_deviation else "look",
        f"{_capital(direction.sentence)}{shares}. {advice} or record another motion.",
    )


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def on_starts(estimate: Estimate) -> list[Diagnostic]:
    """Report the number of searches at the best minimum, and other minima that fit equally well."""
    minima, count = estimate.minima, len(estimate.searches)
    if count < 2 or not minima or not estimate.searches[0].termination.status.ok:
        return []
    best, other_minima = minima[0], minima[1:]
    if best.count == count:
        return [Diagnostic("good", f"All {count} searches ended at the same minimum.")]
    text = f"{best.count} of {count} searches ended at the best minimum found"
    if other_minima:
        other_count = sum(other_minimum.count for other_minimum in other_minima)
        which = "another one" if len(other_minima) == 1 else f"{len(other_minima)} others"
        text += f", {other_count} at {which}, of cost {other_minima[0].cost:.5g}"
        text += " or more" if len(other_minima) > 1 else ""
        text += f" instead of {best.cost:.5g}"
    unfinished = count - sum(minimum.count for minimum in minima)
    text += f"; {unfinished} did not converge." if unfinished else "."
    equally_good = [
        other_minimum
        for other_minimum in other_minima
        if other_minimum.cost - best.cost <= SETTINGS.tie_cost_difference * _variance(estimate)
    ]
    if equally_good:
        return [Diagnostic("bad", f"{_ambiguous_text(estimate, best, equally_good[0])} {text}")]
    if best.count == 1:
        return [Diagnostic("look", f"{text} There may be a better one: try more --starts.")]
    return [Diagnostic("good", text)]


def _ambiguous_text(estimate: Estimate, best: Minimum, other_minimum: Minimum) -> str:
    change = _parameters_text(estimate, other_minimum.rho, best.rho)
    return (
        f"The data do not decide between two minima: {change} fits nearly as well as the estimate. "
        "Record another motion, or narrow bounds or a prior to what is possible."
    )


def _parameters_text(estimate: Estimate, rho: np.ndarray, best: np.ndarray) -> str:
    """Return a text on the parameters that differ, largest difference first."""
    size = np.maximum(np.abs(rho), np.abs(best))
    ratio = np.abs(rho - best) / np.where(size > 0.0, size, 1.0)
    order: Sequence[int] = [
        i for i in np.argsort(-ratio).tolist() if ratio[i] > SETTINGS.listed_difference_min
    ]
    units = [parameter.unit for parameter in estimate.parameters]
    texts = [
        f"{estimate.names[i]} = {quantity(f'{rho[i]:.4g}', units[i])} instead of {best[i]:.4g}"
        for i in (order or [int(ratio.argmax())])
    ]
    unnamed_count = len(texts) - SETTINGS.listed_max
    return ", ".join(texts[: SETTINGS.listed_max]) + (
        f" and {unnamed_count} more" if unnamed_count > 0 else ""
    )


def _variance(estimate: Estimate) -> float:
    """Mean square residual, at least 1 [-]."""
    spare = max(estimate.data - int(estimate.free.sum()), 1)
    return max(estimate.searches[0].cost / spare, 1.0)
