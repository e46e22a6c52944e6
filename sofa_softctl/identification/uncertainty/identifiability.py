"""What data can and cannot tell of parameters: information, intervals, directions not seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from scipy import stats

from sofa_softctl.identification.experiment import Experiment
from sofa_softctl.identification.fitting.estimate import Estimate
from sofa_softctl.identification.uncertainty.input_noise import input_covariance

CONFIDENCE = 0.95
"""Of the intervals."""
BLIND, DIM = 1.0, 0.1
"""A direction is not seen when it is uncertain by more than its own size, hardly by a tenth."""
SMALL = 0.1
"""Parts of a direction below this are left out of its name."""
SINGULAR = 1e-9
"""Share of the largest singular value below which nothing is seen at all."""
LOST = 1e-3
"""Part of a direction that is not seen at all from which a parameter is lost with it."""


@dataclass(frozen=True, eq=False)
class Direction:
    """A combination of parameters, each in shares of its value, and how well data see it."""

    parts: dict[str, float]
    """Share of each parameter in a change of length 1 [-]."""
    deviation: float
    """Standard deviation along it [-]: 0.01 is one percent; infinite where nothing is seen."""
    units: Mapping[str, tuple[float, str]] = field(default_factory=dict)
    """Size and unit of parameters that are not counted in shares of their value, as it is 0."""

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
        """Parts that its name tells, the largest first."""
        ordered = sorted(self.parts.items(), key=lambda part: -round(abs(part[1]), 2))
        return ordered[:1] + [part for part in ordered[1:] if abs(part[1]) >= SMALL]

    @property
    def known(self) -> str:
        """How well: '1.2 %', or in the unit of the one parameter that is not counted in shares."""
        if len(self.large) == 1 and (alone := self.units.get(self.large[0][0])):
            return f"{alone[0] * self.deviation:.2g} {alone[1]}".strip()
        return f"{100.0 * self.deviation:.2g} %"

    def _counted(self, name: str) -> str:
        if name not in self.units or len(self.large) == 1:
            return name
        size, unit = self.units[name]
        return f"{name}/({f'{size:.3g} {unit}'.strip()})"

    @property
    def sentence(self) -> str:
        """What data say of it."""
        if self.deviation > BLIND:
            return f"{self.name} is not seen by these data"
        known = f"known within {self.known}"
        if self.deviation > DIM:
            return f"{self.name} is hardly seen by these data: {known}"
        return f"{self.name} is {known}"


@dataclass(frozen=True, eq=False)
class Identifiability:
    """How far an estimate can be trusted if its model is right."""

    names: tuple[str, ...]
    """Of all parameters, the order of what follows; NaN for those that were not fitted."""
    output_covariance: np.ndarray
    """From noise of the outputs, and priors [units], shape (n_rho, n_rho)."""
    input_covariance: np.ndarray
    """From noise that enters through recorded inputs [units], shape (n_rho, n_rho)."""
    low: np.ndarray
    """Lower ends of 95 % intervals [units], shape (n_rho,)."""
    high: np.ndarray
    """Upper ends."""
    correlation: np.ndarray
    """Of the errors, shape (n_rho, n_rho)."""
    directions: tuple[Direction, ...]
    """Of the fitted parameters, the worst seen first."""
    distribution: Literal["normal", "Student-t"]
    """Of the intervals: normal where noise was given, Student's t where it was estimated."""
    freedom: int
    """Numbers compared, less parameters fitted."""

    @property
    def covariance(self) -> np.ndarray:
        """Of both kinds of noise [units], shape (n_rho, n_rho)."""
        return self.output_covariance + self.input_covariance

    @property
    def deviations(self) -> np.ndarray:
        """Standard deviations of the parameters [units], shape (n_rho,)."""
        found: np.ndarray = np.sqrt(np.diag(self.covariance))
        return found

    @property
    def blind(self) -> tuple[Direction, ...]:
        """Directions that are not seen, or hardly."""
        return tuple(one for one in self.directions if one.deviation > DIM)


