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
    causes: bool | None = True,
    progress: Callable[[str], None] | None = None,
) -> Report:
    """Compute uncertainty, residuals, causes, validation and diagnostics of an estimate.

    Args:
        problem: Name of the problem.
        estimate: Estimate from the experiments.
        experiments: Fitted experiments.
        hold_out: Experiments to validate with.
        candidates: Motions that could be recorded next.
        design: Designed motion.
        notes: Notes on each recording.
        doubts: Sensors of fitted recordings that seem to have failed, see `Recording.doubts`.
        discretisation: Result of `discretisation_budget`.
        bootstrap: Result of `bootstrap`.
        causes: Search for causes of residuals, which takes a simulation with derivatives for each
            effect that the model may leave out, and fits with the likely ones; None: only if that
            is expected to take less than a minute.
        progress: Called with a description of each step.
    """
    experiments, hold_out = (
        [Experiment.checked(experiment) for experiment in group]
        for group in (experiments, hold_out)
    )
    validations = validate(estimate, hold_out)
    held_out = [validation.fit for validation in validations]
    reference = simulate_residuals(estimate, experiments, hold_out, held_out)
    fitted = [*estimate.fits]
    effects = None if reference is None else reference.effects
    significance_level = significance_level_of(
        sum(len(fit.channels) for fit in (*fitted, *held_out))
    )
    trust, free_count = identifiability(estimate, experiments), int(estimate.free.sum())
    residuals = _analyse_fits(
        fitted, None if reference is None else reference.fitted, significance_level, free_count
    )
    detected_causes = NONE
    if causes is not False and (cost := _expected_cost(estimate, residuals)) is not None:
        half_widths = trust.high - estimate.rho
        detected_causes = find_causes(
            estimate, experiments, half_widths, cost, progress, is_limited=causes is None
        )
    report = Report(
        problem=problem,
        estimate=estimate,
        trust=trust,
        residuals=residuals,
        validations=validations,
        held_out=_analyse_fits(
            held_out, None if reference is None else reference.held_out, significance_level
        ),
        predictions=predictions(estimate, trust, experiments, hold_out, held_out, effects),
        candidates=_rank_candidates(estimate, candidates, experiments, design),
        design=design,
        outliers=tuple(outlier for fit in fitted for outlier in outliers(fit)),
        draws=reference.draws if reference else 0,
        draw_seconds=reference.seconds if reference else 0.0,
        notes={name: tuple(texts) for name, texts in (notes or {}).items()},
        discretisation=discretisation,
        bootstrap=bootstrap,
        causes=detected_causes,
        doubts={name: tuple(texts) for name, texts in (doubts or {}).items() if texts},
    )
    return add_diagnostics(report)


def add_diagnostics(report: Report) -> Report:
    """Return the report with the diagnostics of what it holds."""
    return replace(report, diagnostics=diagnostics(report), headlines=tuple(headlines(report)))


def _rank_candidates(
    estimate: Estimate,
    candidates: Sequence[Experiment],
    experiments: Sequence[Experiment],
    design: Design | None,
) -> tuple[Candidate, ...]:
    """Rank candidates and the designed motion, most informative first."""
    ranked = list(rank(estimate, candidates, experiments)) if candidates else []
    ranked += [design.candidate, design.again] if design else []
    return tuple(sorted(ranked, key=lambda candidate: -candidate.gain))


def _expected_cost(estimate: Estimate, residuals: Sequence[ChannelResiduals]) -> float | None:
    """Return the expected sum of squares of a correct model [-], or None if it is unknown.

    These are its degrees of freedom; with noisy inputs that are not fitted, a mean of simulations.
    """
    if not all(residual.judged for residual in residuals):
        return None
    unknowns, free_count = sum(fit.unknowns for fit in estimate.fits), int(estimate.free.sum())
    if not unknowns and any(residual.through_inputs for residual in residuals):
        return float(
            sum(residual.count * residual.expected**2 for residual in residuals if residual.count)
        )
    return float(max(estimate.data - unknowns - free_count, 1))


def _analyse_fits(
    fits: Sequence[Fit],
    drawn: Sequence[np.ndarray] | None,
    significance_level: float,
    free_count: int = 0,
) -> tuple[ChannelResiduals, ...]:
    """Analyse the residuals of fits.

    Args:
        fits: The fits.
        drawn: Energies of each fit's residuals in simulations of the noise, see
            `simulate_residuals`; empty if these failed, None if inputs are exact.
        significance_level: Probability of a false alarm of each test [-].
        free_count: Number of parameters that were fitted.
    """
    no_reference: list[np.ndarray | None] = [None] * len(fits)
    references = drawn or no_reference
    return tuple(
        residuals
        for fit, by_noise in zip(fits, references, strict=True)
        for residuals in analyse_residuals(
            fit,
            drawn=by_noise,
            is_reference_known=drawn is None or bool(drawn),
            significance_level=significance_level,
            fitted=free_count,
        )
    )
