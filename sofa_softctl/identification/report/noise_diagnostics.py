"""Diagnostics on declared noise that is larger or smaller than the residuals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sofa_softctl.identification.data.units import quantity
from sofa_softctl.identification.report.diagnostic import NAMED, Diagnostic, Level, listed
from sofa_softctl.identification.uncertainty.residual_analysis import ChannelResiduals

if TYPE_CHECKING:
    from sofa_softctl.identification.report.report import Report

NOTHING = 5e-3
"""Residuals below this many deviations are a perfect fit."""
NEAR = 1.1
"""Noise that is declared within this factor is of little consequence [-]."""
INTERVALS = {"too large": "too wide", "too small": "too narrow"}
"""Intervals, by the declared noise."""


def misdeclared(report: Report) -> list[ChannelResiduals]:
    """Channels whose residuals look like noise, but of another size than declared.

    What is too large for noise, but has a cause, is not noise.
    """
    if report.estimate.noise_estimated:
        return []
    return [
        one
        for one in report.residuals
        if one.rms > NOTHING
        and (one.noise == "too large" or (one.noise and report.causes.first is None))
    ]


def on_noise(report: Report) -> list[Diagnostic]:
    """Declared noise that residuals contradict, either way, and what it does to intervals."""
    found = misdeclared(report)
    if not found:
        return []
    sides = {one.noise for one in found}
    other = any(not one.right and one not in found for one in report.residuals)
    side = INTERVALS[next(iter(sides))] if len(sides) == 1 and not other else ""
    intervals = f" Intervals are {side}." if side else ""
    ordered = sorted(found, key=lambda one: -max(one.share, 1.0 / one.share))
    far = max(ordered[0].share, 1.0 / ordered[0].share) > NEAR
    level: Level = "bad" if far and "too small" in sides else "look"  # too wide is still true
    texts = [_sentence(one, report) for one in ordered[:NAMED]]
    texts[0] += intervals
    if ordered[NAMED:]:
        names = listed(list(dict.fromkeys(one.channel for one in ordered[NAMED:])))
        texts.append(f"The declared noise of {names} does not fit the residuals either.")
    return [Diagnostic(level, text) for text in texts]


def _sentence(one: ChannelResiduals, report: Report) -> str:
    where = f"{one.experiment}: " if len(report.estimate.fits) > 1 else ""
    declared = one.rms_unit / one.rms
    given, found = f"{declared:.3g}", f"{declared * one.share:.2g}"
    return (
        f"{where}{one.channel}: the declared noise, {quantity(given, one.unit)}, is {one.noise}: "
        f"residuals are {one.share:.2g} of what it leaves. Declare {quantity(found, one.unit)}, or "
        "let noise be estimated (--estimate-noise)."
    )
