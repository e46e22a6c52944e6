"""Moving goals: functions of time that return points."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sofa_softctl.errors import SceneError

Goal = Callable[[float], np.ndarray]
"""Goal at a time [length], shape (3,), or one row per effector, shape (n, 3)."""


def point(position: Sequence[float] | np.ndarray) -> Goal:
    """Return a constant goal.

    Args:
        position: Position [length], shape (3,), or one row per effector, shape (n, 3).

    Raises:
        SceneError: a position does not have three finite coordinates.
    """
    points = _finite(position)
    if points is None or points.ndim not in (1, 2) or points.shape[-1] != 3:
        raise SceneError(f"A goal needs three finite coordinates, got {position!r}.")
    return lambda time: points


def circle(
    center: Sequence[float],
    radius: float,
    period: float,
    *,
    ramp: float = 0.0,
    start: Sequence[float] | None = None,
) -> Goal:
    """Return a circle about an axis along z, counterclockwise, from the x side.

    Args:
        center: Centre [length], shape (3,).
        radius: Radius [length].
        period: Duration of one turn [time].
        ramp: Duration of the approach from `start` to the circle [time].
        start: Start of the approach [length], shape (3,); the centre by default.

    Raises:
        SceneError: a point is invalid, the period is not positive, or the ramp negative.
    """
    return _ramp_to(
        lambda angle: np.array([radius * np.cos(angle), radius * np.sin(angle), 0.0]),
        center,
        radius,
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
    """Return an eight in the plane z = constant (Gerono's lemniscate), `radius` wide to each side.

    Arguments as for `circle`.
    """
    return _ramp_to(
        lambda angle: np.array([radius * np.sin(angle), radius * np.sin(angle) * np.cos(angle), 0]),
        center,
        radius,
        period,
        ramp,
        start,
    )


def _ramp_to(
    shape: Callable[[float], np.ndarray],
    center: Sequence[float],
    radius: float,
    period: float,
    ramp: float,
    start: Sequence[float] | None,
) -> Goal:
    middle = _point("center", center)
    origin = middle if start is None else _point("start", start)
    if not math.isfinite(radius):
        raise SceneError(f"A goal on a path needs a finite radius, got {radius:g}.")
    if not period > 0.0:
        raise SceneError(f"A goal on a path needs a period greater than 0, got {period:g}.")
    if not ramp >= 0.0:
        raise SceneError(f"A goal on a path needs a ramp of 0 or more, got {ramp:g}.")

    def goal(time: float) -> np.ndarray:
        fraction = 1.0 if ramp == 0.0 else min(time / ramp, 1.0)
        target: np.ndarray = middle + shape(2.0 * np.pi * time / period)
        moved: np.ndarray = origin + fraction * (target - origin)
        return moved

    goal.period = period  # type: ignore[attr-defined]  # for a check against dt
    return goal


def from_csv(path: str | Path) -> Goal:
    """Return a path from a file with the columns time, x, y, z, linear between rows.

    Before the first row and after the last one, the goal is constant.

    Raises:
        SceneError: the file is missing, has other columns, or its times do not increase.
    """
    try:
        with open(path, newline="", encoding="utf-8-sig") as file:
            table = np.array(list(_rows(path, file)))
    except OSError as error:
        raise SceneError(
            f"Cannot read the goal path '{path}': {error.strerror}. Expected a CSV file with the "
            "columns time, x, y, z."
        ) from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise SceneError(
            f"Cannot read the goal path '{path}': expected text in UTF-8 with the columns time, x, "
            f"y, z. Got a file of another kind ({error})."
        ) from error
    if len(table) < 2:
        raise SceneError(f"'{path}' needs at least two rows of time, x, y, z; got {len(table)}.")

    def goal(time: float) -> np.ndarray:
        return np.array([np.interp(time, table[:, 0], table[:, axis]) for axis in (1, 2, 3)])

    return goal


def _rows(path: str | Path, file: Iterable[str]) -> Iterator[list[float]]:
    """Return rows of numbers, without comments and a first row of names."""
    reader = csv.reader(file, skipinitialspace=True)
    last_time, first = -math.inf, True
    for row in reader:
        if not "".join(row).strip() or row[0].lstrip().startswith("#"):
            continue
        numbers = _numbers(row)
        location = f"'{path}', line {reader.line_num}"
        names = first and numbers is None and row[0][:1].isalpha()
        first = False
        if names:
            continue
        if numbers is None or len(numbers) != 4:
            raise SceneError(f"{location}: expected time, x, y, z, got '{_printable(row)}'.")
        if not all(map(math.isfinite, numbers)):
            raise SceneError(f"{location}: every number must be finite, got '{_printable(row)}'.")
        if numbers[0] <= last_time:
            raise SceneError(
                f"{location}: times must increase, got {numbers[0]:g} after {last_time:g}."
            )
        last_time = numbers[0]
        yield numbers


def _printable(row: Sequence[str]) -> str:
    """Return a row for a message, short and printable."""
    text = ",".join(row)[:60]
    return "".join(c if c.isprintable() else "?" for c in text)


def _numbers(words: Sequence[str]) -> list[float] | None:
    try:
        return [float(word) for word in words]
    except ValueError:
        return None


def _point(name: str, value: Sequence[float]) -> np.ndarray:
    position = _finite(value)
    if position is None or position.shape != (3,):
        raise SceneError(f"A goal on a path needs a {name} of three finite numbers, got {value!r}.")
    return position


def _finite(value: Any) -> np.ndarray | None:
    """Return a copy as an array, or None if the numbers are not finite."""
    try:
        numbers = np.array(value, dtype=float)
    except (TypeError, ValueError):
        return None
    return numbers if np.isfinite(numbers).all() else None
