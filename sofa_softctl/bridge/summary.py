"""Summary and plot of a hardware bridge after a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from typing_extensions import override

from sofa_softctl.base import colors
from sofa_softctl.base.axes import Axes, Figure, label_logarithmic, legend_beside
from sofa_softctl.bridge.course.state import Statistics, StreamState
from sofa_softctl.bridge.dry_run import DRY_RUN
from sofa_softctl.scene.control.report import History, Line, Report, Summary, Table
from sofa_softctl.units import symbol


@dataclass(frozen=True)
class Times:
    """Distribution of a time over the periods of a run."""

    p50: float
    """Median [s]."""
    p99: float
    """99 of 100 are shorter [s]."""
    worst: float
    """Longest [s]."""


@dataclass(frozen=True)
class BridgeSummary(Summary):
    """One hardware bridge over a run."""

    name: str
    """Path of the bridge in the scene."""
    robot: str
    """Name of the robot."""
    dry_run: bool
    """Whether no motor moved."""
    state: str
    """State of the device process at the end, see `StreamState`."""
    periods: int
    """Periods of the device process in which commands were sent."""
    missed: int
    """Periods that were left out, since the one before took too long."""
    jitter: Times
    """|start - deadline| of a period."""
    latency: Times
    """Time from the end of a step to the first command with its target, without the delay by
    `lookahead`."""
    round_trip: Times
    """Time from a command to its acknowledgement; NaN if no device acknowledges."""
    steps: int
    """Steps whose targets were sent."""
    late: int
    """Number of these for which the robot waited."""
    waited: float
    """Time for which the robot's clock waited for the scene [s]."""
    paced: float
    """Time for which the scene waited for the robot's clock [s]."""
    faults: tuple[str, ...]
    """Reasons for holding or stopping the robot."""
    notes: tuple[str, ...]
    """Notes for users: no real-time priority, no watchdog, ..."""

    @override
    def report(self, units: dict[str, str]) -> Report:
        del units
        return bridge_report(self)


def summarise(
    *,
    name: str,
    robot: str,
    dry_run: bool,
    state: StreamState,
    statistics: Statistics,
    steps: int = 0,
    late: int = 0,
    paced: float = 0.0,
    faults: Sequence[str] = (),
) -> BridgeSummary:
    """Summarise a finished stream."""
    return BridgeSummary(
        name=name,
        robot=robot,
        dry_run=dry_run,
        state=state.name,
        periods=statistics.periods,
        missed=statistics.missed,
        jitter=_times(statistics.jitter),
        latency=_times(statistics.latency),
        round_trip=_times(statistics.round_trip),
        steps=steps,
        late=late,
        waited=round(statistics.waited, 9),
        paced=paced,
        faults=tuple(faults),
        notes=statistics.notes,
    )


def bridge_report(summary: BridgeSummary) -> Report:
    """Return the table and the lines of a summary."""
    rows = [
        (label, *(_ms(value) for value in (times.p50, times.p99, times.worst)))
        for label, times in (
            ("start of a period, off its deadline", summary.jitter),
            ("from the scene to the wire", summary.latency),
            ("from the wire to the acknowledgement", summary.round_trip),
        )
    ]
    words = f" ({DRY_RUN})" if summary.dry_run else ""
    table = Table(
        f"Hardware bridge {summary.name}: {summary.robot}{words}",
        ("time (ms)", "p50", "p99", "worst"),
        rows,
        f"{summary.periods} commands, {summary.missed} periods missed; the robot waited for the "
        f"scene in {summary.late} of {summary.steps} steps, {summary.waited:.3g} s in all; the "
        f"scene waited for the robot for {summary.paced:.3g} s.",
    )
    end = StreamState[summary.state]
    good = end is StreamState.RESTED and not summary.faults
    lines = [Line(f"Fault: {fault}.", "doubt") for fault in summary.faults]
    lines += [Line(note) for note in summary.notes]
    lines.append(Line(f"At the end: {end.value}", "good" if good else "doubt"))
    return Report([table], lines)


def _times(percentiles: np.ndarray) -> Times:
    p50, _, p99, _, worst = map(float, percentiles)
    return Times(p50, p99, worst)


def _ms(seconds: float) -> str:
    return "" if np.isnan(seconds) else f"{1e3 * seconds:.3g}"


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

    Left, by quantity: command of each actuator, and its measured position, dashed, over the
    robot's clock. Right: how far periods were off their deadlines, and how long targets took to the
    wire.

    Args:
        figure: An empty matplotlib figure.
        names: Names of the actuators.
        quantities: Quantities of their positions, such as "length".
        history: The bridge's outputs.
        statistics: Statistics of the stream, or None before its end.
        title: Title.
    """
    time = history["robot_time"][:, 0]
    kinds = list(dict.fromkeys(quantities))
    rows = max(len(kinds), 2)
    figure.set_size_inches(11.5, 2.5 * rows + 0.4)
    grid = figure.add_gridspec(rows, 2, width_ratios=(1.35, 1.0))
    for row, kind in enumerate(kinds):
        axes = figure.add_subplot(grid[row : row + 1 if len(kinds) > 1 else rows, 0])
        indices = [number for number, quantity in enumerate(quantities) if quantity == kind]
        _plot_positions(axes, time, names, indices, kind, history)
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
    indices: Sequence[int],
    quantity: str,
    history: History,
) -> None:
    command, measured = history["command"], history["measured"]
    for number in indices:
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
