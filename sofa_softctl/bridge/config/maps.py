"""Unit maps: from an actuator's unit to its device's, and back.

All are strictly monotonic on the whole real line, so that whatever a device measures has a
position: outside the range for which a map was given, it continues as a line.
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
        """Convert from the actuator's unit to the device's, any shape."""
        return self.zero + self.slope * np.asarray(value, dtype=float)

    def from_device(self, value: np.ndarray) -> np.ndarray:
        """Convert from the device's unit to the actuator's, any shape."""
        return (np.asarray(value, dtype=float) - self.zero) / self.slope

    def slope_range(self, low: float, high: float) -> tuple[float, float]:
        """Return exact bounds."""
        del low, high
        return abs(self.slope), abs(self.slope)


class TableMap:
    """Linear interpolation between measured pairs.

    Args:
        positions: Positions, increasing [unit], shape (n,), n >= 2.
        values: Values of the device at these, strictly monotonic [device unit], shape (n,).
        sign: Sign of the values: 1 or -1.
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
        """Convert from the actuator's unit to the device's, any shape."""
        return _interpolate(np.asarray(value, dtype=float), self.positions, self.values)

    def from_device(self, value: np.ndarray) -> np.ndarray:
        """Convert from the device's unit to the actuator's, any shape."""
        order = slice(None) if self.values[0] < self.values[-1] else slice(None, None, -1)
        value = np.asarray(value, dtype=float)
        return _interpolate(value, self.values[order], self.positions[order])

    def slope_range(self, low: float, high: float) -> tuple[float, float]:
        """Return exact bounds, over the pieces that the range touches."""
        slopes = np.abs(np.diff(self.values) / np.diff(self.positions))
        last = len(slopes) - 1
        first = np.clip(np.searchsorted(self.positions, low, side="right") - 1, 0, last)
        end = np.clip(np.searchsorted(self.positions, high, side="left") - 1, first, last)
        touched = slopes[first : end + 1]
        return float(touched.min()), float(touched.max())


def _interpolate(x: np.ndarray, points: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Interpolate linearly; outside the points, continue the first and last piece."""
    piece = np.clip(np.searchsorted(points, x, side="right") - 1, 0, len(points) - 2)
    slope = (values[piece + 1] - values[piece]) / (points[piece + 1] - points[piece])
    y: np.ndarray = values[piece] + slope * (x - points[piece])
    return y


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
        """Convert from the actuator's unit to the device's, any shape."""
        x = np.asarray(value, dtype=float)
        inside = np.clip(x, self.low, self.high)
        excess = np.where(x == inside, 0.0, x - inside)
        slope = polynomial.polyval(inside, self._slope)
        y: np.ndarray = polynomial.polyval(inside, self._c) + slope * excess
        return y

    def from_device(self, value: np.ndarray) -> np.ndarray:
        """Invert by Newton's method, with bisection if a step leaves the bracket."""
        y = np.asarray(value, dtype=float)
        ends = self.to_device(np.array([self.low, self.high]))
        sign = 1.0 if ends[0] < ends[1] else -1.0
        slopes = polynomial.polyval(np.array([self.low, self.high]), self._slope)
        is_below, is_above = sign * (y - ends[0]) <= 0.0, sign * (y - ends[1]) >= 0.0
        left, right = np.full(y.shape, self.low), np.full(y.shape, self.high)
        tolerance = 4.0 * np.finfo(float).eps * max(abs(self.low), abs(self.high))
        x = 0.5 * (left + right)
        for _ in range(100):
            error = sign * (polynomial.polyval(x, self._c) - y)
            left, right = np.where(error <= 0.0, x, left), np.where(error >= 0.0, x, right)
            step = x - sign * error / polynomial.polyval(x, self._slope)
            new = np.where((step >= left) & (step <= right), step, 0.5 * (left + right))
            is_converged = np.abs(new - x) <= tolerance
            x = new
            if np.all(is_converged | is_below | is_above | np.isnan(y)):
                break
        x = np.where(is_below, self.low + (y - ends[0]) / slopes[0], x)
        x = np.where(is_above, self.high + (y - ends[1]) / slopes[1], x)
        position: np.ndarray = np.where(np.isnan(y), np.nan, x)
        return position

    def slope_range(self, low: float, high: float) -> tuple[float, float]:
        """Return safe, close bounds."""
        slopes = self.slopes(low, high)
        return float(np.abs(slopes).min()), float(np.abs(slopes).max())

    def slopes(self, low: float, high: float) -> np.ndarray:
        """Return numbers whose least and greatest bound all slopes of a range.

        The Bernstein coefficients of the slope on each of `PIECES` parts of the range.
        """
        first, last = (min(max(x, self.low), self.high) for x in (low, high))
        width = (last - first) / INTERVAL_COUNT
        start = first + width * np.arange(INTERVAL_COUNT)
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


INTERVAL_COUNT = 64
"""Number of intervals in which the slope of a polynomial is bounded."""
