"""Spread of an estimate over branches of the motion.

With unknown inputs, the likelihood may have several minima near each other, each for inputs that
lead the motion to another branch. Each has the share of the probability that its own normal
distribution has (Laplace): exp(-cost / 2) / sqrt(det information).

Validation with held-out data.

Propagation of the noise of recorded inputs to the parameters.

An estimate changes by -C J' W (dy - dz) when predictions change by dy and measured outputs by dz.
Both depend on recorded inputs u: dy = G du through the model, dz where measured outputs are
computed from signals that also drive it. Adjoint sweeps give the rows of J' W G without G.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sofa_softctl.identification.fitting.estimate import Estimate
from sofa_softctl.identification.fitting.gauss_newton import SearchResult
from sofa_softctl.identification.fitting.reduced import adjoint_gradient
from sofa_softctl.identification.fitting.residual import Fit, StackedResidual
from sofa_softctl.identification.fitting.starts import distinct_minima
from sofa_softctl.identification.model.experiment import Experiment
from sofa_softctl.identification.model.parameter import starts

SMALL = 0.01
"""Branches with a smaller share of the probability are left out [-]."""


def branches(estimate: Estimate) -> list[tuple[SearchResult, float]]:
    """Distinct ends of the searches and their shares of the probability, the estimate first."""
    minima = distinct_minima(estimate.branches)
    ends = [estimate.branches[one.searches[0]] for one in minima]
    if len(ends) < 2:
        return []
    scale = np.array([one.scale for one in estimate.parameters])
    noise = estimate.cost / ends[0].cost if ends[0].cost > 0.0 else 1.0  # declared over estimated
    weight, free = [], np.ix_(estimate.free, estimate.free)
    for end in ends:
        assert end.information is not None  # of a search that converged
        F = end.information * np.outer(scale, scale)
        excess = noise * (end.cost - ends[0].cost)
        weight.append(-0.5 * excess - 0.5 * np.linalg.slogdet(F[free])[1])
    share = np.exp(np.array(weight) - max(weight))
    share /= share.sum()
    return [(end, float(s)) for end, s in zip(ends, share, strict=True) if s > SMALL]


def spread(estimate: Estimate) -> np.ndarray:
    """Covariance about the estimate of its branches [units], shape (n_rho, n_rho)."""
    found = np.zeros((len(estimate.rho), len(estimate.rho)))
    for end, share in branches(estimate):
        away = end.rho - estimate.rho
        found += share * np.outer(away, away)
    return found


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


def input_covariance(
    estimate: Estimate, experiments: Sequence[Experiment], C: np.ndarray
) -> np.ndarray:
    """Covariance of the parameters from noise of the inputs [units], shape (n_rho, n_rho).

    Cov = C M S M' C with M = J' W (dy/du - dz/du) and S the variances of the inputs, independent
    over time; experiments add up.

    Args:
        estimate: Where to linearise.
        experiments: Those of the estimate, in its order.
        C: Inverse of the information, 0 for parameters that were not fitted, (n_rho, n_rho).

    Experiments without an adjoint add nothing; `left_out` lists them.
    """
    misfit = StackedResidual(experiments, estimate.parameters)
    C = np.nan_to_num(C, posinf=0.0)  # singular directions have their infinite variance already
    total = np.zeros_like(C)
    for k, (experiment, fit) in enumerate(zip(misfit.experiments, estimate.fits, strict=True)):
        total += input_scores(experiment, fit, misfit.of(k, estimate.rho), estimate.free)
    found: np.ndarray = C @ total @ C
    return found


def input_scores(
    experiment: Experiment, fit: Fit, rho: np.ndarray, counted: np.ndarray
) -> np.ndarray:
    """M S M' of one experiment: covariance of J' W (residuals) from noise of its inputs.

    Args:
        experiment: With recorded inputs; without an adjoint, the result is zero.
        fit: Its measured and predicted outputs.
        rho: Its own parameters.
        counted: Mask of the parameters, shape (n_rho,); others get zeros.

    Returns:
        [1 / units^2], shape (n_rho, n_rho).
    """
    n = len(counted)
    deviations = np.array([one.deviation for one in experiment.inputs])
    if not (deviations.any() and counted.any()) or not experiment.has_adjoint:
        return np.zeros((n, n))
    M = np.array(
        [np.ravel(deviations * _row(experiment, fit, rho, int(i))) for i in np.flatnonzero(counted)]
    )
    found = np.zeros((n, n))
    found[np.ix_(counted, counted)] = M @ M.T
    return found


def _row(experiment: Experiment, fit: Fit, rho: np.ndarray, i: int) -> np.ndarray:
    """Row i of M, as an array over time and inputs, shape (n_times, n_inputs)."""
    weights = np.where(fit.there, fit.sensitivities[:, :, i] / fit.deviations**2, 0.0)
    through_model = adjoint_gradient(experiment, rho, lambda _: weights).by_inputs
    return through_model - experiment.measured_by_inputs(weights)
