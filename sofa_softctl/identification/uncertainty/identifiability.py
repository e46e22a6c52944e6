"""Identifiability: Fisher information, confidence intervals, unidentifiable directions.

The covariance for independent noise of outputs is the inverse of the Fisher information J' W J + P:
J the sensitivities, W = 1 / noise^2, P the information of priors. Directions are the singular
vectors of W^1/2 J scaled by the parameters' values. Both are linearised at the estimate, and
computed from a triangular factor of W^1/2 J, in time linear in the samples.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from scipy import stats

from sofa_softctl.identification.fitting.estimate import Estimate, as_fitted
from sofa_softctl.identification.fitting.reduced import reduce_by_qr
from sofa_softctl.identification.model.experiment import Experiment
from sofa_softctl.identification.uncertainty.validation import (
    covariance_between_minima,
    input_covariance,
)

CONFIDENCE = 0.95
"""Confidence level of the intervals."""


@dataclass(frozen=True)
class IdentifiabilitySettings:
    """Thresholds for directions."""

    unidentifiable_deviation: float = 1.0
    """Relative standard deviation above which a direction is not identifiable [-]."""
    weak_deviation: float = 0.1
    """Relative standard deviation above which a direction is weakly identifiable [-]."""
    named_part_min: float = 0.1
    """Smallest component of a direction that its name contains [-]."""
    singular_value_tolerance: float = 1e-9
    """Singular value, relative to the largest, below which it counts as zero [-]."""
    singular_part_max: float = 1e-3
    """Component in a singular direction above which a parameter has infinite variance [-]."""


SETTINGS = IdentifiabilitySettings()


@dataclass(frozen=True, eq=False)
class Direction:
    """Combination of parameters, relative to their values, with its standard deviation."""

    parts: dict[str, float]
    """Component of each parameter in the unit direction [-]."""
    deviation: float
    """Standard deviation along the direction [-]: 0.01 is one percent; infinite if singular."""
    units: Mapping[str, tuple[float, str]] = field(default_factory=dict)
    """Scale and unit of parameters that start at 0, and so are not relative to their value."""
    with_priors: float = np.inf
    """Standard deviation from data and priors [-]; infinite if undetermined."""

    @property
    def name(self) -> str:
        """Name such as '0.71 kappa_theta - 0.70 kappa_psi'."""
        (first, first_part), *other_parts = self.large
        if not other_parts and first in self.units:
            return first
        flip = -1.0 if first_part < 0.0 else 1.0  # both signs are the same direction
        text = f"{abs(first_part):.2f} {self._scaled_name(first)}"
        for name, part in other_parts:
            sign = "+" if flip * part > 0.0 else "-"
            text += f" {sign} {abs(part):.2f} {self._scaled_name(name)}"
        return text

    @property
    def large(self) -> list[tuple[str, float]]:
        """Components in the name, largest first."""
        ordered = sorted(self.parts.items(), key=lambda part: -round(abs(part[1]), 2))
        return ordered[:1] + [
            part for part in ordered[1:] if abs(part[1]) >= SETTINGS.named_part_min
        ]

    @property
    def by_priors(self) -> bool:
        """True if priors determine the direction more closely than the data."""
        return self.with_priors < 0.5 * self.deviation

    @property
    def known(self) -> str:
        """Deviation as a text: '1.2 %', or with a unit for a single parameter that starts at 0."""
        deviation = min(self.deviation, self.with_priors)
        if len(self.large) == 1 and (scale_and_unit := self.units.get(self.large[0][0])):
            return f"{scale_and_unit[0] * deviation:.2g} {scale_and_unit[1]}".strip()
        return f"{100.0 * deviation:.2g} %"

    def _scaled_name(self, name: str) -> str:
        if name not in self.units or len(self.large) == 1:
            return name
        size, unit = self.units[name]
        return f"{name}/({size:.3g} {unit})" if unit else f"{name}/{size:.3g}"

    @property
    def sentence(self) -> str:
        """Sentence on the identifiability of the direction."""
        precision = f"known within {self.known}"
        if self.by_priors:
            return f"{self.name} is {precision} by its prior, not by these data"
        if self.deviation > SETTINGS.unidentifiable_deviation:
            return f"{self.name} is not identifiable from these data"
        if self.deviation > SETTINGS.weak_deviation:
            return f"{self.name} is weakly identifiable from these data: {precision}"
        return f"{self.name} is {precision}"


@dataclass(frozen=True, eq=False)
class Identifiability:
    """Covariance and intervals of an estimate, assuming a correct model."""

    names: tuple[str, ...]
    """Names of all parameters, in the order of the arrays, which are NaN if not fitted."""
    output_covariance: np.ndarray
    """Covariance from noise of the outputs and of unknown inputs, and priors [units], shape
    (n_rho, n_rho)."""
    input_covariance: np.ndarray
    """Covariance from noise of recorded inputs [units], shape (n_rho, n_rho)."""
    low: np.ndarray
    """Lower ends of 95 % intervals [units], shape (n_rho,)."""
    high: np.ndarray
    """Upper ends of 95 % intervals [units], shape (n_rho,)."""
    correlation: np.ndarray
    """Correlation of the parameters, shape (n_rho, n_rho)."""
    directions: tuple[Direction, ...]
    """Directions of the fitted parameters, least identifiable first."""
    distribution: Literal["normal", "Student-t"]
    """Distribution of the intervals: normal for given noise, Student's t for estimated noise."""
    freedom: int
    """Degrees of freedom: samples minus fitted parameters."""

    @property
    def covariance(self) -> np.ndarray:
        """Covariance from noise of outputs and inputs [units], shape (n_rho, n_rho)."""
        return self.output_covariance + self.input_covariance

    @property
    def deviations(self) -> np.ndarray:
        """Standard deviations of the parameters [units], shape (n_rho,)."""
        return np.asarray(np.sqrt(np.diag(self.covariance)))

    @property
    def blind(self) -> tuple[Direction, ...]:
        """Directions that are not identifiable from the data, or weakly."""
        return tuple(
            direction
            for direction in self.directions
            if direction.deviation > SETTINGS.weak_deviation
        )


