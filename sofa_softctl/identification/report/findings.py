"""What people should be told of an estimate first: sentences, good and bad."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sofa_softctl.identification.fitting.estimate import Estimate, sentence
from sofa_softctl.identification.fitting.outliers import without
from sofa_softctl.identification.fitting.residual import Fit
from sofa_softctl.identification.fitting.steepest_descent import METHOD
from sofa_softctl.identification.report.finding import Finding, Level, listed
from sofa_softctl.identification.report.residual_findings import on_residuals
from sofa_softctl.identification.uncertainty.identifiability import BLIND, Direction
from sofa_softctl.identification.uncertainty.validation import rms

if TYPE_CHECKING:
    from sofa_softctl.identification.report.report import Report

WORSE = 1.5
"""Held-out errors so many times those of the fitted data are told."""
FAR = 3.0
"""Residuals beyond so many deviations are told where the search converged."""
SAME = 1e-2
"""Costs that differ by this share are the same."""


def findings(report: Report) -> list[Finding]:
    """All sentences, in the order in which they come to mind."""
    estimate = report.estimate
    found = [_on_search(report)]
    found += [Finding("look", _at_bound(estimate, name)) for name in estimate.at_bound]
    found += [Finding("look", _unseen(estimate, name)) for name in estimate.unseen]
    found += [_blind(one) for one in report.trust.blind]
    found += [Finding("look", sentence(_capital(text))) for text in estimate.warnings]
    found += on_residuals(report) + _on_same(report) + _on_held_out(report)
    found += _on_inputs(report) + _on_candidates(report)
    if estimate.method == METHOD:
        found.append(
            Finding(
                "look",
                "Steepest descent weighs all errors alike; intervals are those of a fit that "
                "weighs them by their noise.",
            )
        )
    return found


def _on_search(report: Report) -> Finding:
    """How it ended; converged is not enough where far more than noise is left."""
    estimate = report.estimate
    if not estimate.status.ok:
        return Finding("bad", estimate.status.value)
    left = rms(np.concatenate([without(fit, report.outliers).ravel() for fit in estimate.fits]))
    if left <= FAR or all(one.right for one in report.residuals):
        return Finding("good", estimate.status.value)
    text = f"The search converged to where {left:.3g} deviations are left"
    count = len(estimate.searches)
    if count == 1 or estimate.method == METHOD:
        advice = "" if estimate.method == METHOD else " Try --starts 8."
        return Finding("look", f"{text}: a local minimum perhaps, or the model is wrong.{advice}")
    same = sum(one.cost <= (1.0 + SAME) * estimate.cost for one in estimate.searches)
    return Finding(
        "look",
        f"{text}, as did {same} of {count} searches: "
        + ("the model is wrong, more likely." if 2 * same > count else "try more --starts."),
    )


def _on_same(report: Report) -> list[Finding]:
    """Recordings that are there twice."""
    fits, found = report.estimate.fits, []
    for k, one in enumerate(fits):
        if any(_same(one, other) for other in fits[:k]):
            text = f"{one.name} was given twice: its samples count double, intervals are too narrow"
            found.append(Finding("look", f"{text}. Give it once."))
    found += [
        Finding(
            "look",
            f"{fit.name} is held out and fitted, too: that says nothing of how the model predicts. "
            "Hold out another recording.",
        )
        for fit in _held_out_twice(report)
    ]
    return found


def _held_out_twice(report: Report) -> list[Fit]:
    fitted = report.estimate.fits
    held_out = [one.fit for one in report.validations]
    return [fit for fit in held_out if any(_same(fit, other) for other in fitted)]


def _same(one: Fit, other: Fit) -> bool:
    return np.array_equal(one.time, other.time) and np.array_equal(
        one.measured, other.measured, equal_nan=True
    )


def _on_held_out(report: Report) -> list[Finding]:
    if not report.validations:
        return [Finding("look", "Nothing was held out: how the model predicts is not known.")]
    text = (
        f"Held-out data are met within {report.rms_held_out:.2f} deviations, fitted data within "
        f"{report.rms:.2f}."
    )
    if _held_out_twice(report):
        return [Finding("look", text)]
    if report.rms_held_out <= WORSE or all(one.right for one in report.held_out):
        return [Finding("good", text)]
    if report.rms_held_out > WORSE * report.rms:
        level: Level = "bad" if all(one.judged for one in report.held_out) else "look"
        return [Finding(level, f"{text} The model does not carry over to other motions.")]
    return [Finding("look", f"{text} That is no worse, but both are more than noise leaves.")]


def _on_inputs(report: Report) -> list[Finding]:
    total = np.diag(report.trust.covariance)
    through = np.diag(report.trust.input_covariance)
    shares = {
        name: 100.0 * part / whole
        for name, part, whole in zip(report.trust.names, through, total, strict=True)
        if np.isfinite(whole) and part > 0.5 * whole
    }
    if not shares:
        return []
    least, most = (f"{limit:.0f}" for limit in (min(shares.values()), max(shares.values())))
    span = least if least == most else f"{least} to {most}"
    text = (
        f"{span} % of the variance of {listed(list(shares), 'others')} is noise of recorded "
        "inputs: better sensors there help most."
    )
    return [Finding("look", text)]


def _on_candidates(report: Report) -> list[Finding]:
    worse = [one.name for one in report.candidates if np.isfinite(one.gain) and one.gain < 0.0]
    if not worse:
        return []
    text = (
        f"Recording {listed(worse, 'others')} would make the estimate worse: samples are weighed "
        "by noise of outputs alone, and noise of inputs would come in with them."
    )
    return [Finding("look", text)]


def _at_bound(estimate: Estimate, name: str) -> str:
    one = estimate.parameters[estimate.names.index(name)]
    value = estimate.value(name)
    side = "lower" if abs(value - one.lower) < abs(value - one.upper) else "upper"
    bound = one.lower if side == "lower" else one.upper
    return f"{name} ended at its {side} bound, {f'{bound:.4g} {one.unit}'.strip()}."


def _unseen(estimate: Estimate, name: str) -> str:
    one = estimate.parameters[estimate.names.index(name)]
    kept = "is what was known before" if one.prior is not None else "was kept at its start"
    value = f"{estimate.value(name):.4g} {one.unit}".strip()
    return f"No datum sees {name}: it {kept}, {value}. Record a motion that depends on it."


def _blind(one: Direction) -> Finding:
    several = len(one.large) > 1
    shares = " (each in shares of its value)" if several else ""
    advice = "Fix one of them, say what is known of it," if several else "Say what is known of it,"
    return Finding(
        "bad" if one.deviation > BLIND else "look",
        f"{_capital(one.sentence)}{shares}. {advice} or record another motion.",
    )


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
