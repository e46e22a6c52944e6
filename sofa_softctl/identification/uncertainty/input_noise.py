"""Propagation of the noise of recorded inputs to the parameters.

An estimate changes by -C J' W (dy - dz) when predictions change by dy and measured outputs by dz.
Both depend on recorded inputs u: dy = G du through the model, dz where measured outputs are
computed from signals that also drive it. Adjoint sweeps give the rows of J' W G without G.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sofa_softctl.identification.experiment import Experiment
from sofa_softctl.identification.fitting.adjoint_sweeps import adjoint_gradient
from sofa_softctl.identification.fitting.estimate import Estimate
from sofa_softctl.identification.fitting.residual import Fit, StackedResidual


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
