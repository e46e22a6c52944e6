"""Checks of the arguments of a `PlannedRobot`, which users write into SURROGATE."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

GRIDS = ("auto", "cells", "sparse")
"""Kinds of grids."""
FINEST = 1e-4
"""Least spacing that makes sense, and least eta [-]: an equilibrium is known to some 1e-6."""


def check_arguments(given: Mapping[str, Any]) -> None:
    """Check the arguments of a robot.

    Raises:
        ValueError: one has the wrong type or value; with its name, what is expected, and its value.
    """
    for name, (right, expected) in _EXPECTED.items():
        value = given[name]
        if not right(value):
            raise ValueError(f"{name} must be {expected}. Got: {value!r}")


def _numbers(value: Any) -> np.ndarray | None:
    """A finite number, or several in a row; None for anything else."""
    if isinstance(value, (str, bytes, bool)) or value is None:
        return None
    try:
        array = np.asarray(value)
    except ValueError:
        return None
    good = array.dtype.kind in "iuf" and array.ndim <= 1 and array.size > 0
    return array if good and np.isfinite(array).all() else None


def _number(value: Any, least: float = 0.0) -> bool:
    array = _numbers(value)
    return array is not None and array.ndim == 0 and bool(array > least)


def _positive(value: Any) -> bool:
    array = _numbers(value)
    return array is not None and bool((array > 0.0).all())


def _or_none(right: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: value is None or right(value)


def _paths(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and all(isinstance(each, str) for each in value)


_POSITIVE = (_number, "a positive number")
_EXPECTED: dict[str, tuple[Callable[[Any], bool], str]] = {
    "scale": _POSITIVE,
    "spacing": (lambda value: _number(value, FINEST), f"a number above {FINEST:g}"),
    "eta": (lambda value: _number(value, FINEST), f"a number above {FINEST:g}"),
    "tolerance": (_or_none(_number), "a positive number, or None"),
    "grid": (lambda value: value in GRIDS, f"one of {', '.join(GRIDS)}"),
    "points": (_paths, "a list of paths of nodes, such as ['/arm/tip']"),
    "u_max": (_positive, "a positive number, or one for each line"),
    "reach": (lambda value: _number(value) or value == 0, "a number that is not negative"),
    "rate": (_positive, "a positive number, or one for each line"),
    "replay_tolerance": (_or_none(_number), "a positive number, or None"),
    "line_stiffness": (lambda value: isinstance(value, bool), "True or False"),
    "dt": (_or_none(_number), "a positive number, or None"),
    "coordinates": (
        lambda value: isinstance(value, int) and value > 0 and value % 3 == 0,
        "a positive multiple of three",
    ),
}
"""What each argument must be."""
