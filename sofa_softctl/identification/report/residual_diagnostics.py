"""Diagnostics from residuals.

Diagnostics on declared noise that is larger or smaller than the residuals.

Diagnostics on causes of what the model does not predict.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sofa_softctl.identification.causes.cause import Cause
from sofa_softctl.identification.causes.causes import SETTINGS as CAUSE_SEARCH
from sofa_softctl.identification.data.units import quantity
from sofa_softctl.identification.report.diagnostic import NAMED, Diagnostic, Level, listed
from sofa_softctl.identification.uncertainty.residual_analysis import ChannelResiduals

if TYPE_CHECKING:
    from sofa_softctl.identification.report.report import Report


def on_residuals(report: Report) -> list[Diagnostic]:
    """Outliers, channels that noise does not explain, declared noise that does not fit."""
    return [*_outliers(report), *_channels(report), *on_noise(report)]


def _outliers(report: Report) -> list[Diagnostic]:
    several = len(report.estimate.fits) > 1
    found = [
        Diagnostic("bad", f"{f'{outlier.experiment}: ' if several else ''}{outlier.sentence}")
        for outlier in report.outliers[:NAMED]
    ]
    if more := len(report.outliers) - NAMED:
        if more > 0:
            text = f"{more} more {'sample is' if more == 1 else 'samples are'} outliers."
            found.append(Diagnostic("bad", text))
    return found


def _channels(report: Report) -> list[Diagnostic]:
    several = len(report.estimate.fits) > 1
    noise = misdeclared(report)
    wrong = [
        residual for residual in report.residuals if not residual.right and residual not in noise
    ]
    wrong.sort(key=lambda one: -one.rms)
    if not wrong:
        return [] if noise else [Diagnostic("good", _explained(report))]
    judged = all(one.judged for one in wrong)
    level: Level = "bad" if judged else "look"
    found = [
        Diagnostic(level, f"{f'{one.experiment}: ' if several else ''}{one.sentence}")
        for one in wrong[:NAMED]
    ]
    if wrong[NAMED:]:
        names = listed(list(dict.fromkeys(one.channel for one in wrong[NAMED:])))
        found.append(Diagnostic(level, f"Noise does not explain the residuals of {names} either."))
    if judged and not noise:
        text = "Intervals assume a model whose residuals are noise only: they are too narrow."
    elif not judged:
        text = (
            "The cause may be noise of recorded inputs, not the model: its residuals cannot be "
            "simulated, as the experiment has no with_input_errors, or fails with other inputs."
        )
    else:
        return found
    return [*found, Diagnostic("look", text)]


def _explained(report: Report) -> str:
    if report.rms < NOTHING:
        return "The fitted data have no residuals."
    if not any(residual.through_inputs for residual in report.residuals):
        return "Noise explains the residuals of the fitted data."
    expected = np.sqrt(
        np.average(
            [residual.expected**2 for residual in report.residuals if residual.count],
            weights=[residual.count for residual in report.residuals if residual.count],
        )
    )
    return (
        f"Noise of inputs and outputs explains the residuals of the fitted data: "
        f"{report.rms:.2f} deviations, {expected:.2f} expected."
    )


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
        residual
        for residual in report.residuals
        if residual.rms > NOTHING
        and (residual.noise == "too large" or (residual.noise and report.causes.first is None))
    ]


def on_noise(report: Report) -> list[Diagnostic]:
    """Declared noise that residuals contradict, either way, and what it does to intervals."""
    found = misdeclared(report)
    if not found:
        return []
    sides = {one.noise for one in found}
    other = any(not residual.right and residual not in found for residual in report.residuals)
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


def on_causes(report: Report) -> list[Diagnostic]:
    """The likeliest cause, with what it does to the parameters."""
    first, wrong = report.causes.first, any(not residual.right for residual in report.residuals)
    if report.causes.better is not None:
        return [Diagnostic("bad", report.causes.better.sentence)]
    if first is None:
        tests = len(report.causes.scores)
        if not wrong or not tests:
            return []
        text = f"None of {tests} effects that the model may leave out fits better than noise."
        return [Diagnostic("look", text)]
    if finer := _finer(report, first):
        return [Diagnostic("bad" if wrong else "look", finer)]
    if first.fits_coloured_noise:
        return [Diagnostic("bad", first.sentence)]
    if wrong or first.shifts_parameters or not report.estimate.status.ok:
        return [Diagnostic("bad", f"{first.sentence}{_bias(first)}{_coarse(report, first)}")]
    text = (
        f"{first.sentence} It is of no consequence: no parameter changes by half of the half-width "
        "of its interval."
    )
    return [Diagnostic("look", text)]


def _finer(report: Report, first: Cause) -> str:
    """Whether a finer model, without another parameter, fits as well as with the cause."""
    shifts = () if report.discretisation is None else report.discretisation.shifts
    best = max(shifts, key=lambda shift: shift.whole_decrease, default=None)
    if best is None or best.whole_decrease < first.decrease - CAUSE_SEARCH.tie_cost_difference:
        return ""
    return (
        f"The model fits as well {best.refinement.text} as with {first.what}: change the "
        f"{best.refinement.of} first."
    )


def _coarse(report: Report, first: Cause) -> str:
    """That a coarse time step may look like a small effect, where finer ones were not tried."""
    budget = report.discretisation
    tested = budget is not None and (budget.shifts or not budget.left_out)
    if first.kind == "columns" or tested:
        return ""
    return " Whether a finer time step or mesh explains it was not tested: --budget does."


def _bias(first: Cause) -> str:
    return f" With it, {first.largest_shift}." if first.largest_shift else ""
