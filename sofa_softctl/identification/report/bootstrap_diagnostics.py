"""Diagnostics from refits of simulated data: do they agree with the linearised intervals?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sofa_softctl.identification.report.diagnostic import Diagnostic, listed

if TYPE_CHECKING:
    from sofa_softctl.identification.report.report import Report

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
