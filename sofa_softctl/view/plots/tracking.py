"""The plot of a run under inverse control: errors, efforts, and the tip on its path."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from sofa_softctl._internal.atomic_file import replacing
from sofa_softctl.errors import SoftctlError
from sofa_softctl.scene.inverse_summary import History
from sofa_softctl.units import symbol

Axes = Any  # matplotlib is imported when a plot is asked for

COLORS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#4d4d4d", "#b8a900")
"""Colors that people with any color vision tell apart (Okabe and Ito)."""


def save_tracking_plot(path: str | Path, history: History) -> None:
    """Write a plot (.png, .svg or .pdf) of one controller's run.

    Above: each effector's distance to its goal, spans in which a step was not solved shaded.
    Below: the effort of each actuator, and where there were contacts the sum of their normal forces
    and how far they slid. Right: goal and tip in the plane in which the goal moves
    most.

    Args:
        path: File to write; it appears when it is complete.
        history: What the controller did, with at least one step.

    Raises:
        SoftctlError: no steps, or a suffix that cannot be written.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    path = Path(path)
    if path.suffix not in (".png", ".svg", ".pdf"):
        raise SoftctlError(f"A plot needs a name in .png, .svg or .pdf, got '{path}'.")
    if not len(history.time):
        raise SoftctlError("There is nothing to plot: the run has no steps.")
    figure = Figure(figsize=(10.0, 5.6), dpi=130, layout="constrained")
    FigureCanvasAgg(figure)
    touched = history.contacts[:, 0].any()
    rows = 3 if touched else 2
    grid = figure.add_gridspec(rows, 2, width_ratios=(1.6, 1.0))
    _plot_error(figure.add_subplot(grid[0, 0]), history)
    _plot_effort(figure.add_subplot(grid[1, 0]), history)
    if touched:
        figure.set_figheight(7.6)
        _plot_contacts(figure.add_subplot(grid[2, 0]), history)
    _plot_path(figure.add_subplot(grid[:, 1]), history)
    with replacing(path) as name:
        figure.savefig(name)


def _plot_error(axes: Axes, history: History) -> None:
    error = history.values["error"]
    for e in range(error.shape[1]):
        axes.semilogy(history.time, np.maximum(error[:, e], 1e-9), color=COLORS[e % len(COLORS)])
    for start, end in spans(~history.solved):
        axes.axvspan(history.time[start], history.time[end], color="#d55e00", alpha=0.15, lw=0)
    axes.set_ylabel(f"distance to the goal [{symbol(history.units, 'length')}]")
    axes.set_title(f"mean {error.mean():.3g}, largest {error.max():.3g}", fontsize="medium")
    _clean(axes)


def _plot_effort(axes: Axes, history: History) -> None:
    effort = history.values["effort"]
    styles = ("-", "--", ":")
    for a, name in enumerate(history.controller.names):
        style = styles[a // len(COLORS) % len(styles)]
        axes.plot(history.time, effort[:, a], style, color=COLORS[a % len(COLORS)], label=name)
    axes.set_xlabel(f"time [{symbol(history.units, 'time')}]")
    axes.set_ylabel(f"effort [{symbol(history.units, 'force')}]")
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, fontsize="small")
    _clean(axes)


def _plot_contacts(axes: Axes, history: History) -> None:
    normal, slide = history.contacts[:, 3], np.cumsum(history.contacts[:, 4])
    force, length = (symbol(history.units, name) for name in ("force", "length"))
    axes.plot(history.time, normal, color=COLORS[0], label="normal forces")
    axes.set_ylabel(f"sum of normal forces [{force}]")
    other = axes.twinx()
    other.plot(history.time, slide, color=COLORS[5], ls="--", label="slid")
    other.set_ylabel(f"slid in all [{length}]")
    other.spines[["top"]].set_visible(False)
    axes.set_xlabel(f"time [{symbol(history.units, 'time')}]")
    handles = [*axes.lines, *other.lines]
    axes.legend(handles, ["normal forces", "slid"], frameon=False, fontsize="small")
    _clean(axes)


def _plot_path(axes: Axes, history: History) -> None:
    goal, tip = history.values["goal"], history.values["tip"]
    extent = np.ptp(goal.reshape(-1, 3), axis=0)
    i, j = sorted(np.argsort(-extent, kind="stable")[:2])
    for e in range(goal.shape[1]):
        label = ("goal", "tip") if e == 0 else (None, None)
        axes.plot(goal[:, e, i], goal[:, e, j], color="#c9c9c9", lw=5, label=label[0])
        axes.plot(tip[:, e, i], tip[:, e, j], color=COLORS[e % len(COLORS)], lw=1.3, label=label[1])
    length = symbol(history.units, "length")
    axes.set_xlabel(f"{'xyz'[i]} [{length}]")
    axes.set_ylabel(f"{'xyz'[j]} [{length}]")
    axes.set_aspect("equal", adjustable="datalim")
    axes.legend(frameon=False)
    _clean(axes)


def _clean(axes: Axes) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(color="#eeeeee")


def spans(flags: np.ndarray) -> list[tuple[int, int]]:
    """First and last index of each run of True."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]]).astype(int)))
    return [(int(a), int(b) - 1) for a, b in zip(edges[::2], edges[1::2], strict=True)]
