"""Figures of reports of studies, as inline SVG."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sofa_softctl.base.axes import Figure
from sofa_softctl.batch.results import Results
from sofa_softctl.view.plots.batch import worst_runs
from sofa_softctl.view.plots.batch_columns import Column, measure_column
from sofa_softctl.view.plots.batch_panels import (
    color_scale,
    plot_distribution,
    plot_marginal,
    plot_pair,
)
from sofa_softctl.view.report.svg import svg

SIZE = (3.3, 2.35)
"""Of a panel [inch]."""


def distribution_figure(name: str, values: np.ndarray) -> str:
    """Runs by the value of a measure; empty: all have the same."""
    column = measure_column(name, values)
    if column is None:
        return ""
    return svg(*SIZE, lambda figure: plot_distribution(figure.subplots(), column))


def panel_figures(
    found: Results, parameters: list[Column], name: str, values: np.ndarray
) -> Iterator[tuple[str, str]]:
    """A measure over each parameter, then over each pair of them, with captions."""
    failed, worst, scale = found.failed, worst_runs(found, values), color_scale(values)
    for column in parameters:

        def draw_one(figure: Figure, column: Column = column) -> None:
            axes = figure.subplots()
            plot_marginal(axes, column, values, failed, worst)
            axes.set_ylabel(name)

        yield svg(*SIZE, draw_one), f"{name} over {column.name}"
    for i, below in enumerate(parameters):
        for across in parameters[:i]:

            def draw_two(figure: Figure, across: Column = across, below: Column = below) -> None:
                drawn = plot_pair(figure.subplots(), across, below, values, failed, scale)
                figure.colorbar(drawn, label=name)

            yield svg(*SIZE, draw_two), f"{name} over {across.name} and {below.name}"
