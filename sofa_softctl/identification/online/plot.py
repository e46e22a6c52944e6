"""Table and plot of the refinements of a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from typing_extensions import override

from sofa_softctl.base import colors
from sofa_softctl.base.axes import Axes, Figure
from sofa_softctl.errors import SoftctlError
from sofa_softctl.scene.control.report import Report, Summary, Table


@dataclass(frozen=True)
class RefinementSummary(Summary):
    """Result of an `IdentificationController` at the end of a run."""

    name: str
    """Path of the controller."""
    problem: str
    """Name of the problem."""
    status: str
    """Status of the last fit; empty before the first."""
    fits: int
    """Number of accepted fits."""
    seconds: float | None
    """Mean time of a fit [s]."""
    misfit: float | None
    """Mean square residual of the last one [sigma^2]."""
    parameters: list[str]
    """Names and units."""
    start: list[float]
    """Initial values [units]."""
    estimate: list[float]
    """Estimates [units]."""
    half_width: list[float | None]
    """Half-widths of the 95 % intervals [units], None if not identifiable."""

    @override
    def report(self, units: dict[str, str]) -> Report:
        del units  # those of the problem
        caption = f"{self.fits} fits accepted; the last fit: {self.status or 'none yet'}."
        if self.fits:
            caption += (
                f" A fit took {self.seconds:.2g} s; mean square residual {self.misfit:.2g} σ²."
            )
        rows = zip(self.parameters, self.start, self.estimate, self.half_width, strict=True)
        return Report(
            [
                Table(
                    f"Identification {self.name}: {self.problem}",
                    ("parameter", "start", "estimate", "95 % interval"),
                    [
                        (
                            name,
                            f"{a:.4g}",
                            f"{b:.4g}",
                            "not identifiable" if w is None else f"± {w:.2g}",
                        )
                        for name, a, b, w in rows
                    ],
                    caption,
                )
            ]
        )


def summarise(controller: Any) -> RefinementSummary:
    """Summarise the estimates of an `IdentificationController`."""
    history, parameters = controller.history, controller.problem.parameters
    widths = np.array(controller.half_width.value)
    return RefinementSummary(
        controller.getPathName(),
        controller.problem.name,
        controller.status.value,
        len(history),
        float(np.mean([estimate.seconds for estimate in history])) if history else None,
        history[-1].misfit if history else None,
        [f"{parameter.name} [{parameter.unit}]" for parameter in parameters],
        [float(parameter.start) for parameter in parameters],
        [float(value) for value in controller.parameters.value],
        [float(width) if np.isfinite(width) else None for width in widths],
    )


def draw_refinement(figure: Figure, controller: Any) -> None:
    """Draw each parameter and its interval over time.

    Raises:
        SoftctlError: No fit was accepted.
    """
    history = controller.history
    if not history:
        raise SoftctlError(
            f"There is nothing to plot: {controller.getPathName()} has no accepted fit."
        )
    count = len(controller.problem.parameters)
    figure.set_size_inches(9.0, 1.2 + 2.0 * (count + 1))
    panels = figure.subplots(count + 1, 1, sharex=True)
    time = np.array([estimate.end for estimate in history])
    for k, (axes, parameter) in enumerate(zip(panels, controller.problem.parameters, strict=False)):
        _plot_parameter(axes, parameter, time, history, k)
    _plot_windows(panels[-1], history)
    panels[-1].set_xlabel("time [s]")


def _plot_parameter(axes: Axes, parameter: Any, time: np.ndarray, history: Any, k: int) -> None:
    value = np.array([estimate.rho[k] for estimate in history])
    width = np.array([estimate.half_width[k] for estimate in history])
    color = colors.PALETTE[k % len(colors.PALETTE)]
    axes.axhline(parameter.start, color="#999999", lw=0.8, ls=":")
    axes.errorbar(time, value, width, color=color, fmt="o", ms=4, lw=1.4, capsize=3)
    axes.step(time, value, where="post", color=color, lw=1.0, alpha=0.5)
    all_values = np.append(value, parameter.start)
    if parameter.lower >= 0.0 and all_values.max() > 3.0 * all_values.min() > 0.0:
        axes.set_yscale("log")
        axes.set_ylim(0.5 * all_values.min(), 2.0 * all_values.max())
        axes.yaxis.set_major_formatter("{x:g}")
    axes.set_ylabel(f"{parameter.name} [{parameter.unit}]")
    last = f"{value[-1]:.4g} ± {width[-1]:.2g} {parameter.unit}"
    axes.set_title(f"{last} (95 %); dotted: start", loc="left")


def _plot_windows(axes: Axes, history: Any) -> None:
    """The window and mean square residual of each fit."""
    for number, estimate in enumerate(history):
        wrong = estimate.misfit > 2.0
        color = colors.UNSOLVED if wrong else colors.GRAY
        axes.plot([estimate.begin, estimate.end], 2 * [number + 1], color=color, lw=4)
        axes.annotate(
            f" {estimate.misfit:.2g} σ²",
            (estimate.end, number + 1),
            fontsize="x-small",
            va="center",
        )
    axes.set_ylim(len(history) + 0.7, 0.3)
    axes.yaxis.get_major_locator().set_params(integer=True)
    axes.set_ylabel("fit [-]")
    axes.set_title("Windows and mean square residuals", loc="left")
