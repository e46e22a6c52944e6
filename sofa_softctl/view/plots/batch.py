"""Plots of a study: a measure over all parameters, and a scatter matrix."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from sofa_softctl.base import colors
from sofa_softctl.batch.table.results import Results
from sofa_softctl.errors import SoftctlError
from sofa_softctl.view.plots.batch_columns import Column, measure_column, parameter_columns
from sofa_softctl.view.plots.batch_panels import (
    VECTORS,
    color_scale,
    inner,
    label,
    plot_distribution,
    plot_marginal,
    plot_pair,
    some,
)
from sofa_softctl.view.plots.figure import new_figure

KINDS = ("map", "scatter")
MOST = 6
"""Parameters that are shown in maps, and columns in a scatter matrix."""
RINGS = 3
"""Worst runs that are marked."""
FAILED = "failed"
"""Plotted where there is no measure: 1 for runs that failed, 0 for others."""


def save_study_plot(path: str | Path, found: Results, measure: str = "", kind: str = "map") -> None:
    """Write a matrix of panels.

    Args:
        path: File to write.
        found: The study.
        measure: Column that is shown; empty: the first measure with numbers.
        kind: "map": the measure over each parameter, with rings at its greatest values, and below
            for each pair of parameters: a heat map of medians where both have few values, otherwise
            points. "scatter": parameters and measures in pairs, and their distributions; the
            measure gives the colour. Those that have one value only are left out, and those after
            the first `MOST`.

    Raises:
        SoftctlError: There is no such column, no row, or no parameter that varies.
    """
    shown = parameter_columns(found)
    if not len(found.rows) or not shown:
        what = "row" if not len(found.rows) else "parameter with several values"
        raise SoftctlError(f"'{found.path}' has no {what}: there is nothing to plot.")
    values, measure = measure_values(found, measure)
    if kind == "scatter":
        names = [measure, *(name for name in found.number_columns if name != measure)]
        measured = (measure_column(name, measure_values(found, name)[0]) for name in names)
        columns = [*shown[: MOST - 1], *(one for one in measured if one is not None)][:MOST]
        _save_scatter(path, found, columns, values, measure)
    else:
        _save_maps(path, found, shown[:MOST], values, measure)


def measure_values(found: Results, measure: str = "") -> tuple[np.ndarray, str]:
    """Values of a measure, NaN where they are not finite, shape (n,); and its name.

    Args:
        found: The study.
        measure: Its column; empty: the first one with numbers, or `FAILED`.
    """
    measure = measure or next(iter(found.number_columns), FAILED)
    if measure == FAILED and FAILED not in found.rows.column_names:
        return found.failed.astype(float), FAILED
    values = found.numbers(measure)
    return np.where(np.isfinite(values), values, np.nan), measure


def greatest(values: np.ndarray, count: int) -> np.ndarray:
    """Rows with the greatest values, shape (up to count,)."""
    order = np.argsort(-np.nan_to_num(values, nan=-np.inf), kind="stable")[:count]
    return order[np.isfinite(values[order])]


def worst_runs(found: Results, values: np.ndarray) -> list[tuple[int, int]]:
    """Rows with the greatest values, with the numbers of their runs; none where all are equal."""
    known = values[np.isfinite(values)]
    if not known.size or known.min() == known.max():
        return []
    rows = greatest(values, RINGS)
    return list(zip(rows.tolist(), found.rows["index"].take(rows).to_pylist(), strict=True))


def _save_maps(
    path: str | Path, found: Results, shown: list[Column], values: np.ndarray, measure: str
) -> None:
    failed, scale, count = found.failed, color_scale(values), len(shown)
    worst = worst_runs(found, values) if measure != FAILED else []
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
                    plot_marginal(axes, across, values, failed, worst)
                    axes.set_ylabel(measure)
                else:
                    drawn = plot_pair(axes, across, below, values, failed, scale)
                    inner(axes, above=i < count - 1, right=j > 0)
        _title(figure, found)
        if drawn is not None:
            bar = figure.colorbar(
                drawn, ax=corner, location="left", fraction=0.08, label=measure, extend="both"
            )
            bar.ax.yaxis.set_ticks_position("right")


def _save_scatter(
    path: str | Path, found: Results, columns: list[Column], values: np.ndarray, measure: str
) -> None:
    failed, scale, count = found.failed, color_scale(values), len(columns)
    side = min(3.0, max(1.9, 11.0 / count))
    few = some(len(values))
    with new_figure(path, (side * count + 1.2, side * count + 0.6)) as figure:
        panels = figure.subplots(count, count, squeeze=False)
        points: Any = None
        for i, below in enumerate(columns):
            for j, across in enumerate(columns):
                axes = panels[i, j]
                if j > i:
                    axes.set_axis_off()
                    continue
                if i == j:
                    plot_distribution(axes, across)
                    continue
                dot = {"s": 6.0, "lw": 0.0, "rasterized": len(few) > VECTORS}
                good = few[np.isfinite(values[few])]
                points = axes.scatter(
                    across.values[good], below.values[good], c=values[good], **dot, **scale
                )
                bad = few[failed[few]]
                axes.plot(
                    across.values[bad], below.values[bad], "x", color=colors.UNSOLVED, ms=4.0,
                    rasterized=len(bad) > VECTORS,
                )  # fmt: skip
                label(axes.xaxis, across)
                label(axes.yaxis, below)
                inner(axes, above=i < count - 1, right=j > 0)
        _title(figure, found)
        if points is not None:
            figure.colorbar(
                points, ax=panels[0, 1:].tolist(), location="left", label=measure, extend="both"
            )


def _title(figure: Any, found: Results) -> None:
    ended = int(found.failed.sum())
    figure.suptitle(f"{found.name}: {len(found.rows):,} runs, {ended:,} failed (crosses)")
