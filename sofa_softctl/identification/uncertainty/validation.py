"""Validation with held-out data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sofa_softctl.identification.experiment import Experiment
from sofa_softctl.identification.fitting.estimate import Estimate
from sofa_softctl.identification.fitting.residual import Fit, StackedResidual
from sofa_softctl.identification.parameter import starts


@dataclass(frozen=True, eq=False)
class Validation:
    """Prediction of one held-out experiment."""

    fit: Fit
    """Measured and predicted outputs, at the estimate."""
    rms: float
    """Root mean square residual, in standard deviations of the noise [-]."""
    rms_start: float
    """The same at the start of the search [-]; NaN if the simulation fails there."""


def validate(estimate: Estimate, experiments: Sequence[Experiment]) -> tuple[Validation, ...]:
    """Predict held-out experiments.

    Raises:
        SimulationError: A model cannot be simulated with the estimate.
    """
    if not experiments:
        return ()
    noise = {one.name: one.deviation for fit in estimate.fits for one in fit.channels}
    misfit = StackedResidual(experiments, estimate.parameters, deviations=noise)
    before = _rms_at_start(misfit)
    return tuple(
        Validation(fit, rms(fit.residuals), begin)
        for fit, begin in zip(misfit.fits(estimate.rho), before, strict=True)
    )


def rms(residuals: np.ndarray) -> float:
    """Root mean square without NaN; NaN if all are."""
    there = residuals[np.isfinite(residuals)]
    return float(np.sqrt(np.mean(there**2))) if len(there) else float("nan")


def _rms_at_start(misfit: StackedResidual) -> list[float]:
    found = []
    for k, experiment in enumerate(misfit.experiments):
        try:
            predicted = experiment.outputs(misfit.of(k, starts(misfit.parameters)))
        except ArithmeticError:  # the base of SimulationError
            found.append(float("nan"))
            continue
        deviations = [one.deviation for one in misfit.channels[k]]
        found.append(rms((predicted - experiment.measured) / deviations))
    return found
