"""Diagnostics on intervals: from finer discretisations, simulated data and held-out samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sofa_softctl.identification.data.units import quantity
from sofa_softctl.identification.report.diagnostic import Diagnostic, Level, join_names
from sofa_softctl.identification.uncertainty.coverage import SIGNIFICANCE_LEVEL, Coverage
from sofa_softctl.identification.uncertainty.discretisation import Shift
from sofa_softctl.identification.uncertainty.identifiability import magnitudes

if TYPE_CHECKING:
    from sofa_softctl.identification.report.report import Report


@dataclass(frozen=True)
class IntervalSettings:
    """Thresholds above which diagnostics are reported."""

    extrapolated_change_max: float = 1.0
    """Largest extrapolated change by a refinement [half-widths of the interval]."""
    sampling_errors_max: float = 3.5
    """Largest difference from refits [standard deviations of the sampling error]; by chance it is
    exceeded once in 2,000 times for each of a few ends."""
    failed_fraction_max: float = 0.05
    """Largest fraction of failed refits that is not reported [-]."""
    coverage_tolerance: float = 0.02
    """Difference of fractions inside bands that is never reported [-]."""
    coverage_min: float = 0.7
    """Fraction inside a band below which the estimate is not to be trusted [-]."""


SETTINGS = IntervalSettings()


def on_discretisation(report: Report) -> list[Diagnostic]:
    """Return a diagnostic for each refinement, made or left out."""
    budget = report.discretisation
    if budget is None:
        return []
    results = [_on_shift(report, shift) for shift in budget.shifts]
    return results + [Diagnostic("look", text) for text in budget.left_out]


def _on_shift(report: Report, shift: Shift) -> Diagnostic:
    if exceeds_interval(report, shift).any():
        return Diagnostic("look", _belongs(report, shift))
    return _no_shift(report, shift)


def headlines(report: Report) -> list[str]:
    """Return sentences on parameters that belong to their mesh or time step, for the verdict."""
    shifts = () if report.discretisation is None else report.discretisation.shifts
    return [_belongs(report, shift) for shift in shifts if exceeds_interval(report, shift).any()]


def exceeds_interval(report: Report, shift: Shift) -> np.ndarray:
    """Return the mask of parameters that change by more than their intervals, shape (n_rho,)."""
    is_beyond: np.ndarray = np.abs(shift.limit) > SETTINGS.extrapolated_change_max * _half_widths(
        report
    )
    return is_beyond


def _half_widths(report: Report) -> np.ndarray:
    """Half-widths of the intervals, infinite for parameters that were not fitted."""
    half_width = 0.5 * (report.trust.high - report.trust.low)
    half_widths: np.ndarray = np.where(np.isfinite(half_width), half_width, np.inf)
    return half_widths


def _belongs(report: Report, shift: Shift) -> str:
    """Return 'k belongs to this time step: with one of 5 instead of 10 ms it would be ...'."""
    which = np.flatnonzero(exceeds_interval(report, shift))
    names = [report.estimate.names[i] for i in which]
    several = len(names) > 1
    text = (
        f"{join_names(names, 'others')} belong{'' if several else 's'} to this "
        f"{shift.refinement.of}: "
        f"{shift.refinement.text} "
    )
    up = [int(i) for i in which if shift.change[i] >= 0.0]
    down = [int(i) for i in which if shift.change[i] < 0.0]
    if up and down:
        first, second = (
            join_names([report.estimate.names[i] for i in group]) for group in (up, down)
        )
        text += f"{first} would be {_changes_text(report, shift, up)} higher, {second} "
        text += f"{_changes_text(report, shift, down)} lower"
    else:
        text += (
            f"{'they' if several else 'it'} would be {_changes_text(report, shift, up or down)} "
        )
        text += "higher" if up else "lower"
    half_width_text = "half-widths of their intervals" if several else "half-width of its interval"
    times = np.abs(shift.change[which]) / _half_widths(report)[which]
    error_text = _changes_text(report, shift, which.tolist(), is_extrapolated=True)
    at_least_text = "" if shift.converged else " or more"
    times_half = f"{_span_text(times)} times the {half_width_text}"
    return f"{text}{at_least_text} ({times_half}); extrapolated, the whole error is {error_text}."


def _changes_text(
    report: Report, shift: Shift, which: list[int], *, is_extrapolated: bool = False
) -> str:
    """Return changes of parameters: '24 to 27 %', or in units for parameters that start at 0."""
    change = np.abs(shift.limit if is_extrapolated else shift.change)
    parameters = report.estimate.parameters
    relative = [i for i in which if parameters[i].start != 0.0]
    texts = []
    if relative:
        percentages = 100.0 * change[relative] / magnitudes(report.estimate)[relative]
        texts.append(f"{_span_text(percentages)} %")
    texts += [quantity(f"{change[i]:.2g}", parameters[i].unit) for i in which if i not in relative]
    return join_names(texts, "others")


def _span_text(values: np.ndarray) -> str:
    """Return '24', or '24 to 27'."""
    lowest, highest = (f"{v:.2g}" for v in (values.min(), values.max()))
    return lowest if lowest == highest else f"{lowest} to {highest}"


def _no_shift(report: Report, shift: Shift) -> Diagnostic:
    """Report that no parameter changes by more than its interval."""
    ratio = np.abs(shift.limit) / _half_widths(report)
    worst = int(ratio.argmax())
    return Diagnostic(
        "good",
        f"The {shift.refinement.of} hardly moves parameters: its whole error, extrapolated from a "
        f"fit {shift.refinement.text}, is at most {ratio[worst]:.2g} of an interval's half-width "
        f"({report.estimate.names[worst]}).",
    )


def on_bootstrap(report: Report) -> list[Diagnostic]:
    """Compare quantile intervals with the linearised ones, and report the bias."""
    refits = report.bootstrap
    if refits is None:
        return []
    results = _on_intervals(report) + _on_bias(report)
    count = len(refits.found) + len(refits.failed)
    if len(refits.failed) > SETTINGS.failed_fraction_max * count:
        results.append(
            Diagnostic(
                "look",
                f"{len(refits.failed)} of {count} refits of simulated data failed, the first: "
                f"{refits.failed[0]} Quantiles leave them out.",
            )
        )
    if not results:
        text = (
            f"{len(refits.found)} refits of simulated data agree with the intervals, without bias."
        )
        return [Diagnostic("good", text)]
    return results


def _fitted_half_widths(report: Report) -> tuple[np.ndarray, np.ndarray]:
    """Return the indices of fitted parameters with an interval, and its half-widths."""
    half = 0.5 * (report.trust.high - report.trust.low)
    which = np.flatnonzero(report.estimate.free & np.isfinite(half) & (half > 0.0))
    return which, half[which]


def _on_intervals(report: Report) -> list[Diagnostic]:
    refits, trust = report.bootstrap, report.trust
    assert refits is not None
    which, half_widths = _fitted_half_widths(report)
    low, high = (
        (a - b)[which] / half_widths
        for a, b in ((refits.low, trust.low), (refits.high, trust.high))
    )
    error = refits.sampling_error() * np.sqrt(2.0)  # of one end
    is_off = np.maximum(np.abs(low), np.abs(high)) > SETTINGS.sampling_errors_max * error
    if not is_off.any():
        return []
    names = [report.estimate.names[i] for i in which[is_off]]
    widths = 1.0 + 0.5 * (high - low)[is_off]
    lowest, highest = (f"{v:.2g}" for v in (widths.min(), widths.max()))
    span = lowest if lowest == highest else f"{lowest} to {highest}"
    text = (
        f"Linearised intervals of {join_names(names, 'others')} are not those of "
        f"{len(refits.found)} "
        f"refits of simulated data, which are {span} times as wide: take the latter."
    )
    return [Diagnostic("look", text)]


def _on_bias(report: Report) -> list[Diagnostic]:
    refits = report.bootstrap
    assert refits is not None
    which, half_widths = _fitted_half_widths(report)
    bias, error = refits.bias[which], refits.bias_error[which]
    is_off = np.abs(bias) > np.maximum(SETTINGS.sampling_errors_max * error, 0.1 * half_widths)
    if not is_off.any():
        return []
    worst = int(np.where(is_off, np.abs(bias) / half_widths, 0.0).argmax())
    names = [report.estimate.names[i] for i in which[is_off]]
    side = "high" if bias[worst] > 0.0 else "low"
    text = (
        f"Estimates of {join_names(names, 'others')} are biased: refits of simulated data are too "
        f"{side} by {abs(bias[worst]) / half_widths[worst]:.2g} half-widths of the interval "
        f"({report.estimate.names[which[worst]]})."
    )
    return [Diagnostic("look", text)]


def inside(report: Report) -> str:
    """Return a sentence on the held-out samples inside the 95 % band, or ""."""
    total = report.predictions.coverage
    if total is None:
        return ""
    return f"{_percent_text(total)} of {total.samples:,} held-out samples are inside the 95 % band."


def on_bands(report: Report) -> list[Diagnostic]:
    """Report too few or too many held-out samples inside, of all channels or of one."""
    total, bands = report.predictions.coverage, report.predictions.held_out
    if total is None or not all(band.complete for band in bands):
        return []
    several = len(bands) > 1
    channels = [
        (f"{band.experiment}: {name}" if several else name, channel_coverage)
        for band, coverages in zip(bands, report.predictions.by_channel, strict=True)
        for name, channel_coverage in zip(band.channels, coverages, strict=True)
    ]
    significance_level = SIGNIFICANCE_LEVEL / max(len(channels), 1)
    few = [
        (name, channel_coverage)
        for name, channel_coverage in channels
        if _has_too_few_inside(channel_coverage, significance_level)
    ]
    if few or _has_too_few_inside(total, SIGNIFICANCE_LEVEL):
        return [_too_few(total, few if len(channels) > 1 else [])]
    if (
        total.high < SIGNIFICANCE_LEVEL
        and total.share > total.expected + SETTINGS.coverage_tolerance
    ):
        text = (
            f"{_percent_text(total)} of the held-out samples are inside the 95 % band, "
            f"{100.0 * total.expected:.0f} % expected: noise is smaller than declared, bands and "
            "intervals are too wide."
        )
        return [Diagnostic("look", text)]
    return []


def _too_few(total: Coverage, few: list[tuple[str, Coverage]]) -> Diagnostic:
    fraction_min = min(total.share, *(channel_coverage.share for _, channel_coverage in few), 1.0)
    level: Level = "bad" if fraction_min < SETTINGS.coverage_min else "look"
    text = f"Only {_percent_text(total)} of the held-out samples are inside the 95 % band"
    if few:
        texts = [f"{_percent_text(coverage)} of {name}" for name, coverage in few]
        text += f" ({join_names(texts)})"
    expected = f"{100.0 * total.expected:.0f} % would be of a correct model"
    return Diagnostic(level, f"{text}; {expected}: intervals and bands are too narrow.")


def _has_too_few_inside(coverage: Coverage, significance_level: float) -> bool:
    return (
        coverage.low < significance_level
        and coverage.share < coverage.expected - SETTINGS.coverage_tolerance
    )


def _percent_text(coverage: Coverage) -> str:
    """Return '94 %', or '99.6 %' instead of a rounded 100 %."""
    percentage = 100.0 * coverage.share
    return f"{percentage:.1f} %" if 99.5 <= percentage < 100.0 else f"{percentage:.0f} %"
