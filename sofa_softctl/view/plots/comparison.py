"""Plot of a comparison of the backends: deviation, and time by phase."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from sofa_softctl._internal.atomic_file import replacing
from sofa_softctl._internal.axes import COLORS
from sofa_softctl.errors import SoftctlError

Axes = Any  # matplotlib is imported when a plot is asked for


def save_comparison_plot(path: str | Path, comparison: Any) -> None:
    """Write a plot (.png, .svg or .pdf): deviation over time, phases of a step side by side.

    Raises:
        SoftctlError: a suffix that cannot be written.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    path = Path(path)
    if path.suffix not in (".png", ".svg", ".pdf"):
        raise SoftctlError(f"A plot needs a name in .png, .svg or .pdf, got '{path}'.")
    figure = Figure(figsize=(10.0, 4.4), dpi=130, layout="constrained")
    FigureCanvasAgg(figure)
    left, right = figure.subplots(1, 2, width_ratios=(1.5, 1.0))
    _plot_deviation(left, comparison)
    _plot_phases(right, comparison)
    with replacing(path) as name:
        figure.savefig(name)


def _plot_deviation(axes: Axes, comparison: Any) -> None:
    time = comparison.dt * np.arange(1, comparison.steps + 1)
    worst = sorted(comparison.deviation.items(), key=lambda entry: -entry[1].max())
    for (name, values), color in zip(worst, COLORS, strict=False):
        shown = np.maximum(values, 1e-17)  # a log axis has no zero
        axes.semilogy(time, shown, color=color, label=name.removesuffix(".position"))
    axes.set_xlabel("time")
    axes.set_ylabel("deviation / size of the robot")
    axes.set_title("Embedded runtime against SOFA", fontsize="medium")
    axes.legend(fontsize="x-small")
    axes.grid(alpha=0.3)


def _plot_phases(axes: Axes, comparison: Any) -> None:
    names = list(dict.fromkeys([*comparison.phases[0], *comparison.phases[1]]))
    bottom = np.zeros(2)
    for i, name in enumerate(names):
        ms = np.array([phases.get(name, 0.0) for phases in comparison.phases])
        axes.bar(("embedded", "SOFA"), ms, bottom=bottom, color=COLORS[i % len(COLORS)], label=name)
        bottom += ms
    axes.set_ylabel("ms a step")
    axes.set_title(f"{comparison.ratio:.2f} of SOFA's time", fontsize="medium")
    axes.legend(fontsize="x-small")
