"""Plot of a plan: path over the plane of the task, tensions, cost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from sofa_softctl.base import colors
from sofa_softctl.base.axes import Axes, legend_above, legend_beside, plane_of, set_equal_limits
from sofa_softctl.surrogate.costs.obstacles import Box, Sphere
from sofa_softctl.units import symbol
from sofa_softctl.view.plots.figure import new_figure


def save_plan_plot(path: str | Path, result: Any) -> None:
    """Write a plot of a `ScenePlan` as .png, .svg or .pdf.

    The panels: the probe's path in the plane of its largest motion, with goals and obstacles; the
    tensions over time; exact evaluations over iterations, as in Figure 4 of the paper.

    Raises:
        SoftctlError: a suffix that cannot be written.
    """
    with new_figure(path, (12.5, 3.9)) as figure:
        panels = figure.subplots(1, 3, width_ratios=(1.0, 1.2, 1.0))
        _plot_path(panels[0], result)
        _plot_tensions(panels[1], result)
        _plot_evaluations(panels[2], result)


def _plot_path(axes: Axes, result: Any) -> None:
    goals = []
    for term in result.task.outputs:
        if hasattr(term, "goal"):  # a cost of the user's own may have none
            weight = np.broadcast_to(term.weight, len(term.goal))
            goals.append(term.goal[weight > 0.0])
    plane = plane_of(result.spot, *goals)
    shown = [result.spot[:, plane]]
    for number, goal in enumerate(goals):
        target = goal[:, plane]
        axes.plot(*target.T, color=colors.GOAL, alpha=0.3, lw=5, solid_capstyle="round")
        ring = {"mfc": "none", "mec": colors.GOAL, "mew": 1.6, "ms": 10}
        axes.plot(*target[-1], "o", label="_" if number else "goal", **ring)
        shown.append(target)
    shown += _plot_obstacles(axes, result.task.obstacles, plane)
    axes.plot(*shown[0].T, color=colors.TIP, lw=1.3, label="plan")
    axes.plot(*shown[0][-1], "o", color=colors.TIP, ms=4)
    if result.replayed_spot is not None:
        replayed = result.replayed_spot[:, plane]
        axes.plot(*replayed.T, color="black", lw=1.0, ls=":", label="full robot")
    length = symbol(result.units, "length")
    axes.set_xlabel(f"{'xyz'[plane[0]]} [{length}]")
    axes.set_ylabel(f"{'xyz'[plane[1]]} [{length}]")
    set_equal_limits(axes, np.concatenate(shown))
    legend_above(axes, columns=3)


def _plot_obstacles(axes: Axes, obstacles: Any, plane: tuple[int, int]) -> list[np.ndarray]:
    """Draw balls and boxes, and return their bounds, shape (2, 2) each."""
    from matplotlib.patches import Circle, Rectangle

    corners: list[np.ndarray] = []
    for obstacle in obstacles:
        shape = obstacle.shape
        label = "_" if corners else "obstacle"
        look: dict[str, Any] = {"color": colors.OBSTACLE, "alpha": 0.4, "lw": 0, "label": label}
        if isinstance(shape, Sphere):
            center = np.asarray(shape.center, float)[list(plane)]
            axes.add_patch(Circle((center[0], center[1]), shape.radius, **look))
            corners.append(center + shape.radius * np.array([[-1.0], [1.0]]))
        elif isinstance(shape, Box):
            lower, upper = np.array([shape.lower, shape.upper], float)[:, plane]
            axes.add_patch(Rectangle(lower, *(upper - lower), **look))
            corners.append(np.array([lower, upper]))
    return corners


def _plot_tensions(axes: Axes, result: Any) -> None:
    robot, dynamics = result.robot, result.robot.dynamics
    time = dynamics.dt * np.arange(1, len(result.plan.u) + 1)
    tension = dynamics.force * result.plan.u
    for line, (name, pull) in enumerate(zip(result.lines, tension.T, strict=True)):
        axes.plot(time, pull, color=colors.actuator(line), lw=1.3, label=name)
    limit = dynamics.force * float(np.max(robot.limits.u_max))
    if tension.max() > 0.7 * limit:
        axes.axhline(limit, color=colors.LIMIT, lw=1.0, ls="--", label="limit")
    axes.set_title(f"Plan of '{result.name}'", loc="left")
    axes.set_xlabel(f"time [{symbol(result.units, 'time')}]")
    axes.set_ylabel(f"tension [{symbol(result.units, 'force')}]")
    legend_beside(axes)


def _plot_evaluations(axes: Axes, result: Any) -> None:
    """Plot the number of solved equilibria, with and without the grid.

    Without it: K per iteration, as the paper counts; rejected steps would be additional.
    """
    history, K = result.plan.history, len(result.plan.a)
    number = np.arange(1, len(history) + 1)
    solved = [step.evaluations for step in history]
    grid = result.robot.grid is not None
    label = "with the grid" if grid else "without a grid"
    axes.step(number, solved, color=colors.PALETTE[0], where="mid", label=label)
    if grid:
        label = f"without: at least {K} an iteration"
        axes.plot(number, K * number, ".--", color=colors.GRAY, lw=1.0, label=label)
    starts = [k for k, step in enumerate(history) if k and step.round != history[k - 1].round]
    for k in starts:
        axes.axvline(k + 0.5, color="#b8c0c8", lw=0.8)
    axes.set_yscale("symlog", linthresh=10.0)  # a store may leave nothing to solve
    axes.set_ylim(bottom=0)
    axes.yaxis.set_major_formatter("{x:g}")
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.set_xlabel("iteration; lines: refinement of the grid" if starts else "iteration")
    axes.set_ylabel("equilibria solved [-]")
    legend_above(axes, columns=1)
