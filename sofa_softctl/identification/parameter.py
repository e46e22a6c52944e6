"""What is to be identified: named numbers with bounds, and what was known of them before."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sofa_softctl.errors import IdentificationError


@dataclass(frozen=True)
class Prior:
    """What is known of a parameter before it is measured: a normal distribution."""

    mean: float
    """Most likely value [unit of the parameter]."""
    deviation: float
    """Standard deviation [unit of the parameter]."""


@dataclass(frozen=True)
class Parameter:
    """One unknown number of a model.

    Raises:
        IdentificationError: The bounds are not in order, or the start is no number between them.
    """

    name: str
    """As reports, intervals and written-back scenes call it."""
    start: float
    """Where a search begins [unit]."""
    unit: str = ""
    """For people."""
    lower: float = 0.0
    """Smallest value that makes sense [unit]; stiffnesses, masses and dampings: 0."""
    upper: float = math.inf
    """Largest value that makes sense [unit]."""
    prior: Prior | None = None
    """What is known of it already; None: nothing."""

    def __post_init__(self) -> None:
        if not self.lower < self.upper:
            raise IdentificationError(
                f"Parameter '{self.name}': lower bound {self.lower:g} is not below the upper one, "
                f"{self.upper:g}."
            )
        if not math.isfinite(self.start):
            raise IdentificationError(
                f"Parameter '{self.name}' starts at {self.start:g}. Expected a finite number: a "
                "guess of its size."
            )
        if not self.lower <= self.start <= self.upper:
            raise IdentificationError(
                f"Parameter '{self.name}' starts at {self.start:g}, outside its bounds "
                f"{self.lower:g} to {self.upper:g}."
            )
        if self.prior is not None and not self.prior.deviation > 0.0:
            raise IdentificationError(
                f"Parameter '{self.name}': the prior's deviation is {self.prior.deviation:g}; it "
                "must be positive. What is known for certain is no parameter."
            )

    @property
    def scale(self) -> float:
        """A typical size [unit]: of the start, else of the prior, else of the bounds, else 1."""
        sizes = [abs(self.start)]
        if self.prior is not None:
            sizes.append(self.prior.deviation)
        if math.isfinite(self.upper - self.lower):
            sizes.append(self.upper - self.lower)
        return next((size for size in sizes if size > 0.0), 1.0)


def starts(parameters: tuple[Parameter, ...]) -> np.ndarray:
    """Where a search begins, shape (n_rho,)."""
    return np.array([one.start for one in parameters])


def bounds(parameters: tuple[Parameter, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper bounds, each of shape (n_rho,)."""
    return (
        np.array([one.lower for one in parameters]),
        np.array([one.upper for one in parameters]),
    )
