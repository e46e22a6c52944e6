"""Plot of a run under inverse control: errors, efforts, and the path of the tip."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sofa_softctl._internal.axes import COLORS, Axes, Figure, clean, spans
from sofa_softctl.errors import SoftctlError
from sofa_softctl.inverse.summary import contacts_of
from sofa_softctl.scene.report import History
from sofa_softctl.units import symbol


def draw_tracking(figure: Figure, names: Sequence[str], history: History) -> None:
    """Draw the run of a controller.

    Above: each effector's distance to its goal, spans in which a step was not solved shaded.
    Below: the effort of each actuator, and with contacts the sum of their normal forces and their
    slip. Right: goal and tip in the plane of the goal's largest motion.

    Args:
        figure: An empty matplotlib figure.
        names: Of the actuators.
        history: The controller's outputs.

    Raises:
        SoftctlError: there were no steps.
    """
    if not len(history.time):
        raise SoftctlError("There is nothing to plot: the run has no steps.")
    contacts = contacts_of(history)
    touched = bool(contacts[:, 0].any())
    figure.set_size_inches(10.0, 7.6 if touched else 5.6)
    grid = figure.add_gridspec(3 if touched else 2, 2, width_ratios=(1.6, 1.0))
    _plot_error(figure.add_subplot(grid[0, 0]), history)
    _plot_effort(figure.add_subplot(grid[1, 0]), names, history)
    if touched:
        _plot_contacts(figure.add_subplot(grid[2, 0]), contacts, history)
    _plot_path(figure.add_subplot(grid[:, 1]), history)


def _plot_error(axes: Axes, history: History) -> None:
    error = history["error"]
    for e in range(error.shape[1]):
        axes.semilogy(history.time, np.maximum(error[:, e], 1e-9), color=COLORS[e % len(COLORS)])
    for start, end in spans(history["status"] != "SOLVED"):
        axes.axvspan(history.time[start], history.time[end], color="#d55e00", alpha=0.15, lw=0)
    axes.set_ylabel(f"distance to the goal [{symbol(history.units, 'length')}]")
    axes.set_title(f"mean {error.mean():.3g}, largest {error.max():.3g}", fontsize="medium")
    clean(axes)


def _plot_effort(axes: Axes, names: Sequence[str], history: History) -> None:
    effort = history["effort"]
    styles = ("-", "--", ":")
    for a, name in enumerate(names):
        style = styles[a // len(COLORS) % len(styles)]
        axes.plot(history.time, effort[:, a], style, color=COLORS[a % len(COLORS)], label=name)
    axes.set_xlabel(f"time [{symbol(history.units, 'time')}]")
    axes.set_ylabel(f"effort [{symbol(history.units, 'force')}]")
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, fontsize="small")
    clean(axes)


def _plot_contacts(axes: Axes, contacts: np.ndarray, history: History) -> None:
    normal, slide = contacts[:, 3], np.cumsum(contacts[:, 4])
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
    clean(axes)


def _plot_path(axes: Axes, history: History) -> None:
    goal, tip = history["goal"], history["tip"]
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
    clean(axes)
