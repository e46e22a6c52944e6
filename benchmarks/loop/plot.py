"""Figures 4 and 5 of the paper on identification, from what was measured."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from sofa_softctl.base import colors
from sofa_softctl.base.axes import Axes, legend_above, scale_positive, set_equal_limits
from sofa_softctl.view.plots.figure import new_figure


def save_study_plot(path: str | Path, study: Any) -> None:
    """Write a plot (.png, .svg or .pdf): costs over iterations, and the hand's path.

    Raises:
        SoftctlError: a suffix that cannot be written.
    """
    best = study.fits[0]
    with new_figure(path, (11.0, 9.5)) as figure:
        panels = figure.subplots(2, 2, height_ratios=(1.0, 1.5))
        _plot_costs(panels[0, 0], study.fits)
        _plot_parameters(panels[0, 1], study)
        for axes, across in zip(panels[1], (1, 0), strict=True):
            _plot_path(axes, best, across, 2)
        panels[1, 0].set_title(f"Path of the hand, {best.links} links", loc="left")


def _plot_costs(axes: Axes, fits: Any) -> None:
    for fit, color in zip(fits, colors.PALETTE, strict=False):
        path = fit.descent.iterates
        costs = [each.cost for each in path]
        axes.plot(costs, "o-", color=color, ms=4, lw=1.3, label=f"{fit.links} links")
        axes.axhline(fit.newton.cost, color=color, ls=":", lw=1.0)
    scale_positive(axes, np.array([each.cost for fit in fits for each in fit.descent.iterates]))
    axes.set_xlabel("iteration of steepest descent")
    axes.set_ylabel("J [m²]")
    axes.set_title("Costs; dotted: where Gauss-Newton ends", loc="left")
    legend_above(axes)


def _plot_parameters(axes: Axes, study: Any) -> None:
    for fit, color in zip(study.fits, colors.PALETTE, strict=False):
        path = np.array([each.rho for each in fit.descent.iterates])
        axes.plot(*path.T, "o-", color=color, ms=4, label=f"{fit.links} links")
        for one, mark, name in (
            (fit.newton, "s", "Gauss-Newton, 95 %"),
            (fit.unknown, "D", "with unknown inputs"),
        ):
            low, high, at = one.trust.low, one.trust.high, one.found.rho
            axes.errorbar(
                *at,
                xerr=[[at[0] - low[0]], [high[0] - at[0]]],
                yerr=[[at[1] - low[1]], [high[1] - at[1]]],
                color=color,
                capsize=3,
                fmt=mark,
                ms=5,
                label=name if fit is study.fits[0] else None,
            )
    axes.plot(*study.to_dict()["truth"], "k*", ms=11, label="recorded (24 links)")
    axes.set_xlabel("kappa_theta [N m/rad]")
    axes.set_ylabel("kappa_psi [N m/rad]")
    legend_above(axes, columns=2)


def _plot_path(axes: Axes, fit: Any, across: int, up: int) -> None:
    """The paper's Fig. 5: simulated paths from light to dark over what was measured."""
    iterates = fit.descent.iterates
    axes.plot(
        1e3 * fit.measured[:, across],
        1e3 * fit.measured[:, up],
        "-",
        color="0.75",
        lw=0.6,
        label="measured",
    )
    for k, each in enumerate(iterates):
        share = k / max(1, len(iterates) - 1)
        color = (1.0 - 0.3 * share, 0.85 - 0.5 * share, 0.35 * (1.0 - share))
        label = {0: "simulated, at the start", len(iterates) - 1: "at the end"}.get(k)
        y = 1e3 * each.outputs[0]
        axes.plot(y[:, across], y[:, up], "-", color=color, lw=1.2, label=label)
    axes.set_xlabel(f"{'xyz'[across]} [mm]")
    axes.set_ylabel(f"{'xyz'[up]} [mm]")
    set_equal_limits(axes, 1e3 * fit.measured[:, [across, up]])
    if across == 0:
        legend_above(axes)
