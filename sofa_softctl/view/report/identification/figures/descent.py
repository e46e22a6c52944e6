"""Figures of steepest descent: convergence, and the motion of each iteration."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from sofa_softctl._internal.axes import Figure
from sofa_softctl._internal.colors import PALETTE
from sofa_softctl.identification.fitting.residual import Fit
from sofa_softctl.identification.fitting.steepest_descent import Descent
from sofa_softctl.view.report.identification.figures.style import BESIDE, BLUE, ORANGE, labelled
from sofa_softctl.view.report.svg import svg

PATH = 400
"""Most samples of a path, of which there is one for each iteration."""


def descent_figure(descent: Descent, fits: Sequence[Fit]) -> str:
    """Cost, gradient and parameters over iterations, as in the paper's Fig. 4, and the path."""

    def draw(figure: Figure) -> None:
        cost, gradient, path = figure.subplots(1, 3)
        steps = range(len(descent.iterates))
        cost.plot(steps, [one.cost for one in descent.iterates], color=ORANGE)
        units = dict.fromkeys(channel.unit for fit in fits for channel in fit.channels)
        squared = f"{next(iter(units))}²" if len(units) == 1 else "squared units of the outputs"
        cost.set_ylabel(f"cost $J_d$ [{squared}]")
        gradient.semilogy(steps, [one.gradient_norm for one in descent.iterates], color=BLUE)
        gradient.set_ylabel("gradient norm [cost / unit]")
        rho = np.array([one.rho for one in descent.iterates])
        for column, parameter, color in zip(rho.T, descent.parameters, PALETTE, strict=False):
            path.plot(steps, column, color=color, label=labelled(parameter))
        path.set_ylabel("parameters [see legend]")
        path.legend(**BESIDE)
        for axes in (cost, gradient, path):
            axes.set_xlabel("iteration")
            axes.xaxis.get_major_locator().set_params(integer=True)

    alt = "Cost, norm of the gradient, and parameters over the iterations of steepest descent."
    return svg(9.2, 2.5, draw, alt)


def outputs_figure(descent: Descent, fits: Sequence[Fit]) -> str:
    """Outputs of each iteration, light to dark, and as measured, as in the paper's Fig. 5."""
    fit = fits[0]
    moving = np.argsort([-np.ptp(column) for column in fit.outputs.T])
    first = int(moving[0])
    alike = [int(k) for k in moving[1:] if fit.channels[k].unit == fit.channels[first].unit]

    def draw(figure: Figure) -> None:
        from matplotlib import colormaps

        axes = figure.subplots()
        last = max(len(descent.iterates) - 1, 1)
        thin = slice(None, None, max(1, math.ceil(len(fit.time) / PATH)))
        for k, one in enumerate(descent.iterates):
            y = one.outputs[0][thin]
            x = y[:, alike[0]] if alike else fit.time[thin]
            shade = colormaps["YlOrBr"](0.2 + 0.6 * k / last)
            axes.plot(x, y[:, first], color=shade, linewidth=0.8)
        x = fit.measured[:, alike[0]] if alike else fit.time
        axes.plot(x, fit.measured[:, first], color="black", linewidth=1.1, label="measured")
        channel = fit.channels[first]
        axes.set_ylabel(f"{channel.name} [{channel.unit}]")
        other = fit.channels[alike[0]] if alike else None
        axes.set_xlabel(f"{other.name} [{other.unit}]" if other else "time [s]")
        axes.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), borderaxespad=0.1)

    alt = f"Predicted motion of {fit.name} in each iteration, beside the measured one."
    return svg(9.2, 4.2 if alike else 2.8, draw, alt)
