"""Diagnostics of an estimate, most severe first.

Diagnostics on where searches from several starts ended.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sofa_softctl.base.suggestions import sentence
from sofa_softctl.identification.data.units import quantity
from sofa_softctl.identification.fitting.estimate import Estimate
from sofa_softctl.identification.fitting.outliers import mask_outliers
from sofa_softctl.identification.fitting.residual import Fit
from sofa_softctl.identification.fitting.starts import Minimum
from sofa_softctl.identification.report.diagnostic import Diagnostic, Level, listed
from sofa_softctl.identification.report.interval_diagnostics import (
    inside,
    on_bands,
    on_bootstrap,
    on_discretisation,
)
from sofa_softctl.identification.report.residual_diagnostics import on_causes, on_residuals
from sofa_softctl.identification.uncertainty.identifiability import SETTINGS as IDENTIFIABILITY
from sofa_softctl.identification.uncertainty.identifiability import Direction
from sofa_softctl.identification.uncertainty.validation import rms, weighted_minima

if TYPE_CHECKING:
    from sofa_softctl.identification.report.report import Report


WORSE = 1.5
"""Held-out errors above this multiple of the fitted ones are reported."""
HALF = 0.5
"""Causes that explain less of what is left come after how the search ended [-]."""
LOST = 30.0
"""Residuals of a search that did not end, above which it is not near the data [deviations]."""
FAR = 3.0
"""Residuals above this many deviations are reported where the search converged."""
SEVERITY = {"bad": 0, "look": 1, "good": 2}


def diagnostics(report: Report) -> tuple[Diagnostic, ...]:
    """All diagnostics, most severe first."""
    estimate = report.estimate
    causes, ended = on_causes(report), _on_search(report)
    found = [ended, *causes] if _not_at_the_end(report) else [*causes, ended]
    found = _on_data(report) + found + on_starts(estimate)
    found += [Diagnostic("look", _at_bound(estimate, name)) for name in estimate.at_bound]
    found += [Diagnostic("look", _unobservable(estimate, name)) for name in estimate.unobservable]
    found += [_blind(one) for one in report.trust.blind]
    found += [Diagnostic("look", sentence(_capital(text))) for text in estimate.warnings]
    found += on_residuals(report) + _on_same(report) + _on_held_out(report)
    found += on_bands(report) + on_discretisation(report) + on_bootstrap(report)
    found += _on_inputs(report) + _on_branches(report) + _on_candidates(report)
    return tuple(sorted(found, key=lambda one: SEVERITY[one.level]))


def _on_data(report: Report) -> list[Diagnostic]:
    """Sensors that seem to have failed, where residuals are no noise and no cause explains them."""
    first = report.causes.first
    if all(residual.right for residual in report.residuals) or (
        first is not None and first.explains_residuals
    ):
        return []
    found = []
    for name, doubts in report.doubts.items():
        others = len(doubts) - 1
        more = f" There are {others} more such notes." if others > 1 else ""
        more = " There is one more such note." if others == 1 else more
        found.append(Diagnostic("bad", f"{sentence(f'In {name}, {doubts[0]}')}{more}"))
    return found


def _not_at_the_end(report: Report) -> bool:
    """Whether how the search ended says more than a cause that leaves much: it comes first then."""
    first, ok = report.causes.first, report.estimate.status.ok
    if first is None or first.explains_residuals:
        return False
    return not ok or first.explained < HALF


def _on_search(report: Report) -> Diagnostic:
    """The end of the search, and whether residuals are far above the noise."""
    estimate = report.estimate
    left = rms(
        np.concatenate([mask_outliers(fit, report.outliers).ravel() for fit in estimate.fits])
    )
    if not estimate.status.ok:
        far = f"Residuals of {left:.3g} deviations are left: a local minimum, or the model is wrong"
        more = f"{far}. Try --starts 8. " if left > LOST else ""
        return Diagnostic("bad", f"{more}{estimate.message}")
    if left <= FAR or all(residual.right for residual in report.residuals):
        return Diagnostic("good", estimate.message)
    text = f"The search converged to residuals of {left:.3g} deviations"
    count = len(estimate.searches)
    if count == 1:
        level: Level = "bad" if _not_at_the_end(report) else "look"
        return Diagnostic(level, f"{text}: a local minimum, or the model is wrong. Try --starts 8.")
    same = estimate.minima[0].count if estimate.minima else 1
    return Diagnostic(
        "look",
        f"{text}, as did {same} of {count} searches: "
        + ("the model is probably wrong." if 2 * same > count else "try more --starts."),
    )


def _on_same(report: Report) -> list[Diagnostic]:
    """Recordings that were given twice."""
    fits, found = report.estimate.fits, []
    for k, one in enumerate(fits):
        if any(_same(one, other) for other in fits[:k]):
            text = f"{one.name} was given twice: its samples count double, intervals are too narrow"
            found.append(Diagnostic("look", f"{text}. Give it once."))
    found += [
        Diagnostic(
            "look",
            f"{fit.name} is both fitted and held out: that does not validate the model. "
            "Hold out another recording.",
        )
        for fit in _held_out_twice(report)
    ]
    return found


def _held_out_twice(report: Report) -> list[Fit]:
    fitted = report.estimate.fits
    held_out = [validation.fit for validation in report.validations]
    return [fit for fit in held_out if any(_same(fit, other) for other in fitted)]


def _same(one: Fit, other: Fit) -> bool:
    return np.array_equal(one.time, other.time) and np.array_equal(
        one.measured, other.measured, equal_nan=True
    )


def _on_held_out(report: Report) -> list[Diagnostic]:
    if not report.validations:
        return [Diagnostic("look", "No held-out data: the model is not validated.")]
    share = "" if on_bands(report) else f" {inside(report)}"
    text = (
        f"Held-out data are predicted within {report.rms_held_out:.2f} deviations, fitted data "
        f"within {report.rms:.2f}.{share}"
    )
    if _held_out_twice(report):
        return [Diagnostic("look", text)]
    if report.rms_held_out <= WORSE or all(one.right for one in report.held_out):
        return [Diagnostic("good", text)]
    if report.rms_held_out > WORSE * report.rms:
        level: Level = "bad" if all(one.judged for one in report.held_out) else "look"
        return [Diagnostic(level, f"{text} The model does not generalise to other motions.")]
    return [Diagnostic("look", f"{text} Both are more than noise explains.")]


def _on_inputs(report: Report) -> list[Diagnostic]:
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
        "inputs: better sensors for these help most."
    )
    return [Diagnostic("look", text)]


def _on_branches(report: Report) -> list[Diagnostic]:
    """Other branches of the motion that fit nearly as well."""
    estimate = report.estimate
    others = weighted_minima(estimate)[1:]
    if not others:
        return []
    end, share = others[0]
    values = zip(estimate.names, end.rho, estimate.rho, strict=True)
    far = max(values, key=lambda value: abs(value[1] - value[2]) / max(abs(value[2]), 1e-300))
    text = (
        f"Inputs on {len(others) + 1} branches of the motion explain the data: with {far[0]} = "
        f"{far[1]:.4g} instead of {far[2]:.4g} at {share:.0%}. Intervals take account of them."
    )
    return [Diagnostic("look", text)]


def _on_candidates(report: Report) -> list[Diagnostic]:
    worse = [
        candidate.name
        for candidate in report.candidates
        if np.isfinite(candidate.gain) and candidate.gain < 0.0
    ]
    if not worse:
        return []
    text = (
        f"Recording {listed(worse, 'others')} would make the estimate worse: samples are weighted "
        "by noise of outputs alone, and these would add noise of inputs."
    )
    return [Diagnostic("look", text)]


def _at_bound(estimate: Estimate, name: str) -> str:
    one = estimate.parameters[estimate.names.index(name)]
    value = estimate.value(name)
    side = "lower" if abs(value - one.lower) < abs(value - one.upper) else "upper"
    bound = one.lower if side == "lower" else one.upper
    return f"{name} ended at its {side} bound, {quantity(f'{bound:.4g}', one.unit)}."


def _unobservable(estimate: Estimate, name: str) -> str:
    one = estimate.parameters[estimate.names.index(name)]
    kept = "has its prior" if one.prior is not None else "was kept at its start"
    value = quantity(f"{estimate.value(name):.4g}", one.unit)
    return f"The data do not depend on {name}: it {kept}, {value}. Record a motion that does."


def _blind(one: Direction) -> Diagnostic:
    several = len(one.large) > 1
    shares = " (each relative to its value)" if several else ""
    if one.by_priors and one.with_priors <= IDENTIFIABILITY.unidentifiable_deviation:
        return Diagnostic("good", f"{_capital(one.sentence)}{shares}; intervals have that.")
    advice = "Fix one of them, give a prior," if several else "Give a prior,"
    return Diagnostic(
        "bad" if one.deviation > IDENTIFIABILITY.unidentifiable_deviation else "look",
        f"{_capital(one.sentence)}{shares}. {advice} or record another motion.",
    )


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


ALIKE = 6.0
"""Minima whose costs differ by less fit alike: the better one is e^3 = 20 times as likely. In units
of the residuals' variance, where that is above 1."""
DIFFERENT = 1e-2
"""Parameters that differ by less than this share are not listed."""
LISTED = 4
"""Most parameters that are listed."""


