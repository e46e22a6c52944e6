"""Panels of studies: a measure over one parameter, over two, and its distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sofa_softctl.base import colors
from sofa_softctl.base.axes import Axes
from sofa_softctl.view.plots.batch_columns import Column

POINTS = 4000
"""Most points of a panel."""
VECTORS = 100
"""Points from which a panel of a vector graphic is an image."""
BINS = 12
"""Of the medians over a parameter with many values."""
BARS = 40
"""Of a distribution."""
LABELS = 6
"""Values of a column that are written."""


def color_scale(values: np.ndarray) -> dict[str, Any]:
    """Colours of a measure, for all maps of it; from its 2nd to its 98th percentile."""
    known = values[np.isfinite(values)]
    low, high = np.percentile(known, [2.0, 98.0]) if known.size else (0.0, 1.0)
    return {"vmin": low, "vmax": high if high > low else low + 1.0, "cmap": "viridis"}


def plot_marginal(
    axes: Axes,
    column: Column,
    values: np.ndarray,
    failed: np.ndarray,
    worst: Sequence[tuple[int, int]] = (),
) -> None:
    """Runs as points, the median over the parameter as a line, and failures as crosses.

    Args:
        axes: Where it is drawn.
        column: The parameter.
        values: The measure, NaN where it has none, shape (n,).
        failed: Runs that failed, shape (n,).
        worst: Rows that get a ring, with the numbers of their runs.
    """
    known = np.isfinite(values) & np.isfinite(column.values)
    x, y = column.values[known], values[known]
    few = some(len(x))
    axes.plot(
        x[few], y[few], ".", color=colors.PALETTE[4], ms=2.5, alpha=0.6, zorder=1,
        rasterized=len(few) > VECTORS,
    )  # fmt: skip
    if len(x):
        axes.plot(*_median_line(x, y, bool(column.ticks)), color=colors.PALETTE[0], lw=1.6)
    for place, (row, number) in enumerate(worst):
        at = (column.values[row], values[row])
        axes.plot(*at, "o", mfc="none", mec=colors.LIMIT, ms=6.0, zorder=4)
        axes.annotate(  # below and above in turn, since neighbours lie close
            str(number), at, xytext=(4.0, -9.0 if place % 2 else 3.0), textcoords="offset points",
            fontsize=7.0, color=colors.LIMIT, annotation_clip=False,
        )  # fmt: skip
    label(axes.xaxis, column)
    at = column.values[failed]
    at = at[np.isfinite(at)]
    at = at[some(len(at))]
    if not len(at):
        return  # an empty line that is not clipped would count as one at the origin
    axes.plot(
        at, np.full(len(at), 0.02), "x", color=colors.UNSOLVED, ms=4.0, zorder=3,
        transform=axes.get_xaxis_transform(), clip_on=False, rasterized=len(at) > VECTORS,
    )  # fmt: skip


def plot_pair(
    axes: Axes,
    across: Column,
    below: Column,
    values: np.ndarray,
    failed: np.ndarray,
    scale: dict[str, Any],
) -> Any:
    """A map of medians where both have few values, otherwise points; crosses are failures.

    Returns:
        What a colour bar is made for.
    """
    if across.ticks and below.ticks:
        x, y = np.arange(len(across.ticks)), np.arange(len(below.ticks))
        drawn = axes.pcolormesh(x, y, _medians(across, below, values), rasterized=True, **scale)
        axes.grid(False)
    else:
        known = np.flatnonzero(np.isfinite(values))
        few = known[some(len(known))]
        drawn = axes.scatter(
            across.values[few], below.values[few], c=values[few], s=6.0, lw=0.0,
            rasterized=len(few) > VECTORS, **scale,
        )  # fmt: skip
    at = np.flatnonzero(failed)
    at = at[some(len(at))]
    axes.plot(
        across.values[at], below.values[at], "x", color=colors.UNSOLVED, ms=4.0,
        rasterized=len(at) > VECTORS,
    )  # fmt: skip
    label(axes.xaxis, across)
    label(axes.yaxis, below)
    return drawn


def plot_distribution(axes: Axes, column: Column) -> None:
    """Numbers of runs by value; what is far off all others is counted in the outermost bars."""
    known = column.values[np.isfinite(column.values)]
    if column.ticks:
        counts = np.bincount(known.astype(int), minlength=len(column.ticks))
        axes.bar(np.arange(len(column.ticks)), counts, color=colors.PALETTE[0])
    else:
        low, high = (known.min(), known.max()) if column.log else _most(known)
        space = np.geomspace if column.log else np.linspace
        edges = space(low, high, min(BARS, 4 + int(1.5 * known.size**0.5)) + 1)
        axes.hist(np.clip(known, low, high), edges, color=colors.PALETTE[0])
    label(axes.xaxis, column)
    axes.set_ylabel("runs")
    axes.yaxis.get_major_locator().set_params(integer=True)


def label(axis: Any, column: Column) -> None:
    """Name, and values or scale of an axis."""
    from matplotlib.ticker import LogLocator, NullFormatter

    axis.set_label_text(column.name)
    if column.ticks:
        count = len(column.ticks)
        places = np.unique(np.linspace(0, count - 1, min(count, LABELS)).astype(int))
        texts = [column.ticks[k] for k in places]
        axis.set_ticks(places, texts)
        if axis.axis_name == "x" and sum(map(len, texts)) > 22:
            axis.set_tick_params(rotation=30)
    elif column.log:
        getattr(axis.axes, f"set_{axis.axis_name}scale")("log")
        known = column.values[np.isfinite(column.values)]
        decades = known.max() > 30.0 * known.min()
        axis.set_major_locator(LogLocator(subs=(1.0,) if decades else (1.0, 3.0), numticks=5))
        if 1e-4 < known.min() and known.max() < 1e6:
            axis.set_major_formatter("{x:g}")
        axis.set_minor_formatter(NullFormatter())


def inner(axes: Axes, *, above: bool, right: bool) -> None:
    """Leave out what the panels below, or at the left, say of the same axis."""
    for axis, hidden in ((axes.xaxis, above), (axes.yaxis, right)):
        if hidden:
            axis.set_label_text("")
            axis.set_tick_params(labelleft=False, labelbottom=False)


def some(count: int) -> np.ndarray:
    """Up to `POINTS` of so many, evenly."""
    return np.unique(np.linspace(0, max(count - 1, 0), min(count, POINTS)).astype(int))


def _median_line(x: np.ndarray, y: np.ndarray, by_value: bool) -> tuple[list[float], list[float]]:
    """Medians of y at each x, or at `BINS` of them with as many points each."""
    if by_value or len(np.unique(x)) <= BINS:
        _, place = np.unique(x, return_inverse=True)
    else:
        edges = np.unique(np.quantile(x, np.linspace(0.0, 1.0, BINS + 1)))
        place = np.clip(np.searchsorted(edges, x, "right") - 1, 0, len(edges) - 2)
    order = np.argsort(place, kind="stable")
    starts = np.unique(place[order], return_index=True)[1][1:]
    parts = np.split(order, starts)
    return [float(np.median(x[p])) for p in parts], [float(np.median(y[p])) for p in parts]


def _medians(across: Column, below: Column, values: np.ndarray) -> np.ndarray:
    """Median of the measure for each pair of values, NaN where there is none."""
    found = np.full((len(below.ticks), len(across.ticks)), np.nan)
    known = np.isfinite(values) & np.isfinite(across.values) & np.isfinite(below.values)
    cells = (below.values[known] * len(across.ticks) + across.values[known]).astype(int)
    order = np.argsort(cells, kind="stable")
    names, starts = np.unique(cells[order], return_index=True)
    for name, part in zip(names, np.split(values[known][order], starts[1:]), strict=True):
        if len(part):
            found.flat[name] = np.median(part)
    return found


def _most(known: np.ndarray) -> tuple[float, float]:
    """Ends of values of which some differ, without those that are far off all others."""
    low, first, third, high = np.percentile(known, [0.0, 25.0, 75.0, 100.0])
    reach = 10.0 * (third - first) if third > first else np.inf
    return float(max(low, first - reach)), float(min(high, third + reach))
