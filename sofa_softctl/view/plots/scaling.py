"""Plot of step times against the size of a scene, on logarithmic axes, with exponents."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from sofa_softctl.base import colors
from sofa_softctl.base.axes import Axes
from sofa_softctl.bench.scaling import CONTACTS, DOFS, ROWS, Slope, costs_of, times_of
from sofa_softctl.view.plots.figure import new_figure

if TYPE_CHECKING:
    from sofa_softctl.bench.results import Results

NAMES = {"embedded": "embedded runtime", "sofa": "SOFA"}
"""Backends and their names in the legend."""


def save_scaling_plot(path: str | Path, results: Results) -> None:
    """Write a plot (.png, .svg or .pdf) with a panel for each series that was measured.

    Points are median times of a step; of rows and contacts, times beyond the smallest case.

    Raises:
        SoftctlError: a suffix that cannot be written.
    """
    measured = {speed.series for speed in results.speeds if speed.embedded is not None}
    series = [name for name in (DOFS, ROWS, CONTACTS) if name in measured]
    with new_figure(path, (0.6 + 3.7 * max(len(series), 1), 3.8)) as figure:
        panels = figure.subplots(1, max(len(series), 1), squeeze=False)[0]
        for axes, name in zip(panels, series, strict=False):
            _plot_series(axes, results, name)


def _plot_series(axes: Axes, results: Results, series: str) -> None:
    slopes = {slope.backend: slope for slope in results.slopes if slope.series == series}
    for number, (backend, name) in enumerate(NAMES.items()):
        color = colors.PALETTE[number]
        sizes, ms = costs_of(results.speeds, series, backend)
        is_positive = (ms > 0.0) & (sizes > 0.0)
        if not is_positive.any():
            continue
        slope = slopes.get(backend)
        label = name if slope is None else f"{name}, exponent {slope.exponent:.2f}"
        axes.loglog(sizes[is_positive], ms[is_positive], "o", ms=4, color=color, label=label)
        if slope is not None:
            _plot_fit(axes, sizes[is_positive], ms[is_positive], slope, color)
    if axes.lines:
        axes.legend(loc="upper left")
    _, base = times_of(results.speeds, series, "embedded")
    beyond = "" if series == DOFS else f" beyond the first {base[0]:.3g} ms"
    axes.set_xlabel(series if series == DOFS else f"further {series}")
    axes.set_ylabel(f"time of a step{beyond} [ms]")


def _plot_fit(axes: Axes, sizes: np.ndarray, ms: np.ndarray, slope: Slope, color: str) -> None:
    """Plot the power law through the geometric mean of the fitted points."""
    ends = np.array([slope.size_min, slope.size_max])
    is_fitted = (sizes >= ends[0]) & (sizes <= ends[1])
    x, y = np.exp(np.log(sizes[is_fitted]).mean()), np.exp(np.log(ms[is_fitted]).mean())
    axes.loglog(ends, y * (ends / x) ** slope.exponent, "-", lw=1.0, color=color)
