"""Report of an estimate: parameters, uncertainty, residuals, validation, diagnostics."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sofa_softctl.identification.causes.causes import NONE, Causes
from sofa_softctl.identification.design.design import Design
from sofa_softctl.identification.fitting.estimate import Estimate
from sofa_softctl.identification.fitting.outliers import Outlier
from sofa_softctl.identification.report.diagnostic import Diagnostic
from sofa_softctl.identification.uncertainty.bootstrap import Bootstrap
from sofa_softctl.identification.uncertainty.discretisation import DiscretisationBudget
from sofa_softctl.identification.uncertainty.experiment_design import Candidate
from sofa_softctl.identification.uncertainty.identifiability import (
    CONFIDENCE,
    Identifiability,
)
from sofa_softctl.identification.uncertainty.prediction import (
    PredictionBand,
    Predictions,
)
from sofa_softctl.identification.uncertainty.residual_analysis import (
    ChannelResiduals,
)
from sofa_softctl.identification.uncertainty.validation import Validation, rms


@dataclass(frozen=True, eq=False)
class Report:
    """Estimate with its uncertainty, residuals and validation."""

    problem: str
    """Name of the problem."""
    estimate: Estimate
    """Estimated parameters."""
    trust: Identifiability
    """Covariance, intervals and identifiable directions."""
    residuals: tuple[ChannelResiduals, ...]
    """Residuals of the fitted data, by channel."""
    validations: tuple[Validation, ...]
    """Held-out experiments."""
    held_out: tuple[ChannelResiduals, ...]
    """Residuals of the held-out data, by channel."""
    predictions: Predictions
    """Prediction bands of fitted and held-out motion."""
    candidates: tuple[Candidate, ...]
    """Motions that could be recorded next, most informative first."""
    design: Design | None
    """Designed motion, which is among the candidates, or None."""
    outliers: tuple[Outlier, ...]
    """Outliers of the fitted data, largest first."""
    draws: int
    """Number of simulations of each experiment with drawn noise of inputs, to test residuals."""
    draw_seconds: float
    """Wall time of these simulations [s]."""
    notes: dict[str, tuple[str, ...]]
    """Notes on each recording."""
    discretisation: DiscretisationBudget | None = None
    """Changes by finer discretisations, or None."""
    bootstrap: Bootstrap | None = None
    """Refits of simulated data, or None."""
    causes: Causes = NONE
    """Causes of residuals."""
    doubts: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Sensors of fitted recordings that seem to have failed."""
    diagnostics: tuple[Diagnostic, ...] = ()
    """Diagnostics, most severe first."""
    headlines: tuple[str, ...] = ()
    """Sentences that belong into the verdict."""

    @property
    def rms(self) -> float:
        """RMS residual of all fitted data, in standard deviations [-]."""
        return rms(np.concatenate([fit.residuals.ravel() for fit in self.estimate.fits]))

    @property
    def rms_held_out(self) -> float:
        """RMS residual of all held-out data, in standard deviations [-]; NaN without."""
        parts = [validation.fit.residuals.ravel() for validation in self.validations]
        return rms(np.concatenate(parts)) if parts else float("nan")

    @property
    def verdict(self) -> Diagnostic:
        """Verdict on the estimate, the first line of a report."""
        first, count = (
            self.diagnostics[0],
            sum(diagnostic.level != "good" for diagnostic in self.diagnostics),
        )
        if first.level == "bad":
            return Diagnostic("bad", f"Not to be trusted: {first.text}")
        if count:
            notes = "a note" if count == 1 else f"{count} notes"
            belongs = " ".join(self.headlines)
            return Diagnostic("look", f"Found, with {notes} to look at. {belongs}".strip())
        return Diagnostic("good", "Found: noise explains the data, fitted and held out.")

    @property
    def distrust(self) -> str:
        """Reason for not trusting any parameter, or ""."""
        first = self.diagnostics[0]
        return first.text if first.level == "bad" else ""

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-serialisable dict; numbers that are not finite become None."""
        estimate = self.estimate
        values = {
            "problem": self.problem,
            "status": estimate.status.name,
            "termination": estimate.termination.name,
            "message": estimate.message,
            "verdict": self.verdict.text,
            "not_to_be_trusted": self.distrust,
            "findings": [vars(diagnostic) for diagnostic in self.diagnostics],
            "parameters": [_parameter(self, i) for i in range(len(estimate.names))],
            "confidence": 0.95,
            "distribution": self.trust.distribution,
            "correlation": self.trust.correlation.tolist(),
            "directions": [
                {
                    "sentence": direction.sentence,
                    "deviation": direction.deviation,
                    "parts": direction.parts,
                }
                for direction in self.trust.directions
            ],
            "method": estimate.method,
            "cost": estimate.cost,
            "data": estimate.data,
            "rms": self.rms,
            "rms_held_out": self.rms_held_out,
            "noise_estimated": estimate.noise_estimated,
            "residuals": [_channel(residual) for residual in self.residuals],
            "held_out": [_channel(residual) for residual in self.held_out],
            "causes": self.causes.to_dict(),
            "prediction_band": _bands(self.predictions),
            "outliers": [vars(outlier) for outlier in self.outliers],
            "draws_of_inputs": self.draws,
            "starts": len(estimate.searches) + len(estimate.failed),
            "minima": [
                {
                    "cost": minimum.cost,
                    "searches": minimum.count,
                    "parameters": _values_by_name(estimate, minimum.rho),
                }
                for minimum in estimate.minima
            ],
            "searches": [_search(estimate, i) for i in range(len(estimate.searches))],
            "failed_starts": [
                {"start": _values_by_name(estimate, start), "reason": reason}
                for start, reason in estimate.failed
            ],
            "evaluations": estimate.evaluations,
            "seconds": estimate.seconds,
            "recordings": {name: list(notes) for name, notes in self.notes.items()},
            "next": [vars(candidate) for candidate in self.candidates],
            "design": None if self.design is None else _design(self.design),
        }
        if self.discretisation is not None:
            values["discretisation"] = self.discretisation.to_dict(self.trust)
        if self.bootstrap is not None:
            values["bootstrap"] = self.bootstrap.to_dict()
        plain: dict[str, Any] = _make_finite(values)
        return plain


def _parameter(report: Report, i: int) -> dict[str, Any]:
    estimate, trust = report.estimate, report.trust
    parameter = estimate.parameters[i]
    return {
        "name": parameter.name,
        "value": float(estimate.rho[i]),
        "unit": parameter.unit,
        "low": float(trust.low[i]),
        "high": float(trust.high[i]),
        "deviation": float(trust.deviations[i]),
        "deviation_from_outputs": float(np.sqrt(trust.output_covariance[i, i])),
        "deviation_from_inputs": float(np.sqrt(trust.input_covariance[i, i])),
        "start": parameter.start,
        "kept": _reason_not_fitted(estimate, parameter.name),
    }


def _reason_not_fitted(estimate: Estimate, name: str) -> str:
    """Return the reason for not fitting a parameter, or "" if it was fitted."""
    if name in estimate.fixed:
        return "fixed"
    return "unseen" if name in estimate.held else ""


def _channel(residual: ChannelResiduals) -> dict[str, Any]:
    values = {
        name: value for name, value in vars(residual).items() if name not in ("edges", "windows")
    }
    lists = {"edges": residual.edges.tolist(), "windows": residual.windows.tolist()}
    judgements = {
        "right": residual.right,
        "declared_noise": residual.noise or "right",
        "sentence": residual.sentence,
    }
    return values | lists | judgements


def _design(design: Design) -> dict[str, Any]:
    """Return the values of a design without the motion, which is in its file."""
    allowed = [gain for gain in design.gains if np.isfinite(gain)]
    return {
        "name": design.candidate.name,
        "kind": design.family,
        "duration": float(design.time[-1]),
        "limits": [vars(limit) for limit in design.limits],
        "gain": design.candidate.gain,
        "gain_of_recorded_motion_again": design.again.gain,
        "median_gain_of_drawn_motions": float(np.median(allowed)),
        "half_widths": design.candidate.half_widths,
        "half_widths_now": design.candidate.half_widths_now,
        "evaluations": design.evaluations,
        "seed": design.seed,
    }


def _bands(predictions: Predictions) -> dict[str, Any]:
    """Return the numbers of samples inside the bands, in total and by channel."""
    total = predictions.coverage
    return {
        "confidence": CONFIDENCE,
        "held_out": None if total is None else vars(total) | {"share": total.share},
        "channels": [
            row
            for kind, bands in (("fitted", predictions.fitted), ("held out", predictions.held_out))
            for band in bands
            for row in _band(band, kind)
        ],
    }


def _band(band: PredictionBand, kind: str) -> list[dict[str, Any]]:
    return [
        {
            "experiment": band.experiment,
            "channel": channel,
            "data": kind,
            "samples": int(samples),
            "inside": int(inside),
            "share": inside / samples if samples else None,
            "noise_of_inputs_known": band.complete,
        }
        for channel, samples, inside in zip(band.channels, band.samples, band.inside, strict=True)
    ]


def _search(estimate: Estimate, i: int) -> dict[str, Any]:
    search = estimate.searches[i]
    return {
        "start": _values_by_name(estimate, search.start),
        "end": _values_by_name(estimate, search.rho),
        "minimum": minimum_of(estimate, i),
        "cost": search.cost,
        "termination": search.termination.name,
        "evaluations": search.evaluations,
        "rejected": search.rejected,
    }


def minimum_of(estimate: Estimate, i: int) -> int | None:
    """Number of the minimum where a search ended, 1 for the best, or None if not converged."""
    numbers = [k for k, minimum in enumerate(estimate.minima, start=1) if i in minimum.searches]
    return numbers[0] if numbers else None


def _values_by_name(estimate: Estimate, rho: np.ndarray) -> dict[str, float]:
    return dict(zip(estimate.names, rho.tolist(), strict=True))


def _make_finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _make_finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_make_finite(item) for item in value]
    if isinstance(value, float):
        return value if np.isfinite(value) else None
    return value
