"""The plot of a run towards a goal: errors, efforts, and the tip on its path. Arrays only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sofa_softctl.errors import SoftctlError
from sofa_softctl.status import Status
from sofa_softctl.view.files import replacing

Axes = Any  # matplotlib is imported when a plot is asked for

SUFFIXES = (".png", ".svg", ".pdf")
COLORS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#4d4d4d", "#b8a900")
"""Colors that people with any color vision tell apart (Okabe and Ito); yellow made darker."""
STYLES = ("-", (0, (5, 1.5)), (0, (1, 1)))
"""Of the first eight actuators, the next eight, and so on."""
SHADES = {
    Status.CLOSEST_FEASIBLE: ("#f6c87f", "closest feasible"),
    Status.HELD: ("#c9a7d8", "held"),
}
"""Behind the steps that were not solved: color, and words for the legend."""
SIDES = np.array([-1.0, 1.0])
GOAL_COLOR, TIP_COLOR, INK = "#c4c9d0", "#0072b2", "#3c434d"


def save_tracking_plot(
    path: str | Path,
    *,
    time: np.ndarray,
    error: np.ndarray,
    efforts: Mapping[str, np.ndarray],
    goal: np.ndarray,
    tip: np.ndarray,
    displacements: Mapping[str, np.ndarray] | None = None,
    limits: Mapping[str, tuple[float, float]] | None = None,
    statuses: Sequence[Status] | None = None,
    effort_unit: str = "force",
    length_unit: str = "length",
    time_unit: str = "s",
) -> None:
    """Write a plot of how a tip followed its goal (.png, .svg or .pdf).

    Left, from above: the error; the effort of each actuator, with limits that came near; its
    displacement. Right: the paths of goal and tip in the plane in which the goal moves most.
    Steps that were not solved have a shade.

    Args:
        path: File to write; it appears when it is complete.
        time: Time of each step [time], shape (n,).
        error: Distance of the tip to its goal [length], shape (n,).
        efforts: Effort by the actuator's name [effort], shape (n,) each.
        goal: Place to reach [length], shape (n, 3).
        tip: Place that was reached [length], shape (n, 3).
        displacements: Displacement by the actuator's name [length], shape (n,) each.
        limits: Least and greatest effort by the actuator's name [effort]; infinite where none.
        statuses: How each step was solved, n of them; all solved when not given.
        effort_unit: Name of the efforts' unit.
        length_unit: Name of the lengths' unit.
        time_unit: Name of the times' unit.

    Raises:
        SoftctlError: another suffix, or no steps.
        ValueError: shapes that do not fit, or limits of an unknown actuator.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    path = Path(path)
    if path.suffix not in SUFFIXES:
        raise SoftctlError(f"A plot needs a name in {', '.join(SUFFIXES)}, got '{path}'.")
    if not len(time):
        raise SoftctlError("There is nothing to plot: the run has no steps.")
    statuses = [Status.SOLVED] * len(time) if statuses is None else statuses
    limits = limits or {}
    _check_shapes(time, error, efforts, displacements or {}, goal, tip, statuses)
    _check_names(limits, efforts)

    rows = 3 if displacements else 2
    layout = ConstrainedLayoutEngine(w_pad=0.12, h_pad=0.08)
    figure = Figure(figsize=(10.0, 2.1 + 1.8 * rows), dpi=160, layout=layout)
    FigureCanvasAgg(figure)
    grid = figure.add_gridspec(rows, 2, width_ratios=(1.55, 1.0))
    left = [figure.add_subplot(grid[row, 0]) for row in range(rows)]
    for axes in left:
        _shade(axes, time, statuses)
    _plot_error(left[0], time, error, length_unit)
    _plot_actuators(left[1], time, efforts, f"effort [{effort_unit}]", limits)
    if displacements:
        _plot_actuators(left[2], time, displacements, f"displacement [{length_unit}]", {})
    for axes in left[:-1]:
        axes.tick_params(labelbottom=False)
    left[-1].set_xlabel(f"time [{time_unit}]", color=INK)
    _plot_paths(figure.add_subplot(grid[:, 1]), goal, tip, statuses, length_unit)
    with replacing(path) as name:
        figure.savefig(name)


