"""Diagnostics from finer discretisations: which parameters belong to this mesh or time step.

Diagnostics from refits of simulated data: do they agree with the linearised intervals?

Diagnostics on how many held-out samples are inside prediction bands.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sofa_softctl.identification.data.units import quantity
from sofa_softctl.identification.report.diagnostic import Diagnostic, Level, listed
from sofa_softctl.identification.uncertainty.coverage import SIGNIFICANCE_LEVEL, Coverage
from sofa_softctl.identification.uncertainty.discretisation import Shift
from sofa_softctl.identification.uncertainty.identifiability import magnitudes

if TYPE_CHECKING:
    from sofa_softctl.identification.report.report import Report


MATTERS = 1.0
"""Extrapolated change above which a parameter belongs to its mesh, in half-widths of its interval
[-]."""


def on_discretisation(report: Report) -> list[Diagnostic]:
    """One diagnostic for each refinement, made or left out."""
    budget = report.discretisation
    if budget is None:
        return []
    found = [_on(report, shift) for shift in budget.shifts]
    return found + [Diagnostic("look", text) for text in budget.left_out]


def _on(report: Report, shift: Shift) -> Diagnostic:
    if beyond(report, shift).any():
        return Diagnostic("look", _belongs(report, shift))
    return _small(report, shift)


def headlines(report: Report) -> list[str]:
    """For the first line: sentences on parameters that belong to their mesh or time step."""
    shifts = () if report.discretisation is None else report.discretisation.shifts
    return [_belongs(report, shift) for shift in shifts if beyond(report, shift).any()]


def beyond(report: Report, shift: Shift) -> np.ndarray:
    """Which parameters change by more than their intervals, mask of shape (n_rho,)."""
    found: np.ndarray = np.abs(shift.limit) > MATTERS * _half(report)
    return found


def _half(report: Report) -> np.ndarray:
    """Half-widths of the intervals, infinite for parameters that were not fitted."""
    half = 0.5 * (report.trust.high - report.trust.low)
    found: np.ndarray = np.where(np.isfinite(half), half, np.inf)
    return found


def _belongs(report: Report, shift: Shift) -> str:
    """Such as: 'k belongs to this time step: with one of 5 instead of 10 ms it would be ...'."""
    which = np.flatnonzero(beyond(report, shift))
    names = [report.estimate.names[i] for i in which]
    several = len(names) > 1
    text = (
        f"{listed(names, 'others')} belong{'' if several else 's'} to this {shift.refinement.of}: "
        f"{shift.refinement.text} "
    )
    up = [int(i) for i in which if shift.change[i] >= 0.0]
    down = [int(i) for i in which if shift.change[i] < 0.0]
    if up and down:
        first, second = (listed([report.estimate.names[i] for i in each]) for each in (up, down))
        text += f"{first} would be {_by(report, shift, up)} higher, {second} "
        text += f"{_by(report, shift, down)} lower"
    else:
        text += f"{'they' if several else 'it'} would be {_by(report, shift, up or down)} "
        text += "higher" if up else "lower"
    half = "half-widths of their intervals" if several else "half-width of its interval"
    times = np.abs(shift.change[which]) / _half(report)[which]
    whole = _by(report, shift, which.tolist(), whole=True)
    least = "" if shift.converged else " or more"
    times_half = f"{_span(times)} times the {half}"
    return f"{text}{least} ({times_half}); extrapolated, the whole error is {whole}."


def _by(report: Report, shift: Shift, which: list[int], *, whole: bool = False) -> str:
    """Changes of some parameters: '24 to 27 %', or in units for those that start at 0."""
    change = np.abs(shift.limit if whole else shift.change)
    parameters = report.estimate.parameters
    relative = [i for i in which if parameters[i].start != 0.0]
    texts = []
    if relative:
        share = 100.0 * change[relative] / magnitudes(report.estimate)[relative]
        texts.append(f"{_span(share)} %")
    texts += [quantity(f"{change[i]:.2g}", parameters[i].unit) for i in which if i not in relative]
    return listed(texts, "others")


def _span(values: np.ndarray) -> str:
    """'24', or '24 to 27'."""
    least, most = (f"{v:.2g}" for v in (values.min(), values.max()))
    return least if least == most else f"{least} to {most}"


def _small(report: Report, shift: Shift) -> Diagnostic:
    """No parameter changes by more than its interval."""
    ratio = np.abs(shift.limit) / _half(report)
    worst = int(ratio.argmax())
    return Diagnostic(
        "good",
        f"The {shift.refinement.of} hardly moves parameters: its whole error, extrapolated from a "
        f"fit {shift.refinement.text}, is at most {ratio[worst]:.2g} of an interval's half-width "
        f"({report.estimate.names[worst]}).",
    )


SAMPLING_ERRORS_MAX = 3.5
"""Standard deviations of the sampling error above which a difference is reported: by chance once
in 2,000 times for each of a few ends."""
FAILED = 0.05
"""Share of failed refits above which they are reported."""


def on_bootstrap(report: Report) -> list[Diagnostic]:
    """Whether quantile intervals agree with the linearised ones, and the bias."""
    made = report.bootstrap
    if made is None:
        return []
    found = _on_intervals(report) + _on_bias(report)
    count = len(made.found) + len(made.failed)
    if len(made.failed) > FAILED * count:
        found.append(
            Diagnostic(
                "look",
                f"{len(made.failed)} of {count} refits of simulated data failed, the first: "
                f"{made.failed[0]} Quantiles leave them out.",
            )
        )
    if not found:
        text = f"{len(made.found)} refits of simulated data agree with the intervals, without bias."
        return [Diagnostic("good", text)]
    return found


def _fitted(report: Report) -> tuple[np.ndarray, np.ndarray]:
    """Indices of fitted parameters with an interval, and half-widths of these."""
    half = 0.5 * (report.trust.high - report.trust.low)
    which = np.flatnonzero(report.estimate.free & np.isfinite(half) & (half > 0.0))
    return which, half[which]


def _on_intervals(report: Report) -> list[Diagnostic]:
    made, trust = report.bootstrap, report.trust
    assert made is not None
    which, half = _fitted(report)
    low, high = ((a - b)[which] / half for a, b in ((made.low, trust.low), (made.high, trust.high)))
    error = made.sampling_error() * np.sqrt(2.0)  # of one end
    off = np.maximum(np.abs(low), np.abs(high)) > SAMPLING_ERRORS_MAX * error
    if not off.any():
        return []
    names = [report.estimate.names[i] for i in which[off]]
    widths = 1.0 + 0.5 * (high - low)[off]
    least, most = (f"{v:.2g}" for v in (widths.min(), widths.max()))
    span = least if least == most else f"{least} to {most}"
    text = (
        f"Linearised intervals of {listed(names, 'others')} are not those of {len(made.found)} "
        f"refits of simulated data, which are {span} times as wide: take the latter."
    )
    return [Diagnostic("look", text)]


def _on_bias(report: Report) -> list[Diagnostic]:
    made = report.bootstrap
    assert made is not None
    which, half = _fitted(report)
    bias, error = made.bias[which], made.bias_error[which]
    off = np.abs(bias) > np.maximum(SAMPLING_ERRORS_MAX * error, 0.1 * half)
    if not off.any():
        return []
    worst = int(np.where(off, np.abs(bias) / half, 0.0).argmax())
    names = [report.estimate.names[i] for i in which[off]]
    side = "high" if bias[worst] > 0.0 else "low"
    text = (
        f"Estimates of {listed(names, 'others')} are biased: refits of simulated data are too "
        f"{side} by {abs(bias[worst]) / half[worst]:.2g} half-widths of the interval "
        f"({report.estimate.names[which[worst]]})."
    )
    return [Diagnostic("look", text)]


FAR = 0.02
"""Shares that are off by less are not reported, however unlikely [-]."""
LOW = 0.7
"""A smaller share inside: the estimate is not to be trusted [-]."""


def inside(report: Report) -> str:
    """How many held-out samples are inside the 95 % band; empty without any."""
    total = report.predictions.coverage
    if total is None:
        return ""
    return f"{_percent(total)} of {total.samples:,} held-out samples are inside the 95 % band."


def on_bands(report: Report) -> list[Diagnostic]:
    """Too few or too many held-out samples inside, in all or of a channel."""
    total, bands = report.predictions.coverage, report.predictions.held_out
    if total is None or not all(band.complete for band in bands):
        return []
    several = len(bands) > 1
    channels = [
        (f"{band.experiment}: {name}" if several else name, one)
        for band, each in zip(bands, report.predictions.by_channel, strict=True)
        for name, one in zip(band.channels, each, strict=True)
    ]
    doubt = SIGNIFICANCE_LEVEL / max(len(channels), 1)
    few = [(name, one) for name, one in channels if _few(one, doubt)]
    if few or _few(total, SIGNIFICANCE_LEVEL):
        return [_too_few(total, few if len(channels) > 1 else [])]
    if total.high < SIGNIFICANCE_LEVEL and total.share > total.expected + FAR:
        text = (
            f"{_percent(total)} of the held-out samples are inside the 95 % band, "
            f"{100.0 * total.expected:.0f} % expected: noise is smaller than declared, bands and "
            "intervals are too wide."
        )
        return [Diagnostic("look", text)]
    return []


def _too_few(total: Coverage, few: list[tuple[str, Coverage]]) -> Diagnostic:
    least = min(total.share, *(one.share for _, one in few), 1.0)
    level: Level = "bad" if least < LOW else "look"
    text = f"Only {_percent(total)} of the held-out samples are inside the 95 % band"
    if few:
        text += f" ({listed([f'{_percent(one)} of {name}' for name, one in few])})"
    expected = f"{100.0 * total.expected:.0f} % would be of a correct model"
    return Diagnostic(level, f"{text}; {expected}: intervals and bands are too narrow.")


def _few(one: Coverage, doubt: float) -> bool:
    return one.low < doubt and one.share < one.expected - FAR


def _percent(one: Coverage) -> str:
    """Such as '94 %'; '99.6 %' where it is not all."""
    share = 100.0 * one.share
    return f"{share:.1f} %" if 99.5 <= share < 100.0 else f"{share:.0f} %"
