"""Plot of a plan: path over the plane of the task, tensions, cost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from sofa_softctl._internal.atomic_file import replacing
from sofa_softctl._internal.axes import COLORS
from sofa_softctl.errors import SoftctlError
from sofa_softctl.surrogate.planning.obstacles import Box, Sphere

Axes = Any  # matplotlib is imported when a plot is asked for


def save_plan_plot(path: str | Path, found: Any) -> None:
    """Write a plot (.png, .svg or .pdf) of a `ScenePlan`.

    Left the probe's path from above, beside its goals and obstacles; then the tensions over time;
    then exact evaluations over iterations, as in Figure 4 of the paper.

    Raises:
        SoftctlError: a suffix that cannot be written.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    path = Path(path)
    check_suffix(path)
    figure = Figure(figsize=(12.0, 3.8), dpi=130, layout="constrained")
    FigureCanvasAgg(figure)
    above, tensions, cost = figure.subplots(1, 3)
    _plot_path(above, found)
    _plot_tensions(tensions, found)
    _plot_evaluations(cost, found)
    with replacing(path) as name:
        figure.savefig(name)


def check_suffix(path: Path) -> None:
    """SoftctlError when no plot of that suffix can be written."""
    if path.suffix not in (".png", ".svg", ".pdf"):
        raise SoftctlError(f"A plot needs a name in .png, .svg or .pdf, got '{path}'.")


def _plot_path(axes: Axes, found: Any) -> None:
    from matplotlib.patches import Circle, Rectangle

    for term in found.task.outputs:
        if not hasattr(term, "goal"):  # a cost of the user's own
            continue
        goal, weight = term.goal, np.broadcast_to(term.weight, len(term.goal))
        wanted = goal[weight > 0.0]
        axes.plot(*wanted.T[:2], color="0.7", linewidth=4.0, label="goal", solid_capstyle="round")
        if len(np.unique(wanted, axis=0)) == 1:
            axes.plot(*wanted[0, :2], "o", color="0.7", markersize=9.0)
    for number, obstacle in enumerate(found.task.obstacles):
        shape = obstacle.shape
        look: dict[str, Any] = {
            "color": COLORS[1],
            "alpha": 0.4,
            "label": "obstacle" if number == 0 else None,
        }
        if isinstance(shape, Sphere):
            axes.add_patch(Circle(shape.center[:2], shape.radius, **look))
        elif isinstance(shape, Box):
            width, depth, _ = np.subtract(shape.upper, shape.lower)
            axes.add_patch(Rectangle(shape.lower[:2], width, depth, **look))
    axes.plot(*found.spot.T[:2], color=COLORS[0], linewidth=1.3, label="plan")
    axes.set_aspect("equal", adjustable="datalim")
    axes.set_title(f"{found.name}: path, from above", fontsize="medium")
    axes.set_xlabel("x")
    axes.set_ylabel("y")
    axes.legend(fontsize="x-small")
    axes.grid(alpha=0.3)


def _plot_tensions(axes: Axes, found: Any) -> None:
    dynamics = found.robot.dynamics
    time = dynamics.dt * np.arange(1, len(found.plan.u) + 1)
    for line, (u, color) in enumerate(zip(found.plan.u.T, COLORS * 8, strict=False)):
        axes.plot(time, dynamics.force * u, color=color, linewidth=1.2, label=f"line {line}")
    axes.set_title("Tensions", fontsize="medium")
    axes.set_xlabel("time")
    axes.legend(fontsize="x-small")
    axes.grid(alpha=0.3)


def _plot_evaluations(axes: Axes, found: Any) -> None:
    """Equilibria solved, with the grid and without.

    That is K an iteration, as the paper counts; steps that are tried and not taken come on top.
    """
    history, K = found.plan.history, len(found.plan.a)
    number = np.arange(1, len(history) + 1)
    solved = [step.evaluations for step in history]
    grid = found.robot.grid is not None
    label = "with the grid" if grid else "without a grid"
    axes.step(number, solved, color=COLORS[0], where="mid", label=label)
    if grid:
        label = f"without, at least: {K} an iteration"
        axes.plot(number, K * number, ".--", color="0.5", linewidth=1.0, label=label)
    starts = [k for k, step in enumerate(history) if k and step.round != history[k - 1].round]
    for k in starts:
        axes.axvline(k + 0.5, color="0.7", linewidth=0.8)
    axes.set_yscale("symlog", linthresh=10.0)  # a store may leave nothing to solve
    axes.set_ylim(bottom=0)
    title = "Equilibria solved" + (", by refinement" if starts else "")
    axes.set_title(title, fontsize="medium")
    axes.set_xlabel("iteration")
    axes.legend(fontsize="x-small", loc="lower right")
    axes.grid(alpha=0.3)
