"""Diagnostics from residuals."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sofa_softctl.identification.report.diagnostic import NAMED, Diagnostic, Level, listed

if TYPE_CHECKING:
    from sofa_softctl.identification.report.report import Report

SMALL_NOISE = 0.6
"""Residuals below this share of what noise leaves: the declared noise is too large."""
MANY = 50
"""Least number of samples for that diagnostic."""
NOTHING = 5e-3
"""Residuals below this many deviations are a perfect fit."""


def on_residuals(report: Report) -> list[Diagnostic]:
    """Outliers, channels that noise does not explain, declared noise that is too large."""
    return [*_outliers(report), *_channels(report), *_small_noise(report)]


def _outliers(report: Report) -> list[Diagnostic]:
    several = len(report.estimate.fits) > 1
    found = [
        Diagnostic("bad", f"{f'{one.experiment}: ' if several else ''}{one.sentence}")
        for one in report.outliers[:NAMED]
    ]
    if more := len(report.outliers) - NAMED:
        if more > 0:
            text = f"{more} more {'sample is' if more == 1 else 'samples are'} outliers."
            found.append(Diagnostic("bad", text))
    return found


def _channels(report: Report) -> list[Diagnostic]:
    several = len(report.estimate.fits) > 1
    wrong = sorted((one for one in report.residuals if not one.right), key=lambda one: -one.rms)
    if not wrong:
        return [Diagnostic("good", _explained(report))]
    judged = all(one.judged for one in wrong)
    level: Level = "bad" if judged else "look"
    found = [
        Diagnostic(level, f"{f'{one.experiment}: ' if several else ''}{one.sentence}")
        for one in wrong[:NAMED]
    ]
    if wrong[NAMED:]:
        names = listed(list(dict.fromkeys(one.channel for one in wrong[NAMED:])))
        found.append(Diagnostic(level, f"Noise does not explain the residuals of {names} either."))
    if judged:
        text = "Intervals assume a model whose residuals are noise only: they are too narrow."
    else:
        text = (
            "The cause may be noise of recorded inputs, not the model: its residuals cannot be "
            "simulated, as the experiment has no with_input_errors, or fails with other inputs."
        )
    return [*found, Diagnostic("look", text)]


def _explained(report: Report) -> str:
    if report.rms < NOTHING:
        return "The fitted data have no residuals."
    if not any(one.through_inputs for one in report.residuals):
        return "Noise explains the residuals of the fitted data."
    expected = np.sqrt(
        np.average(
            [one.expected**2 for one in report.residuals if one.count],
            weights=[one.count for one in report.residuals if one.count],
        )
    )
    return (
        f"Noise of inputs and outputs explains the residuals of the fitted data: "
        f"{report.rms:.2f} deviations, {expected:.2f} expected."
    )


def _small_noise(report: Report) -> list[Diagnostic]:
    """Declared noise that is larger than the residuals."""
    if report.estimate.noise_estimated:
        return []
    small = [
        one
        for one in report.residuals
        if one.count >= MANY and one.judged and one.rms < SMALL_NOISE * one.expected
    ]
    if not small or not all(one.right for one in report.residuals):  # then: too narrow
        return []
    names = listed(list(dict.fromkeys(one.channel for one in small)))
    most = max(one.rms / one.expected for one in small)
    verb = "is" if len(small) == 1 else "are"
    text = (
        f"{names} {verb} predicted within {most:.2f} of what noise leaves: declare less noise, or "
        "let noise be estimated; intervals are too wide."
    )
    return [Diagnostic("look", text)]
