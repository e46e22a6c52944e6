"""Parameters of a study: the values that each may have, read from the tables [parameters.NAME]."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy.special import ndtri

from sofa_softctl.base.toml.fields import Fields, number_of

Value = Any
"""A number, a text, True or False, or a list of numbers."""


DIGIT_COUNT = 12
"""Significant digits of values whose last digits depend on the processor, as powers do."""


class Axis(Protocol):
    """One parameter."""

    @property
    def size(self) -> int:
        """Numbers that `at` takes: 1, or the entries of a vector."""

    def grid(self) -> list[Value]:
        """Return the values in a grid.

        Raises:
            ValueError: It has no `count`, or is normal.
        """

    def at(self, u: np.ndarray) -> list[Value]:
        """Return the n values at quantiles u in [0, 1), shape (n, size)."""


@dataclass(frozen=True)
class Values:
    """A list of values."""

    values: tuple[Value, ...]
    """At least one."""
    size: int = 1

    def grid(self) -> list[Value]:
        """Return the values in a grid."""
        return list(self.values)

    def at(self, u: np.ndarray) -> list[Value]:
        """Return values at quantiles, each with the same frequency."""
        last = len(self.values) - 1
        return [self.values[min(int(position), last)] for position in u[:, 0] * len(self.values)]


@dataclass(frozen=True)
class Range:
    """Numbers, or vectors, between two: evenly, or evenly in their logarithms."""

    low: float | Sequence[float]
    """A number, or the entries of a vector, shape (size,)."""
    high: float | Sequence[float]
    """A number, or the entries of a vector, above `low`."""
    count: int | None = None
    """Values in a grid or a list; samples need none."""
    log: bool = False
    """True if values are spaced evenly in their logarithms; `low` must be above 0."""
    whole: bool = False
    """Whether values are whole numbers; samples are equally likely unless `log`."""

    @property
    def size(self) -> int:
        """Numbers that `at` takes: 1, or the entries of a vector."""
        return np.size(self.low)

    def grid(self) -> list[Value]:
        """Return values from `low` to `high`, both included, or the middle if `count` is 1.

        Vectors lie along the line between; whole numbers may repeat.
        """
        if self.count is None:
            raise ValueError("count")
        steps = np.linspace(0.0, 1.0, self.count) if self.count > 1 else np.array([0.5])
        return self.at(np.column_stack([steps] * self.size))

    def at(self, u: np.ndarray) -> list[Value]:
        """Return the n values at quantiles u in [0, 1), shape (n, size)."""
        low, high = (np.array(end, dtype=float) for end in (self.low, self.high))
        above = high + 1.0 if self.whole else high  # each whole number as often
        u = u.reshape(-1, *low.shape)
        if self.log:
            values = round_digits(low * (above / low) ** u)
        else:
            values = low + (above - low) * u
        if self.whole:
            values = np.floor(values)
        values = np.clip(values, low, high)
        return list((values.astype(int) if self.whole else values).tolist())


@dataclass(frozen=True)
class Normal:
    """Normally distributed numbers, or vectors of independent ones; for samples."""

    mean: float | Sequence[float]
    """A number, or the entries of a vector, shape (size,)."""
    deviation: float | Sequence[float]
    """Standard deviation of each number, shape (size,)."""

    @property
    def size(self) -> int:
        """Numbers that `at` takes: 1, or the entries of a vector."""
        return np.size(self.mean)

    def grid(self) -> list[Value]:
        """Return the values in a grid."""
        raise ValueError("normal")

    def at(self, u: np.ndarray) -> list[Value]:
        """Return values at quantiles, within 8 standard deviations."""
        mean = np.array(self.mean, dtype=float)
        z = np.clip(ndtri(u.reshape(-1, *mean.shape)), -8.0, 8.0)
        return list(round_digits(mean + np.asarray(self.deviation) * z).tolist())


def round_digits(values: np.ndarray) -> np.ndarray:
    """Round values to `DIGIT_COUNT` significant digits, same shape."""
    texts = np.char.mod(f"%.{DIGIT_COUNT}g", values)
    return texts.astype(float)


KINDS = ("values", "range", "normal")
"""Keys of which a parameter has one."""


def read_axis(fields: Fields) -> Axis | None:
    """Read a parameter; return None if it is wrong."""
    fault_count = len(fields.faults.found)
    keys = [key for key in KINDS if key in fields.values]
    axis: Axis | None = None
    if len(keys) > 1:
        last = max(keys, key=lambda key: fields.faults.line((*fields.path, key)))
        fields.add(last, f"expected one of {', '.join(KINDS)}; got {', '.join(keys)}. Keep one.")
        return None
    if keys == ["range"]:
        axis = _range(fields)
    elif keys == ["normal"]:
        axis = _normal(fields)
    else:
        axis = _values(fields)
    fields.close("a parameter")
    return axis if len(fields.faults.found) == fault_count else None


def _values(fields: Fields) -> Axis | None:
    values = fields.get("values", "values = [1, 2]; or range = [1, 2]; or normal = [1, 0.1]")
    if "values" not in fields.values:
        return None
    if not isinstance(values, list) or not values:
        fields.wrong("values", "a list of values, at least one", "Write them in [...].")
        return None
    kinds = [_kind(value) for value in values]
    for number, kind in enumerate(kinds):
        if not kind or kind != kinds[0]:
            fields.faults.wrong(
                (*fields.path, "values", number),
                "finite numbers; or texts; or true and false; or lists of numbers, all as long",
                values[number],
                "Write values of one kind.",
            )
            return None
    return Values(tuple(values))


def _kind(value: Any) -> str:
    """Return the kind of a value, or "" if it is invalid."""
    if isinstance(value, bool | str):
        return type(value).__name__
    if isinstance(value, list):
        numbers = bool(value) and all(number_of(item) is not None for item in value)
        return f"{len(value)} numbers" if numbers else ""
    return "" if number_of(value) is None else "number"


def _range(fields: Fields) -> Axis | None:
    ends = _read_pair(fields, "range", "[low, high], two numbers or two lists of numbers")
    count = fields.whole(
        "count",
        "a whole number from 1: values in a grid",
        "Usual are 3 to 20.",
        fits=lambda value: value >= 1,
        default=0,
    )
    log = fields.flag("log", "whether values are even in their logarithms", default=False)
    whole = fields.flag("whole", "whether values are whole numbers", default=False)
    if ends is None:
        return None
    low, high = (np.array(end, dtype=float) for end in ends)
    if not (low < high).all():
        fields.wrong("range", "the low end first, then a higher one", "Swap them.")
    elif log and not (low > 0.0).all():
        fields.wrong("range", "ends above 0, since log = true", "Raise the low end.")
    elif whole and not (np.equal(low, np.round(low)) & np.equal(high, np.round(high))).all():
        fields.wrong("range", "whole numbers, since whole = true", "Round the ends.")
    return Range(*ends, count or None, log, whole)


def _normal(fields: Fields) -> Axis | None:
    pair = _read_pair(
        fields, "normal", "[mean, standard deviation], two numbers or lists of numbers"
    )
    if pair is None:
        return None
    if not (np.array(pair[1], dtype=float) > 0.0).all():
        fields.wrong("normal", "a standard deviation above 0", "Use 'values' for a fixed value.")
    return Normal(*pair)


def _read_pair(fields: Fields, key: str, expected: str) -> tuple[Any, Any] | None:
    """Read two numbers, or two vectors of one length."""
    value_pair = fields.get(key, "")
    pair = value_pair if isinstance(value_pair, list) and len(value_pair) == 2 else []
    kinds = {_kind(value) for value in pair}
    if len(kinds) != 1 or kinds & {"", "bool", "str"}:
        fields.wrong(key, expected, "Write both, with a comma between.")
        return None
    first, second = (np.array(value, dtype=float).tolist() for value in pair)
    return first, second
