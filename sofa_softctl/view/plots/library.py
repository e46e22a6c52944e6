"""Plots of libraries: an answer, coverage, accuracy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from sofa_softctl._internal.atomic_file import replacing
from sofa_softctl._internal.axes import COLORS
from sofa_softctl.view.plots.plan import check_suffix

Axes = Any  # matplotlib is imported when a plot is asked for


def save_answer_plot(path: str | Path, answer: Any, nearest: Any, library: Any) -> None:
    """Write a plot of an answer and of the motion that it comes from: inputs, and states."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    check_suffix(Path(path))
    figure = Figure(figsize=(10.0, 3.8), dpi=130, layout="constrained")
    FigureCanvasAgg(figure)
    inputs, states = figure.subplots(1, 2)
    time = np.linspace(0.0, library.shape.horizon, len(answer.motion.x))
    pale = {"alpha": 0.35, "linewidth": 3.0}
    for k, color in zip(range(answer.motion.u.shape[1]), COLORS * 4, strict=False):
        inputs.stairs(nearest.motion.u[:, k], time, color=color, baseline=None, **pale)
        inputs.stairs(answer.motion.u[:, k], time, color=color, baseline=None, label=f"u_{k}")
    for k, color in zip(range(answer.motion.x.shape[1]), COLORS * 4, strict=False):
        states.plot(time, nearest.motion.x[:, k], color=color, **pale)
        states.plot(time, answer.motion.x[:, k], color=color, label=f"x_{k}")
    for axes, title in ((inputs, "Inputs"), (states, "States")):
        axes.set_title(f"{title}: nearest motion (pale), adapted", fontsize="medium")
        axes.set_xlabel("time", fontsize="small")
        axes.legend(fontsize="x-small", ncols=2)
        axes.grid(alpha=0.3)
    with replacing(Path(path)) as name:
        figure.savefig(name)


def save_coverage_plot(path: str | Path, library: Any) -> None:
    """Write a plot of where a library's motions are: each parameter against the next."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    check_suffix(Path(path))
    p = np.array([entry.p for entry in library.entries])
    parameters = library.shape.parameters
    pairs = [(k, (k + 1) % len(parameters)) for k in range(0, len(parameters), 2)]
    figure = Figure(figsize=(4.0 * len(pairs), 3.8), dpi=130, layout="constrained")
    FigureCanvasAgg(figure)
    for axes, (i, j) in zip(np.atleast_1d(figure.subplots(1, len(pairs))), pairs, strict=True):
        axes.plot(p[:, i], p[:, j], ".", color=COLORS[0], markersize=4.0)
        if library.shape.mirror is not None:
            signs = library.shape.mirror.p
            turned = (signs[i] * p[:, i], signs[j] * p[:, j])
            axes.plot(*turned, ".", color="0.7", markersize=3.0, zorder=0, label="mirrored")
            axes.legend(fontsize="x-small")
        axes.set_xlabel(parameters[i].name, fontsize="small")
        axes.set_ylabel(parameters[j].name, fontsize="small")
        axes.grid(alpha=0.3)
    figure.suptitle(f"{len(p)} motions", fontsize="medium")
    with replacing(Path(path)) as name:
        figure.savefig(name)


def save_verification_plot(path: str | Path, found: Any) -> None:
    """Write a plot of a `Verification`: errors, costs against the optima, times."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    check_suffix(Path(path))
    figure = Figure(figsize=(12.0, 3.8), dpi=130, layout="constrained")
    FigureCanvasAgg(figure)
    errors, costs, times = figure.subplots(1, 3)
    _plot_errors(errors, found)
    known = np.isfinite(found.optimal)
    costs.plot(found.optimal[known], found.costs[known], ".", color=COLORS[0], markersize=4.0)
    top = float(found.optimal[known].max(initial=1e-9))
    costs.plot([0.0, top], [0.0, top], color="0.6", linewidth=0.8, zorder=0)
    costs.set_xlabel("cost of the optimum", fontsize="small")
    costs.set_ylabel("cost of the answer", fontsize="small")
    costs.set_title("Costs", fontsize="medium")
    shown = {
        "answer": found.seconds,
        "solver, warm": found.seconds_warm,
        "solver, cold": found.seconds_optimal,
    }
    edges = np.geomspace(1e-5, 10.0, 61)
    for (label, seconds), color in zip(shown.items(), COLORS, strict=False):
        seconds = seconds[np.isfinite(seconds)]
        times.hist(np.clip(seconds, 1e-5, 10.0), edges, color=color, alpha=0.8, label=label)
    times.set_xscale("log")
    times.set_xlabel("time in s", fontsize="small")
    times.set_title("Times", fontsize="medium")
    times.legend(fontsize="x-small")
    for axes in (costs, times):
        axes.grid(alpha=0.3)
    with replacing(Path(path)) as name:
        figure.savefig(name)


def _plot_errors(axes: Axes, found: Any) -> None:
    low = max(float(found.errors.min(initial=1.0)), 1e-9)
    edges = np.geomspace(low, float(found.unrefined.max(initial=1.0)), 50)
    axes.hist(found.unrefined, edges, color="0.75", label="nearest motion")
    axes.hist(np.clip(found.errors, low, None), edges, color=COLORS[0], alpha=0.9, label="refined")
    if np.isfinite(found.tolerance):
        axes.axvline(found.tolerance, color=COLORS[1], linewidth=1.0, label="tolerance")
    axes.set_xscale("log")
    axes.set_xlabel("error", fontsize="small")
    axes.set_title("Errors of simulated motions", fontsize="medium")
    axes.legend(fontsize="x-small")
    axes.grid(alpha=0.3)