def identifiability(
    estimate: Estimate, experiments: Sequence[Experiment] | None = None
) -> Identifiability:
    """Covariance, intervals and directions at an estimate.

    The covariance of independent output noise is the inverse of the Fisher information
    J' W J + P: J the sensitivities, W = 1 / noise^2, P what priors tell. Directions are those of
    J' W J scaled by the parameters' values. Both are linearised at the estimate.

    Args:
        estimate: Where to look.
        experiments: Those of the estimate, for noise that enters through inputs; None: without.
    """
    free = estimate.free
    C = _covariance(rows(estimate)[:, free], sizes(estimate)[free])
    through = np.zeros((len(free), len(free)))
    if experiments is not None and free.any():
        through = input_covariance(estimate, experiments, _embedded(C, free, 0.0))
    output = _embedded(C, free, np.nan)
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
    """Half the width of an interval, in standard deviations: 1.96, or more of Student's."""
    side = 0.5 + CONFIDENCE / 2.0
    if estimate.noise_estimated:
        return float(stats.t.ppf(side, _freedom(estimate)))
    return float(stats.norm.ppf(side))


def _freedom(estimate: Estimate) -> int:
    return max(estimate.data - int(estimate.free.sum()), 1)


def information(estimate: Estimate) -> np.ndarray:
    """Fisher information of the data alone, J' W J [1 / units], shape (n_rho, n_rho)."""
    J = np.concatenate([fit.rows[1] for fit in estimate.fits])
    found: np.ndarray = J.T @ J
    return found


def rows(estimate: Estimate) -> np.ndarray:
    """Jacobian of the residuals of data, then of priors, shape (m, n_rho)."""
    of_priors = np.diag(np.sqrt(estimate.prior_information))
    return np.concatenate([*(fit.rows[1] for fit in estimate.fits), of_priors])


def sizes(estimate: Estimate) -> np.ndarray:
    """Magnitude of each parameter, shape (n_rho,): its value, and if it starts at 0, its scale."""
    scales = np.array([one.scale for one in estimate.parameters])
    from_zero = np.array([one.start == 0.0 for one in estimate.parameters])
    size = np.abs(estimate.rho)
    return np.where(from_zero | (size == 0.0), np.maximum(size, scales), size)


def _covariance(J: np.ndarray, size: np.ndarray) -> np.ndarray:
    """(J' J)^-1; infinite variances along what is not seen at all."""
    if not J.shape[1]:
        return np.zeros((0, 0))
    _, s, V = np.linalg.svd(J * size, full_matrices=True)
    s = np.concatenate((s, np.zeros(len(V) - len(s))))
    seen = s > SINGULAR * s.max()
    half = V[seen].T / s[seen] * size[:, None]
    lost = (np.abs(V[~seen]) > LOST).any(axis=0)
    C: np.ndarray = half @ half.T
    C[np.diag_indices(len(C))] += np.where(lost, np.inf, 0.0)
    return C


def _embedded(C: np.ndarray, free: np.ndarray, elsewhere: float) -> np.ndarray:
    whole = np.full((len(free), len(free)), elsewhere)
    whole[np.ix_(free, free)] = C
    return whole


def _directions(estimate: Estimate) -> tuple[Direction, ...]:
    """Singular directions of J scaled by the parameters' values."""
    free = estimate.free
    if not free.any():
        return ()
    J = np.concatenate([fit.rows[1] for fit in estimate.fits])[:, free] * sizes(estimate)[free]
    _, s, V = np.linalg.svd(J, full_matrices=True)
    s = np.concatenate((s, np.zeros(len(V) - len(s))))
    names = np.array(estimate.names)[free].tolist()
    units = {
        one.name: (float(size), one.unit)
        for one, size in zip(estimate.parameters, sizes(estimate), strict=True)
        if one.start == 0.0
    }
    found = []
    for value, row in zip(s, V, strict=True):
        sign = 1.0 if row[np.abs(row).argmax()] > 0.0 else -1.0
        deviation = 1.0 / value if value > SINGULAR * s[0] else float("inf")
        parts = dict(zip(names, (sign * row).tolist(), strict=True))
        found.append(Direction(parts, deviation, units))
    return tuple(reversed(found))
