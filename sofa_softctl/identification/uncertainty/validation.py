"""Validation with held-out data, and uncertainty due to several minima and to noise of inputs.

With unknown inputs, the likelihood may have several neighbouring minima, each for inputs that lead
the motion to another branch. The probability of a minimum is proportional to the integral of its
normal distribution (Laplace): exp(-cost / 2) / sqrt(det information).

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


def weighted_minima(estimate: Estimate) -> list[tuple[SearchResult, float]]:
    """Return the distinct minima of the searches with their probabilities, the estimate first."""
    minima = distinct_minima(estimate.branches)
    ends = [estimate.branches[minimum.searches[0]] for minimum in minima]
    if len(ends) < 2:
        return []
    scale = np.array([parameter.scale for parameter in estimate.parameters])
    noise = estimate.cost / ends[0].cost if ends[0].cost > 0.0 else 1.0  # declared over estimated
    log_weights, free = [], np.ix_(estimate.free, estimate.free)
    for end in ends:
        assert end.information is not None  # of a search that converged
        F = end.information * np.outer(scale, scale)
        excess = noise * (end.cost - ends[0].cost)
        log_weights.append(-0.5 * excess - 0.5 * np.linalg.slogdet(F[free])[1])
    probability = np.exp(np.array(log_weights) - max(log_weights))
    probability /= probability.sum()
    return [(end, float(s)) for end, s in zip(ends, probability, strict=True) if s > 0.01]


def covariance_between_minima(estimate: Estimate) -> np.ndarray:
    """Covariance of the minima about the estimate [units], shape (n_rho, n_rho)."""
    covariance = np.zeros((len(estimate.rho), len(estimate.rho)))
    for end, probability in weighted_minima(estimate):
        offset = end.rho - estimate.rho
        covariance += probability * np.outer(offset, offset)
    return covariance


@dataclass(frozen=True, eq=False)
class Validation:
    """Prediction of one held-out experiment."""

    fit: Fit
    """Measured and predicted outputs, at the estimate."""
    rms: float
    """Root mean square residual, in standard deviations of the noise [-]."""
    rms_start: float
    """Root mean square residual at the start of the search [-], NaN if the simulation fails."""


def validate(estimate: Estimate, experiments: Sequence[Experiment]) -> tuple[Validation, ...]:
    """Predict held-out experiments.

    Raises:
        SimulationError: A model cannot be simulated with the estimate.
    """
    if not experiments:
        return ()
    noise = {channel.name: channel.deviation for fit in estimate.fits for channel in fit.channels}
    misfit = StackedResidual(experiments, estimate.parameters, deviations=noise)
    before = _rms_at_start(misfit)
    return tuple(
        Validation(fit, rms(fit.residuals), begin)
        for fit, begin in zip(misfit.fits(estimate.rho), before, strict=True)
    )


def rms(residuals: np.ndarray) -> float:
    """Root mean square of the numbers that are not NaN, or NaN if all are NaN."""
    measured = residuals[np.isfinite(residuals)]
    return float(np.sqrt(np.mean(measured**2))) if len(measured) else float("nan")


def _rms_at_start(misfit: StackedResidual) -> list[float]:
    values = []
    for k, experiment in enumerate(misfit.experiments):
        try:
            predicted = experiment.outputs(
                misfit.experiment_parameters(k, starts(misfit.parameters))
            )
        except ArithmeticError:  # the base of SimulationError
            values.append(float("nan"))
            continue
        deviations = [channel.deviation for channel in misfit.channels[k]]
        values.append(rms((predicted - experiment.measured) / deviations))
    return values


def input_covariance(
    estimate: Estimate, experiments: Sequence[Experiment], C: np.ndarray
) -> np.ndarray:
    """Covariance of the parameters from noise of the inputs [units], shape (n_rho, n_rho).

    Cov = C M S M' C with M = J' W (dy/du - dz/du) and S the variances of the inputs, independent
    over time; experiments add up.

    Args:
        estimate: Estimate at which to linearise.
        experiments: Experiments of the estimate, in its order.
        C: Inverse of the information, 0 for parameters that were not fitted, (n_rho, n_rho).

    Experiments without an adjoint add nothing; `left_out_noise_warnings` lists them.
    """
    misfit = StackedResidual(experiments, estimate.parameters)
    C = np.nan_to_num(C, posinf=0.0)  # singular directions have their infinite variance already
    scores = np.zeros_like(C)
    for k, (experiment, fit) in enumerate(zip(misfit.experiments, estimate.fits, strict=True)):
        scores += input_scores(
            experiment, fit, misfit.experiment_parameters(k, estimate.rho), estimate.free
        )
    covariance: np.ndarray = C @ scores @ C
    return covariance


def input_scores(
    experiment: Experiment, fit: Fit, rho: np.ndarray, is_fitted: np.ndarray
) -> np.ndarray:
    """M S M' of one experiment: covariance of J' W (residuals) from noise of its inputs.

    Args:
        experiment: Experiment with recorded inputs; without an adjoint, the result is zero.
        fit: Measured and predicted outputs of the experiment.
        rho: Parameters of the experiment.
        is_fitted: Mask of the parameters, shape (n_rho,); others get zeros.

    Returns:
        [1 / units^2], shape (n_rho, n_rho).
    """
    n = len(is_fitted)
    deviations = np.array([channel.deviation for channel in experiment.inputs])
    if not (deviations.any() and is_fitted.any()) or not experiment.has_adjoint:
        return np.zeros((n, n))
    M = np.array(
        [
            np.ravel(deviations * _row(experiment, fit, rho, int(i)))
            for i in np.flatnonzero(is_fitted)
        ]
    )
    scores = np.zeros((n, n))
    scores[np.ix_(is_fitted, is_fitted)] = M @ M.T
    return scores


def _row(experiment: Experiment, fit: Fit, rho: np.ndarray, i: int) -> np.ndarray:
    """Row i of M, as an array over time and inputs, shape (n_times, n_inputs)."""
    weights = np.where(fit.is_measured, fit.sensitivities[:, :, i] / fit.deviations**2, 0.0)
    through_model = adjoint_gradient(experiment, rho, lambda _: weights).by_inputs
    return through_model - experiment.measured_by_inputs(weights)
