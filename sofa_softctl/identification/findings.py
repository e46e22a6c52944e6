"""What people should be told of an estimate first: sentences, good and bad."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from sofa_softctl.identification.descent import METHOD
from sofa_softctl.identification.estimate import Estimate
from sofa_softctl.identification.identifiability import BLIND, SMALL, Direction

if TYPE_CHECKING:
    from sofa_softctl.identification.report import Report

WORSE = 1.5
"""Held-out errors so many times those of the fitted data are told."""
SMALL_NOISE = 0.6
"""Residuals below so many deviations say that the declared noise is too large."""
MANY = 50
"""Samples from which that is said."""
NAMED = 3
"""Channels that have a sentence, or a name in a list, of their own."""


@dataclass(frozen=True)
class Finding:
    """One sentence that people should read."""

    level: Literal["good", "look", "bad"]
    """As it should be; to be looked at; not to be trusted."""
    text: str
    """What was found, and what to do."""


def findings(report: Report) -> list[Finding]:
    """All sentences, in the order in which they come to mind."""
    estimate = report.estimate
    found = [Finding("good" if estimate.status.ok else "bad", estimate.status.value)]
    found += [Finding("look", _at_bound(estimate, name)) for name in estimate.at_bound]
    found += [Finding("look", _unseen(estimate, name)) for name in estimate.unseen]
    found += [_blind(one) for one in report.trust.blind]
    found += [Finding("look", f"{_capital(text)}.") for text in estimate.warnings]
    found += _on_residuals(report) + _on_held_out(report) + _on_inputs(report)
    if estimate.method == METHOD:
        found.append(
            Finding(
                "look",
                "Steepest descent weighs all errors alike; intervals are those of a fit that "
                "weighs them by their noise.",
            )
        )
    return found


def _on_residuals(report: Report) -> list[Finding]:
    several = len(report.estimate.fits) > 1
    wrong = sorted((one for one in report.residuals if not one.right), key=lambda one: -one.rms)
    found = [
        Finding("bad", f"{f'{one.experiment}: ' if several else ''}{one.sentence}")
        for one in wrong[:NAMED]
    ]
    if wrong[NAMED:]:
        names = _listed([one.channel for one in wrong[NAMED:]])
        found.append(Finding("bad", f"Noise does not explain what is left of {names}, either."))
    if wrong:
        text = "Intervals assume a model that leaves independent noise only: they are too narrow."
        if report.trust.input_covariance.any():
            text += (
                " What is left may be noise of recorded inputs, too, which comes out correlated."
            )
        found.append(Finding("look", text))
    else:
        found.append(Finding("good", "Noise explains what the model leaves of the fitted data."))
    return found + _on_small_noise(report)


def _on_small_noise(report: Report) -> list[Finding]:
    """Declared noise that is larger than what is left."""
    if report.estimate.noise_estimated:
        return []
    small = [one for one in report.residuals if one.count >= MANY and one.rms < SMALL_NOISE]
    if not small:
        return []
    names = _listed(list(dict.fromkeys(one.channel for one in small)))
    most = max(one.rms for one in small)
    verb = "is" if len(small) == 1 else "are"
    text = (
        f"{names} {verb} met within {most:.2f} of the declared noise: declare less, or "
        "let noise be estimated; intervals are too wide."
    )
    return [Finding("look", text)]


def _listed(names: list[str]) -> str:
    """Up to five names, and how many more."""
    if len(names) > NAMED + 2:
        return f"{', '.join(names[:NAMED])} and {len(names) - NAMED} other channels"
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def _on_held_out(report: Report) -> list[Finding]:
    if not report.validations:
        return [Finding("look", "Nothing was held out: how the model predicts is not known.")]
    ratio = report.rms_held_out / max(report.rms, 1e-12)
    text = (
        f"Held-out data are met within {report.rms_held_out:.2f} deviations, fitted data within "
        f"{report.rms:.2f}."
    )
    if ratio > WORSE and report.rms_held_out > WORSE:
        return [Finding("bad", f"{text} The model does not carry over to other motions.")]
    return [Finding("good", text)]


def _on_inputs(report: Report) -> list[Finding]:
    found = []
    total = np.diag(report.trust.covariance)
    through = np.diag(report.trust.input_covariance)
    for name, part, whole in zip(report.trust.names, through, total, strict=True):
        if np.isfinite(whole) and part > 0.5 * whole:
            found.append(
                Finding(
                    "look",
                    f"{100.0 * part / whole:.0f} % of the variance of {name} is noise of recorded "
                    "inputs: better sensors there help most.",
                )
            )
    return found


def _at_bound(estimate: Estimate, name: str) -> str:
    one = estimate.parameters[estimate.names.index(name)]
    value = estimate.value(name)
    side = "lower" if abs(value - one.lower) < abs(value - one.upper) else "upper"
    return f"{name} ended at its {side} bound, {value:.4g} {one.unit}.".replace(" .", ".")


def _unseen(estimate: Estimate, name: str) -> str:
    one = estimate.parameters[estimate.names.index(name)]
    kept = "is what was known before" if one.prior is not None else "was kept at its start"
    value = f"{estimate.value(name):.4g} {one.unit}".strip()
    return f"No datum sees {name}: it {kept}, {value}. Record a motion that depends on it."


def _blind(one: Direction) -> Finding:
    several = sum(abs(share) >= SMALL for share in one.parts.values()) > 1
    shares = " (each in shares of its value)" if several else ""
    advice = "Fix one of them, say what is known of it," if several else "Say what is known of it,"
    return Finding(
        "bad" if one.deviation > BLIND else "look",
        f"{_capital(one.sentence)}{shares}. {advice} or record another motion.",
    )


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
