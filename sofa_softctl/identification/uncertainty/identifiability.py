"""Identifiability: Fisher information, confidence intervals, unidentifiable directions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from scipy import stats

from sofa_softctl.identification.fitting.estimate import Estimate, as_fitted
from sofa_softctl.identification.fitting.reduced import reduced
from sofa_softctl.identification.model.experiment import Experiment
from sofa_softctl.identification.uncertainty.validation import input_covariance, spread

CONFIDENCE = 0.95
"""Confidence level of the intervals."""
BLIND, DIM = 1.0, 0.1
"""Relative deviation above which a direction is not identifiable, and weakly identifiable."""
SMALL = 0.1
"""Smaller parts of a direction are left out of its name."""
SINGULAR = 1e-9
"""Smaller singular values, relative to the largest, are zero."""
LOST = 1e-3
"""Part in a singular direction above which a parameter has infinite variance."""


@dataclass(frozen=True, eq=False)
class Direction:
    """A combination of parameters, relative to their values, and its standard deviation."""

    parts: dict[str, float]
    """Component of each parameter in the unit direction [-]."""
    deviation: float
    """Standard deviation along it [-]: 0.01 is one percent; infinite if singular."""
    units: Mapping[str, tuple[float, str]] = field(default_factory=dict)
    """Scale and unit of parameters that are not relative to their value, as it starts at 0."""
    with_priors: float = np.inf
    """Standard deviation with what priors say, too [-]; infinite: they say nothing."""

    @property
    def name(self) -> str:
        """Such as '0.71 kappa_theta - 0.70 kappa_psi'."""
        (first, share), *others = self.large
        if not others and first in self.units:
            return first
        flip = -1.0 if share < 0.0 else 1.0  # both signs are the same direction
        text = f"{abs(share):.2f} {self._counted(first)}"
        for name, part in others:
            sign = "+" if flip * part > 0.0 else "-"
            text += f" {sign} {abs(part):.2f} {self._counted(name)}"
        return text

    @property
    def large(self) -> list[tuple[str, float]]:
        """Parts in its name, largest first."""
        ordered = sorted(self.parts.items(), key=lambda part: -round(abs(part[1]), 2))
        return ordered[:1] + [part for part in ordered[1:] if abs(part[1]) >= SMALL]

    @property
    def by_priors(self) -> bool:
        """Whether priors say more of it than the data."""
        return self.with_priors < 0.5 * self.deviation

    @property
    def known(self) -> str:
        """Deviation as text: '1.2 %', or in the unit of its one parameter that starts at 0."""
        deviation = min(self.deviation, self.with_priors)
        if len(self.large) == 1 and (alone := self.units.get(self.large[0][0])):
            return f"{alone[0] * deviation:.2g} {alone[1]}".strip()
        return f"{100.0 * deviation:.2g} %"

    def _counted(self, name: str) -> str:
        if name not in self.units or len(self.large) == 1:
            return name
        size, unit = self.units[name]
        return f"{name}/({size:.3g} {unit})" if unit else f"{name}/{size:.3g}"

    @property
    def sentence(self) -> str:
        """Description of its identifiability."""
        known = f"known within {self.known}"
        if self.by_priors:
            return f"{self.name} is {known} by its prior, not by these data"
        if self.deviation > BLIND:
            return f"{self.name} is not identifiable from these data"
        if self.deviation > DIM:
            return f"{self.name} is weakly identifiable from these data: {known}"
        return f"{self.name} is {known}"


@dataclass(frozen=True, eq=False)
class Identifiability:
    """Covariance and intervals of an estimate, assuming a correct model."""

    names: tuple[str, ...]
    """Names of all parameters, in the order below; NaN for those that were not fitted."""
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
    """Degrees of freedom: samples less fitted parameters."""

    @property
    def covariance(self) -> np.ndarray:
        """Covariance from noise of outputs and inputs [units], shape (n_rho, n_rho)."""
        return self.output_covariance + self.input_covariance

    @property
    def deviations(self) -> np.ndarray:
        """Standard deviations of the parameters [units], shape (n_rho,)."""
        found: np.ndarray = np.sqrt(np.diag(self.covariance))
        return found

    @property
    def blind(self) -> tuple[Direction, ...]:
        """Directions that are not, or weakly, identifiable from the data."""
        return tuple(one for one in self.directions if one.deviation > DIM)


def identifiability(
    estimate: Estimate, experiments: Sequence[Experiment] | None = None
) -> Identifiability:
    """Covariance, intervals and directions at an estimate.

    The covariance of independent output noise is the inverse of the Fisher information
    J' W J + P: J the sensitivities, W = 1 / noise^2, P that of priors. Directions are those of
    J' W J scaled by the parameters' values. Both are linearised at the estimate, and found from a
    triangular factor of W^1/2 J: the time is linear in the samples.

    Args:
        estimate: Where to linearise.
        experiments: Those of the estimate, for noise of inputs that were taken as exact; None:
            without it.
    """
    free = estimate.free
    C = _covariance(reduced_jacobian(estimate)[:, free], sizes(estimate)[free])
    through = np.zeros((len(free), len(free)))
    if experiments is not None and free.any():
        fitted = as_fitted(estimate, experiments)
        through = input_covariance(estimate, fitted, _embedded(C, free, 0.0))
    output = _embedded(C, free, np.nan) + spread(estimate)
    reach = deviations_of_interval(estimate)
    covariance = output + through
    deviation = np.sqrt(np.diag(covariance))
    with np.errstate(invalid="ignore"):  # infinite by infinite
        correlation = covariance / np.outer(deviation, deviation)
    return Identifiability(
        names=estimate.names,
        output_covariance=output,
        input_covariance=through,
        low=estimate.rho - reach * deviation,
        high=estimate.rho + reach * deviation,
        correlation=correlation,
        directions=_directions(estimate),
        distribution="Student-t" if estimate.noise_estimated else "normal",
        freedom=_freedom(estimate),
    )


def deviations_of_interval(estimate: Estimate) -> float:
    """Half-width of an interval in standard deviations: 1.96, or more for Student's t."""
    side = 0.5 + CONFIDENCE / 2.0
    if estimate.noise_estimated:
        return float(stats.t.ppf(side, _freedom(estimate)))
    return float(stats.norm.ppf(side))


