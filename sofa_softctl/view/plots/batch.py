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
    IMAGE_POINTS,
    color_scale,
    evenly_spaced,
    label_axis,
    plot_distribution,
    plot_marginal,
    plot_pair,
    remove_inner_labels,
)
from sofa_softctl.view.plots.figure import new_figure

KINDS = ("map", "scatter")
COLUMNS_MAX = 6
"""Maximum number of parameters in maps, and of columns in a scatter matrix."""
WORST_RUNS = 3
"""Number of worst runs that are marked by rings."""
FAILED = "failed"
"""Column plotted if there is no measure: 1 for runs that failed, 0 for others."""


def save_study_plot(path: str | Path, study: Results, measure: str = "", kind: str = "map") -> None:
    """Write a matrix of panels.

    Args:
        path: File to write.
        study: Results of the study.
        measure: Column that is shown, or "" for the first measure with numbers.
        kind: "map": the measure over each parameter, with rings at its greatest values, and below
            for each pair of parameters: a heat map of medians if both have few values, otherwise
            points. "scatter": parameters and measures in pairs, and their distributions; the
            measure gives the colour. Columns with one value, and those after the first
            `COLUMNS_MAX`, are left out.

    Raises:
        SoftctlError: Unknown column, no row, or no parameter that varies.
    """
    shown = parameter_columns(study)
    if not len(study.rows) or not shown:
        missing = "row" if not len(study.rows) else "parameter with several values"
        raise SoftctlError(f"'{study.path}' has no {missing}: there is nothing to plot.")
    values, measure = measure_values(study, measure)
    if kind == "scatter":
        names = [measure, *(name for name in study.number_columns if name != measure)]
        measures = (measure_column(name, measure_values(study, name)[0]) for name in names)
        columns = [*shown[: COLUMNS_MAX - 1], *(c for c in measures if c is not None)][:COLUMNS_MAX]
        _save_scatter(path, study, columns, values, measure)
    else:
        _save_maps(path, study, shown[:COLUMNS_MAX], values, measure)


def measure_values(study: Results, measure: str = "") -> tuple[np.ndarray, str]:
    """Return the values of a measure, NaN if not finite, shape (n,), and its name.

    Args:
        study: Results of the study.
        measure: Name of the column, or "" for the first one with numbers, or else `FAILED`.
    """
    measure = measure or next(iter(study.number_columns), FAILED)
    if measure == FAILED and FAILED not in study.rows.column_names:
        return study.failed.astype(float), FAILED
    values = study.numbers(measure)
    return np.where(np.isfinite(values), values, np.nan), measure


def greatest(values: np.ndarray, count: int) -> np.ndarray:
    """Return the rows with the greatest values, shape (up to count,)."""
    order = np.argsort(-np.nan_to_num(values, nan=-np.inf), kind="stable")[:count]
    return order[np.isfinite(values[order])]


def worst_runs(study: Results, values: np.ndarray) -> list[tuple[int, int]]:
    """Return rows with the greatest values, and their run numbers; [] if all are equal."""
    finite = values[np.isfinite(values)]
    if not finite.size or finite.min() == finite.max():
        return []
    rows = greatest(values, WORST_RUNS)
    return list(zip(rows.tolist(), study.rows["index"].take(rows).to_pylist(), strict=True))


def _save_maps(
    path: str | Path, study: Results, shown: list[Column], values: np.ndarray, measure: str
) -> None:
    failed, scale, count = study.failed, color_scale(values), len(shown)
    worst = worst_runs(study, values) if measure != FAILED else []
    side = min(3.4, max(2.3, 9.0 / count))
    with new_figure(path, (side * count + 1.2, side * count + 0.6)) as figure:
        grid = figure.add_gridspec(count, count)
        mesh: Any = None
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
                    mesh = plot_pair(axes, across, below, values, failed, scale)
                    remove_inner_labels(axes, above=i < count - 1, right=j > 0)
        _title(figure, study)
        if mesh is not None:
            bar = figure.colorbar(
                mesh, ax=corner, location="left", fraction=0.08, label=measure, extend="both"
            )
            bar.ax.yaxis.set_ticks_position("right")


def _save_scatter(
    path: str | Path, study: Results, columns: list[Column], values: np.ndarray, measure: str
) -> None:
    failed, scale, count = study.failed, color_scale(values), len(columns)
    side = min(3.0, max(1.9, 11.0 / count))
    sample = evenly_spaced(len(values))
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
                dot = {"s": 6.0, "lw": 0.0, "rasterized": len(sample) > IMAGE_POINTS}
                good = sample[np.isfinite(values[sample])]
                points = axes.scatter(
                    across.values[good], below.values[good], c=values[good], **dot, **scale
                )
                bad = sample[failed[sample]]
                axes.plot(
                    across.values[bad], below.values[bad], "x", color=colors.UNSOLVED, ms=4.0,
                    rasterized=len(bad) > IMAGE_POINTS,
                )  # fmt: skip
                label_axis(axes.xaxis, across)
                label_axis(axes.yaxis, below)
                remove_inner_labels(axes, above=i < count - 1, right=j > 0)
        _title(figure, study)
        if points is not None:
            figure.colorbar(
                points, ax=panels[0, 1:].tolist(), location="left", label=measure, extend="both"
            )


def _title(figure: Any, study: Results) -> None:
    failure_count = int(study.failed.sum())
    figure.suptitle(f"{study.name}: {len(study.rows):,} runs, {failure_count:,} failed (orange)")
