"""Check of a Jacobian against finite differences."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

EPS = float(np.finfo(float).eps)
STEP = EPS**0.2
"""Step of the differences, relative to the scale. Two central differences, with this step and half
of it, are extrapolated: their error falls with the fourth power of the step, and rounding grows
with its inverse, so that both are of the size EPS**0.8 = 3e-13 here."""


@dataclass(frozen=True)
class JacobianCheck:
    """Result of a comparison of a Jacobian with finite differences."""

    error: float
    """Largest deviation, relative to the largest entry of its column of the differences, or of all
    columns if the column is only rounding [-]."""
    order: float
    """Power of the step with which central differences approach the Jacobian: 2 if it is right, 0
    if not; NaN if their error is only rounding."""


def check_jacobian(
    function: Callable[[np.ndarray], Any],
    jacobian: Any,
    x: Any,
    *,
    scale: Any = 1.0,
    tolerance: float = 1e-7,
    name: str = "Jacobian",
) -> JacobianCheck:
    """Compare a Jacobian with central differences of its function.

    Args:
        function: Takes x, returns an array of any shape, m numbers; smooth about x.
        jacobian: Derivative of the outputs by the inputs, with m times n entries (dense of any
            shape, or sparse), or a function of x that returns it.
        x: Point of comparison, an array of any shape, n numbers.
        scale: Change of x over which the function bends [units of x]: a number, or an array with
            the shape of x.
        tolerance: Largest deviation, relative to the largest entry of its column [-].
        name: Name of the Jacobian for messages.

    Returns:
        The deviation, and the order of convergence.

    Raises:
        AssertionError: The deviation is larger, or the shape is wrong.
    """
    x = np.asarray(x, dtype=float)
    matrix = jacobian(x) if callable(jacobian) else jacobian
    J = np.asarray(matrix.toarray() if hasattr(matrix, "toarray") else matrix, dtype=float)
    value = np.asarray(function(x.copy()), dtype=float)
    shape = (value.size, x.size)
    if J.size != value.size * x.size:
        raise AssertionError(
            f"{name}: expected {value.size} rows and {x.size} columns, one for each output and "
            f"input of the function. Got the shape {J.shape}."
        )
    J = J.reshape(shape)
    if np.shape(scale) not in ((), x.shape):
        raise AssertionError(
            f"{name}: expected one scale, or one for each input, of the shape {x.shape}. Got the "
            f"shape {np.shape(scale)}."
        )
    steps = STEP * np.broadcast_to(np.asarray(scale, dtype=float), x.shape)
    coarse, fine = (_central(function, x, h) for h in (steps, steps / 2.0))
    expected = (4.0 * fine - coarse) / 3.0
    largest = np.abs(expected).max(axis=0, initial=0.0)  # (n,), as all that follows
    rounding = 100.0 * EPS * float(np.abs(value).max(initial=0.0)) / steps.ravel()
    deviation = np.abs(J - expected)
    errors = deviation.max(axis=0, initial=0.0)
    fails = ~(errors <= tolerance * largest + rounding)
    if fails.any():
        worst = np.nan_to_num(deviation, nan=np.inf) / (tolerance * largest + rounding + 1e-300)
        row, column = np.unravel_index(np.argmax(worst), shape)
        order = _order(J, coarse, fine, rounding, [column])
        raise AssertionError(
            f"{name}: expected {expected[row, column]:.9g} in row {row}, column {column}, from "
            f"central differences with the step {steps.ravel()[column]:.1e}; got "
            f"{J[row, column]:.9g}. The largest entry of the column is {largest[column]:.3g}; "
            f"differences approach the given one with the power {order:.1f} of the step, where 2 "
            "is right."
        )
    sizes = np.where(largest > rounding, largest, largest.max(initial=0.0))
    relative = errors / np.where(sizes > 0.0, sizes, 1.0)
    order = _order(J, coarse, fine, rounding, list(range(x.size)))
    return JacobianCheck(float(relative.max(initial=0.0)), order)


def _order(
    J: np.ndarray,
    coarse: np.ndarray,
    fine: np.ndarray,
    rounding: np.ndarray,
    columns: list[Any],
) -> float:
    """Return the power of the step with which differences approach some columns."""
    coarse_error, fine_error = (
        np.abs(J - differences)[:, columns].max(initial=0.0) for differences in (coarse, fine)
    )
    if not fine_error > rounding[columns].max(initial=0.0):
        return math.nan
    return max(0.0, math.log2(coarse_error / fine_error))


def _central(function: Callable[[np.ndarray], Any], x: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """Return central differences, shape (m, n)."""
    columns = []
    for index in np.ndindex(x.shape):
        ends = []
        for sign in (1.0, -1.0):
            moved = x.copy()
            moved[index] += sign * steps[index]
            ends.append(np.array(function(moved), dtype=float).ravel())
        columns.append((ends[0] - ends[1]) / (2.0 * steps[index]))
    return np.array(columns).reshape(x.size, -1).T