def _freedom(estimate: Estimate) -> int:
    unknowns = sum(fit.unknowns for fit in estimate.fits)
    return max(estimate.data - unknowns - int(estimate.free.sum()), 1)


def information(estimate: Estimate) -> np.ndarray:
    """Fisher information of the data alone, J' W J [1 / units], shape (n_rho, n_rho)."""
    _, J = reduced(estimate.fits)
    found: np.ndarray = J.T @ J
    return found


def reduced_jacobian(estimate: Estimate) -> np.ndarray:
    """Jacobian of the residuals of data and priors, reduced, shape (2 n_rho + 1, n_rho)."""
    of_priors = np.diag(np.sqrt(estimate.prior_information))
    return np.concatenate([reduced(estimate.fits)[1], of_priors])


def sizes(estimate: Estimate) -> np.ndarray:
    """Magnitude of each parameter, shape (n_rho,): its value, or its scale if it starts at 0."""
    scales = np.array([one.scale for one in estimate.parameters])
    from_zero = np.array([one.start == 0.0 for one in estimate.parameters])
    size = np.abs(estimate.rho)
    return np.where(from_zero | (size == 0.0), np.maximum(size, scales), size)


def known_covariance(estimate: Estimate, trust: Identifiability) -> tuple[np.ndarray, np.ndarray]:
    """Covariance of what the data determine, and directions that they do not.

    Returns:
        Covariance [units], finite, shape (n_rho, n_rho); directions with infinite variance [units],
        each a change of parameters by their magnitude, shape (m, n_rho).
    """
    free, size = estimate.free, sizes(estimate)
    half, unseen = _factor(reduced_jacobian(estimate)[:, free], size[free])
    C = _embedded(half @ half.T, free, 0.0) + trust.input_covariance + spread(estimate)
    lost = np.zeros((len(unseen), len(size)))
    lost[:, free] = unseen * size[free]
    hidden = np.isin(estimate.names, estimate.held) & ~np.isin(estimate.names, estimate.fixed)
    lost = np.concatenate([lost, np.diag(size)[hidden]])
    return C, lost


def _covariance(J: np.ndarray, size: np.ndarray) -> np.ndarray:
    """(J' J)^-1; infinite variances in singular directions."""
    half, unseen = _factor(J, size)
    lost = (np.abs(unseen) > LOST).any(axis=0)
    C: np.ndarray = half @ half.T
    C[np.diag_indices(len(C))] += np.where(lost, np.inf, 0.0)
    return C


def _factor(J: np.ndarray, size: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A factor of (J' J)^+ = half half', and singular directions as shares of `size`."""
    if not J.shape[1]:
        return np.zeros((0, 0)), np.zeros((0, 0))
    _, s, V = np.linalg.svd(J * size, full_matrices=True)
    s = np.concatenate((s, np.zeros(len(V) - len(s))))
    seen = s > SINGULAR * s.max()
    return V[seen].T / s[seen] * size[:, None], V[~seen]


def _embedded(C: np.ndarray, free: np.ndarray, elsewhere: float) -> np.ndarray:
    whole = np.full((len(free), len(free)), elsewhere)
    whole[np.ix_(free, free)] = C
    return whole


def _directions(estimate: Estimate) -> tuple[Direction, ...]:
    """Singular directions of J scaled by the parameters' values."""
    free = estimate.free
    if not free.any():
        return ()
    size = sizes(estimate)[free]
    J = reduced(estimate.fits)[1][:, free] * size
    _, s, V = np.linalg.svd(J, full_matrices=True)
    half, unseen = _factor(reduced_jacobian(estimate)[:, free], size)
    s = np.concatenate((s, np.zeros(len(V) - len(s))))
    names = np.array(estimate.names)[free].tolist()
    units = {
        one.name: (float(size), "" if one.unit == "-" else one.unit)
        for one, size in zip(estimate.parameters, sizes(estimate), strict=True)
        if one.start == 0.0
    }
    found = []
    for value, row in zip(s, V, strict=True):
        sign = 1.0 if row[np.abs(row).argmax()] > 0.0 else -1.0
        deviation = 1.0 / value if value > SINGULAR * s[0] else float("inf")
        parts = dict(zip(names, (sign * row).tolist(), strict=True))
        lost = bool((np.abs(unseen @ row) > LOST).any())
        with_priors = float("inf") if lost else float(np.linalg.norm(row / size @ half))
        found.append(Direction(parts, deviation, units, with_priors))
    return tuple(reversed(found))
