"""Panels of studies: a measure over one parameter, over two, and its distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sofa_softctl.base import colors
from sofa_softctl.base.axes import Axes
from sofa_softctl.view.plots.batch_columns import Column

POINTS_MAX = 4000
"""Maximum number of points of a panel."""
IMAGE_POINTS = 100
"""Number of points above which a panel of a vector graphic becomes an image."""
FAILED_CELL = colors.pale(colors.UNSOLVED, 0.6)
"""Colour of a map's cell of which all runs failed; it differs from the paper and from the scale."""
BIN_COUNT = 12
"""Number of medians over a parameter with many values."""


def color_scale(values: np.ndarray) -> dict[str, Any]:
    """Return the color scale of a measure, from its 2nd to its 98th percentile."""
    finite = values[np.isfinite(values)]
    low, high = np.percentile(finite, [2.0, 98.0]) if finite.size else (0.0, 1.0)
    return {"vmin": low, "vmax": high if high > low else low + 1.0, "cmap": "viridis"}


def plot_marginal(
    axes: Axes,
    column: Column,
    values: np.ndarray,
    failed: np.ndarray,
    worst: Sequence[tuple[int, int]] = (),
) -> None:
    """Plot runs as points, the median over the parameter as a line, and failures as crosses.

    Args:
        axes: Panel to draw on.
        column: The parameter.
        values: Measure of each run, or NaN, shape (n,).
        failed: True for runs that failed, shape (n,).
        worst: Rows that get a ring, with their run numbers.
    """
    is_finite = np.isfinite(values) & np.isfinite(column.values)
    x, y = column.values[is_finite], values[is_finite]
    sample = evenly_spaced(len(x))
    axes.plot(
        x[sample], y[sample], ".", color=colors.PALETTE[4], ms=2.5, alpha=0.6, zorder=1,
        rasterized=len(sample) > IMAGE_POINTS,
    )  # fmt: skip
    if len(x):
        axes.plot(*_median_line(x, y, bool(column.ticks)), color=colors.PALETTE[0], lw=1.6)
    for rank, (row, number) in enumerate(worst):
        at = (column.values[row], values[row])
        axes.plot(*at, "o", mfc="none", mec=colors.LIMIT, ms=6.0, zorder=4)
        axes.annotate(  # below and above in turn, since neighbours lie close
            str(number), at, xytext=(4.0, -9.0 if rank % 2 else 3.0), textcoords="offset points",
            fontsize=7.0, color=colors.LIMIT, annotation_clip=False,
        )  # fmt: skip
    label_axis(axes.xaxis, column)
    at = column.values[failed]
    at = at[np.isfinite(at)]
    at = at[evenly_spaced(len(at))]
    if not len(at):
        return  # an empty line that is not clipped would count as one at the origin
    axes.plot(
        at, np.full(len(at), 0.02), "x", color=colors.UNSOLVED, ms=4.0, zorder=3,
        transform=axes.get_xaxis_transform(), clip_on=False, rasterized=len(at) > IMAGE_POINTS,
    )  # fmt: skip


def plot_pair(
    axes: Axes,
    across: Column,
    below: Column,
    values: np.ndarray,
    failed: np.ndarray,
    scale: dict[str, Any],
) -> Any:
    """Plot a map of medians if both columns have few values, otherwise points; cross failures.

    Cells of a map of which no run has a value, since they failed, are of their colour.

    Returns:
        The artist for a color bar.
    """
    if across.ticks and below.ticks:
        x, y = np.arange(len(across.ticks)), np.arange(len(below.ticks))
        medians = _medians(across, below, values)
        _color_failed_cells(axes, x, y, np.isnan(medians) & _has_failed(across, below, failed))
        artist = axes.pcolormesh(x, y, medians, rasterized=True, **scale)
        axes.grid(False)
    else:
        finite = np.flatnonzero(np.isfinite(values))
        sample = finite[evenly_spaced(len(finite))]
        artist = axes.scatter(
            across.values[sample], below.values[sample], c=values[sample], s=6.0, lw=0.0,
            rasterized=len(sample) > IMAGE_POINTS, **scale,
        )  # fmt: skip
    at = np.flatnonzero(failed)
    at = at[evenly_spaced(len(at))]
    axes.plot(
        across.values[at], below.values[at], "x", color=colors.UNSOLVED, ms=4.0,
        rasterized=len(at) > IMAGE_POINTS,
    )  # fmt: skip
    label_axis(axes.xaxis, across)
    label_axis(axes.yaxis, below)
    return artist


def _color_failed_cells(axes: Axes, x: np.ndarray, y: np.ndarray, mask: np.ndarray) -> None:
    """Fill cells of a map, mask of shape (len(y), len(x)), with the colour of failed runs."""
    from matplotlib.colors import ListedColormap

    if mask.any():
        cells = np.where(mask, 1.0, np.nan)
        axes.pcolormesh(x, y, cells, rasterized=True, cmap=ListedColormap([FAILED_CELL]))


