"""Unknown parameters: names, starts, bounds and priors."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from sofa_softctl.errors import IdentificationError


@dataclass(frozen=True)
class Prior:
    """Normal prior distribution of a parameter."""

    mean: float
    """Mean [unit of the parameter]."""
    deviation: float
    """Standard deviation [unit of the parameter]."""


@dataclass(frozen=True)
class Parameter:
    """One unknown number of a model.

    Raises:
        IdentificationError: The name is not a text, bounds are not in order, the start is not a
            number between them, or `size` or the prior's deviation is not positive.
    """

    name: str
    """Name in reports and messages."""
    start: float
    """Initial value of a search [unit]."""
    unit: str = ""
    """Unit, for reports."""
    lower: float = 0.0
    """Lower bound [unit]; stiffnesses, masses and dampings: 0."""
    upper: float = math.inf
    """Upper bound [unit]."""
    prior: Prior | None = None
    """Prior distribution, or None."""
    size: float | None = field(default=None, kw_only=True)
    """Typical magnitude [unit], in place of that of the start; needed if it starts at 0."""

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise IdentificationError(
                f"A parameter's first argument is its name, a text. Got: {self.name!r}. Where it "
                "starts comes second."
            )
        if not self.lower < self.upper:
            raise IdentificationError(
                f"Parameter '{self.name}': lower bound {self.lower:g} is not below the upper one, "
                f"{self.upper:g}."
            )
        if not math.isfinite(self.start):
            raise IdentificationError(
                f"Parameter '{self.name}' starts at {self.start:g}. Expected a finite number of "
                "the expected magnitude."
            )
        if not self.lower <= self.start <= self.upper:
            raise IdentificationError(
                f"Parameter '{self.name}' starts at {self.start:g}, outside its bounds "
                f"{self.lower:g} to {self.upper:g}."
            )
        if self.size is not None and not 0.0 < self.size < math.inf:
            raise IdentificationError(
                f"Parameter '{self.name}': size is {self.size:g}. Expected a positive number, its "
                "typical magnitude."
            )
        if self.prior is not None and not self.prior.deviation > 0.0:
            raise IdentificationError(
                f"Parameter '{self.name}': the prior's deviation is {self.prior.deviation:g}; it "
                "must be positive. Fix a parameter that is known exactly."
            )

    @property
    def scale(self) -> float:
        """Typical magnitude [unit].

        The first positive of `size`, |start|, the prior's deviation, the width of bounds; else 1.
        """
        sizes = [self.size or 0.0, abs(self.start)]
        if self.prior is not None:
            sizes.append(self.prior.deviation)
        if math.isfinite(self.upper - self.lower):
            sizes.append(self.upper - self.lower)
        return next((size for size in sizes if size > 0.0), 1.0)


def starts(parameters: tuple[Parameter, ...]) -> np.ndarray:
    """Initial values, shape (n_rho,)."""
    return np.array([parameter.start for parameter in parameters])


def bounds(parameters: tuple[Parameter, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper bounds, each of shape (n_rho,)."""
    return (
        np.array([parameter.lower for parameter in parameters]),
        np.array([parameter.upper for parameter in parameters]),
    )
