"""Score tests: would one more parameter fit the data better than noise explains?

The parameter is not fitted: its effect j on the residuals r at the estimate is projected onto the
complement of the effects J of the fitted parameters, s = j - J J^+ j. If there is only noise, s'r
is normal with variance s'Cs, C the covariance of the residuals: I, plus the effect of noise of
inputs that were taken as exact. The most likely value is -s'r / s's, and the cost would fall by
(s'r)^2 / s's. The module also lists effects that bias an estimate before its data show them.

Source: Rao 1948 (score test, also Lagrange-multiplier test), in the form of an added regressor.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import stats

from sofa_softctl.errors import IdentificationError
from sofa_softctl.identification.causes.cause import effect_text, value_text
from sofa_softctl.identification.causes.extended import ExtendedEstimate
from sofa_softctl.identification.data.units import quantity
from sofa_softctl.identification.fitting.reduced import adjoint_gradient, reduce_by_qr
from sofa_softctl.identification.model.parameter import Parameter


@dataclass(frozen=True)
class ScoreSettings:
    """Tolerances of score tests, and limits for biases that they do not detect."""

    projection_min: float = 1e-5
    """Smallest norm of an effect after the projection, relative to the norm before [-]; below, it
    is collinear with effects of fitted parameters."""
    singular_value_tolerance: float = 1e-9
    """Singular value of the Jacobian, relative to the largest, that counts as zero [-]."""
    detectable_ratio_min: float = 2.0
    """Smallest size that is detected, relative to the size that shifts a parameter by the
    half-width of its interval, of listed effects [-]."""
    same_parameter_tolerance: float = 1e-4
    """Relative shift of other parameters below which an effect is the same as a parameter [-]."""
    plausible_size_max: float = 3.0
    """Largest plausible size of an effect [typical sizes]."""
    listed_max: int = 4
    """Largest number of listed effects."""
    percent_max: float = 0.4
    """Relative shift of a parameter below which it is given in percent [-]."""
    power: float = 0.8
    """Probability of detecting an effect whose size counts as detected [-]."""


SETTINGS = ScoreSettings()


@dataclass(frozen=True, eq=False)
class Score:
    """Score test of one parameter, linearised at the estimate."""

    parameter: Parameter
    """Tested parameter."""
    change: float
    """Most likely change from the value in the model [unit], NaN if collinear."""
    deviation: float
    """Standard deviation of `change` from noise [unit], infinite if collinear."""
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


def score(extended: ExtendedEstimate) -> Score:
    """Test whether data contradict the value that the model assumes for a parameter.

    Raises:
        IdentificationError: Inputs have noise whose effect is unknown, as there is no adjoint.
    """
    misfit, free, place = extended.misfit, extended.free, extended.place
    r, J = reduce_by_qr(extended.fits, misfit.stack_residuals((), extended.rho))
    A, j = J[:, free], J[:, place]
    scale = np.array([parameter.scale for parameter in misfit.parameters])[free]
    slopes = np.zeros(len(free))
    if free.any():
        slopes[free] = scale * (
            np.linalg.pinv(A * scale, rcond=SETTINGS.singular_value_tolerance) @ j
        )
    s = j - A @ slopes[free]
    square, parameter_slopes = float(s @ s), slopes[:-1] if extended.added else slopes
    if square <= SETTINGS.projection_min**2 * float(j @ j):
        return Score(extended.parameter, np.nan, np.inf, parameter_slopes, 0.0, 1.0)
    variance = square + _input_noise_variance(extended, slopes)
    change, deviation = -float(s @ r) / square, np.sqrt(variance) / square
    p_value = _p_value(extended, change / deviation)
    return Score(
        extended.parameter, change, float(deviation), parameter_slopes, change**2 * square, p_value
    )


def _return_weights(weights: np.ndarray, outputs: np.ndarray) -> np.ndarray:
    del outputs
    return weights


def _p_value(extended: ExtendedEstimate, z: float) -> float:
    """p-value of a change, two-sided unless the parameter is at a bound."""
    parameter, value = extended.parameter, extended.rho[extended.place]
    if value <= parameter.lower:
        return float(stats.norm.sf(z))
    if value >= parameter.upper:
        return float(stats.norm.sf(-z))
    return 2.0 * float(stats.norm.sf(abs(z)))


def _input_noise_variance(extended: ExtendedEstimate, slopes: np.ndarray) -> float:
    """Variance of s'r due to noise of recorded inputs [-]."""
    total = 0.0
    for k, (experiment, fit) in enumerate(
        zip(extended.misfit.experiments, extended.fits, strict=True)
    ):
        deviations = np.array([channel.deviation for channel in experiment.inputs])
        if not deviations.any():
            continue
        if not experiment.has_adjoint:
            raise IdentificationError(
                f"the noise of the inputs of {experiment.name} has unknown effects"
            )
        combined = fit.sensitivities[:, :, extended.place] - fit.sensitivities @ slopes
        weights = np.where(fit.is_measured, combined / fit.deviations**2, 0.0)
        rho = extended.misfit.experiment_parameters(k, extended.rho)
        swept = adjoint_gradient(experiment, rho, partial(_return_weights, weights)).by_inputs
        effects = deviations * (swept - experiment.measured_by_inputs(weights))
        total += float(np.sum(effects**2))
        if experiment.outputs_from_inputs:  # noise of the channels represents noise of the inputs
            total -= float(np.sum((weights * fit.deviations) ** 2))
    return total


