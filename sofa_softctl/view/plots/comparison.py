"""Plot of a comparison of the backends: deviation, and time by phase."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from sofa_softctl.base import colors
from sofa_softctl.base.axes import Axes, legend_beside
from sofa_softctl.view.plots.figure import new_figure

STATES_MAX = 7
"""Maximum number of states with separate lines."""


def save_comparison_plot(path: str | Path, comparison: Any) -> None:
    """Write a plot (.png, .svg or .pdf): deviation over time, phases of a step side by side.

    Raises:
        SoftctlError: a suffix that cannot be written.
    """
    with new_figure(path, (11.5, 4.2)) as figure:
        left, right = figure.subplots(1, 2, width_ratios=(1.6, 1.0))
        _plot_deviation(left, comparison)
        _plot_phases(right, comparison)


def _plot_deviation(axes: Axes, comparison: Any) -> None:
    """Plot the states that deviate most, and the largest deviation of the remaining ones."""
    time = comparison.dt * np.arange(1, comparison.steps + 1)
    worst = sorted(comparison.deviation.items(), key=lambda item: -item[1].max())
    shown = {name.removesuffix(".position"): values for name, values in worst[:STATES_MAX]}
    if remaining := [values for _, values in worst[STATES_MAX:]]:
        shown[f"{len(remaining)} others, the largest"] = np.max(remaining, axis=0)
    for number, (name, values) in enumerate(shown.items()):
        color = colors.PALETTE[number % len(colors.PALETTE)]
        shown_values = np.maximum(values, 1e-17)  # a logarithmic axis has no zero
        axes.semilogy(time, shown_values, color=color, lw=1.2, label=name)
    axes.set_xlabel(f"time [{comparison.time_unit}]")
    axes.set_ylabel("deviation, by the robot's size [-]")
    axes.set_title("Embedded runtime against SOFA", loc="left")
    legend_beside(axes)


def _plot_phases(axes: Axes, comparison: Any) -> None:
    names = list(dict.fromkeys([*comparison.phases[0], *comparison.phases[1]]))
    bottom = np.zeros(2)
    for number, name in enumerate(names):
        ms = np.array([phases.get(name, 0.0) for phases in comparison.phases])
        color = colors.PALETTE[number % len(colors.PALETTE)]
        axes.bar(("embedded", "SOFA"), ms, 0.7, bottom=bottom, color=color, label=name)
        bottom += ms
    axes.set_ylabel("wall time of a step [ms]")
    axes.set_title(f"{comparison.ratio:.2f} of SOFA's time", loc="left")
    axes.grid(False, axis="x")
    legend_beside(axes, reverse=True)  # as they are stacked
