"""Plots of libraries: the answer to a query, coverage, accuracy."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sofa_softctl.base import colors
from sofa_softctl.base.axes import Axes, legend_above, legend_beside
from sofa_softctl.view.plots.figure import new_figure


def save_answer_plot(path: str | Path, answer: Any, nearest: Any, library: Any) -> None:
    """Write a plot of inputs and states, of an answer and of the trajectory it was adapted from.

    There is one panel for each unit.
    """
    model = library.model
    edges = np.linspace(0.0, model.horizon, len(answer.motion.x))
    kinds = [
        (unit, columns, name)
        for name in ("inputs", "states")
        for unit, columns in _columns_by_unit([item.name for item in getattr(model, name)]).items()
    ]
    rows = -(-len(kinds) // 2)
    with new_figure(path, (10.5, 0.7 + 2.3 * rows)) as figure:
        figure.suptitle("Pale: the nearest motion. Lines: adapted to the task.")
        panels = np.atleast_1d(figure.subplots(rows, 2, sharex=True)).ravel()
        for axes, (unit, columns, kind) in zip(panels, kinds, strict=False):
            attribute = "u" if kind == "inputs" else "x"
            values = [getattr(item.motion, attribute) for item in (nearest, answer)]
            for number, (column, name) in enumerate(columns):
                look = {"color": colors.actuator(number)}
                before, after = (trajectory[:, column] for trajectory in values)
                if kind == "inputs":
                    axes.stairs(before, edges, baseline=None, alpha=0.35, lw=3.0, **look)
                    axes.stairs(after, edges, baseline=None, label=name, **look)
                else:
                    axes.plot(edges, before, alpha=0.35, lw=3.0, **look)
                    axes.plot(edges, after, label=name, lw=1.3, **look)
            single_name = columns[0][1] if len(columns) == 1 else ""
            axes.set_ylabel(_axis_label(single_name or kind, unit))
            if not single_name:
                legend_beside(axes)
        for axes in panels[len(kinds) :]:
            axes.set_visible(False)
        for axes in panels[max(0, len(kinds) - 2) : len(kinds)]:
            axes.tick_params(labelbottom=True)
            axes.set_xlabel(f"time [{_time_unit(model)}]")


def _columns_by_unit(names: Sequence[str]) -> dict[str, list[tuple[int, str]]]:
    """Group columns, and names without units, by unit."""
    columns: dict[str, list[tuple[int, str]]] = {}
    for index, name in enumerate(names):
        word, _, unit = name.partition("[")
        columns.setdefault(unit.rstrip("] "), []).append((index, word.strip()))
    return columns


def _time_unit(model: Any) -> str:
    """Return ms if a state has a unit per ms, otherwise s."""
    return "ms" if any("/ms" in state.name for state in model.states) else "s"


def save_coverage_plot(path: str | Path, library: Any) -> None:
    """Write a plot of the parameters of all entries, each against the next."""
    p = np.array([motion.p for motion in library.entries])
    parameters = library.model.parameters
    pairs = [(k, (k + 1) % len(parameters)) for k in range(0, len(parameters), 2)]
    with new_figure(path, (3.4 * len(pairs) + 0.6, 3.6)) as figure:
        panels = np.atleast_1d(figure.subplots(1, len(pairs)))
        for axes, (i, j) in zip(panels, pairs, strict=True):
            points = {"color": colors.PALETTE[0], "ms": 4.0, "label": f"{len(p)} motions"}
            axes.plot(p[:, i], p[:, j], ".", **points)
            if library.model.signs is not None:
                signs = library.model.signs.p
                mirrored = (signs[i] * p[:, i], signs[j] * p[:, j])
                axes.plot(*mirrored, ".", color="#c2c8ce", ms=3.0, zorder=0, label="mirrored")
            axes.set_xlabel(parameters[i].name)
            axes.set_ylabel(parameters[j].name)
        legend_above(panels[-1])


def save_verification_plot(path: str | Path, result: Any) -> None:
    """Write a plot of a `Verification`: errors, costs against the optima, times."""
    with new_figure(path, (12.5, 3.7)) as figure:
        errors, costs, times = figure.subplots(1, 3)
        _plot_errors(errors, result)
        _plot_costs(costs, result)
        _plot_times(times, result)


def _plot_errors(axes: Axes, result: Any) -> None:
    low = max(float(result.errors.min(initial=1.0)), 1e-9)
    high = max(float(result.unrefined.max(initial=0.0)), 10.0 * low)
    if np.isfinite(result.tolerance):
        high = max(high, 1.5 * result.tolerance)
    edges = np.geomspace(low, high, 50)
    axes.hist(np.clip(result.unrefined, low, high), edges, color="#c2c8ce", label="nearest motion")
    refined = np.clip(result.errors, low, high)
    axes.hist(refined, edges, color=colors.PALETTE[0], alpha=0.9, label="refined")
    if np.isfinite(result.tolerance):
        axes.axvline(result.tolerance, color=colors.LIMIT, lw=1.2, ls="--", label="tolerance")
    axes.set_xscale("log")
    axes.set_xlabel(_axis_label("error of the simulated motion", result.error_unit))
    axes.set_ylabel("tasks [-]")
    legend_above(axes)


def _plot_costs(axes: Axes, result: Any) -> None:
    is_finite = np.isfinite(result.optimal)
    top = float(result.optimal[is_finite].max(initial=1e-9))
    axes.plot([0.0, top], [0.0, top], color="#b8c0c8", lw=0.8, zorder=0, label="equal")
    points = {"color": colors.PALETTE[0], "ms": 4.0, "label": "tasks"}
    axes.plot(result.optimal[is_finite], result.costs[is_finite], ".", **points)
    axes.set_xlabel(_axis_label("cost of the optimum", result.cost_unit))
    axes.set_ylabel(_axis_label("cost of the answer", result.cost_unit))
    legend_above(axes)


def _plot_times(axes: Axes, result: Any) -> None:
    shown = {
        "answer": result.seconds,
        "solver, warm": result.seconds_warm,
        "solver, cold": result.seconds_optimal,
    }
    finite = {label: 1e3 * seconds[np.isfinite(seconds)] for label, seconds in shown.items()}
    all_ms = np.concatenate(list(finite.values()))
    edges = np.geomspace(0.8 * all_ms.min(), 1.25 * all_ms.max(), 61)
    for (label, ms), color in zip(finite.items(), colors.PALETTE, strict=False):
        axes.hist(ms, edges, color=color, alpha=0.8, label=label)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set_xlabel("computing time [ms]")
    axes.set_ylabel("tasks [-]")
    legend_above(axes)


def _axis_label(text: str, unit: str) -> str:
    return f"{text} [{unit}]" if unit else text
