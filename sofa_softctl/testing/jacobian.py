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
    """How a Jacobian compares with finite differences."""

    error: float
    """Largest deviation, relative to the largest entry of its column of the differences (of all,
    where its column is nothing but rounding) [-]."""
    order: float
    """By which power of the step central differences approach the Jacobian: 2 where it is right,
    0 where it is not; NaN where nothing is left of their error but rounding."""


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
        x: Where, an array of any shape, n numbers.
        scale: Change of x over which the function bends [units of x]: one for all of x, or an
            array of one for each.
        tolerance: Largest deviation, relative to the largest entry of its column [-].
        name: What the Jacobian is, for the message.

    Returns:
        The deviation, and the order of convergence.

    Raises:
        AssertionError: It deviates by more, or has another shape.
    """
    x = np.asarray(x, dtype=float)
    given = jacobian(x) if callable(jacobian) else jacobian
    found = np.asarray(given.toarray() if hasattr(given, "toarray") else given, dtype=float)
    value = np.asarray(function(x.copy()), dtype=float)
    shape = (value.size, x.size)
    if found.size != value.size * x.size:
        raise AssertionError(
            f"{name}: expected {value.size} rows and {x.size} columns, one for each output and "
            f"input of the function. Got the shape {found.shape}."
        )
    found = found.reshape(shape)
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
    deviation = np.abs(found - expected)
    errors = deviation.max(axis=0, initial=0.0)
    fails = ~(errors <= tolerance * largest + rounding)
    if fails.any():
        worst = np.nan_to_num(deviation, nan=np.inf) / (tolerance * largest + rounding + 1e-300)
        row, column = np.unravel_index(np.argmax(worst), shape)
        order = _order(found, coarse, fine, rounding, [column])
        raise AssertionError(
            f"{name}: expected {expected[row, column]:.9g} in row {row}, column {column}, from "
            f"central differences with the step {steps.ravel()[column]:.1e}; got "
            f"{found[row, column]:.9g}. The largest entry of the column is {largest[column]:.3g}; "
            f"differences approach the given one with the power {order:.1f} of the step, where 2 "
            "is right."
        )
    sizes = np.where(largest > rounding, largest, largest.max(initial=0.0))
    relative = errors / np.where(sizes > 0.0, sizes, 1.0)
    order = _order(found, coarse, fine, rounding, list(range(x.size)))
    return JacobianCheck(float(relative.max(initial=0.0)), order)


def _order(
    found: np.ndarray,
    coarse: np.ndarray,
    fine: np.ndarray,
    rounding: np.ndarray,
    columns: list[Any],
) -> float:
    """Power of the step with which differences approach some columns."""
    before, after = (np.abs(found - each)[:, columns].max(initial=0.0) for each in (coarse, fine))
    if not after > rounding[columns].max(initial=0.0):
        return math.nan
    return max(0.0, math.log2(before / after))


def _central(function: Callable[[np.ndarray], Any], x: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """Central differences, shape (m, n)."""
    columns = []
    for place in np.ndindex(x.shape):
        ends = []
        for sign in (1.0, -1.0):
            moved = x.copy()
            moved[place] += sign * steps[place]
            ends.append(np.array(function(moved), dtype=float).ravel())
        columns.append((ends[0] - ends[1]) / (2.0 * steps[place]))
    return np.array(columns).reshape(x.size, -1).T
