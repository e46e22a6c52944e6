"""Plot of a run of a hardware bridge: commanded and measured positions, histograms of times."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sofa_softctl.base import colors
from sofa_softctl.base.axes import Axes, Figure, label_logarithmic, legend_beside
from sofa_softctl.bridge.stream.state import Statistics
from sofa_softctl.scene.report import History
from sofa_softctl.units import symbol


def draw_bridge(
    figure: Figure,
    names: Sequence[str],
    quantities: Sequence[str],
    history: History,
    statistics: Statistics | None,
    *,
    title: str = "",
) -> None:
    """Draw a run.

    Left, by quantity: what was sent to each actuator, and what it measured, dashed, over the
    robot's clock. Right: how far periods were off their deadlines, and how long targets took to the
    wire.

    Args:
        figure: An empty matplotlib figure.
        names: Of the actuators.
        quantities: Of their positions, such as "length".
        history: The bridge's outputs.
        statistics: Of the stream; None: it has not finished.
        title: What stands above it.
    """
    time = history["robot_time"][:, 0]
    kinds = list(dict.fromkeys(quantities))
    rows = max(len(kinds), 2)
    figure.set_size_inches(11.5, 2.5 * rows + 0.4)
    grid = figure.add_gridspec(rows, 2, width_ratios=(1.35, 1.0))
    for row, kind in enumerate(kinds):
        axes = figure.add_subplot(grid[row : row + 1 if len(kinds) > 1 else rows, 0])
        chosen = [number for number, each in enumerate(quantities) if each == kind]
        _plot_positions(axes, time, names, chosen, kind, history)
        if row == 0:
            axes.set_title(title.capitalize(), loc="left")
    if statistics is None:
        return
    for row, (label, (counts, edges)) in enumerate(
        (
            ("start of a period, off its deadline [ms]", statistics.jitter_histogram),
            ("from the scene to the wire [ms]", statistics.latency_histogram),
        )
    ):
        _plot_histogram(figure.add_subplot(grid[row, 1]), label, counts, edges)


def _plot_positions(
    axes: Axes,
    time: np.ndarray,
    names: Sequence[str],
    chosen: Sequence[int],
    quantity: str,
    history: History,
) -> None:
    command, measured = history["command"], history["measured"]
    for number in chosen:
        color = colors.actuator(number)
        axes.plot(time, command[:, number], color=color, lw=1.3, label=names[number])
        axes.plot(time, measured[:, number], "--", color=color, lw=1.3, label="_")
    unit = symbol(history.units, quantity)
    axes.set_xlabel(f"the robot's clock [{symbol(history.units, 'time')}]")
    axes.set_ylabel(f"{quantity}, measured dashed [{unit}]")
    legend_beside(axes)


def _plot_histogram(axes: Axes, title: str, counts: np.ndarray, edges: np.ndarray) -> None:
    used = np.flatnonzero(counts)
    if len(used):
        first, last = used[0], used[-1] + 1
        axes.stairs(counts[first:last], 1e3 * edges[first : last + 1], fill=True, color=colors.GRAY)
        axes.set_xscale("log")
        axes.set_yscale("log")
        label_logarithmic(axes.xaxis, 1e3 * float(edges[first]), 1e3 * float(edges[last]))
        label_logarithmic(axes.yaxis, 1.0, float(counts.max()))
    axes.set_xlabel(title)
    axes.set_ylabel("how often [-]")