def on_starts(estimate: Estimate) -> list[Diagnostic]:
    """How many searches ended at the best minimum, and whether another one fits as well."""
    minima, count = estimate.minima, len(estimate.searches)
    if count < 2 or not minima or not estimate.searches[0].termination.status.ok:
        return []
    best, others = minima[0], minima[1:]
    if best.count == count:
        return [Diagnostic("good", f"All {count} searches ended at the same minimum.")]
    text = f"{best.count} of {count} searches ended at the best minimum found"
    if others:
        elsewhere = sum(one.count for one in others)
        which = "another one" if len(others) == 1 else f"{len(others)} others"
        text += f", {elsewhere} at {which}, of cost {others[0].cost:.5g}"
        text += " or more" if len(others) > 1 else ""
        text += f" instead of {best.cost:.5g}"
    unfinished = count - sum(minimum.count for minimum in minima)
    text += f"; {unfinished} did not converge." if unfinished else "."
    alike = [one for one in others if one.cost - best.cost <= ALIKE * _variance(estimate)]
    if alike:
        return [Diagnostic("bad", f"{_undecided(estimate, best, alike[0])} {text}")]
    if best.count == 1:
        return [Diagnostic("look", f"{text} There may be a better one: try more --starts.")]
    return [Diagnostic("good", text)]


