"""Parameters of a study: the values that each may have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy.special import ndtri

Value = Any
"""A number, a text, True or False, or a list of numbers."""


DIGITS = 12
"""Of values whose last digits depend on the processor, as powers do: names of runs must not."""


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

    def at(self, u: np.ndarray) -> list[Value]:
        """The n values at quantiles u in [0, 1), shape (n, size)."""


@dataclass(frozen=True)
class Values:
    """A list of values."""

    values: tuple[Value, ...]
    """At least one."""
    size: int = 1

    def grid(self) -> list[Value]:
        """Its values in a grid."""
        return list(self.values)

    def at(self, u: np.ndarray) -> list[Value]:
        """See `Axis`: each as often as the others."""
        last = len(self.values) - 1
        return [self.values[min(int(each), last)] for each in u[:, 0] * len(self.values)]


@dataclass(frozen=True)
class Range:
    """Numbers, or vectors, between two: evenly, or evenly in their logarithms."""

    low: float | Sequence[float]
    """A number, or the entries of a vector, shape (size,)."""
    high: float | Sequence[float]
    """Likewise; above `low`."""
    count: int | None = None
    """Values in a grid or a list; samples need none."""
    log: bool = False
    """Whether they are even in their logarithms; `low` must be above 0."""
    whole: bool = False
    """Whether values are whole numbers; as samples, each is as likely without `log`."""

    @property
    def size(self) -> int:
        """Numbers that `at` takes: 1, or the entries of a vector."""
        return np.size(self.low)

    def grid(self) -> list[Value]:
        """See `Axis`: from `low` to `high`, both included; of vectors, along the line between."""
        if self.count is None:
            raise ValueError("count")
        steps = np.linspace(0.0, 1.0, self.count) if self.count > 1 else np.array([0.5])
        return self.at(np.column_stack([steps] * self.size))

    def at(self, u: np.ndarray) -> list[Value]:
        """The n values at quantiles u in [0, 1), shape (n, size)."""
        low, high = (np.array(end, dtype=float) for end in (self.low, self.high))
        end = high + 1.0 if self.whole else high  # each whole number as often
        u = u.reshape(-1, *low.shape)
        if self.log:
            found = rounded(low * (end / low) ** u)
        else:
            found = low + (end - low) * u
        if self.whole:
            found = np.floor(found)
        found = np.clip(found, low, high)
        return list((found.astype(int) if self.whole else found).tolist())


@dataclass(frozen=True)
class Normal:
    """Normally distributed numbers, or vectors of independent ones; for samples."""

    mean: float | Sequence[float]
    """A number, or the entries of a vector, shape (size,)."""
    deviation: float | Sequence[float]
    """Standard deviation, likewise."""

    @property
    def size(self) -> int:
        """Numbers that `at` takes: 1, or the entries of a vector."""
        return np.size(self.mean)

    def grid(self) -> list[Value]:
        """Its values in a grid."""
        raise ValueError("normal")

    def at(self, u: np.ndarray) -> list[Value]:
        """See `Axis`; beyond 8 standard deviations nothing is drawn."""
        mean = np.array(self.mean, dtype=float)
        z = np.clip(ndtri(u.reshape(-1, *mean.shape)), -8.0, 8.0)
        return list(rounded(mean + np.asarray(self.deviation) * z).tolist())


def rounded(values: np.ndarray) -> np.ndarray:
    """Values with `DIGITS` significant digits, shape as given."""
    texts = np.char.mod(f"%.{DIGITS}g", values)
    return texts.astype(float)
