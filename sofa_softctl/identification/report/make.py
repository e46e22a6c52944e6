"""Make the report of an estimate: analyse its uncertainty and residuals, and diagnose them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from sofa_softctl.identification.causes.causes import NONE, find_causes
from sofa_softctl.identification.design.design import Design
from sofa_softctl.identification.fitting.estimate import Estimate
from sofa_softctl.identification.fitting.outliers import outliers
from sofa_softctl.identification.fitting.residual import Fit
from sofa_softctl.identification.model.experiment import Experiment
from sofa_softctl.identification.report.diagnostics import diagnostics
from sofa_softctl.identification.report.interval_diagnostics import headlines
from sofa_softctl.identification.report.report import Report
from sofa_softctl.identification.uncertainty.bootstrap import Bootstrap
from sofa_softctl.identification.uncertainty.discretisation import DiscretisationBudget
from sofa_softctl.identification.uncertainty.experiment_design import Candidate, rank
from sofa_softctl.identification.uncertainty.identifiability import (
    identifiability,
)
from sofa_softctl.identification.uncertainty.prediction import (
    predictions,
)
from sofa_softctl.identification.uncertainty.residual_analysis import (
    ChannelResiduals,
    analyse_residuals,
    significance_level_of,
)
from sofa_softctl.identification.uncertainty.simulated_residuals import simulate_residuals
from sofa_softctl.identification.uncertainty.validation import validate


def make_report(
    problem: str,
    estimate: Estimate,
    experiments: Sequence[Experiment],
    *,
    hold_out: Sequence[Experiment] = (),
    candidates: Sequence[Experiment] = (),
    design: Design | None = None,
    notes: Mapping[str, Sequence[str]] | None = None,
    doubts: Mapping[str, Sequence[str]] | None = None,
    discretisation: DiscretisationBudget | None = None,
    bootstrap: Bootstrap | None = None,
    causes: bool = True,
    progress: Callable[[str], None] | None = None,
) -> Report:
    """Uncertainty, residuals, causes, validation and diagnostics of an estimate.

    Args:
        problem: Name of the problem.
        estimate: From the experiments.
        experiments: Those that were fitted.
        hold_out: Experiments to validate with.
        candidates: Motions that could be recorded next.
        design: A designed motion.
        notes: Notes on each recording.
        doubts: Sensors of fitted recordings that seem to have failed, see `Recording.doubts`.
        discretisation: From `discretisation_budget`.
        bootstrap: From `bootstrap`.
        causes: Whether to look for causes of what the model does not predict: a simulation with
            derivatives for each effect that it may leave out, and fits with those that it does.
        progress: Called with what is done.
    """
    experiments, hold_out = (
        [Experiment.checked(one) for one in each] for each in (experiments, hold_out)
    )
    validations = validate(estimate, hold_out)
    held_out = [validation.fit for validation in validations]
    expected = simulate_residuals(estimate, experiments, hold_out, held_out)
    fitted = [*estimate.fits]
    effects = None if expected is None else expected.effects
    doubt = significance_level_of(sum(len(fit.channels) for fit in (*fitted, *held_out)))
    trust, free = identifiability(estimate, experiments), int(estimate.free.sum())
    residuals = _analysed(fitted, None if expected is None else expected.fitted, doubt, free)
    found = NONE
    if causes and (cost := _cost_of_noise(estimate, residuals)) is not None:
        found = find_causes(estimate, experiments, trust.high - estimate.rho, cost, progress)
    report = Report(
        problem=problem,
        estimate=estimate,
        trust=trust,
        residuals=residuals,
        validations=validations,
        held_out=_analysed(held_out, None if expected is None else expected.held_out, doubt),
        predictions=predictions(estimate, trust, experiments, hold_out, held_out, effects),
        candidates=_ranked(estimate, candidates, experiments, design),
        design=design,
        outliers=tuple(outlier for fit in fitted for outlier in outliers(fit)),
        draws=expected.draws if expected else 0,
        draw_seconds=expected.seconds if expected else 0.0,
        notes={name: tuple(texts) for name, texts in (notes or {}).items()},
        discretisation=discretisation,
        bootstrap=bootstrap,
        causes=found,
        doubts={name: tuple(texts) for name, texts in (doubts or {}).items() if texts},
    )
    return add_diagnostics(report)


def add_diagnostics(report: Report) -> Report:
    """Return the report with the diagnostics of what it holds."""
    return replace(report, diagnostics=diagnostics(report), headlines=tuple(headlines(report)))


def _ranked(
    estimate: Estimate,
    candidates: Sequence[Experiment],
    experiments: Sequence[Experiment],
    design: Design | None,
) -> tuple[Candidate, ...]:
    """Given and designed motions, most informative first."""
    found = list(rank(estimate, candidates, experiments)) if candidates else []
    found += [design.candidate, design.again] if design else []
    return tuple(sorted(found, key=lambda one: -one.gain))


def _cost_of_noise(estimate: Estimate, residuals: Sequence[ChannelResiduals]) -> float | None:
    """Cost that noise leaves of a model that is right [-]; None: unknown."""
    if not all(residual.judged for residual in residuals):
        return None
    unknowns, fitted = sum(fit.unknowns for fit in estimate.fits), int(estimate.free.sum())
    if not unknowns and any(residual.through_inputs for residual in residuals):
        return float(
            sum(residual.count * residual.expected**2 for residual in residuals if residual.count)
        )
    return float(max(estimate.data - unknowns - fitted, 1))


def _analysed(
    fits: Sequence[Fit], drawn: Sequence[np.ndarray] | None, doubt: float, fitted: int = 0
) -> tuple[ChannelResiduals, ...]:
    """Residuals by channel; `drawn`: those of noise, empty: unknown, None: inputs are exact."""
    without: list[np.ndarray | None] = [None] * len(fits)
    each = drawn or without
    return tuple(
        one
        for fit, by_noise in zip(fits, each, strict=True)
        for one in analyse_residuals(
            fit,
            drawn=by_noise,
            is_reference_known=drawn is None or bool(drawn),
            significance_level=doubt,
            fitted=fitted,
        )
    )
