"""Plot of pick-and-place with and without springs: Figure 2 of the library paper."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from scenes.elastic_arm.problem import position
from sofa_softctl.base import colors
from sofa_softctl.base.axes import Axes, legend_beside
from sofa_softctl.view.plots.figure import new_figure


def save_energy_plot(path: str | Path, found: Any) -> None:
    """Write a plot (.png, .svg or .pdf) of the first seed of an `EnergyStudy`.

    Left the rigid arm, right springs of constant stiffness; from above the tip's path over the
    first three tasks, the angles of links and motors, and the torques.

    Raises:
        SoftctlError: a suffix that cannot be written.
    """
    first_seed = found.seeds[0]
    with new_figure(path, (11.5, 9.0)) as figure:
        panels = figure.subplots(3, 2, sharey="row", height_ratios=(1.5, 1.0, 1.0))
        titles = {"rigid": "Rigid (R)", "constant": "Springs of constant stiffness (CS)"}
        for column, (name, title) in zip(panels.T, titles.items(), strict=True):
            first = first_seed.chains[name].first
            column[0].set_title(title, loc="left")
            _plot_tip(column[0], first)
            _plot_angles(column[1], first, first_seed.horizon)
            _plot_torques(column[2], first, first_seed.horizon)
            column[2].set_xlabel("time [s]")
        for axes, label in zip(panels[:, 0], ("y [m]", "angle [rad]", "torque [N m]"), strict=True):
            axes.set_ylabel(label)
        for axes in panels[:, 1]:
            legend_beside(axes)
        figure.align_ylabels(panels[:, 0])


def _plot_tip(axes: Axes, first: Sequence[Any]) -> None:
    """From above; the middle between the sides is up, numbers say the order of the goals."""
    for k, placed in enumerate(first):
        q = placed.motion.x[:, :2] + np.array([placed.turned + np.pi / 2.0, 0.0])
        x, y = np.array([position(each) for each in q]).T
        label = ("with the object", "without")[k] if k < 2 else None
        style = {"lw": 1.6} if placed.goal.mass else {"lw": 1.2, "ls": "--"}
        axes.plot(x, y, color=colors.PALETTE[k // 2], label=label, **style)
        angle = placed.goal.alpha + np.pi / 2.0
        at = 1.12 * placed.goal.rho * np.array([np.cos(angle), np.sin(angle)])
        axes.plot(x[-1], y[-1], "o", color=colors.PALETTE[k // 2], ms=4)
        axes.annotate(f"{k + 1}", at, ha="center", va="center", fontsize="small")
    axes.plot(0.0, 0.0, "k^", ms=7)
    axes.set_aspect("equal")
    axes.margins(0.1)
    axes.set_xlabel("x [m]")


def _plot_angles(axes: Axes, first: Sequence[Any], duration: float) -> None:
    for k, placed in enumerate(first):
        x = placed.motion.x
        time = duration * (k + np.linspace(0.0, 1.0, len(x)))
        names = ("q", "\\theta") if x.shape[1] > 4 else ("q",)
        for start, name, style in zip((0, 4), names, ("-", "--"), strict=False):
            for j in range(2):
                turned = placed.turned if j == 0 else 0.0
                label = f"${name}_{j + 1}$"
                axes.plot(
                    time,
                    x[:, start + j] + turned,
                    style,
                    color=colors.PALETTE[(0, 5)[j]],
                    lw=1.3,
                    label=None if k else label,
                )


def _plot_torques(axes: Axes, first: Sequence[Any], duration: float) -> None:
    for k, placed in enumerate(first):
        edges = duration * (k + np.linspace(0.0, 1.0, len(placed.motion.u) + 1))
        for j, tau in enumerate(placed.motion.u.T):
            label = None if k else f"$\\tau_{j + 1}$"
            axes.stairs(
                tau, edges, color=colors.PALETTE[(0, 5)[j]], lw=1.3, label=label, baseline=None
            )
