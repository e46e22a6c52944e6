"""What people should be told of what a model leaves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sofa_softctl.identification.report.finding import NAMED, Finding, Level, listed

if TYPE_CHECKING:
    from sofa_softctl.identification.report.report import Report

SMALL_NOISE = 0.6
"""Residuals below so many deviations say that the declared noise is too large."""
MANY = 50
"""Samples from which that is said."""
NOTHING = 5e-3
"""Residuals below so many deviations are nothing."""


def on_residuals(report: Report) -> list[Finding]:
    """Channels that noise does not explain, samples that are wrong, noise that is too large."""
    return [*_outliers(report), *_channels(report), *_small_noise(report)]


def _outliers(report: Report) -> list[Finding]:
    several = len(report.estimate.fits) > 1
    found = [
        Finding("bad", f"{f'{one.experiment}: ' if several else ''}{one.sentence}")
        for one in report.outliers[:NAMED]
    ]
    if more := len(report.outliers) - NAMED:
        if more > 0:
            text = f"{more} more {'sample is' if more == 1 else 'samples are'} off by themselves."
            found.append(Finding("bad", text))
    return found


def _channels(report: Report) -> list[Finding]:
    several = len(report.estimate.fits) > 1
    wrong = sorted((one for one in report.residuals if not one.right), key=lambda one: -one.rms)
    if not wrong:
        return [Finding("good", _explained(report))]
    judged = all(one.judged for one in wrong)
    level: Level = "bad" if judged else "look"
    found = [
        Finding(level, f"{f'{one.experiment}: ' if several else ''}{one.sentence}")
        for one in wrong[:NAMED]
    ]
    if wrong[NAMED:]:
        names = listed(list(dict.fromkeys(one.channel for one in wrong[NAMED:])))
        found.append(Finding(level, f"Noise does not explain what is left of {names}, either."))
    if judged:
        text = "Intervals assume a model that leaves noise only: they are too narrow."
    else:
        text = (
            "That may be noise of recorded inputs, and the model right: what it leaves cannot be "
            "drawn, as the experiment has no with_input_errors, or fails with other inputs."
        )
    return [*found, Finding("look", text)]


def _explained(report: Report) -> str:
    if report.rms < NOTHING:
        return "Nothing is left of the fitted data."
    if not any(one.through_inputs for one in report.residuals):
        return "Noise explains what the model leaves of the fitted data."
    expected = np.sqrt(
        np.average(
            [one.expected**2 for one in report.residuals if one.count],
            weights=[one.count for one in report.residuals if one.count],
        )
    )
    return (
        f"Noise of inputs and outputs explains what the model leaves of the fitted data: "
        f"{report.rms:.2f} deviations, {expected:.2f} were to be expected."
    )


def _small_noise(report: Report) -> list[Finding]:
    """Declared noise that is larger than what is left."""
    if report.estimate.noise_estimated:
        return []
    small = [one for one in report.residuals if one.count >= MANY and one.rms < SMALL_NOISE]
    if not small:
        return []
    names = listed(list(dict.fromkeys(one.channel for one in small)))
    most = max(one.rms for one in small)
    verb = "is" if len(small) == 1 else "are"
    text = (
        f"{names} {verb} met within {most:.2f} of the declared noise: declare less, or "
        "let noise be estimated; intervals are too wide."
    )
    return [Finding("look", text)]
