"""What a run tells of identification while the robot moves: a table, and a plot over time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from rich.markup import escape
from rich.table import Table

from sofa_softctl._internal.atomic_file import replacing
from sofa_softctl.errors import SoftctlError
from sofa_softctl.view.plots.plan import check_suffix
from sofa_softctl.view.plots.tracking import COLORS

Axes = Any  # matplotlib is imported when a plot is asked for
WIDE = 3.0
"""Positive parameters that change by more than this factor are drawn on a logarithmic axis."""


def refinement_table(controller: Any) -> Table:
    """The parameters of an `IdentificationController` at the end of a run, with their intervals."""
    history, last = controller.history, controller.status.value or "none yet"
    name, of = escape(controller.getPathName()), escape(controller.problem.name)
    caption = f"{len(history)} fits taken over; the last fit: {last}."
    if history:
        taken = float(np.mean([found.seconds for found in history]))
        caption += f" A fit took {taken:.2g} s; the last leaves {history[-1].misfit:.2g} σ²."
    table = Table(
        title=f"Identification {name}: {of}",
        caption=caption,
        caption_justify="left",
        title_justify="left",
    )
    table.add_column("parameter")
    for column in ("start", "estimate", "95 % interval"):
        table.add_column(column, justify="right")
    values = zip(
        controller.problem.parameters,
        np.array(controller.parameters.value),
        np.array(controller.half_width.value),
        strict=True,
    )
    for one, value, width in values:
        interval = f"± {width:.2g}" if np.isfinite(width) else "not seen"
        table.add_row(f"{one.name} \\[{one.unit}]", f"{one.start:.4g}", f"{value:.4g}", interval)
    return table


def save_refinement_plot(path: str | Path, controller: Any) -> None:
    """Write a plot (.png, .svg or .pdf) of each parameter and its interval over time.

    Raises:
        SoftctlError: There was no fit yet, or a suffix that cannot be written.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    path, history = Path(path), controller.history
    check_suffix(path)
    if not history:
        raise SoftctlError(f"There is nothing to plot: {controller.getPathName()} fitted nothing.")
    count = len(controller.problem.parameters)
    figure = Figure(figsize=(9.0, 1.2 + 2.0 * (count + 1)), dpi=130, layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(count + 1, 1, sharex=True)
    time = np.array([found.end for found in history])
    for k, (axes, one) in enumerate(zip(panels, controller.problem.parameters, strict=False)):
        _plot_parameter(axes, one, time, history, k)
    _plot_windows(panels[-1], history)
    panels[-1].set_xlabel("time [s]")
    with replacing(path) as name:
        figure.savefig(name)


def _plot_parameter(axes: Axes, one: Any, time: np.ndarray, history: Any, k: int) -> None:
    value = np.array([found.rho[k] for found in history])
    width = np.array([found.half_width[k] for found in history])
    color = COLORS[k % len(COLORS)]
    axes.axhline(one.start, color="#999999", lw=0.8, ls=":")
    axes.errorbar(time, value, width, color=color, fmt="o", ms=4, lw=1.4, capsize=3)
    axes.step(time, value, where="post", color=color, lw=1.0, alpha=0.5)
    every = np.append(value, one.start)
    if one.lower >= 0.0 and every.max() > WIDE * every.min() > 0.0:
        axes.set_yscale("log")
        axes.set_ylim(0.5 * every.min(), 2.0 * every.max())
        axes.yaxis.set_major_formatter("{x:g}")
    axes.set_ylabel(f"{one.name} [{one.unit}]")
    last = f"{value[-1]:.4g} ± {width[-1]:.2g} {one.unit}"
    axes.set_title(f"{last}  (95 %)", fontsize="medium", loc="left")
    _clean(axes)


def _plot_windows(axes: Axes, history: Any) -> None:
    """From when to when each fit looked, and how well its model fits."""
    for number, found in enumerate(history):
        wrong = found.misfit > 2.0
        axes.plot([found.begin, found.end], 2 * [number + 1], color=COLORS[5 if wrong else 6], lw=4)
        axes.annotate(
            f" {found.misfit:.2g} σ²", (found.end, number + 1), fontsize="x-small", va="center"
        )
    axes.set_ylim(len(history) + 1, 0)
    axes.set_ylabel("fit")
    axes.set_title("windows, and mean squares of what they leave", fontsize="medium", loc="left")
    _clean(axes)


def _clean(axes: Axes) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(color="#eeeeee")