def _undecided(estimate: Estimate, best: Minimum, other: Minimum) -> str:
    change = _listed(estimate, other.rho, best.rho)
    return (
        f"The data do not decide between two minima: {change} fits nearly as well as the estimate. "
        "Record another motion, or narrow bounds or a prior to what is possible."
    )


def _listed(estimate: Estimate, rho: np.ndarray, best: np.ndarray) -> str:
    """Parameters that differ, those first that differ most."""
    size = np.maximum(np.abs(rho), np.abs(best))
    share = np.abs(rho - best) / np.where(size > 0.0, size, 1.0)
    order: Sequence[int] = [i for i in np.argsort(-share).tolist() if share[i] > DIFFERENT]
    units = [parameter.unit for parameter in estimate.parameters]
    found = [
        f"{estimate.names[i]} = {quantity(f'{rho[i]:.4g}', units[i])} instead of {best[i]:.4g}"
        for i in (order or [int(share.argmax())])
    ]
    more = len(found) - LISTED
    return ", ".join(found[:LISTED]) + (f" and {more} more" if more > 0 else "")


def _variance(estimate: Estimate) -> float:
    """Mean square residual, at least 1 [-]."""
    spare = max(estimate.data - int(estimate.free.sum()), 1)
    return max(estimate.searches[0].cost / spare, 1.0)
