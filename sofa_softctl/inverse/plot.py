"""Plot of a run under inverse control: errors, efforts, and the path of the tip."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from sofa_softctl.base import colors
from sofa_softctl.base.axes import (
    Axes,
    Figure,
    legend_above,
    legend_beside,
    plane_of,
    scale_positive,
    set_equal_limits,
    true_spans,
)
from sofa_softctl.errors import SoftctlError
from sofa_softctl.inverse.summary import contacts_of
from sofa_softctl.scene.control.report import History
from sofa_softctl.units import symbol

STYLES = ("-", "--", ":", "-.")
"""Line styles of the first eight actuators, the next eight, and so on; also of effectors."""
NEAR_LIMIT_FRACTION = 0.7
"""Fraction of a limit above which an effort is near it and the limit is drawn [-]."""
SHADES = 4
"""Colors of effectors: more are hard to tell apart."""


def draw_tracking(
    figure: Figure,
    names: Sequence[str],
    history: History,
    quantities: Sequence[str] | None = None,
    limits: Sequence[float] = (),
) -> None:
    """Draw the run of a controller.

    Above: each effector's distance to its goal, spans in which a step was not solved shaded.
    Below: the effort of each actuator, and with contacts the sum of their normal forces and their
    slip. Right: goal and tip in the plane of the goal's largest motion, or of the tip's if the
    goal does not move.

    Args:
        figure: An empty matplotlib figure.
        names: Names of the actuators.
        history: The controller's outputs.
        quantities: Quantity of each actuator's effort, such as "pressure". Default: "force".
        limits: Limits of the efforts [effort]; drawn if efforts come near them.

    Raises:
        SoftctlError: there were no steps.
    """
    if not len(history.time):
        raise SoftctlError("There is nothing to plot: the run has no steps.")
    contacts = contacts_of(history)
    has_contacts = bool(contacts[:, 0].any())
    rows = 3 if has_contacts else 2
    figure.set_size_inches(11.5, 2.5 * rows + 0.4)
    grid = figure.add_gridspec(rows, 2, width_ratios=(1.35, 1.0))
    error = figure.add_subplot(grid[0, 0])
    panels = [error, *(figure.add_subplot(grid[k, 0], sharex=error) for k in range(1, rows))]
    _plot_error(error, history)
    _plot_effort(panels[1], names, quantities or ["force"] * len(names), history)
    _plot_limits(panels[1], limits, history)
    legend_beside(panels[1])
    if has_contacts:
        _plot_contacts(panels[2], contacts, history)
    for axes in panels[:-1]:
        axes.tick_params(labelbottom=False)
    panels[-1].set_xlabel(f"time [{symbol(history.units, 'time')}]")
    _plot_path(figure.add_subplot(grid[:, 1]), history)


def _plot_error(axes: Axes, history: History) -> None:
    error, length = history["error"], symbol(history.units, "length")
    count = error.shape[1]
    for e in range(count):
        label = f"effector {e + 1}" if count > 1 else None
        shown = np.where(error[:, e] > 0.0, error[:, e], np.nan)  # a log axis has no zero
        axes.plot(history.time, shown, lw=1.3, label=label, **_line_style(e, count))
    label = "not solved"
    for start, end in true_spans(history["status"] != "SOLVED"):
        times = history.time[[start, end]]
        axes.axvspan(*times, color=colors.UNSOLVED, alpha=0.15, lw=0, label=label)
        label = "_"  # one entry in the legend
    scale_positive(axes, error)
    axes.set_ylabel(f"distance to the goal [{length}]")
    mean, largest = (f"{value:.3g} {length}" for value in (error.mean(), error.max()))
    axes.set_title(f"Tracking error: mean {mean}, largest {largest}", loc="left")
    legend_beside(axes)


def _plot_effort(
    axes: Axes, names: Sequence[str], quantities: Sequence[str], history: History
) -> None:
    effort = history["effort"]
    units = [symbol(history.units, quantity) for quantity in quantities]
    mixed = len(set(units)) > 1
    for a, name in enumerate(names):
        style = STYLES[a // len(colors.PALETTE) % len(STYLES)]
        label = f"{name} [{units[a]}]" if mixed else name
        axes.plot(history.time, effort[:, a], style, color=colors.actuator(a), lw=1.3, label=label)
    axes.set_ylabel(f"effort [{', '.join(dict.fromkeys(units))}]")


def _plot_limits(axes: Axes, limits: Sequence[float], history: History) -> None:
    effort, label = history["effort"], "limit"
    for limit in sorted(set(limits) - {0.0}):
        effort_max = effort.max() if limit > 0.0 else -effort.min()
        if NEAR_LIMIT_FRACTION * abs(limit) <= effort_max < math.inf:
            axes.axhline(limit, color=colors.LIMIT, lw=1.0, ls="--", label=label)
            label = "_"  # one entry in the legend


def _plot_contacts(axes: Axes, contacts: np.ndarray, history: History) -> None:
    normal, slide = contacts[:, 3], np.cumsum(contacts[:, 4])
    force, length = (symbol(history.units, name) for name in ("force", "length"))
    axes.plot(history.time, normal, color=colors.CONTACT, lw=1.3)
    axes.set_ylabel(f"sum of normal forces [{force}]", color=colors.CONTACT)
    slide_axes = axes.twinx()
    slide_axes.plot(history.time, slide, color=colors.GRAY, lw=1.3, ls="--")
    slide_axes.set_ylabel(f"total slip, dashed [{length}]")
    slide_axes.spines["right"].set_visible(True)
    slide_axes.grid(False)


def _plot_path(axes: Axes, history: History) -> None:
    goal, tip = history["goal"], history["tip"]
    i, j = plane_of(goal, tip)
    count = goal.shape[1]
    for e in range(count):
        labels = ("goal", "tip") if e == 0 else ("_", "_")
        goal_path, look = goal[:, e][:, [i, j]], _line_style(e, count)
        axes.plot(*goal_path.T, color=colors.GOAL, alpha=0.3, lw=5, label="_")
        axes.plot(*tip[:, e][:, [i, j]].T, lw=1.3, label=labels[1], **look)
        axes.plot(*tip[-1, e, [i, j]], "o", color=look["color"], ms=4)
        ring = {"mfc": "none", "mec": colors.GOAL, "mew": 1.6, "ms": 10}
        axes.plot(*goal_path[-1], "o", label=labels[0], **ring)  # visible around a tip at the goal
    length = symbol(history.units, "length")
    axes.set_xlabel(f"{'xyz'[i]} [{length}]")
    axes.set_ylabel(f"{'xyz'[j]} [{length}]")
    set_equal_limits(axes, np.concatenate([goal, tip])[:, :, [i, j]].reshape(-1, 2))
    legend_above(axes)


def _line_style(number: int, count: int) -> dict[str, str]:
    """Return color and style of an effector's lines: four shades, then the same ones dashed."""
    style = STYLES[number // SHADES % len(STYLES)]
    return {"color": colors.effector(number % SHADES, min(count, SHADES)), "ls": style}
