"""Plot of a study: a measure over each parameter, and over each pair of them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sofa_softctl._internal import colors
from sofa_softctl._internal.axes import Axes
from sofa_softctl.batch.results import Results
from sofa_softctl.errors import SoftctlError
from sofa_softctl.view.plots.figure import new_figure

MOST = 6
"""Parameters that are shown."""
CELLS = 40
"""Most different values of a parameter that is drawn value by value."""
POINTS = 4000
"""Most points of a panel."""
BINS = 12
"""Of the medians over a parameter with many values."""
FAILED = "failed"
"""Plotted where there is no measure: 1 for runs that failed, 0 for others."""


@dataclass(frozen=True)
class Column:
    """A parameter, or an entry of a vector, as numbers."""

    name: str
    """What the axis says."""
    values: np.ndarray
    """Where its points are drawn: values, or numbers of values, shape (n,)."""
    ticks: tuple[str, ...]
    """Its values, where they are few and drawn with equal distances; empty: a plain axis."""
    log: bool = False
    """Whether a plain axis is logarithmic."""


def save_study_plot(path: str | Path, found: Results, measure: str = "") -> None:
    """Write a matrix of panels: a measure over each parameter, and for each pair below it.

    Pairs are heat maps of medians where both have few values, and otherwise points. Parameters that
    have one value only are left out, and those after the first `MOST`.

    Args:
        path: File to write.
        found: The study.
        measure: Column that is shown; empty: the first measure with numbers.

    Raises:
        SoftctlError: There is no such column, no row, or no parameter that varies.
    """
    shown = [column for name in found.parameters for column in _columns(found.rows, name)][:MOST]
    if not len(found.rows) or not shown:
        what = "row" if not len(found.rows) else "parameter with several values"
        raise SoftctlError(f"'{found.path}' has no {what}: there is nothing to plot.")
    measure = measure or next((name for name in found.measures if found.numeric(name)), FAILED)
    failed = found.failed
    values = failed.astype(float) if measure == FAILED else found.numbers(measure)
    known = np.isfinite(values)
    low, high = np.percentile(values[known], [2.0, 98.0]) if known.any() else (0.0, 1.0)
    scale = {"vmin": low, "vmax": high if high > low else low + 1.0, "cmap": "viridis"}
    count = len(shown)
    side = min(3.4, max(2.3, 9.0 / count))
    with new_figure(path, (side * count + 1.2, side * count + 0.6)) as figure:
        grid = figure.add_gridspec(count, count)
        drawn: Any = None
        if count > 1:
            corner = figure.add_subplot(grid[0, 1])
            corner.set_axis_off()
        for i, below in enumerate(shown):
            for j, across in enumerate(shown[: i + 1]):
                axes = figure.add_subplot(grid[i, j])
                if i == j:
                    _plot_marginal(axes, across, values, failed)
                    axes.set_ylabel(measure)
                else:
                    drawn = _plot_pair(axes, across, below, values, failed, scale)
                    _label(axes.yaxis, below)
                _label(axes.xaxis, across)
        ended = int(failed.sum())
        figure.suptitle(f"{found.name}: {len(found.rows):,} runs, {ended:,} failed (crosses)")
        if drawn is not None:
            bar = figure.colorbar(drawn, ax=corner, location="left", fraction=0.08, label=measure)
            bar.ax.yaxis.set_ticks_position("right")


def _columns(rows: Any, name: str) -> list[Column]:
    """What is drawn of a parameter: itself, or each entry of a vector."""
    given = rows[name].to_pylist()
    if any(isinstance(value, list) for value in given):
        length = max(len(value) for value in given if value is not None)
        entries = [[None if value is None else value[k] for value in given] for k in range(length)]
        parts = [_column(f"{name}[{k}]", entry) for k, entry in enumerate(entries)]
    else:
        parts = [_column(name, given)]
    return [part for part in parts if part is not None]


def _column(name: str, given: list[Any]) -> Column | None:
    """None: it has one value only."""
    different = sorted({value for value in given if value is not None})
    if len(different) < 2:
        return None
    if len(different) <= CELLS or isinstance(different[0], str):
        order = {value: place for place, value in enumerate(different)}
        places = np.array([order.get(value, np.nan) for value in given], dtype=float)
        return Column(name, places, tuple(map(_text, different)))
    values = np.array([np.nan if value is None else value for value in given], dtype=float)
    return Column(name, values, (), _even_in_logarithms(np.array(different, dtype=float)))


def _even_in_logarithms(values: np.ndarray) -> bool:
    """Whether ascending values are more even in their logarithms than in themselves."""
    low, middle, high = values[0], float(np.median(values)), values[-1]
    if not (low > 0.0 and high > 30.0 * low):
        return False
    return bool(middle**2 < 0.5 * (low + high) * np.sqrt(low * high))


def _text(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def _plot_marginal(axes: Axes, column: Column, values: np.ndarray, failed: np.ndarray) -> None:
    """Runs as points, and the median over the parameter as a line."""
    known = np.isfinite(values) & np.isfinite(column.values)
    x, y = column.values[known], values[known]
    few = _some(len(x))
    axes.plot(x[few], y[few], ".", color=colors.PALETTE[4], ms=2.5, alpha=0.6, zorder=1)
    if column.ticks:
        groups = np.unique(x)
        centers, medians = groups.tolist(), [np.median(y[x == each]) for each in groups]
    else:
        edges = np.unique(np.quantile(x, np.linspace(0.0, 1.0, BINS + 1)))
        place = np.clip(np.searchsorted(edges, x, "right") - 1, 0, len(edges) - 2)
        groups = np.unique(place)
        centers = [np.median(x[place == each]) for each in groups]
        medians = [np.median(y[place == each]) for each in groups]
    axes.plot(centers, medians, "-", color=colors.PALETTE[0], lw=1.6, zorder=2)
    at = column.values[failed]
    at = at[_some(len(at))]
    if not len(at):
        return  # an empty line that is not clipped would count as one at the origin
    axes.plot(
        at, np.full(len(at), 0.02), "x", color=colors.UNSOLVED, ms=4.0,
        transform=axes.get_xaxis_transform(), clip_on=False, zorder=3,
    )  # fmt: skip


def _plot_pair(
    axes: Axes,
    across: Column,
    below: Column,
    values: np.ndarray,
    failed: np.ndarray,
    scale: dict[str, Any],
) -> Any:
    """A map of medians, or points; crosses are runs that failed."""
    if across.ticks and below.ticks:
        grid = _medians(across, below, values)
        drawn = axes.pcolormesh(
            np.arange(len(across.ticks)), np.arange(len(below.ticks)), grid, **scale
        )
        axes.grid(False)
    else:
        known = np.flatnonzero(np.isfinite(values))
        few = known[_some(len(known))]
        drawn = axes.scatter(
            across.values[few], below.values[few], c=values[few], s=6.0, lw=0.0, **scale
        )
    at = np.flatnonzero(failed)
    at = at[_some(len(at))]
    axes.plot(across.values[at], below.values[at], "x", color=colors.UNSOLVED, ms=4.0)
    return drawn


def _medians(across: Column, below: Column, values: np.ndarray) -> np.ndarray:
    """Median of the measure for each pair of values, NaN where there is none."""
    found = np.full((len(below.ticks), len(across.ticks)), np.nan)
    known = np.isfinite(values) & np.isfinite(across.values) & np.isfinite(below.values)
    cells = (below.values * len(across.ticks) + across.values)[known].astype(int)
    order = np.argsort(cells, kind="stable")
    names, starts = np.unique(cells[order], return_index=True)
    for name, part in zip(names, np.split(values[known][order], starts[1:]), strict=True):
        found.flat[name] = np.median(part)
    return found


def _some(count: int) -> np.ndarray:
    """Up to `POINTS` of so many, evenly."""
    return np.unique(np.linspace(0, max(count - 1, 0), min(count, POINTS)).astype(int))


def _label(axis: Any, column: Column) -> None:
    axis.set_label_text(column.name)
    if column.ticks:
        count = len(column.ticks)
        places = np.unique(np.linspace(0, count - 1, min(count, 6)).astype(int))
        axis.set_ticks(places, [column.ticks[k] for k in places])
    elif column.log:
        getattr(axis.axes, f"set_{axis.axis_name}scale")("log")
