"""All that is known of an estimate, and what people should be told of it first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from sofa_softctl.identification.descent import METHOD, Descent
from sofa_softctl.identification.design import Candidate, rank
from sofa_softctl.identification.estimate import Estimate
from sofa_softctl.identification.experiment import Experiment
from sofa_softctl.identification.identifiability import (
    Identifiability,
    identifiability,
)
from sofa_softctl.identification.residuals import ChannelResiduals, analyse
from sofa_softctl.identification.validation import Validation, rms, validate

WORSE = 1.5
"""Held-out errors so many times those of the fitted data are told."""
SMALL_NOISE = 0.6
"""Residuals below so many deviations say that the declared noise is too large."""
MANY = 50
"""Samples from which that is said."""


@dataclass(frozen=True)
class Finding:
    """One sentence that people should read."""

    level: Literal["good", "look", "bad"]
    """As it should be; to be looked at; not to be trusted."""
    text: str
    """What was found, and what to do."""


@dataclass(frozen=True, eq=False)
class Report:
    """An estimate with everything that was found out about it."""

    problem: str
    """Its name."""
    estimate: Estimate
    """The parameters."""
    trust: Identifiability
    """What data can tell of them."""
    residuals: tuple[ChannelResiduals, ...]
    """What is left of the fitted data."""
    validations: tuple[Validation, ...]
    """Held-out experiments."""
    held_out: tuple[ChannelResiduals, ...]
    """What is left of them."""
    candidates: tuple[Candidate, ...]
    """Motions that could be recorded next, the most informative first."""
    descent: Descent | None
    """The path, where the estimate is one of steepest descent."""
    notes: dict[str, tuple[str, ...]]
    """What was told of each recording as it was read."""

    @property
    def rms(self) -> float:
        """Of all fitted data, in standard deviations [-]."""
        return rms(np.concatenate([fit.residuals.ravel() for fit in self.estimate.fits]))

    @property
    def rms_held_out(self) -> float:
        """Of all held-out data, in standard deviations [-]; NaN without."""
        parts = [one.fit.residuals.ravel() for one in self.validations]
        return rms(np.concatenate(parts)) if parts else float("nan")

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What people should know, the worst first."""
        order = {"bad": 0, "look": 1, "good": 2}
        return tuple(sorted(_findings(self), key=lambda one: order[one.level]))

    def to_dict(self) -> dict[str, Any]:
        """For JSON; what is not finite becomes None."""
        estimate = self.estimate
        told = {
            "problem": self.problem,
            "status": estimate.status.name,
            "message": estimate.status.value,
            "findings": [vars(one) for one in self.findings],
            "parameters": [_parameter(self, i) for i in range(len(estimate.names))],
            "confidence": 0.95,
            "distribution": self.trust.distribution,
            "correlation": self.trust.correlation.tolist(),
            "directions": [
                {"sentence": one.sentence, "deviation": one.deviation, "parts": one.parts}
                for one in self.trust.directions
            ],
            "method": estimate.method,
            "cost": estimate.cost,
            "data": estimate.data,
            "rms": self.rms,
            "rms_held_out": self.rms_held_out,
            "noise_estimated": estimate.noise_estimated,
            "residuals": [_channel(one) for one in self.residuals],
            "held_out": [_channel(one) for one in self.held_out],
            "searches": [_search(one, estimate.names) for one in estimate.searches],
            "evaluations": estimate.evaluations,
            "seconds": estimate.seconds,
            "recordings": {name: list(notes) for name, notes in self.notes.items()},
            "next": [vars(one) for one in self.candidates],
        }
        if self.descent is not None:
            told["descent"] = [
                {"rho": one.rho.tolist(), "cost": one.cost, "gradient_norm": one.gradient_norm}
                for one in self.descent.iterates
            ]
        plain: dict[str, Any] = _plain(told)
        return plain


