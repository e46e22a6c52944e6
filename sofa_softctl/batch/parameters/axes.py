"""Parameters of a study: the values that each may have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy.special import ndtri

Value = Any
"""A number, a text, True or False, or a list of numbers."""


class Axis(Protocol):
    """One parameter."""

    @property
    def size(self) -> int:
        """Numbers that `at` takes: 1, or the entries of a vector."""

    def grid(self) -> list[Value]:
        """Its values in a grid.

        Raises:
            ValueError: It has none, since it says no `count`.
        """

    def at(self, u: np.ndarray) -> Value:
        """The value at quantiles u in [0, 1), shape (size,)."""


@dataclass(frozen=True)
class Values:
    """A list of values."""

    values: tuple[Value, ...]
    """At least one."""
    size: int = 1

    def grid(self) -> list[Value]:
        """See `Axis`."""
        return list(self.values)

    def at(self, u: np.ndarray) -> Value:
        """See `Axis`: each as often as the others."""
        return self.values[min(int(u[0] * len(self.values)), len(self.values) - 1)]


@dataclass(frozen=True)
class Range:
    """Numbers, or vectors, between two: evenly, or evenly in their logarithms."""

    low: np.ndarray
    """Shape (size,)."""
    high: np.ndarray
    """Shape (size,)."""
    scalar: bool
    """Whether values are numbers, not lists."""
    count: int | None = None
    """Values in a grid."""
    log: bool = False
    whole: bool = False
    """Whether values are whole numbers; as samples, each is as likely without `log`."""

    @property
    def size(self) -> int:
        """See `Axis`."""
        return len(self.low)

    def grid(self) -> list[Value]:
        """See `Axis`: from `low` to `high`, both included; of vectors, along the line between."""
        if self.count is None:
            raise ValueError("count")
        steps = np.linspace(0.0, 1.0, self.count) if self.count > 1 else np.array([0.5])
        return [self.at(np.full(self.size, step)) for step in steps]

    def at(self, u: np.ndarray) -> Value:
        """See `Axis`."""
        end = self.high + 1.0 if self.whole else self.high  # each whole number as often
        if self.log:
            found = self.low * (end / self.low) ** u
        else:
            found = self.low + (end - self.low) * u
        if self.whole:
            found = np.floor(found)
        return _plain(np.clip(found, self.low, self.high), self.scalar, self.whole)


@dataclass(frozen=True)
class Normal:
    """Normally distributed numbers, or vectors of independent ones."""

    mean: np.ndarray
    """Shape (size,)."""
    deviation: np.ndarray
    """Standard deviations, shape (size,)."""
    scalar: bool

    @property
    def size(self) -> int:
        """See `Axis`."""
        return len(self.mean)

    def grid(self) -> list[Value]:
        """See `Axis`."""
        raise ValueError("normal")

    def at(self, u: np.ndarray) -> Value:
        """See `Axis`; beyond 8 standard deviations nothing is drawn."""
        z = np.clip(ndtri(u), -8.0, 8.0)
        return _plain(self.mean + self.deviation * z, self.scalar, whole=False)


def _plain(values: np.ndarray, scalar: bool, whole: bool) -> Value:
    found = [int(x) for x in values.tolist()] if whole else values.tolist()
    return found[0] if scalar else found
