"""Columns of a study as coordinates on axes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sofa_softctl.batch.table.results import Results

CELLS_MAX = 40
"""Maximum number of different values of a column that is drawn value by value."""


@dataclass(frozen=True)
class Column:
    """A parameter or measure, or an entry of a vector, as numbers."""

    name: str
    """Label of the axis."""
    values: np.ndarray
    """Coordinates of the points: values, or indices of `ticks`, shape (n,)."""
    ticks: tuple[str, ...]
    """Texts of the values if they are few, drawn at equal distances; () for a plain axis."""
    log: bool = False
    """Whether a plain axis is logarithmic."""


def parameter_columns(results: Results) -> list[Column]:
    """Return a column for each parameter, or vector entry, with several values."""
    columns = []
    for name in results.parameters:
        values = results.rows[name].to_pylist()
        log = name in results.logarithmic
        if any(isinstance(value, list) for value in values):
            length = max(len(value) for value in values if value is not None)
            for k in range(length):
                coordinate = [v[k] if v is not None and len(v) > k else None for v in values]
                columns.append(_parameter(f"{name}[{k}]", coordinate, log))
        else:
            columns.append(_parameter(name, values, log))
    return [column for column in columns if column is not None]


def measure_column(name: str, values: np.ndarray) -> Column | None:
    """Return the column of a measure, or None if it has only one value.

    Args:
        name: Label of the axis.
        values: Values of the measure, shape (n,).
    """
    finite = values[np.isfinite(values)]
    if np.unique(finite).size < 2:
        return None
    log = bool(finite.min() > 0.0 and finite.max() > 100.0 * finite.min())
    return Column(name, np.where(np.isfinite(values), values, np.nan), (), log)


def _parameter(name: str, entries: list[Any], log: bool) -> Column | None:
    valid = [value for value in entries if value is not None]
    different = sorted(set(valid))
    if len(different) < 2:
        return None
    is_repeated = len(different) <= CELLS_MAX and 2 * len(different) <= len(valid)
    if is_repeated or isinstance(different[0], str | bool):
        order = {value: index for index, value in enumerate(different)}
        indices = np.array([order.get(value, np.nan) for value in entries], dtype=float)
        return Column(name, indices, tuple(map(_text, different)))
    values = np.array([np.nan if value is None else value for value in entries], dtype=float)
    log = log or _even_in_logarithms(np.array(different, dtype=float))
    return Column(name, values, (), log and different[0] > 0.0)


def _even_in_logarithms(values: np.ndarray) -> bool:
    """Return True if the logarithms of ascending values are spaced more evenly than the values."""
    low, middle, high = values[0], float(np.median(values)), values[-1]
    if not (low > 0.0 and high > 30.0 * low):
        return False
    return bool(middle**2 < 0.5 * (low + high) * np.sqrt(low * high))


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        short = float(f"{value:.3g}")
        return f"{short:.7g}" if 1e-4 <= abs(short) < 1e6 or not short else f"{short:g}"
    text = str(value)
    return text if len(text) <= 16 else f"{text[:15]}…"
