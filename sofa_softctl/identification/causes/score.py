"""Score tests: would one more parameter fit the data better than noise explains?

The parameter is not fitted: its effect on the residuals at the estimate is projected off those of
the fitted parameters, s = j - J J^+ j. Under noise alone s'r is normal with variance s'Cs, C the
covariance of the residuals' noise: I, and what noise of inputs that were taken as exact adds. Its
likeliest value is -s'r / s's, and the cost would fall by (s'r)^2 / s's.

Source: Rao 1948 (score test, also Lagrange-multiplier test), in the form of an added regressor.

Effects that would spoil an estimate before its data could show them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import stats

from sofa_softctl.errors import IdentificationError
from sofa_softctl.identification.causes.cause import described, measured
from sofa_softctl.identification.causes.extended import Extended
from sofa_softctl.identification.data.units import quantity
from sofa_softctl.identification.fitting.reduced import adjoint_gradient, reduced
from sofa_softctl.identification.model.parameter import Parameter

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


LEAST = 2.0
"""Effects are listed that shift a parameter by so many half-widths before they are seen [-]."""
ALIKE = 1e-4
"""An effect that adds to one parameter, and changes others by less, is that parameter [-]."""
PLAUSIBLE = 3.0
"""Larger effects, in their typical size, are not plausible [-]."""
LISTED = 4
"""So many are listed."""
SURE = 0.4
"""Shifts below this share of a parameter are given in percent of it [-]."""
POWER = 0.8
"""Probability of being seen, of the sizes that count as seen [-]."""


@dataclass(frozen=True)
class Hidden:
    """An effect that shifts a parameter by more than its interval before it is seen."""

    name: str
    """Name of the effect."""
    harmful: float
    """Size that shifts a parameter by the half-width of its interval [unit]."""
    seen: float
    """Size that the tests would show in 80 % of recordings [unit]; infinite: at none."""
    unit: str
    """Unit of both."""
    parameter: str
    """The parameter that it shifts most."""
    shift: float
    """Its shift by `harmful`, either way [its unit]."""
    shift_unit: str
    """Unit of `shift`."""
    value: float
    """The estimate of that parameter [its unit]."""

    @property
    def sentence(self) -> str:
        """What would stay unseen."""
        size = measured(self.harmful, np.inf, self.unit)
        if abs(self.shift) < SURE * abs(self.value):
            by = f"{100.0 * abs(self.shift / self.value):.2g} %"
        else:
            by = quantity(f"{self.shift:.2g}", self.shift_unit)
        what = described(self.name)
        seen = (
            f"shows in these data from {measured(self.seen, np.inf, self.unit)} on only"
            if np.isfinite(self.seen)
            else "cannot be seen in these data at any size"
        )
        text = (
            f"{what} of {size} shifts {self.parameter} by the half-width of its interval, {by}, "
            f"and {seen}."
        )
        return text[:1].upper() + text[1:]

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return vars(self) | {"sentence": self.sentence}


def hidden(
    scores: Sequence[Score],
    level: float,
    half_widths: dict[str, float],
    units: dict[str, str],
    values: dict[str, float],
) -> tuple[Hidden, ...]:
    """The effects that could do most harm unseen.

    Args:
        scores: Tests of all effects that were not found.
        level: Level of significance of each test.
        half_widths: Of the intervals of the fitted parameters [units].
        units: Of these parameters.
        values: Their estimates [units].
    """
    reach = float(stats.norm.isf(0.5 * level) + stats.norm.ppf(POWER))
    found = list[tuple[float, Hidden]]()
    for one in scores:
        slopes = dict(zip(values, np.abs(one.slopes).tolist(), strict=True))
        ratios = {
            name: slopes[name] / half
            for name, half in half_widths.items()
            if 0.0 < half < np.inf and slopes[name] > 0.0
        }
        if not ratios:
            continue
        worst = max(ratios, key=lambda name: ratios[name])
        harmful, seen = 1.0 / ratios[worst], reach * one.deviation
        if seen < LEAST * harmful or not _plausible(one, harmful):
            continue
        same = units[worst] == one.parameter.unit and abs(slopes[worst] - 1.0) < ALIKE
        if same and all(by < ALIKE * ratios[worst] for at, by in ratios.items() if at != worst):
            continue  # it is that parameter by another name, such as damping beside a damper's
        unit, shift = one.parameter.unit, half_widths[worst]
        found.append(
            (
                seen / harmful,
                Hidden(one.name, harmful, seen, unit, worst, shift, units[worst], values[worst]),
            )
        )
    found.sort(key=lambda pair: (-pair[0], pair[1].harmful))
    return tuple(one for _, one in found[:LISTED])


def _plausible(one: Score, size: float) -> bool:
    bound = max(-one.parameter.lower, one.parameter.upper)
    return size < min(bound, PLAUSIBLE * one.parameter.scale)