def _check_shapes(
    time: np.ndarray,
    error: np.ndarray,
    efforts: Mapping[str, np.ndarray],
    displacements: Mapping[str, np.ndarray],
    goal: np.ndarray,
    tip: np.ndarray,
    statuses: Sequence[Status],
) -> None:
    n = len(time)
    expected: list[tuple[str, np.ndarray, tuple[int, ...]]] = [
        ("time", time, (n,)),
        ("error", error, (n,)),
    ]
    expected += [("goal", goal, (n, 3)), ("tip", tip, (n, 3))]
    expected += [(f"effort of '{name}'", values, (n,)) for name, values in efforts.items()]
    expected += [(f"displacement of '{name}'", v, (n,)) for name, v in displacements.items()]
    for what, values, shape in expected:
        if np.shape(values) != shape:
            raise ValueError(f"The {what} must have shape {shape}. Got: {np.shape(values)}.")
    if len(statuses) != n:
        raise ValueError(f"There must be {n} statuses, one a step. Got: {len(statuses)}.")


def _check_names(limits: Mapping[str, Any], efforts: Mapping[str, Any]) -> None:
    unknown = [name for name in limits if name not in efforts]
    if unknown:
        raise ValueError(
            f"Limits of an unknown actuator '{unknown[0]}'. Known: {', '.join(efforts)}."
        )


def _shade(axes: Axes, time: np.ndarray, statuses: Sequence[Status]) -> None:
    """A shade from the time before each span of unsolved steps to its end."""
    for status, (color, label) in SHADES.items():
        for start, end in spans(np.array([entry is status for entry in statuses])):
            axes.axvspan(
                time[max(start - 1, 0)], time[end], color=color, alpha=0.45, lw=0, label=label
            )
            label = "_"  # one entry in the legend


def _plot_error(axes: Axes, time: np.ndarray, error: np.ndarray, unit: str) -> None:
    """Logarithmic where one peak would flatten everything else."""
    axes.plot(time, error, color=TIP_COLOR, lw=1.6, **_dot(time))
    positive = error[error > 0.0]
    if len(positive) and error.max() > 30.0 * np.median(positive):
        from matplotlib.ticker import LogLocator, NullFormatter

        axes.set_yscale("log", nonpositive="mask")
        axes.yaxis.set_major_locator(LogLocator(numticks=6))
        axes.yaxis.set_minor_formatter(NullFormatter())
    else:
        axes.set_ylim(bottom=0.0)
    axes.set_ylabel(f"error [{unit}]", color=INK)
    axes.set_title(
        f"mean {error.mean():.3g} {unit},  largest {error.max():.3g} {unit}",
        loc="left",
        fontsize=9.5,
        color=INK,
    )
    _clean(axes, time)
    handles, labels = axes.get_legend_handles_labels()
    if handles:
        axes.legend(
            handles,
            labels,
            frameon=False,
            fontsize=8.5,
            ncols=2,
            loc="lower right",
            bbox_to_anchor=(1.0, 0.97),
        )


