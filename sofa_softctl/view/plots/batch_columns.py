"""Columns of a study as coordinates on axes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sofa_softctl.batch.table.results import Results

CELLS = 40
"""Most different values of a column that is drawn value by value."""

SPAN = 100.0
"""Factor over which a measure has a logarithmic axis."""


@dataclass(frozen=True)
class Column:
    """A parameter or measure, or an entry of a vector, as numbers."""

    name: str
    """What the axis says."""
    values: np.ndarray
    """Where its points are drawn: values, or numbers of values, shape (n,)."""
    ticks: tuple[str, ...]
    """Its values, where they are few and drawn with equal distances; empty: a plain axis."""
    log: bool = False
    """Whether a plain axis is logarithmic."""


def parameter_columns(found: Results) -> list[Column]:
    """Parameters with several values, entries of vectors one by one."""
    columns = []
    for name in found.parameters:
        given = found.rows[name].to_pylist()
        log = name in found.logarithmic
        if any(isinstance(value, list) for value in given):
            length = max(len(value) for value in given if value is not None)
            for k in range(length):
                entry = [v[k] if v is not None and len(v) > k else None for v in given]
                columns.append(_parameter(f"{name}[{k}]", entry, log))
        else:
            columns.append(_parameter(name, given, log))
    return [column for column in columns if column is not None]


def measure_column(name: str, values: np.ndarray) -> Column | None:
    """A measure; None: it has one value only.

    Args:
        name: What the axis says.
        values: Shape (n,).
    """
    known = values[np.isfinite(values)]
    if np.unique(known).size < 2:
        return None
    log = bool(known.min() > 0.0 and known.max() > SPAN * known.min())
    return Column(name, np.where(np.isfinite(values), values, np.nan), (), log)


def _parameter(name: str, given: list[Any], log: bool) -> Column | None:
    """None: it has one value only."""
    known = [value for value in given if value is not None]
    different = sorted(set(known))
    if len(different) < 2:
        return None
    repeated = len(different) <= CELLS and 2 * len(different) <= len(known)
    if repeated or isinstance(different[0], str | bool):
        order = {value: place for place, value in enumerate(different)}
        places = np.array([order.get(value, np.nan) for value in given], dtype=float)
        return Column(name, places, tuple(map(_text, different)))
    values = np.array([np.nan if value is None else value for value in given], dtype=float)
    log = log or _even_in_logarithms(np.array(different, dtype=float))
    return Column(name, values, (), log and different[0] > 0.0)


def _even_in_logarithms(values: np.ndarray) -> bool:
    """Whether ascending values are more even in their logarithms than in themselves."""
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