def _has_failed(across: Column, below: Column, failed: np.ndarray) -> np.ndarray:
    """Return the mask of cells with a failed run, shape (rows, columns)."""
    mask = np.zeros((len(below.ticks), len(across.ticks)), dtype=bool)
    at = failed & np.isfinite(across.values) & np.isfinite(below.values)
    mask[below.values[at].astype(int), across.values[at].astype(int)] = True
    return mask


def plot_distribution(axes: Axes, column: Column) -> None:
    """Plot a histogram of runs; outliers are counted in the outermost bars."""
    finite = column.values[np.isfinite(column.values)]
    if column.ticks:
        counts = np.bincount(finite.astype(int), minlength=len(column.ticks))
        axes.bar(np.arange(len(column.ticks)), counts, color=colors.PALETTE[0])
    else:
        low, high = (finite.min(), finite.max()) if column.log else _range_without_outliers(finite)
        space = np.geomspace if column.log else np.linspace
        edges = space(low, high, min(40, 4 + int(1.5 * finite.size**0.5)) + 1)
        axes.hist(np.clip(finite, low, high), edges, color=colors.PALETTE[0])
    label_axis(axes.xaxis, column)
    axes.set_ylabel("runs")
    axes.yaxis.get_major_locator().set_params(integer=True)


def label_axis(axis: Any, column: Column) -> None:
    """Label an axis with its name, and its values or scale."""
    from matplotlib.ticker import LogLocator, NullFormatter

    axis.set_label_text(column.name)
    if column.ticks:
        count = len(column.ticks)
        indices = np.unique(np.linspace(0, count - 1, min(count, 6)).astype(int))
        texts = [column.ticks[k] for k in indices]
        axis.set_ticks(indices, texts)
        if axis.axis_name == "x" and sum(map(len, texts)) > 22:
            axis.set_tick_params(rotation=30)
    elif column.log:
        getattr(axis.axes, f"set_{axis.axis_name}scale")("log")
        finite = column.values[np.isfinite(column.values)]
        decades = finite.max() > 30.0 * finite.min()
        axis.set_major_locator(LogLocator(subs=(1.0,) if decades else (1.0, 3.0), numticks=5))
        if 1e-4 < finite.min() and finite.max() < 1e6:
            axis.set_major_formatter("{x:g}")
        axis.set_minor_formatter(NullFormatter())


def remove_inner_labels(axes: Axes, *, above: bool, right: bool) -> None:
    """Remove labels that the panels below, or to the left, repeat."""
    for axis, is_hidden in ((axes.xaxis, above), (axes.yaxis, right)):
        if is_hidden:
            axis.set_label_text("")
            axis.set_tick_params(labelleft=False, labelbottom=False)


def evenly_spaced(count: int) -> np.ndarray:
    """Return up to `POINTS_MAX` evenly spaced indices below `count`."""
    return np.unique(np.linspace(0, max(count - 1, 0), min(count, POINTS_MAX)).astype(int))


def _median_line(x: np.ndarray, y: np.ndarray, by_value: bool) -> tuple[list[float], list[float]]:
    """Return medians of x and y at each x, or in `BIN_COUNT` bins with equal numbers of points."""
    if by_value or len(np.unique(x)) <= BIN_COUNT:
        _, bins = np.unique(x, return_inverse=True)
    else:
        edges = np.unique(np.quantile(x, np.linspace(0.0, 1.0, BIN_COUNT + 1)))
        bins = np.clip(np.searchsorted(edges, x, "right") - 1, 0, len(edges) - 2)
    order = np.argsort(bins, kind="stable")
    starts = np.unique(bins[order], return_index=True)[1][1:]
    parts = np.split(order, starts)
    return [float(np.median(x[p])) for p in parts], [float(np.median(y[p])) for p in parts]


def _medians(across: Column, below: Column, values: np.ndarray) -> np.ndarray:
    """Return the median of the measure for each pair of values, or NaN."""
    medians = np.full((len(below.ticks), len(across.ticks)), np.nan)
    is_finite = np.isfinite(values) & np.isfinite(across.values) & np.isfinite(below.values)
    cells = (below.values[is_finite] * len(across.ticks) + across.values[is_finite]).astype(int)
    order = np.argsort(cells, kind="stable")
    names, starts = np.unique(cells[order], return_index=True)
    for name, part in zip(names, np.split(values[is_finite][order], starts[1:]), strict=True):
        if len(part):
            medians.flat[name] = np.median(part)
    return medians


def _range_without_outliers(values: np.ndarray) -> tuple[float, float]:
    """Return the range of values without outliers, more than ten quartile distances away."""
    low, lower, upper, high = np.percentile(values, [0.0, 25.0, 75.0, 100.0])
    margin = 10.0 * (upper - lower) if upper > lower else np.inf
    return float(max(low, lower - margin)), float(min(high, upper + margin))