def _plot_actuators(
    axes: Axes,
    time: np.ndarray,
    values: Mapping[str, np.ndarray],
    label: str,
    limits: Mapping[str, tuple[float, float]],
) -> None:
    """One line an actuator, named beside its end."""
    for a, series in enumerate(values.values()):
        axes.plot(time, series, color=_color(a), ls=STYLES[a // 8 % 3], lw=1.5, **_dot(time))
    axes.set_ylabel(label, color=INK)
    _plot_limits(axes, list(values), limits)
    _clean(axes, time)
    _name_ends(axes, {name: float(series[-1]) for name, series in values.items()})


def _plot_limits(axes: Axes, names: list[str], limits: Mapping[str, tuple[float, float]]) -> None:
    """Limits in view; a limit far from all efforts would only flatten them."""
    low, high = axes.get_ylim()
    room = 0.5 * (high - low)
    for value in sorted({bound for pair in limits.values() for bound in pair}):
        owners = [name for name, pair in limits.items() if value in pair]
        if not low - room <= value <= high + room:
            continue
        shared = len(owners) == len(names)
        color = INK if shared else _color(names.index(owners[0]))
        axes.axhline(value, color=color, ls=(0, (2, 2)), lw=1.0, zorder=1)
        if value:
            axes.annotate(
                "limit" if shared else f"limit of {', '.join(owners)}",
                (0.0, value),
                (4, -2),
                xycoords=axes.get_yaxis_transform(),
                textcoords="offset points",
                va="top",
                fontsize=8,
                color=color,
                bbox={"facecolor": "white", "alpha": 0.8, "lw": 0.0, "pad": 1.0},
            )


def _name_ends(axes: Axes, ends: Mapping[str, float]) -> None:
    """Names at the right of the axes, beside the lines' ends, moved apart where they are near."""
    low, high = axes.get_ylim()
    wanted = (np.array(list(ends.values())) - low) / (high - low)
    gap = min(0.085, 1.0 / max(len(ends), 1))
    for a, (name, place, end) in enumerate(zip(ends, spread(wanted, gap), wanted, strict=True)):
        axes.annotate(
            name,
            (1.0, end),
            (1.045, place),
            xycoords="axes fraction",
            textcoords="axes fraction",
            va="center",
            fontsize=min(8.5, 100.0 * gap),
            color=_color(a),
            arrowprops={
                "arrowstyle": "-",
                "color": _color(a),
                "lw": 0.7,
                "shrinkA": 1,
                "shrinkB": 1,
                "relpos": (0.0, 0.5),
            },
        )


def _plot_paths(
    axes: Axes, goal: np.ndarray, tip: np.ndarray, statuses: Sequence[Status], unit: str
) -> None:
    moved = np.ptp(goal, axis=0)
    moved = moved if moved.any() else np.ptp(tip, axis=0)
    i, j = sorted(np.argsort(-moved, kind="stable")[:2])
    axes.plot(goal[:, i], goal[:, j], color=GOAL_COLOR, lw=6, solid_capstyle="round", label="goal")
    axes.plot(tip[:, i], tip[:, j], color=TIP_COLOR, lw=1.4, label="tip")
    for status, (color, _) in SHADES.items():
        chosen = np.array([entry is status for entry in statuses])
        if chosen.any():
            axes.plot(tip[chosen, i], tip[chosen, j], ".", ms=7, color=color, zorder=1.9)
    axes.plot(*tip[0, [i, j]], "o", ms=6, mfc="white", mec=TIP_COLOR, mew=1.4, label="start")
    axes.plot(*tip[-1, [i, j]], "o", ms=6, color=TIP_COLOR, label="end")
    axes.set_xlabel(f"{'xyz'[i]} [{unit}]", color=INK)
    axes.set_ylabel(f"{'xyz'[j]} [{unit}]", color=INK)
    places = np.concatenate([goal, tip])[:, [i, j]]
    middle = (places.min(axis=0) + places.max(axis=0)) / 2.0
    half = 0.58 * np.ptp(places, axis=0).max() or 1.0
    axes.set(xlim=middle[0] + half * SIDES, ylim=middle[1] + half * SIDES)
    axes.set_box_aspect(1.0)
    axes.legend(frameon=False, fontsize=8.5, ncols=4, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    _clean(axes)


def _clean(axes: Axes, time: np.ndarray | None = None) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color("#8a929c")
    axes.tick_params(colors="#5b6470", labelsize=8.5, labelcolor=INK)
    axes.grid(color="#eceef1", lw=0.8)
    axes.set_axisbelow(True)
    if time is not None and time[-1] > time[0]:
        axes.set_xlim(time[0], time[-1])


def _dot(time: np.ndarray) -> dict[str, str]:
    """A line of a single step would not be seen."""
    return {"marker": "."} if len(time) == 1 else {}


def _color(number: int) -> str:
    return COLORS[number % len(COLORS)]


def spread(places: np.ndarray, gap: float) -> np.ndarray:
    """Places from 0 to 1, in the same order, moved so that neighbours are a gap apart, (n,)."""
    order = np.argsort(places, kind="stable")
    steps = gap * np.arange(len(places))
    found = np.maximum.accumulate(np.clip(places[order], 0.0, 1.0) - steps)  # at least, from below
    found = np.minimum(found, 1.0 - steps[-1] if len(steps) else 1.0) + steps
    moved = np.empty_like(found)
    moved[order] = found
    return moved


def spans(flags: np.ndarray) -> list[tuple[int, int]]:
    """First and last index of each run of True."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]]).astype(int)))
    return [(int(a), int(b) - 1) for a, b in zip(edges[::2], edges[1::2], strict=True)]
