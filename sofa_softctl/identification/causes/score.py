"""Score tests: would one more parameter fit the data better than noise explains?

The parameter is not fitted: its effect on the residuals at the estimate is projected off those of
the fitted parameters, s = j - J J^+ j. Under noise alone s'r is normal with variance s'Cs, C the
covariance of the residuals' noise: I, and what noise of inputs that were taken as exact adds. Its
likeliest value is -s'r / s's, and the cost would fall by (s'r)^2 / s's.

Source: Rao 1948 (score test, also Lagrange-multiplier test), in the form of an added regressor.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy import stats

from sofa_softctl.errors import IdentificationError
from sofa_softctl.identification.causes.extended import Extended
from sofa_softctl.identification.fitting.adjoint_sweeps import adjoint_gradient
from sofa_softctl.identification.fitting.reduced import reduced
from sofa_softctl.identification.parameter import Parameter

COLLINEAR = 1e-5
"""Effects of which less is left by the projection, as share, are those of other parameters [-]."""
SINGULAR = 1e-9
"""Smaller singular values of the Jacobian, relative to the largest, are zero."""


@dataclass(frozen=True, eq=False)
class Score:
    """Score test of one parameter, linearised at the estimate."""

    parameter: Parameter
    """The parameter."""
    change: float
    """Its likeliest value less that of the model [its unit]; NaN: it is collinear."""
    deviation: float
    """Standard deviation of that from noise [its unit]; infinite: it is collinear."""
    slopes: np.ndarray
    """Error of each parameter of the estimate by this one, if it is left out, shape (n_rho,)."""
    decrease: float
    """Predicted decrease of the cost [-]."""
    p_value: float
    """Probability of this change or a larger one, if the model is right [-]."""

    @property
    def name(self) -> str:
        """Name of the parameter."""
        return self.parameter.name


def score(extended: Extended) -> Score:
    """Test whether data contradict the value that the model assumes for a parameter.

    Raises:
        IdentificationError: Inputs have noise whose effect is unknown, as there is no adjoint.
    """
    misfit, free, place = extended.misfit, extended.free, extended.place
    r, J = reduced(extended.fits, misfit.stacked((), extended.rho))
    A, j = J[:, free], J[:, place]
    scale = np.array([one.scale for one in misfit.parameters])[free]
    slopes = np.zeros(len(free))
    if free.any():
        slopes[free] = scale * (np.linalg.pinv(A * scale, rcond=SINGULAR) @ j)
    s = j - A @ slopes[free]
    square, found = float(s @ s), slopes[:-1] if extended.added else slopes
    if square <= COLLINEAR**2 * float(j @ j):
        return Score(extended.parameter, np.nan, np.inf, found, 0.0, 1.0)
    variance = square + _through_inputs(extended, slopes)
    change, deviation = -float(s @ r) / square, np.sqrt(variance) / square
    p_value = _p_value(extended, change / deviation)
    return Score(extended.parameter, change, float(deviation), found, change**2 * square, p_value)


def _given(weights: np.ndarray, outputs: np.ndarray) -> np.ndarray:
    del outputs
    return weights


def _p_value(extended: Extended, z: float) -> float:
    """Of a change in the direction that bounds leave, or in both."""
    one, value = extended.parameter, extended.rho[extended.place]
    if value <= one.lower:
        return float(stats.norm.sf(z))
    if value >= one.upper:
        return float(stats.norm.sf(-z))
    return 2.0 * float(stats.norm.sf(abs(z)))


def _through_inputs(extended: Extended, slopes: np.ndarray) -> float:
    """What noise of recorded inputs adds to the variance of s'r [-]."""
    total = 0.0
    for k, (one, fit) in enumerate(zip(extended.misfit.experiments, extended.fits, strict=True)):
        deviations = np.array([each.deviation for each in one.inputs])
        if not deviations.any():
            continue
        if not one.has_adjoint:
            raise IdentificationError(f"the noise of the inputs of {one.name} has unknown effects")
        combined = fit.sensitivities[:, :, extended.place] - fit.sensitivities @ slopes
        weights = np.where(fit.there, combined / fit.deviations**2, 0.0)
        rho = extended.misfit.of(k, extended.rho)
        swept = adjoint_gradient(one, rho, partial(_given, weights)).by_inputs
        through = deviations * (swept - one.measured_by_inputs(weights))
        total += float(np.sum(through**2))
        if one.outputs_from_inputs:  # the noise of the channels stands for that of the inputs
            total -= float(np.sum((weights * fit.deviations) ** 2))
    return total