def identifiability(
    estimate: Estimate, experiments: Sequence[Experiment] | None = None
) -> Identifiability:
    """Compute covariance, intervals and directions at an estimate.

    Args:
        estimate: Estimate at which to linearise.
        experiments: Experiments of the estimate, for noise of inputs that were taken as exact;
            None neglects it.
    """
    free = estimate.free
    C = _covariance(reduced_jacobian(estimate)[:, free], magnitudes(estimate)[free])
    from_inputs = np.zeros((len(free), len(free)))
    if experiments is not None and free.any():
        fitted = as_fitted(estimate, experiments)
        from_inputs = input_covariance(estimate, fitted, _extend_to_all(C, free, 0.0))
    from_outputs = _extend_to_all(C, free, np.nan) + covariance_between_minima(estimate)
    reach = deviations_of_interval(estimate)
    covariance = from_outputs + from_inputs
    deviation = np.sqrt(np.diag(covariance))
    with np.errstate(invalid="ignore"):  # inf / inf
        correlation = covariance / np.outer(deviation, deviation)
    return Identifiability(
        names=estimate.names,
        output_covariance=from_outputs,
        input_covariance=from_inputs,
        low=estimate.rho - reach * deviation,
        high=estimate.rho + reach * deviation,
        correlation=correlation,
        directions=_directions(estimate),
        distribution="Student-t" if estimate.noise_estimated else "normal",
        freedom=_degrees_of_freedom(estimate),
    )


def deviations_of_interval(estimate: Estimate) -> float:
    """Half-width of an interval [standard deviations]: 1.96, or more for Student's t."""
    side = 0.5 + CONFIDENCE / 2.0
    if estimate.noise_estimated:
        return float(stats.t.ppf(side, _degrees_of_freedom(estimate)))
    return float(stats.norm.ppf(side))


def _degrees_of_freedom(estimate: Estimate) -> int:
    unknowns = sum(fit.unknowns for fit in estimate.fits)
    return max(estimate.data - unknowns - int(estimate.free.sum()), 1)


def information(estimate: Estimate) -> np.ndarray:
    """Fisher information of the data without priors, J' W J [1 / units], shape (n_rho, n_rho)."""
    _, J = reduce_by_qr(estimate.fits)
    return np.asarray(J.T @ J)


def reduced_jacobian(estimate: Estimate) -> np.ndarray:
    """Jacobian of the residuals of data and priors, reduced, shape (2 n_rho + 1, n_rho)."""
    of_priors = np.diag(np.sqrt(estimate.prior_information))
    return np.concatenate([reduce_by_qr(estimate.fits)[1], of_priors])