def make_report(
    problem: str,
    estimate: Estimate,
    experiments: Sequence[Experiment],
    *,
    hold_out: Sequence[Experiment] = (),
    candidates: Sequence[Experiment] = (),
    descent: Descent | None = None,
    notes: Mapping[str, Sequence[str]] | None = None,
) -> Report:
    """Find out what can be known of an estimate.

    Args:
        problem: Its name.
        estimate: From the experiments.
        experiments: Those that were fitted.
        hold_out: Others, to be predicted.
        candidates: Motions that could be recorded next.
        descent: The path of the paper's method.
        notes: What was told of each recording.
    """
    validations = validate(estimate, hold_out)
    return Report(
        problem=problem,
        estimate=estimate,
        trust=identifiability(estimate, experiments),
        residuals=tuple(one for fit in estimate.fits for one in analyse(fit)),
        validations=validations,
        held_out=tuple(one for each in validations for one in analyse(each.fit)),
        candidates=rank(estimate, candidates) if candidates else (),
        descent=descent,
        notes={name: tuple(told) for name, told in (notes or {}).items()},
    )


def _findings(report: Report) -> list[Finding]:
    estimate = report.estimate
    found = [Finding("good" if estimate.status.ok else "bad", estimate.status.value)]
    found += [Finding("look", _at_bound(estimate, name)) for name in estimate.at_bound]
    found += [Finding("look", _unseen(estimate, name)) for name in estimate.unseen]
    found += [
        Finding("bad" if one.deviation > 1.0 else "look", f"{_capital(one.sentence)}.")
        for one in report.trust.blind
    ]
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
    wrong = [one for one in report.residuals if not one.right]
    found = [
        Finding("bad", f"{f'{one.experiment}: ' if several else ''}{one.sentence}")
        for one in sorted(wrong, key=lambda one: -one.rms)
    ]
    if wrong:
        found.append(
            Finding(
                "look",
                "Intervals assume that the model is right up to independent noise. It is not, so "
                "they are too narrow.",
            )
        )
    else:
        found.append(Finding("good", "Noise explains what the model leaves of the fitted data."))
    for one in report.residuals:
        if one.count >= MANY and one.rms < SMALL_NOISE and not report.estimate.noise_estimated:
            found.append(
                Finding(
                    "look",
                    f"{one.channel} is met within {one.rms:.2f} of its declared noise: declare "
                    "less, or let noise be estimated; intervals are too wide.",
                )
            )
    return found


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
                    f"{part / whole:.0%} of the variance of {name} is noise of recorded inputs: "
                    "better sensors there help most.",
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


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _parameter(report: Report, i: int) -> dict[str, Any]:
    estimate, trust = report.estimate, report.trust
    one = estimate.parameters[i]
    return {
        "name": one.name,
        "value": float(estimate.rho[i]),
        "unit": one.unit,
        "low": float(trust.low[i]),
        "high": float(trust.high[i]),
        "deviation": float(trust.deviations[i]),
        "deviation_from_outputs": float(np.sqrt(trust.output_covariance[i, i])),
        "deviation_from_inputs": float(np.sqrt(trust.input_covariance[i, i])),
        "start": one.start,
        "kept": _kept(estimate, one.name),
    }


def _kept(estimate: Estimate, name: str) -> str:
    """Why a parameter was not fitted; empty: it was."""
    if name in estimate.fixed:
        return "fixed"
    return "unseen" if name in estimate.held else ""


def _channel(one: ChannelResiduals) -> dict[str, Any]:
    told = {name: value for name, value in vars(one).items() if name not in ("edges", "windows")}
    lists = {"edges": one.edges.tolist(), "windows": one.windows.tolist()}
    return told | lists | {"right": one.right, "sentence": one.sentence}


def _search(one: Any, names: tuple[str, ...]) -> dict[str, Any]:
    return {
        "start": dict(zip(names, one.start.tolist(), strict=True)),
        "end": dict(zip(names, one.rho.tolist(), strict=True)),
        "cost": one.cost,
        "status": one.status.name,
        "evaluations": one.evaluations,
        "rejected": one.rejected,
    }


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, float):
        return value if np.isfinite(value) else None
    return value
