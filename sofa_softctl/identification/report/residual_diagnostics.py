"""Diagnostics from residuals."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sofa_softctl.identification.report.diagnostic import NAMED, Diagnostic, Level, listed
from sofa_softctl.identification.report.noise_diagnostics import NOTHING, misdeclared, on_noise

if TYPE_CHECKING:
    from sofa_softctl.identification.report.report import Report


def on_residuals(report: Report) -> list[Diagnostic]:
    """Outliers, channels that noise does not explain, declared noise that does not fit."""
    return [*_outliers(report), *_channels(report), *on_noise(report)]


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
    noise = misdeclared(report)
    wrong = [one for one in report.residuals if not one.right and one not in noise]
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