def magnitudes(estimate: Estimate) -> np.ndarray:
    """Magnitudes of the parameters, the value, or the scale if it starts at 0, shape (n_rho,)."""
    scales = np.array([parameter.scale for parameter in estimate.parameters])
    from_zero = np.array([parameter.start == 0.0 for parameter in estimate.parameters])
    size = np.abs(estimate.rho)
    return np.where(from_zero | (size == 0.0), np.maximum(size, scales), size)


def split_covariance(estimate: Estimate, trust: Identifiability) -> tuple[np.ndarray, np.ndarray]:
    """Return the covariance of directions that the data determine, and the other directions.

    Returns:
        Covariance [units], finite, shape (n_rho, n_rho); directions with infinite variance [units],
        each a change of parameters by their magnitude, shape (m, n_rho).
    """
    free, size = estimate.free, magnitudes(estimate)
    factor, singular_directions = _factor(reduced_jacobian(estimate)[:, free], size[free])
    C = (
        _extend_to_all(factor @ factor.T, free, 0.0)
        + trust.input_covariance
        + covariance_between_minima(estimate)
    )
    undetermined = np.zeros((len(singular_directions), len(size)))
    undetermined[:, free] = singular_directions * size[free]
    is_unobservable = np.isin(estimate.names, estimate.held) & ~np.isin(
        estimate.names, estimate.fixed
    )
    undetermined = np.concatenate([undetermined, np.diag(size)[is_unobservable]])
    return C, undetermined


def _covariance(J: np.ndarray, size: np.ndarray) -> np.ndarray:
    """Return (J' J)^-1, with infinite variances in singular directions."""
    factor, singular_directions = _factor(J, size)
    is_undetermined = (np.abs(singular_directions) > SETTINGS.singular_part_max).any(axis=0)
    C: np.ndarray = factor @ factor.T
    C[np.diag_indices(len(C))] += np.where(is_undetermined, np.inf, 0.0)
    return C


def _factor(J: np.ndarray, size: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return F with (J' J)^+ = F F', and singular directions relative to `size`."""
    if not J.shape[1]:
        return np.zeros((0, 0)), np.zeros((0, 0))
    _, s, V = np.linalg.svd(J * size, full_matrices=True)
    s = np.concatenate((s, np.zeros(len(V) - len(s))))
    is_regular = s > SETTINGS.singular_value_tolerance * s.max()
    return V[is_regular].T / s[is_regular] * size[:, None], V[~is_regular]


def _extend_to_all(C: np.ndarray, free: np.ndarray, fill: float) -> np.ndarray:
    extended = np.full((len(free), len(free)), fill)
    extended[np.ix_(free, free)] = C
    return extended


def _directions(estimate: Estimate) -> tuple[Direction, ...]:
    """Return the singular directions of J scaled by the parameters' values."""
    free = estimate.free
    if not free.any():
        return ()
    size = magnitudes(estimate)[free]
    J = reduce_by_qr(estimate.fits)[1][:, free] * size
    _, s, V = np.linalg.svd(J, full_matrices=True)
    factor, singular_directions = _factor(reduced_jacobian(estimate)[:, free], size)
    s = np.concatenate((s, np.zeros(len(V) - len(s))))
    names = np.array(estimate.names)[free].tolist()
    units = {
        parameter.name: (float(size), "" if parameter.unit == "-" else parameter.unit)
        for parameter, size in zip(estimate.parameters, magnitudes(estimate), strict=True)
        if parameter.start == 0.0
    }
    directions = []
    for value, row in zip(s, V, strict=True):
        sign = 1.0 if row[np.abs(row).argmax()] > 0.0 else -1.0
        deviation = (
            1.0 / value if value > SETTINGS.singular_value_tolerance * s[0] else float("inf")
        )
        parts = dict(zip(names, (sign * row).tolist(), strict=True))
        has_undetermined_part = bool(
            (np.abs(singular_directions @ row) > SETTINGS.singular_part_max).any()
        )
        with_priors = (
            float("inf") if has_undetermined_part else float(np.linalg.norm(row / size @ factor))
        )
        directions.append(Direction(parts, deviation, units, with_priors))
    return tuple(reversed(directions))