@dataclass(frozen=True)
class UndetectableBias:
    """Effect that shifts a parameter by more than its interval before the tests detect it."""

    name: str
    """Name of the effect."""
    harmful: float
    """Size that shifts a parameter by the half-width of its interval [unit]."""
    seen: float
    """Size that the tests would detect in 80 % of recordings [unit], or infinite."""
    unit: str
    """Unit of `harmful` and `seen`."""
    parameter: str
    """Name of the parameter that it shifts most."""
    shift: float
    """Shift of that parameter by `harmful`, in either direction [shift_unit]."""
    shift_unit: str
    """Unit of `shift`."""
    value: float
    """Estimate of that parameter [shift_unit]."""

    @property
    def sentence(self) -> str:
        """Sentence on the undetected shift."""
        size = value_text(self.harmful, np.inf, self.unit)
        if abs(self.shift) < SETTINGS.percent_max * abs(self.value):
            by = f"{100.0 * abs(self.shift / self.value):.2g} %"
        else:
            by = quantity(f"{self.shift:.2g}", self.shift_unit)
        effect = effect_text(self.name)
        visibility = (
            f"shows in these data from {value_text(self.seen, np.inf, self.unit)} on only"
            if np.isfinite(self.seen)
            else "cannot be seen in these data at any size"
        )
        text = (
            f"{effect} of {size} shifts {self.parameter} by the half-width of its interval, {by}, "
            f"and {visibility}."
        )
        return text[:1].upper() + text[1:]

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-serialisable dict."""
        return vars(self) | {"sentence": self.sentence}


def undetectable_biases(
    scores: Sequence[Score],
    level: float,
    half_widths: dict[str, float],
    units: dict[str, str],
    values: dict[str, float],
) -> tuple[UndetectableBias, ...]:
    """Return the undetected effects that could shift parameters most, worst first.

    Args:
        scores: Tests of all effects that were not detected.
        level: Level of significance of each test.
        half_widths: Half-widths of the fitted parameters' intervals [units].
        units: Units of these parameters.
        values: Estimates of these parameters [units].
    """
    detection_ratio = float(stats.norm.isf(0.5 * level) + stats.norm.ppf(SETTINGS.power))
    biases = list[tuple[float, UndetectableBias]]()
    for score in scores:
        slopes = dict(zip(values, np.abs(score.slopes).tolist(), strict=True))
        ratios = {
            name: slopes[name] / half_width
            for name, half_width in half_widths.items()
            if 0.0 < half_width < np.inf and slopes[name] > 0.0
        }
        if not ratios:
            continue
        worst = max(ratios, key=lambda name: ratios[name])
        harmful, detectable = 1.0 / ratios[worst], detection_ratio * score.deviation
        if detectable < SETTINGS.detectable_ratio_min * harmful or not _plausible(score, harmful):
            continue
        have_same_unit = (
            units[worst] == score.parameter.unit
            and abs(slopes[worst] - 1.0) < SETTINGS.same_parameter_tolerance
        )
        if have_same_unit and all(
            ratio < SETTINGS.same_parameter_tolerance * ratios[worst]
            for other_name, ratio in ratios.items()
            if other_name != worst
        ):
            continue  # it is that parameter by another name, such as damping beside a damper's
        unit, shift = score.parameter.unit, half_widths[worst]
        biases.append(
            (
                detectable / harmful,
                UndetectableBias(
                    score.name, harmful, detectable, unit, worst, shift, units[worst], values[worst]
                ),
            )
        )
    biases.sort(key=lambda pair: (-pair[0], pair[1].harmful))
    return tuple(bias for _, bias in biases[: SETTINGS.listed_max])


def _plausible(score: Score, size: float) -> bool:
    bound = max(-score.parameter.lower, score.parameter.upper)
    return size < min(bound, SETTINGS.plausible_size_max * score.parameter.scale)
