"""Unit maps: from an actuator's unit to its device's, and back.

All are strictly monotonic on the whole real line, so that whatever a device measures has a
position: beyond the range for which a map was given, it goes on straight.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.polynomial import polynomial


@dataclass(frozen=True)
class LinearMap:
    """device = zero + slope * position: of spools, gears, syringes and regulators."""

    slope: float
    """Sign included [device unit / unit], not 0."""
    zero: float = 0.0
    """Value at position 0 [device unit]."""

    def to_device(self, value: np.ndarray) -> np.ndarray:
        """From the actuator's unit to the device's, any shape."""
        return self.zero + self.slope * np.asarray(value, dtype=float)

    def from_device(self, value: np.ndarray) -> np.ndarray:
        """The inverse."""
        return (np.asarray(value, dtype=float) - self.zero) / self.slope

    def slope_range(self, low: float, high: float) -> tuple[float, float]:
        """See `UnitMap`: exact."""
        del low, high
        return abs(self.slope), abs(self.slope)


class TableMap:
    """Linear interpolation between measured pairs.

    Args:
        positions: Positions, increasing [unit], shape (n,), n >= 2.
        values: What the device has there, strictly monotonic [device unit], shape (n,).
        sign: 1 or -1: of the values.
        zero: Added to the values [device unit].
    """

    def __init__(
        self,
        positions: Sequence[float],
        values: Sequence[float],
        sign: float = 1.0,
        zero: float = 0.0,
    ) -> None:
        self.positions = np.array(positions, dtype=float)
        self.values = zero + sign * np.array(values, dtype=float)

    def to_device(self, value: np.ndarray) -> np.ndarray:
        """From the actuator's unit to the device's, any shape."""
        return _interpolated(np.asarray(value, dtype=float), self.positions, self.values)

    def from_device(self, value: np.ndarray) -> np.ndarray:
        """The inverse."""
        order = slice(None) if self.values[0] < self.values[-1] else slice(None, None, -1)
        value = np.asarray(value, dtype=float)
        return _interpolated(value, self.values[order], self.positions[order])

    def slope_range(self, low: float, high: float) -> tuple[float, float]:
        """See `UnitMap`: exact, of the pieces that the range touches."""
        slopes = np.abs(np.diff(self.values) / np.diff(self.positions))
        last = len(slopes) - 1
        first = np.clip(np.searchsorted(self.positions, low, side="right") - 1, 0, last)
        end = np.clip(np.searchsorted(self.positions, high, side="left") - 1, first, last)
        touched = slopes[first : end + 1]
        return float(touched.min()), float(touched.max())


def _interpolated(x: np.ndarray, at: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Linear interpolation; beyond the first and last point the end pieces go on."""
    piece = np.clip(np.searchsorted(at, x, side="right") - 1, 0, len(at) - 2)
    slope = (values[piece + 1] - values[piece]) / (at[piece + 1] - at[piece])
    found: np.ndarray = values[piece] + slope * (x - at[piece])
    return found


class PolynomialMap:
    """device = zero + sign * (c1 x + c2 x^2 + ...) from `low` to `high`, straight beyond.

    Args:
        coefficients: c1, c2, ... [device unit / unit^k], at least one.
        low: Least position for which it is given [unit].
        high: Greatest one; the derivative has no zero from `low` to `high`.
        sign: 1 or -1.
        zero: Value at position 0 [device unit].
    """

    def __init__(
        self,
        coefficients: Sequence[float],
        low: float,
        high: float,
        sign: float = 1.0,
        zero: float = 0.0,
    ) -> None:
        self.low, self.high = low, high
        self._c = np.array([0.0, *coefficients]) * sign
        self._c[0] = zero
        self._slope = polynomial.polyder(self._c)

    def to_device(self, value: np.ndarray) -> np.ndarray:
        """From the actuator's unit to the device's, any shape."""
        x = np.asarray(value, dtype=float)
        inside = np.clip(x, self.low, self.high)
        beyond = np.where(x == inside, 0.0, x - inside)
        slope = polynomial.polyval(inside, self._slope)
        found: np.ndarray = polynomial.polyval(inside, self._c) + slope * beyond
        return found

    def from_device(self, value: np.ndarray) -> np.ndarray:
        """See `UnitMap`: Newton's method, by bisection where a step leaves the bracket."""
        y = np.asarray(value, dtype=float)
        ends = self.to_device(np.array([self.low, self.high]))
        sign = 1.0 if ends[0] < ends[1] else -1.0
        slopes = polynomial.polyval(np.array([self.low, self.high]), self._slope)
        below, above = sign * (y - ends[0]) <= 0.0, sign * (y - ends[1]) >= 0.0
        left, right = np.full(y.shape, self.low), np.full(y.shape, self.high)
        close = 4.0 * np.finfo(float).eps * max(abs(self.low), abs(self.high))
        x = 0.5 * (left + right)
        for _ in range(100):
            error = sign * (polynomial.polyval(x, self._c) - y)
            left, right = np.where(error <= 0.0, x, left), np.where(error >= 0.0, x, right)
            step = x - sign * error / polynomial.polyval(x, self._slope)
            new = np.where((step >= left) & (step <= right), step, 0.5 * (left + right))
            done = np.abs(new - x) <= close
            x = new
            if np.all(done | below | above | np.isnan(y)):
                break
        x = np.where(below, self.low + (y - ends[0]) / slopes[0], x)
        x = np.where(above, self.high + (y - ends[1]) / slopes[1], x)
        found: np.ndarray = np.where(np.isnan(y), np.nan, x)
        return found

    def slope_range(self, low: float, high: float) -> tuple[float, float]:
        """See `UnitMap`: safe bounds, which are close."""
        slopes = self.slopes(low, high)
        return float(np.abs(slopes).min()), float(np.abs(slopes).max())

    def slopes(self, low: float, high: float) -> np.ndarray:
        """Numbers between whose least and greatest all slopes of a range lie.

        The Bernstein coefficients of the slope on each of `PIECES` parts of the range.
        """
        first, last = (min(max(x, self.low), self.high) for x in (low, high))
        width = (last - first) / PIECES
        start = first + width * np.arange(PIECES)
        degree = len(self._slope) - 1
        taylor = [
            polynomial.polyval(start, polynomial.polyder(self._slope, k))
            * (width**k / math.factorial(k))
            for k in range(degree + 1)
        ]
        return np.array(
            [
                sum(math.comb(i, k) / math.comb(degree, k) * taylor[k] for k in range(i + 1))
                for i in range(degree + 1)
            ]
        )


PIECES = 64
"""Parts of a range in which the slope of a polynomial is bounded."""
