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
    """Largest deviation, relative to the largest entry of the differences [-]."""
    order: float
    """By which power of the step central differences approach the Jacobian: 2 where it is right,
    0 where it is not; NaN where nothing is left of their error but rounding."""


def check_jacobian(
    function: Callable[[np.ndarray], Any],
    jacobian: Any,
    x: Any,
    *,
    scale: float = 1.0,
    tolerance: float = 1e-7,
    name: str = "Jacobian",
) -> JacobianCheck:
    """Compare a Jacobian with central differences of its function.

    Args:
        function: Takes x, returns an array of any shape, m numbers; smooth about x.
        jacobian: Derivative of the outputs by the inputs, with m times n entries (dense of any
            shape, or sparse), or a function of x that returns it.
        x: Where, an array of any shape, n numbers.
        scale: Change of x over which the function bends [units of x].
        tolerance: Largest deviation, relative to the largest entry [-].
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
    step = STEP * scale
    coarse, fine = (_central(function, x, h) for h in (step, step / 2.0))
    expected = (4.0 * fine - coarse) / 3.0
    largest = float(np.abs(expected).max(initial=0.0))
    rounding = 100.0 * EPS * float(np.abs(value).max(initial=0.0)) / step
    errors = [float(np.abs(found - each).max(initial=0.0)) for each in (coarse, fine)]
    order = max(0.0, math.log2(errors[0] / errors[1])) if errors[1] > rounding else math.nan
    deviation = np.abs(found - expected)
    error = float(deviation.max(initial=0.0))
    if not error <= tolerance * largest + rounding:
        row, column = np.unravel_index(np.argmax(np.nan_to_num(deviation, nan=np.inf)), shape)
        raise AssertionError(
            f"{name}: expected {expected[row, column]:.9g} in row {row}, column {column}, from "
            f"central differences with the step {step:.1e}; got {found[row, column]:.9g}. The "
            f"largest entry is {largest:.3g}; differences approach the given one with the power "
            f"{order:.1f} of the step, where 2 is right."
        )
    return JacobianCheck(error / largest if largest else error, order)


def _central(function: Callable[[np.ndarray], Any], x: np.ndarray, step: float) -> np.ndarray:
    """Central differences, shape (m, n)."""
    columns = []
    for place in np.ndindex(x.shape):
        ends = []
        for sign in (1.0, -1.0):
            moved = x.copy()
            moved[place] += sign * step
            ends.append(np.array(function(moved), dtype=float).ravel())
        columns.append((ends[0] - ends[1]) / (2.0 * step))
    return np.array(columns).reshape(x.size, -1).T
