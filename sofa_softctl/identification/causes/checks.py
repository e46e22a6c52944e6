"""Checks of a refit with a cause: declared priors and bounds hold, and residuals are noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sofa_softctl.identification.causes.cause import value_text
from sofa_softctl.identification.data.units import quantity
from sofa_softctl.identification.fitting.gauss_newton import SearchResult
from sofa_softctl.identification.fitting.residual import Fit
from sofa_softctl.identification.model.parameter import Parameter
from sofa_softctl.identification.uncertainty.residual_analysis import (
    analyse_residuals,
    significance_level_of,
)


@dataclass(frozen=True)
class CheckSettings:
    """Limits of what contradicts a declaration, and of what is named."""

    prior_deviations_max: float = 3.0
    """Largest distance of a parameter from the mean of its prior [standard deviations]."""
    named_max: int = 3
    """Largest number of channels that a cause names as unexplained."""


SETTINGS = CheckSettings()


def contradiction(end: SearchResult, parameters: Sequence[Parameter]) -> str:
    """Return the first value that is far from its prior, or at a bound other than 0, or ""."""
    for parameter, value in zip(parameters, end.rho.tolist(), strict=True):
        prior, unit = parameter.prior, parameter.unit
        if prior is not None and (
            abs(value - prior.mean) > SETTINGS.prior_deviations_max * prior.deviation
        ):
            declared = quantity(f"{prior.mean:.4g} ± {prior.deviation:.2g}", unit)
            return f"{parameter.name} = {quantity(f'{value:.4g}', unit)}, declared as {declared}"
        if parameter.name in end.at_bound and value != 0.0:
            side = "lower" if value - parameter.lower < parameter.upper - value else "upper"
            bound = value_text(value, np.inf, unit)
            return f"{parameter.name} at its {side} bound, {bound}"
    return ""


def unexplained_channels(fits: Sequence[Fit]) -> tuple[str, ...]:
    """Return the channels whose residuals are not noise, with the largest RMS residual first."""
    level = significance_level_of(sum(len(fit.channels) for fit in fits))
    residuals = [r for fit in fits for r in analyse_residuals(fit, significance_level=level)]
    residuals = sorted((r for r in residuals if not r.right), key=lambda r: -r.rms)
    return tuple(dict.fromkeys(r.channel for r in residuals))[: SETTINGS.named_max]


def covariance(fits: Sequence[Fit]) -> tuple[float, float]:
    """Return the sum of products of successive residuals, and its deviation for white noise [-]."""
    products = [fit.residuals[1:] * fit.residuals[:-1] for fit in fits]
    count = sum(int(np.isfinite(products_of_fit).sum()) for products_of_fit in products)
    return sum(float(np.nansum(products_of_fit)) for products_of_fit in products), float(
        np.sqrt(count)
    )
