"""Plot of projected against full-order dynamics: motion, errors and energy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from sofa_softctl.base.axes import Axes, legend_beside
from sofa_softctl.base.colors import PALETTE
from sofa_softctl.view.plots.figure import new_figure

MOTIONS = {
    "projected": ("projected, exact map", "#f4b58c", 4.5, "-"),
    "grid": ("projected, grid", PALETTE[5], 1.3, "-"),
    "balanced": ("whole robot, steps in balance", PALETTE[0], 1.5, "-"),
    "full": ("whole robot, the scene's steps", PALETTE[6], 1.2, "--"),
}
"""Label, color, width and style of each motion of a `Comparison`, the lowest line first."""
ERRORS = {
    "linearisation": ("linearisation, by the scene's steps", PALETTE[6]),
    "modelling": ("modelling, by the projection", PALETTE[0]),
    "interpolation": ("interpolation, by the grid", PALETTE[5]),
}
"""Label and color of each error."""
SEEN = 1e-5
"""Share of its first energy down to which the arm that was let go is shown."""


def save_projection_plot(path: str | Path, measured: Any) -> None:
    """Write a plot (.png, .svg or .pdf) of a `Projection`.

    Left the arm that is let go, right the plan's tensions; from above the tip, the error of each
    approximation, and the energy.

    Raises:
        SoftctlError: a suffix that cannot be written.
    """
    with new_figure(path, (12.5, 8.0)) as figure:
        panels = figure.subplots(3, 2, sharex="col")
        titles = ("Let go from a bent shape", "Under the tensions of a plan")
        for column, title, compared in zip(
            panels.T, titles, (measured.release, measured.ramp), strict=True
        ):
            column[0].set_title(title, loc="left")
            _plot_tip(column[0], compared)
            _plot_errors(column[1], compared)
            _plot_energy(column[2], compared)
            column[2].set_xlabel("time [s]")
        _show_release(panels[:, 0], measured.release)
        for axes in panels[:2, 1]:
            legend_beside(axes)


def _show_release(column: Axes, release: Any) -> None:
    """As long as there is something to see, and energy by its decades."""
    energy = release.balanced.energy
    faint = SEEN * energy[0]
    column[0].set_xlim(0.0, _time(release.balanced)[energy > faint][-1])
    column[1].set_ylim(bottom=1e-6)
    column[2].set_yscale("log")
    column[2].set_ylim(bottom=faint)


def _plot_tip(axes: Axes, compared: Any) -> None:
    tip = compared.balanced.tip
    farthest = tip[np.linalg.norm(tip, axis=1).argmax()]
    aside = farthest / np.linalg.norm(farthest)
    for name, (label, color, width, style) in MOTIONS.items():
        motion = compared.motions[name]
        axes.plot(_time(motion), motion.tip @ aside, style, color=color, lw=width, label=label)
    axes.set_ylabel("tip aside [mm]")


def _plot_errors(axes: Axes, compared: Any) -> None:
    errors, time = compared.errors, _time(compared.full)
    for name, (label, color) in ERRORS.items():
        axes.semilogy(time[1:], errors[name][1:], color=color, lw=1.3, label=label)
    axes.set_ylabel("error, by the motion's size [-]")


def _plot_energy(axes: Axes, compared: Any) -> None:
    for name, (_, color, width, style) in MOTIONS.items():
        motion = compared.motions[name]
        axes.plot(_time(motion), motion.energy, style, color=color, lw=width)
    axes.set_ylabel("mechanical energy [\N{MICRO SIGN}J]")


def _time(motion: Any) -> np.ndarray:
    return motion.dt * np.arange(len(motion.tip))
