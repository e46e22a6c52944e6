"""Goals that move: functions of time that give a point."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from sofa_softctl.errors import SceneError

Goal = Callable[[float], np.ndarray]
"""The goal at a time, shape (3,) or one row an effector (n, 3)."""


def point(position: Sequence[float] | np.ndarray) -> Goal:
    """A goal that stays."""
    fixed = np.array(position, dtype=float)
    return lambda time: fixed


def circle(
    center: Sequence[float],
    radius: float,
    period: float,
    *,
    ramp: float = 0.0,
    start: Sequence[float] | None = None,
) -> Goal:
    """A circle about an axis along z, counterclockwise, from the x side.

    Args:
        center: Centre [length], shape (3,).
        radius: Radius [length].
        period: Time of one turn [time].
        ramp: Time in which the goal comes from `start` to the circle [time].
        start: Where it comes from; the centre by default.
    """
    return _approached(
        lambda angle: np.array([radius * np.cos(angle), radius * np.sin(angle), 0.0]),
        center,
        period,
        ramp,
        start,
    )


def figure_eight(
    center: Sequence[float],
    radius: float,
    period: float,
    *,
    ramp: float = 0.0,
    start: Sequence[float] | None = None,
) -> Goal:
    """An eight in the plane z = constant (Gerono's lemniscate), `radius` wide to each side.

    Arguments as for `circle`.
    """
    return _approached(
        lambda angle: np.array([radius * np.sin(angle), radius * np.sin(angle) * np.cos(angle), 0]),
        center,
        period,
        ramp,
        start,
    )


def _approached(
    shape: Callable[[float], np.ndarray],
    center: Sequence[float],
    period: float,
    ramp: float,
    start: Sequence[float] | None,
) -> Goal:
    middle = np.array(center, dtype=float)
    origin = middle if start is None else np.array(start, dtype=float)

    def goal(time: float) -> np.ndarray:
        share = 1.0 if ramp <= 0.0 else min(time / ramp, 1.0)
        target: np.ndarray = middle + shape(2.0 * np.pi * time / period)
        moved: np.ndarray = origin + share * (target - origin)
        return moved

    return goal


def from_csv(path: str | Path) -> Goal:
    """A path from a file with the columns time, x, y, z; straight in between, still at the ends.

    Raises:
        SceneError: the file is missing, has other columns, or its times do not increase.
    """
    try:
        with open(path, newline="", encoding="utf-8") as file:
            rows = [row for row in csv.reader(file) if row and not row[0].lstrip().startswith("#")]
        if rows and not _is_number(rows[0][0]):
            rows = rows[1:]
        table = np.array(rows, dtype=float)
    except (OSError, ValueError) as error:
        raise SceneError(f"Cannot read the goal path '{path}': {error}") from error
    if table.ndim != 2 or table.shape[1] != 4 or len(table) < 2:
        raise SceneError(f"'{path}' needs at least two rows of time, x, y, z; got {table.shape}.")
    if (np.diff(table[:, 0]) <= 0.0).any() or not np.isfinite(table).all():
        raise SceneError(f"The times in '{path}' must increase, and every number must be finite.")

    def goal(time: float) -> np.ndarray:
        return np.array([np.interp(time, table[:, 0], table[:, axis]) for axis in (1, 2, 3)])

    return goal


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
