"""Diagnostics on residuals, on declared noise that they contradict, and on their causes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sofa_softctl.identification.causes.cause import Cause
from sofa_softctl.identification.causes.causes import SETTINGS as CAUSE_SEARCH
from sofa_softctl.identification.data.units import quantity
from sofa_softctl.identification.report.diagnostic import NAMES_MAX, Diagnostic, Level, join_names
from sofa_softctl.identification.uncertainty.residual_analysis import ChannelResiduals

if TYPE_CHECKING:
    from sofa_softctl.identification.report.report import Report


def on_residuals(report: Report) -> list[Diagnostic]:
    """Report outliers, channels that noise does not explain, and wrong declared noise."""
    return [*_outliers(report), *_channels(report), *on_noise(report)]


def _outliers(report: Report) -> list[Diagnostic]:
    several = len(report.estimate.fits) > 1
    results = [
        Diagnostic("bad", f"{f'{outlier.experiment}: ' if several else ''}{outlier.sentence}")
        for outlier in report.outliers[:NAMES_MAX]
    ]
    if unnamed_count := len(report.outliers) - NAMES_MAX:
        if unnamed_count > 0:
            verb = "sample is" if unnamed_count == 1 else "samples are"
            text = f"{unnamed_count} more {verb} outliers."
            results.append(Diagnostic("bad", text))
    return results


def _channels(report: Report) -> list[Diagnostic]:
    several = len(report.estimate.fits) > 1
    noise = channels_with_wrong_noise(report)
    wrong = [
        residual for residual in report.residuals if not residual.right and residual not in noise
    ]
    wrong.sort(key=lambda wrong_residual: -wrong_residual.rms)
    if not wrong:
        return [] if noise else [Diagnostic("good", _noise_explains_text(report))]
    judged = all(wrong_residual.judged for wrong_residual in wrong)
    level: Level = "bad" if judged else "look"
    results = [
        Diagnostic(
            level, f"{f'{wrong_residual.experiment}: ' if several else ''}{wrong_residual.sentence}"
        )
        for wrong_residual in wrong[:NAMES_MAX]
    ]
    if wrong[NAMES_MAX:]:
        names = join_names(
            list(dict.fromkeys(wrong_residual.channel for wrong_residual in wrong[NAMES_MAX:]))
        )
        results.append(
            Diagnostic(level, f"Noise does not explain the residuals of {names} either.")
        )
    if judged and not noise:
        text = "Intervals assume a model whose residuals are noise only: they are too narrow."
    elif not judged:
        text = (
            "The cause may be noise of recorded inputs, not the model: its residuals cannot be "
            "simulated, as the experiment has no with_input_errors, or fails with other inputs."
        )
    else:
        return results
    return [*results, Diagnostic("look", text)]


def _noise_explains_text(report: Report) -> str:
    if report.rms < PERFECT_FIT_RMS_MAX:
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


PERFECT_FIT_RMS_MAX = 5e-3
"""RMS residual of a perfect fit, of which the noise cannot be tested [standard deviations]."""
INTERVALS = {"too large": "too wide", "too small": "too narrow"}
"""Error of the intervals, by the error of the declared noise."""


def channels_with_wrong_noise(report: Report) -> list[ChannelResiduals]:
    """Return the channels whose residuals look like noise of another size than declared.

    Residuals that are too large, but have a cause, or may have one, are not noise.
    """
    if report.estimate.noise_estimated:
        return []
    may_have_cause = report.causes.first is not None or report.causes.postponed > 0.0
    return [
        residual
        for residual in report.residuals
        if residual.rms > PERFECT_FIT_RMS_MAX
        and (residual.noise == "too large" or (residual.noise and not may_have_cause))
    ]


def on_noise(report: Report) -> list[Diagnostic]:
    """Report declared noise that residuals contradict, and its effect on intervals."""
    wrong_channels = channels_with_wrong_noise(report)
    if not wrong_channels:
        return []
    sides = {channel_residuals.noise for channel_residuals in wrong_channels}
    has_other_problem = any(
        not residual.right and residual not in wrong_channels for residual in report.residuals
    )
    side = INTERVALS[next(iter(sides))] if len(sides) == 1 and not has_other_problem else ""
    intervals = f" Intervals are {side}." if side else ""
    ordered = sorted(
        wrong_channels,
        key=lambda channel_residuals: -max(channel_residuals.share, 1.0 / channel_residuals.share),
    )
    is_far = max(ordered[0].share, 1.0 / ordered[0].share) > 1.1
    level: Level = "bad" if is_far and "too small" in sides else "look"  # too wide is still true
    texts = [_sentence(channel_residuals, report) for channel_residuals in ordered[:NAMES_MAX]]
    texts[0] += intervals
    if ordered[NAMES_MAX:]:
        names = join_names(
            list(
                dict.fromkeys(
                    channel_residuals.channel for channel_residuals in ordered[NAMES_MAX:]
                )
            )
        )
        texts.append(f"The declared noise of {names} does not fit the residuals either.")
    return [Diagnostic(level, text) for text in texts]


def _sentence(residual: ChannelResiduals, report: Report) -> str:
    recording = f"{residual.experiment}: " if len(report.estimate.fits) > 1 else ""
    declared = residual.rms_unit / residual.rms
    declared_text, suitable_text = f"{declared:.3g}", f"{declared * residual.share:.2g}"
    return (
        f"{recording}{residual.channel}: the declared noise, "
        f"{quantity(declared_text, residual.unit)}, is {residual.noise}: "
        f"residuals are {residual.share:.2g} of what it leaves. Declare "
        f"{quantity(suitable_text, residual.unit)}, or "
        "let noise be estimated (--estimate-noise)."
    )


def on_causes(report: Report) -> list[Diagnostic]:
    """Report the most likely cause, and its effect on the parameters."""
    first, wrong = report.causes.first, any(not residual.right for residual in report.residuals)
    if report.causes.better is not None:
        return [Diagnostic("bad", report.causes.better.sentence)]
    if report.causes.postponed:
        text = (
            "What the model may leave out was not searched for: that takes about "
            f"{report.causes.postponed:.0f} s. --causes does it."
        )
        return [Diagnostic("look", text)]
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
    """Return a sentence if a finer model fits equally well as the model with the cause, or ""."""
    shifts = () if report.discretisation is None else report.discretisation.shifts
    best = max(shifts, key=lambda shift: shift.whole_decrease, default=None)
    if best is None or best.whole_decrease < first.decrease - CAUSE_SEARCH.tie_cost_difference:
        return ""
    return (
        f"The model fits as well {best.refinement.text} as with {first.what}: change the "
        f"{best.refinement.of} first."
    )


def _coarse(report: Report, first: Cause) -> str:
    """Return a warning if a coarse time step, which was not refined, may look like the cause."""
    budget = report.discretisation
    tested = budget is not None and (budget.shifts or not budget.left_out)
    if first.kind == "columns" or tested:
        return ""
    return " Whether a finer time step or mesh explains it was not tested: --budget does."


def _bias(first: Cause) -> str:
    return f" With it, {first.largest_shift}." if first.largest_shift else ""
